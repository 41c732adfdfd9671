"""`POST /api/session`: a browser shows the token once and keeps a cookie instead."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, Field

from secondlook.api.problems import Problem, responses
from secondlook.api.state import Served, served
from secondlook.api.tokens import COOKIE

router = APIRouter(prefix="/api", tags=["server"])
_SECONDS_KEPT: Final = 30 * 24 * 3600


class Shown(BaseModel):
    token: str = Field(max_length=1000, examples=["the token that the server printed"])


@router.post("/session", status_code=204, summary="Sign in", responses=responses(401))
async def sign_in(
    shown: Shown, request: Request, served: Annotated[Served, Depends(served)]
) -> Response:
    """Sets a cookie that stands for the token; needed only where the server has one."""
    token = served.guard.token
    reply = Response(status_code=204)
    if token.value is None:
        return reply
    if not token.fits(shown.token):
        raise Problem(
            401,
            "token_wrong",
            "this is not the token of this server",
            hint="it was printed when the server started, or is the one that you gave it",
        )
    reply.set_cookie(
        COOKIE,
        token.cookie,
        max_age=_SECONDS_KEPT,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return reply
