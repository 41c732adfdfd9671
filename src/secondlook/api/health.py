"""Whether the server lives, and whether it can answer."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from pydantic import BaseModel

from secondlook import __version__
from secondlook.api.problems import Problem, responses
from secondlook.api.state import Served, served
from secondlook.errors import SecondlookError

router = APIRouter(prefix="/api", tags=["server"])


class Health(BaseModel):
    status: Literal["ok"] = "ok"
    version: str = __version__


class Ready(BaseModel):
    ready: Literal[True] = True
    libraries: list[str]


@router.get("/health", summary="Whether the server lives")
async def health() -> Health:
    """Needs no token, and touches nothing."""
    return Health()


@router.get("/ready", summary="Whether it can answer", responses=responses(503))
async def ready(served: Annotated[Served, Depends(served)]) -> Ready:
    """Opens every library that is served, once."""
    names = served.libraries.names()
    for name in names:
        try:
            await asyncio.shield(served.libraries.aengine(name))
        except SecondlookError as error:
            raise Problem(
                503,
                "not_ready",
                f"the library {name!r} cannot be opened: {error.message}",
                hint=error.hint,
                headers={"Retry-After": "5"},
            ) from error
    return Ready(libraries=list(names))
