"""Everything below `/v1`, and what an address that is not there answers."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request

from secondlook.api.openai import completions, models
from secondlook.api.openai.errors import OpenAIRoute, Refused
from secondlook.api.openapi import methods_at

router = APIRouter(route_class=OpenAIRoute)
router.include_router(models.router)
router.include_router(completions.router)


@router.api_route(
    "/v1/{rest:path}", methods=["GET", "POST", "PUT", "PATCH", "DELETE"], include_in_schema=False
)
async def unknown(rest: str, request: Request) -> None:
    if taken := methods_at(request.app, f"/v1/{rest}"):
        raise HTTPException(405, headers={"Allow": ", ".join(taken)})
    raise Refused(
        f"there is no /v1/{rest[:80]} here: models and chat/completions are",
        code="unknown_url",
        status=404,
    )
