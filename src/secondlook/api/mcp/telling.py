"""Results as text, for assistants that do not read structured content."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.api.mcp.delimiting import as_data
from secondlook.export.markdown import flat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Scalar, Status
    from secondlook.api.mcp.forms import (
        AddResult,
        AnalyseResult,
        AskResult,
        SearchResult,
        Source,
        SourceText,
        TableOut,
    )

_LONGEST_QUOTE = 600
_SHOWN_ROWS = 50
_STANDING: dict[Status, str] = {
    "answered": "Answered.",
    "partial": "Answered in part: say so.",
    "abstained": "Not answered: the evidence is not there. Say so, and do not guess.",
    "refused": "Refused. Say so.",
    "failed": "Failed. Say so.",
}


def ask_text(result: AskResult) -> str:
    sure = f" Confidence {result.confidence:.0%}." if result.confidence is not None else ""
    doubt = f" Sentences without support: {result.unsupported}." if result.unsupported else ""
    lines = [
        f"{_STANDING[result.status]}{sure}{doubt} Workflow {result.workflow}, run {result.run}.",
        "Block 0 is the answer; block N is the source that it cites as [N]; table and code follow.",
        as_data([_answer(result), *map(_source, result.citations), *_computed(result)], first=0),
    ]
    return "\n".join([*lines, *_places(result.citations), *_warned(result.warnings)])


def analyse_text(result: AnalyseResult) -> str:
    checks = [f"{'passed' if one.passed else 'FAILED'}: {one.said}" for one in result.checks]
    blocks = [
        _answer(result),
        *([f"Read as: {result.reading}"] if result.reading else []),
        *_computed(result),
        *(["Checks:\n" + "\n".join(checks)] if checks else []),
    ]
    lines = [f"{_STANDING[result.status]} Run {result.run}.", as_data(blocks)]
    return "\n".join([*lines, *_places(result.citations), *_warned(result.warnings)])


def search_text(result: SearchResult) -> str:
    if not result.hits:
        return "Nothing was found. Other words may help, or the library does not hold it."
    lines = [
        f"{at}. document {hit.document}, {_paged(hit.page)}characters {hit.start}-{hit.end}, "
        f"score {hit.score:.3f}"
        for at, hit in enumerate(result.hits, 1)
    ]
    return "\n".join([as_data([f"{hit.title}\n{hit.text}" for hit in result.hits]), *lines])


def source_text(result: SourceText) -> str:
    place = f"characters {result.start}-{result.end} of {result.characters}"
    on = f" Read on with start={result.end}." if result.more else ""
    head = f"Document {result.document}, {_paged(result.page, result.pages)}{place}.{on}"
    return "\n".join([head, as_data([f"{result.title}\n\n{result.text}"])])


def add_text(result: AddResult) -> str:
    lines = [
        f"{one.status}: {flat(one.name)}"
        + (f", document {one.document}" if one.document else "")
        + (f" ({flat(one.reason)})" if one.reason else "")
        for one in result.files
    ]
    return "\n".join(lines) or "There was nothing to add."


def _answer(result: AskResult | AnalyseResult) -> str:
    back = f"\n{result.asks_back}" if result.asks_back else ""
    short = f"{result.short}\n" if result.short and result.short not in result.text else ""
    return f"{short}{result.text}{back}"


def _computed(result: AskResult | AnalyseResult) -> list[str]:
    table = [f"Table:\n{_table(result.table)}"] if result.table else []
    return [*table, *([f"Code:\n{result.code}"] if result.code else [])]


def _source(source: Source) -> str:
    cut = len(source.quote) > _LONGEST_QUOTE
    quote = f"{source.quote[:_LONGEST_QUOTE]}..." if cut else source.quote
    page = f", p. {source.page}" if source.page is not None else ""
    return f"{source.title}{page}\n{quote}"


def _places(sources: Sequence[Source]) -> list[str]:
    return [
        f"[{one.number}] {one.uri}, {_paged(one.page)}characters {one.start}-{one.end}"
        for one in sources
    ]


def _paged(page: int | None, pages: int = 0) -> str:
    if page is None:
        return ""
    return f"page {page} of {pages}, " if pages else f"page {page}, "


def _warned(warnings: Sequence[str]) -> list[str]:
    return [f"Warning: {flat(warning)}" for warning in warnings]


def _table(table: TableOut) -> str:
    rows = [_row(table.columns), *(_row(row) for row in table.rows[:_SHOWN_ROWS])]
    more = table.total_rows - min(_SHOWN_ROWS, len(table.rows))
    return "\n".join([*rows, *([f"({more} more rows)"] if more > 0 else [])])


def _row(cells: Sequence[Scalar]) -> str:
    return "\t".join("" if cell is None else " ".join(str(cell).split()) for cell in cells)
