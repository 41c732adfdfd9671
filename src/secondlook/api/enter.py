"""`/enter#token=...`: the address that the server prints. A browser that opens it is signed in.

What stands behind # is never sent, so that no log and no other site sees the token; the script
shows it once, keeps a cookie instead, and goes on to the page without it.
"""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response

router = APIRouter(include_in_schema=False)
PATH: Final = "/enter"
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Secondlook</title>
<link rel="icon" href="data:,">
<script src="/enter/start.js" defer></script>
</head>
<body><p>Signing in. <a href="/">Go to the page</a></p></body>
</html>
"""
_START = """"use strict";
const token = new URLSearchParams(location.hash.slice(1)).get("token");
const onward = () => location.replace("/");
if (token === null) {
  onward();
} else {
  // Whatever comes of it: without a cookie the page itself asks for the token.
  fetch("/api/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ token }),
  }).then(onward, onward);
}
"""


@router.get(PATH)
async def enter() -> HTMLResponse:
    return HTMLResponse(_PAGE, headers={"cache-control": "no-store"})


@router.get(f"{PATH}/start.js")
async def enter_script() -> Response:
    return Response(_START, media_type="text/javascript", headers={"cache-control": "no-store"})
