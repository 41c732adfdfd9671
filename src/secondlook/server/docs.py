"""`/openapi.json`, with every problem an operation may answer with, and `/docs` to try it."""

from pathlib import Path
from typing import Any, Final, Literal

import fastapi_offline
from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.responses import FileResponse, HTMLResponse, Response

from secondlook.server.problems import ProblemDetails, described, responses
from secondlook.server.security import COOKIE

ABOUT: Final = (
    "Answers over your own documents and tables, with their evidence. Errors are problem details "
    "(RFC 9457): `code` is for programs, `detail` and `hint` are for people. Where the server has "
    "a token, send it as `Authorization: Bearer`. A body is JSON; an upload is multipart/form-data "
    "with the header `X-Secondlook: 1`."
)
TAGS: Final = [
    {"name": "questions", "description": "Ask, and get an answer with its evidence."},
    {"name": "runs", "description": "What was asked, what goes on, and how to watch and stop it."},
    {"name": "workflows", "description": "The ways to an answer, as graphs."},
    {"name": "server", "description": "Whether it lives, and what it can do."},
]
_METHODS: Final = frozenset({"get", "post", "put", "patch", "delete"})


def install(app: FastAPI) -> None:
    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _made(app)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]  # the way FastAPI documents


def _made(app: FastAPI) -> dict[str, Any]:
    found = get_openapi(
        title=app.title, version=app.version, description=ABOUT, routes=app.routes, tags=TAGS
    )
    parts = found.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    schemas["ProblemDetails"] = ProblemDetails.model_json_schema()
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    parts["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer"},
        "cookie": {"type": "apiKey", "in": "cookie", "name": COOKIE},
    }
    found["security"] = [{}, {"token": []}, {"cookie": []}]
    for operations in found["paths"].values():
        for method in _METHODS & set(operations):
            operation = operations[method]
            # What the guard and the limits may answer to any request, and what is
            # missing, busy or gone wherever a request names a thing.
            own = operation["responses"]
            with_body = (400, 408, 413, 415, 422) if "requestBody" in operation else ()
            with_values = (404, 409, 410, 422) if "parameters" in operation else ()
            of_jobs = (429,) if "202" in own else ()
            every = (401, 403, 421, *with_body, *with_values, *of_jobs)
            for status, said in responses(*every).items():
                if str(status) not in own or status == 422:  # noqa: PLR2004
                    own[str(status)] = said
            own["default"] = described("Any other problem.")
    return found


# `/docs`, without anything from another host.

router = APIRouter(include_in_schema=False)
_FILES: Final = Path(fastapi_offline.__file__).parent / "static"
# No script stands in the page itself: the server's own policy forbids such scripts.
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Secondlook API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
"""
_START = """"use strict";
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
  requestInterceptor: (request) => {
    request.headers["X-Secondlook"] = "1";
    return request;
  },
});
"""


@router.get("/docs")
async def docs() -> HTMLResponse:
    return HTMLResponse(_PAGE)


@router.get("/docs/start.js")
async def start() -> Response:
    return Response(_START, media_type="text/javascript")


@router.get("/docs/{name}")
async def swagger(name: Literal["swagger-ui-bundle.js", "swagger-ui.css"]) -> FileResponse:
    return FileResponse(_FILES / name, headers={"cache-control": "max-age=3600"})
