"""The tools `ask` and `analyse`: one run of the engine each, watched and stoppable."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from secondlook.api.asking.events import Queued
from secondlook.api.asking.live import CLIENT_LEFT
from secondlook.api.mcp.failing import told
from secondlook.api.mcp.forms import (
    AnalyseResult,
    AskResult,
    CheckOut,
    Source,
    TableOut,
)
from secondlook.api.mcp.places import document_uri
from secondlook.events import NodeFinished, NodeStarted, Routed

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context

    from secondlook.answer import Answer, Citation
    from secondlook.api.asking.events import SeenEvent
    from secondlook.api.asking.live import Ask, LiveRun
    from secondlook.api.asking.runs import Runs

_MOST_ROWS = 200


async def run(runs: Runs, ask: Ask, context: Context) -> Answer:
    """The answer. Whoever cancels the call cancels the run, and hears of each step till then."""
    with told():
        live = runs.start(ask)
        try:
            await _watched(live, context)
            return await live.answered()
        finally:
            if not live.ended:
                runs.cancel(live.id, CLIENT_LEFT)


async def _watched(live: LiveRun, context: Context) -> None:
    count = 0
    async with aclosing(live.log.follow()) as entries:
        async for entry in entries:
            if entry is not None and (message := _step(entry.event)):
                count += 1
                await context.report_progress(count, message=message)


def _step(event: SeenEvent) -> str | None:
    if isinstance(event, Queued):
        return f"Waiting for others: place {event.position} in the queue"
    if isinstance(event, NodeStarted):
        return f"{event.node.replace('_', ' ').capitalize()} ..."
    if isinstance(event, NodeFinished):
        return event.said
    return f"{event.source} -> {event.to}: {event.why}" if isinstance(event, Routed) else None


def asked(answer: Answer) -> AskResult:
    return AskResult(
        status=answer.status,
        stop_reason=answer.stop_reason,
        text=answer.text,
        short=answer.short,
        confidence=answer.confidence.value,
        choice=answer.choice.letter if answer.choice else None,
        asks_back=answer.asks_back,
        citations=sources(answer),
        table=_table(answer),
        code=_code(answer),
        unsupported=sum(claim.supported is False for claim in answer.claims),
        warnings=warnings(answer),
        workflow=answer.workflow,
        run=answer.run,
    )


def analysed(answer: Answer) -> AnalyseResult:
    analysis = answer.analysis
    return AnalyseResult(
        status=answer.status,
        stop_reason=answer.stop_reason,
        text=answer.text,
        short=answer.short,
        values=answer.values,
        table=_table(answer),
        reading=analysis.reading if analysis else "",
        code=_code(answer),
        checks=[
            CheckOut(name=one.name, passed=one.passed, said=one.said)
            for one in (analysis.checks if analysis else ())
        ],
        figures=len(analysis.figures) if analysis else 0,
        inputs=[one.title for one in analysis.inputs] if analysis else [],
        asks_back=answer.asks_back,
        citations=sources(answer),
        warnings=warnings(answer),
        run=answer.run,
    )


def _code(answer: Answer) -> str | None:
    return (answer.analysis.sql or answer.analysis.code) if answer.analysis else None


def _table(answer: Answer) -> TableOut | None:
    table = answer.analysis.table if answer.analysis else None
    if table is None:
        return None
    return TableOut(
        columns=list(table.columns),
        rows=[list(row) for row in table.rows[:_MOST_ROWS]],
        total_rows=table.total_rows,
    )


def sources(answer: Answer) -> list[Source]:
    return [_source(citation) for citation in answer.citations]


def _source(citation: Citation) -> Source:
    return Source(
        number=citation.number,
        title=citation.title,
        document=citation.document,
        page=citation.page,
        start=citation.start,
        end=citation.end,
        quote=citation.quote,
        uri=citation.url or document_uri(citation.document),
    )


def warnings(answer: Answer) -> list[str]:
    told = [f"{one.node}: {one.message}; {one.consequence}" for one in answer.warnings]
    kept_out = answer.research.quarantined if answer.research else 0
    if kept_out:  # without a title: that is the document's word, and stands in no data here
        told.append(f"quarantine: {kept_out} of the passages give a model orders; kept out")
    return told
