"""`GET /api/settings`: what a page needs to know of the server. No secret and no path."""

from __future__ import annotations

import asyncio
from functools import cache
from importlib.util import find_spec
from typing import Annotated, Final

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field

from secondlook import __version__
from secondlook.api.limits import MEGABYTE
from secondlook.api.state import Served, served
from secondlook.graphs.registry import WORKFLOWS

router = APIRouter(prefix="/api", tags=["server"])
INSTALL_ANALYST: Final = 'pip install "secondlook[analyst]"'


class WorkflowShown(BaseModel):
    name: str = Field(examples=["linear"])
    about: str


class LimitsShown(BaseModel):
    question_characters: int
    upload_bytes: int
    files_per_upload: int


class SettingsShown(BaseModel):
    version: str
    workflows: list[WorkflowShown]
    workflow: str = Field(description="The usual one.")
    model: str = Field(description="`none` = answers come from the passages alone.")
    web_search: bool
    analyst_extra: bool = Field(description="Whether charts can be drawn.")
    install_analyst: str
    limits: LimitsShown
    token_required: bool
    libraries: list[str]
    sandbox: str | None = Field(description="What confines generated code; None = it is not run.")


def workflows() -> list[WorkflowShown]:
    return [WorkflowShown(name=item.name, about=item.about) for item in WORKFLOWS.values()]


@router.get("/settings", summary="Settings that are safe to show")
async def show_settings(served: Annotated[Served, Depends(served)]) -> SettingsShown:
    settings = served.settings
    limits = LimitsShown(
        question_characters=settings.serve.question_characters,
        upload_bytes=settings.serve.max_upload_mb * MEGABYTE,
        files_per_upload=settings.serve.files_per_upload,
    )
    return SettingsShown(
        version=__version__,
        workflows=workflows(),
        workflow=settings.answer.workflow,
        model=model_shown(settings.models.default),
        web_search=settings.web.enable_web_search,
        analyst_extra=has_analyst(),
        install_analyst=INSTALL_ANALYST,
        limits=limits,
        token_required=served.guard.token.value is not None,
        libraries=list(served.libraries.names()),
        sandbox=await asyncio.to_thread(_sandbox, settings.sandbox.backend),
    )


def model_shown(spec: str) -> str:
    """Without the address it is reached at, and of a file its name alone."""
    kind, colon, name = spec.partition("@")[0].partition(":")
    return (
        f"{kind}{colon}{name.replace(chr(92), '/').rpartition('/')[2]}"
        if kind == "gguf"
        else (f"{kind}{colon}{name}")
    )


def has_analyst() -> bool:
    return all(find_spec(name) is not None for name in ("pandas", "plotly"))


@cache
def _sandbox(chosen: str) -> str | None:
    """Looked up once: it starts processes."""
    from secondlook.sandbox.opening import available

    usable = (one.name for one in available() if one.usable and chosen in ("auto", one.name))
    return next(usable, None)
