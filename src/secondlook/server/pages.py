"""The page itself: built files that lie in the package, and Plotly out of its own wheel."""

from importlib.util import find_spec
from pathlib import Path
from typing import Final

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import FileResponse, HTMLResponse, Response
from pydantic import BaseModel, Field
from starlette.staticfiles import StaticFiles

import secondlook
from secondlook.server.problems import Problem, problem_of, problem_response
from secondlook.server.security import COOKIE
from secondlook.server.state import FromServer
from secondlook.server.status import INSTALL_ANALYST

router = APIRouter()
BUILT: Final = Path(secondlook.__file__).parent / "web"
_NO_PAGES: Final = ("/api/", "/assets/", "/docs/", "/mcp", "/metrics", "/v1/")
_FOR_EVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"
_MISSING = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Secondlook</title>
<h1>The server runs, its page is not here</h1>
<p>Build it in a checkout of the source:
<code>cd web &amp;&amp; npm ci &amp;&amp; npm run build</code>.
Everything else works: <a href="/docs">the API</a>.</p>
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


@router.get("/assets/plotly.min.js", include_in_schema=False)
async def plotly() -> Response:
    """Out of the installed package, which is not imported for it."""
    found = find_spec("plotly")
    places = found.submodule_search_locations if found else None
    script = Path(places[0]) / "package_data" / "plotly.min.js" if places else None
    if script is None or not script.is_file():
        said = "charts need Plotly, which is not installed"
        raise Problem(404, "analyst_extra_missing", said, hint=INSTALL_ANALYST)
    return FileResponse(script, headers={"cache-control": "public, max-age=86400"})


@router.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
async def index() -> Response:
    if is_built():
        return FileResponse(BUILT / "index.html", headers={"cache-control": _ASK_AGAIN})
    return HTMLResponse(_MISSING, status_code=503, headers={"cache-control": "no-store"})


def install(app: FastAPI) -> None:
    """The files, and the page wherever a browser goes that is nothing else."""

    async def nothing_here(request: Request, error: Exception) -> Response:
        is_page = not request.url.path.startswith(_NO_PAGES)
        wanted = "text/html" in request.headers.get("accept", "")
        if request.method in {"GET", "HEAD"} and is_page and wanted:
            return await index()
        return problem_response(problem_of(error), request.url.path)

    app.add_exception_handler(404, nothing_here)
    app.mount("/assets", Assets(directory=BUILT / "assets", check_dir=False), name="assets")


# `POST /api/session`: a browser shows the token once and keeps a cookie instead.

_SECONDS_KEPT: Final = 30 * 24 * 3600


class Shown(BaseModel):
    token: str = Field(max_length=1000, examples=["the token that the server printed"])


@router.post("/api/session", status_code=204, tags=["server"])
async def sign_in(shown: Shown, request: Request, served: FromServer) -> Response:
    """Sets a cookie that stands for the token; needed only where the server has one."""
    token = served.guard.token
    reply = Response(status_code=204)
    if token.value is None:
        return reply
    if not token.fits(shown.token):
        said = "this is not the token of this server: it was printed when the server started"
        raise Problem(401, "token_wrong", said)
    reply.set_cookie(
        COOKIE,
        token.cookie,
        max_age=_SECONDS_KEPT,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return reply
