"""`/docs`: the API to read and to try, without anything from another host."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import fastapi_offline
from fastapi import APIRouter
from fastapi.responses import FileResponse, HTMLResponse, Response

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


@router.get("/docs/swagger-ui-bundle.js")
async def bundle() -> FileResponse:
    return _file("swagger-ui-bundle.js")


@router.get("/docs/swagger-ui.css")
async def style() -> FileResponse:
    return _file("swagger-ui.css")


def _file(name: str) -> FileResponse:
    return FileResponse(_FILES / name, headers={"cache-control": "max-age=3600"})
