"""`/api/runs/{run}/figures`, `/verify` and `/export`."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, Path, Query, Response

from secondlook.api.answers.checking import Verified, checked
from secondlook.api.problems import Problem, responses
from secondlook.api.state import Served, served

if TYPE_CHECKING:
    from secondlook.answer import AnalysisFigure, Answer

router = APIRouter(prefix="/api/runs/{run}", tags=["runs"])
ExportForm = Literal["markdown", "json", "html"]
RunId = Annotated[str, Path(max_length=100, examples=["20260102-1f2e3d4c5b6a"])]
FromServer = Annotated[Served, Depends(served)]
_AT_ONCE: Final = asyncio.Semaphore(2)
"""Checks compute again and may run code: a few at a time leave room for questions."""
_FILE: Final[dict[ExportForm, tuple[str, str]]] = {
    "markdown": ("md", "text/markdown; charset=utf-8"),
    "json": ("json", "application/json"),
    "html": ("html", "text/html; charset=utf-8"),
}
_CHART: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Plotly's JSON, or a PNG",
        "content": {"application/json": {}, "image/png": {}},
    }
}
_EXPORTED: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "A file",
        "content": {"text/markdown": {}, "application/json": {}, "text/html": {}},
    }
}


@router.get(
    "/figures/{number}",
    summary="A chart of an answer",
    response_class=Response,
    responses={**_CHART, **responses(404, 409, 422)},
)
async def show_figure(
    state: FromServer,
    run: RunId,
    number: Annotated[int, Path(ge=0, le=10_000, description="From 0.")],
) -> Response:
    """Plotly's JSON for a chart, a PNG for a picture that generated code drew."""
    answer = await asyncio.to_thread(state.runs.answer, run)
    figure = _figure(answer, number)
    if figure.kind == "png":
        from secondlook.export.analysis_files import picture_bytes

        return Response(picture_bytes(figure), media_type="image/png")
    return Response(json.dumps(figure.data), media_type="application/json")


@router.post("/verify", summary="Check an answer again", responses=responses(404, 409))
async def verify_answer(state: FromServer, run: RunId) -> Verified:
    """Does it still stand? Quotes, claims and numbers are held against the library as it is now;
    what was computed is computed again. No language model is asked."""
    async with _AT_ONCE:
        return await asyncio.to_thread(checked, state, run)


@router.get(
    "/export",
    summary="An answer as a file",
    response_class=Response,
    responses={**_EXPORTED, **responses(404, 409, 422)},
)
async def export_answer(
    state: FromServer,
    run: RunId,
    form: Annotated[ExportForm, Query(alias="format", description="Of the file.")] = "markdown",
    figure: Annotated[int, Query(ge=0, le=10_000, description="Which chart, of `html`.")] = 0,
) -> Response:
    """Markdown with references, the whole answer as JSON, or one of its charts as a page that
    needs no network."""
    answer = await asyncio.to_thread(state.runs.answer, run)
    content = await asyncio.to_thread(_exported, answer, form, figure)
    suffix, kind = _FILE[form]
    return Response(
        content,
        media_type=kind,
        headers={
            "Content-Disposition": f'attachment; filename="answer-{answer.run}.{suffix}"',
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "sandbox",
        },
    )


def _exported(answer: Answer, form: ExportForm, figure: int) -> bytes:
    if form == "json":
        return answer.model_dump_json(indent=1).encode("utf-8", "replace")
    if form == "html":
        from secondlook.export.analysis_files import chart_bytes

        return chart_bytes(_figure(answer, figure), ".html")
    from secondlook.export import to_markdown

    return to_markdown(answer).encode("utf-8", "replace")


def _figure(answer: Answer, number: int) -> AnalysisFigure:
    figures = answer.analysis.figures if answer.analysis else ()
    if number >= len(figures):
        raise Problem(
            404,
            "figure_missing",
            f"the answer has no chart {number}",
            hint=f"it has {len(figures)}, counted from 0" if figures else "it has none at all",
        )
    return figures[number]
