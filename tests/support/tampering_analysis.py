"""Ways to falsify an answer over tables, each with the kinds of problem it must be caught for."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from secondlook.answer import Answer
from tests.support.tampering import Case, Draft

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Change = tuple[str, str, "Callable[[Draft], None]"]


def analysis_cases(answer: Answer) -> Iterator[Case]:
    whole = answer.model_dump(mode="json")
    how = _computed() if whole["analysis"]["kind"] == "computed" else _generated()
    for name, kinds, change in (*_wholes(), *_results(), *_sources(), *how):
        draft = copy.deepcopy(whole)
        change(draft)
        if draft != whole:
            yield Case(name, frozenset(kinds.split()), Answer.model_validate(draft))


def _wholes() -> Iterator[Change]:
    yield "no analysis", "status result", _set(analysis=None)
    yield "abstained", "status", _set(status="abstained", stop_reason="no_evidence")
    yield "no claims", "status", _set(claims=[])
    yield "short form", "text", _set(short="7713")
    yield "other words", "text", _said("Entirely made up.")
    yield "a number more", "text number", _said("{} In 7713 cases.")
    yield "words after the claims", "text", _text("{}\n\nThe mean of all is 7713.")
    yield "text of its own", "text", _text("The mean is 7713.")
    yield "called a limitation", "status result", _analysed(kind="limitation")
    yield "called a concept", "text result", _analysed(kind="concept", grounded=False)


def _results() -> Iterator[Change]:
    yield "result", "result", _on("analysis", lambda one: {"result": _other(one["result"])})
    yield "values", "result", lambda draft: draft.update(values=_other(draft["values"]))
    yield "no values", "result", _set(values={})
    yield "a table", "result", _analysed(table={"columns": ["a"], "rows": [[1]], "total_rows": 1})

    def first_cell(draft: Draft) -> None:
        if draft["analysis"]["table"]:
            draft["analysis"]["table"]["rows"][0][-1] = 7713

    yield "a cell", "result", first_cell
    figure = {"kind": "plotly", "title": "", "data": {"data": [{"y": [1]}]}}
    yield "a figure more", "figure", lambda draft: draft["analysis"]["figures"].append(figure)

    def no_figure(draft: Draft) -> None:
        draft["analysis"]["figures"] = []

    yield "no figure", "figure", no_figure


def _sources() -> Iterator[Change]:
    def input_(**values: Any) -> Callable[[Draft], None]:
        return lambda draft: draft["analysis"]["inputs"][0].update(values)

    yield "hash of the table", "table", input_(sha256="0" * 64)
    yield "rows of the table", "table", input_(rows=7)
    yield "id of the table", "table", input_(id="0" * 64)
    yield "no table", "table", _analysed(inputs=[])

    def column(draft: Draft) -> None:
        for one in draft["analysis"]["columns"]:
            one["column"] = "nowhere"

    yield "column", "table text", column


def _computed() -> Iterator[Change]:
    yield "no query", "code", _analysed(query=None)
    yield "odd query", "code", _analysed(query={"query": [], "said": 3})
    yield "SQL", "code", _analysed(sql="SELECT 7713")
    yield "reading", "code text", _analysed(reading="sum of everything")

    def statistic(draft: Draft) -> None:
        draft["analysis"]["query"]["query"]["measures"][0]["statistic"] = "max"

    def stranger(draft: Draft) -> None:
        draft["analysis"]["query"]["query"]["table"] = "f" * 64

    yield "statistic", "code result", statistic
    yield "query over another table", "table", stranger


def _generated() -> Iterator[Change]:
    yield "no code", "code", _analysed(code=None)
    yield "code that knows the result", "code", _analysed(code="result = 42.0")
    yield "code that reads files", "code", _analysed(code="result = open('/etc/passwd').read()")
    yield "broken code", "code", _analysed(code="result = (")
    yield "other code", "result", _analysed(code="result = df['age'].max() * 2")
    yield "code that fails", "result", _analysed(code="result = df['age'].mean() / int(0)")


def _set(**values: Any) -> Callable[[Draft], None]:
    return lambda draft: draft.update(values)


def _analysed(**values: Any) -> Callable[[Draft], None]:
    return lambda draft: draft["analysis"].update(values)


def _on(part: str, change: Callable[[Draft], Draft]) -> Callable[[Draft], None]:
    return lambda draft: draft[part].update(change(draft[part]))


def _text(form: str) -> Callable[[Draft], None]:
    return lambda draft: draft.update(text=form.format(draft["text"]))


def _said(form: str) -> Callable[[Draft], None]:
    """A claim changed, in the text too."""

    def apply(draft: Draft) -> None:
        was = draft["claims"][0]["text"]
        now = form.format(was)
        draft["claims"][0]["text"] = now
        draft["text"] = draft["text"].replace(was, now, 1)

    return apply


def _other(value: Any) -> Any:
    """Every number somewhat larger."""
    if isinstance(value, dict):
        return {name: _other(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_other(one) for one in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value * 1.001 + 0.001
    return value
