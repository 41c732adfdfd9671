"""The page itself: built files that lie in the package, and Plotly out of its own wheel."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fastapi import APIRouter
from fastapi.responses import FileResponse, HTMLResponse, Response
from starlette.staticfiles import StaticFiles

import secondlook
from secondlook.api.problems import Problem, problem_of, problem_response, responses
from secondlook.api.settings_shown import INSTALL_ANALYST

if TYPE_CHECKING:
    from fastapi import FastAPI, Request

router = APIRouter(include_in_schema=False)
BUILT: Final = Path(secondlook.__file__).parent / "web"
_NO_PAGES: Final = ("/api/", "/assets/", "/docs/", "/mcp", "/metrics", "/v1/")
_FOR_EVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"
_MISSING = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Secondlook</title>
<body style="font-family: system-ui; max-width: 40rem; margin: 4rem auto; padding: 0 1rem">
<h1>The server runs, its page is not here</h1>
<p>This copy of Secondlook has no built page. A copy that was installed with
<code>pip install secondlook</code> has one. In a checkout of the source:
<code>cd web &amp;&amp; npm ci &amp;&amp; npm run build</code>.</p>
<p>Everything else works: <a href="/docs">the API</a>.</p>
"""


class Assets(StaticFiles):
    """Built files have their hash in their name, so that a browser may keep them."""

    async def check_config(self) -> None:
        """A folder that is not there holds no file: that is all."""

    def file_response(self, *args: object, **options: object) -> Response:
        response = super().file_response(*args, **options)  # type: ignore[arg-type]
        response.headers["cache-control"] = _FOR_EVER
        return response


def is_built() -> bool:
    return (BUILT / "index.html").is_file()


def plotly_script() -> Path | None:
    """In the installed wheel; it is not imported for that."""
    found = find_spec("plotly")
    places = found.submodule_search_locations if found else None
    script = Path(places[0]) / "package_data" / "plotly.min.js" if places else None
    return script if script is not None and script.is_file() else None


@router.get("/assets/plotly.min.js", responses=responses(404))
async def plotly() -> Response:
    script = plotly_script()
    if script is None:
        raise Problem(
            404, "analyst_extra_missing", "charts need the extra `analyst`", hint=INSTALL_ANALYST
        )
    return FileResponse(script, headers={"cache-control": "public, max-age=86400"})


@router.api_route("/", methods=["GET", "HEAD"])
async def index() -> Response:
    if is_built():
        return FileResponse(BUILT / "index.html", headers={"cache-control": _ASK_AGAIN})
    return HTMLResponse(_MISSING, status_code=503, headers={"cache-control": "no-store"})


def install(app: FastAPI) -> None:
    """The files, and the page wherever a browser goes that is nothing else."""

    async def nothing_here(request: Request, error: Exception) -> Response:
        if _is_visit(request):
            return await index()
        return problem_response(problem_of(error), request.url.path)

    app.add_exception_handler(404, nothing_here)
    app.mount("/assets", Assets(directory=BUILT / "assets", check_dir=False), name="assets")


def _is_visit(request: Request) -> bool:
    is_page = not request.url.path.startswith(_NO_PAGES)
    wanted = "text/html" in request.headers.get("accept", "")
    return request.method in {"GET", "HEAD"} and is_page and wanted
