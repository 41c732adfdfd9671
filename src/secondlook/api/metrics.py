"""`GET /metrics`: what this server has done, for Prometheus to fetch."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Response

from secondlook.api.problems import Problem, responses
from secondlook.api.state import Served, served
from secondlook.telemetry.opening import scraped

router = APIRouter(tags=["server"])


@router.get(
    "/metrics",
    summary="Counts and times for Prometheus",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
        **responses(404),
    },
)
async def metrics(served: Annotated[Served, Depends(served)]) -> Response:
    """Where `serve.metrics` is set. Names and numbers alone: nothing that anybody asked."""
    if not served.settings.serve.metrics:
        raise Problem(
            404,
            "metrics_off",
            "this server keeps no metrics",
            hint="set serve.metrics where it runs, with the extra `telemetry`",
        )
    text = await asyncio.to_thread(scraped, served.settings)
    return Response(text, media_type="text/plain; version=0.0.4")
