"""`/api/runs/{run}/figures`, `/verify` and `/export`: what can be done with an answer."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Annotated, Final, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from secondlook.server.problems import Problem
from secondlook.server.state import FromServer, Served  # noqa: TC001
from secondlook.verify.report import Kind  # noqa: TC001

if TYPE_CHECKING:
    from secondlook.answer import AnalysisFigure, Answer


router = APIRouter(prefix="/api/runs/{run}", tags=["runs"])
ExportForm = Literal["markdown", "json", "html"]
RunId = Annotated[str, Path(max_length=100, examples=["20260102-1f2e3d4c5b6a"])]
_AT_ONCE: Final = asyncio.Semaphore(2)  # checks compute again: leave room for questions
_FILE: Final[dict[ExportForm, tuple[str, str]]] = {
    "markdown": ("md", "text/markdown; charset=utf-8"),
    "json": ("json", "application/json"),
    "html": ("html", "text/html; charset=utf-8"),
}


class Finding(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    kind: Kind
    where: str = Field(examples=["citation [1]"])
    message: str = Field(examples=["the quote is not in the document"])


class Verified(BaseModel):
    ok: bool = Field(description="Whether all of it stands.")
    problems: list[Finding]
    notes: list[Finding] = Field(description="What could not be checked, or is worth knowing.")
    checked: dict[str, int] = Field(description="How many claims, citations and tables.")


def checked(state: Served, run: str) -> Verified:
    """Takes its time: call it in a thread."""
    from secondlook.reading.support import load_support
    from secondlook.verify import examine

    answer, settings = state.runs.answer(run), state.settings
    live = state.runs.live(run)
    recorded = state.runs.record.get(run).request if live is None else {}
    name = live.ask.library if live is not None else state.runs.library_of(recorded)
    # Where the library is not served here, the report says what could not be checked.
    library = state.libraries.engine(name).library if name is not None else None
    report = examine(
        answer,
        library,
        support=load_support(settings.models.servers.support),
        settings=library.settings if library is not None else settings,
    )
    return Verified(
        ok=not report.problems,
        problems=[Finding.model_validate(one) for one in report.problems],
        notes=[Finding.model_validate(one) for one in report.notes],
        checked={
            "claims": len(answer.claims),
            "citations": len(answer.citations),
            "tables": len(answer.analysis.inputs) if answer.analysis else 0,
        },
    )


@router.get(
    "/figures/{number}",
    response_class=Response,
    responses={200: {"content": {"application/json": {}, "image/png": {}}}},
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
        from secondlook.export.charts import picture_bytes

        return Response(picture_bytes(figure), media_type="image/png")
    return Response(json.dumps(figure.data), media_type="application/json")


@router.post("/verify")
async def verify_answer(state: FromServer, run: RunId) -> Verified:
    """Quotes, claims and numbers are held against the library as it is now, without a model."""
    async with _AT_ONCE:
        return await asyncio.to_thread(checked, state, run)


@router.get(
    "/export",
    response_class=Response,
    responses={200: {"content": {"text/markdown": {}, "application/json": {}, "text/html": {}}}},
)
async def export_answer(
    state: FromServer,
    run: RunId,
    form: Annotated[ExportForm, Query(alias="format", description="Of the file.")] = "markdown",
    figure: Annotated[int, Query(ge=0, le=10_000, description="Which chart, of `html`.")] = 0,
) -> Response:
    """Markdown with references, the whole answer as JSON, or a chart that needs no network."""
    answer = await asyncio.to_thread(state.runs.answer, run)
    content = await asyncio.to_thread(_exported, answer, form, figure)
    suffix, kind = _FILE[form]
    headers = {
        "Content-Disposition": f'attachment; filename="answer-{answer.run}.{suffix}"',
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox",
    }
    return Response(content, media_type=kind, headers=headers)


def _exported(answer: Answer, form: ExportForm, figure: int) -> bytes:
    if form == "json":
        return answer.model_dump_json(indent=1).encode("utf-8", "replace")
    if form == "html":
        from secondlook.export.charts import chart_bytes

        return chart_bytes(_figure(answer, figure), ".html")
    from secondlook.export import to_markdown

    return to_markdown(answer).encode("utf-8", "replace")


def _figure(answer: Answer, number: int) -> AnalysisFigure:
    figures = answer.analysis.figures if answer.analysis else ()
    if number >= len(figures):
        said = f"the answer has no chart {number}: it has {len(figures)}, counted from 0"
        raise Problem(404, "figure_missing", said)
    return figures[number]
