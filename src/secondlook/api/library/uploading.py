"""How files get in: uploaded, or by path where that is allowed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Depends, Request

from secondlook.api.library.forms import Paths  # noqa: TC001  # FastAPI reads it
from secondlook.api.library.job_forms import Job  # noqa: TC001
from secondlook.api.library.opened import OpenedLibrary  # noqa: TC001
from secondlook.api.library.receiving import FIELD, UploadLimits, receive
from secondlook.api.library.works import Placed, Uploaded
from secondlook.api.problems import Problem, responses
from secondlook.api.state import Served, served

if TYPE_CHECKING:
    from collections.abc import Sequence

router = APIRouter(prefix="/api/libraries/{library}", tags=["library"])
_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": [FIELD],
                    "properties": {
                        FIELD: {
                            "type": "array",
                            "minItems": 1,
                            "items": {"type": "string", "format": "binary"},
                        }
                    },
                }
            }
        },
    }
}


@router.post(
    "/documents",
    status_code=202,
    summary="Upload files",
    responses=responses(400, 404, 409, 413, 415, 422, 429, 507),
    openapi_extra=_BODY,
)
async def upload(
    request: Request, opened: OpenedLibrary, state: Annotated[Served, Depends(served)]
) -> Job:
    """Takes in one or more parts named `files`. A file with the name of an earlier upload is a
    new version of it; two files of one name in one upload are both kept. What cannot be read
    fails alone, with the reason, and is not stored."""
    opened.jobs.check_changeable(opened.name)
    limits = UploadLimits.of(state.settings)
    staging = await receive(request, opened.library.path, limits)
    try:
        return opened.jobs.start(opened.name, Uploaded(staging)).form()
    except BaseException:
        await asyncio.to_thread(staging.discard)
        raise


@router.post(
    "/paths",
    status_code=202,
    summary="Add files and folders of the server",
    responses=responses(403, 404, 409, 422, 429),
)
async def add_paths(
    opened: OpenedLibrary, asked: Paths, state: Annotated[Served, Depends(served)]
) -> Job:
    """Only under the folders that `serve.roots` names; without any, nothing."""
    roots = state.settings.serve.root_paths
    places = await asyncio.to_thread(allowed_places, asked.paths, roots)
    return opened.jobs.start(opened.name, Placed(places, within=roots)).form()


def allowed_places(paths: Sequence[str], roots: Sequence[Path]) -> list[Path]:
    """The places meant, with links followed. One that is not allowed says nothing of whether it
    is there."""
    allowed = [root.resolve() for root in roots]
    if not allowed:
        raise Problem(
            403,
            "paths_off",
            "this server takes no paths",
            hint="upload the files, or name folders in serve.roots",
        )
    return [_allowed(path, allowed) for path in paths]


def _allowed(path: str, roots: Sequence[Path]) -> Path:
    try:
        place = Path(path).resolve()
        absolute = Path(path).is_absolute()
    except (OSError, ValueError, RuntimeError):  # a null byte, a loop of links
        absolute = False
    if not absolute or not any(place.is_relative_to(root) for root in roots):
        raise Problem(
            403,
            "path_not_allowed",
            f"{path[:200]!r} is not under a folder that this server may add from",
            hint="give an absolute path under one of serve.roots",
        )
    if not place.exists():
        raise Problem(422, "path_missing", f"there is nothing at {path[:200]!r}")
    return place
