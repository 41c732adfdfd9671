"""An analysis on the screen and as Markdown."""

from __future__ import annotations

from typing import Any

from secondlook.answer import (
    Analysis,
    AnalysisCheck,
    AnalysisFigure,
    AnalysisRemedy,
    Answer,
    InputTable,
    ResolvedColumn,
    ResultTable,
)
from secondlook.export import to_markdown
from secondlook.export.markdown import fenced


def answer_of(**analysis: Any) -> Answer:
    return Answer(
        run="20260101-a",
        question="q",
        asked="q",
        workflow="analyst",
        method="computed",
        model="m",
        text="t",
        status="answered",
        stop_reason="answered",
        analysis=Analysis(**{"kind": "computed", **analysis}),
        created="2026-01-01T00:00:00+00:00",
        version="0",
    )


WHOLE: dict[str, Any] = {
    "reading": "mean of price",
    "sql": 'SELECT avg("price")',
    "columns": (
        ResolvedColumn(asked="cost", table="t", column="price", score=0.81, how="fuzzy"),
        ResolvedColumn(asked="Region", table="t", column="region", score=1.0, how="case"),
    ),
    "checks": (
        AnalysisCheck(name="a", passed=True, said="Fine."),
        AnalysisCheck(name="b", passed=False, said="Odd."),
    ),
    "remedies": (AnalysisRemedy(cause="a typo", action="rewrite_code", guidance="mend"),),
    "figures": (AnalysisFigure(kind="plotly", title="Bars", data={}),),
    "inputs": (
        InputTable(name="s", id="i", title="s.csv", sha256="ab" * 32, rows=3, path="/s.csv"),
    ),
    "table": ResultTable(columns=("a|b", "n"), rows=(("<x>", 1), (None, 2.5)), total_rows=2),
}


def test_markdown_holds_all_that_it_takes_to_do_it_again() -> None:
    page = to_markdown(answer_of(**WHOLE))
    for line in (
        "| a\\|b | n |",
        "| \\<x\\> | 1 |",
        "Read as: mean of price.",
        '```sql\nSELECT avg("price")\n```',
        "- **failed**: Odd.",
        "- rewrite code: a typo",
        "- Bars (plotly)",
        f"SHA-256 `{'ab' * 32}`",
    ):
        assert line in page
    assert "## Analysis" not in to_markdown(answer_of(kind="concept"))
    assert fenced("a ``` b", "python") == "````python\na ``` b\n````"
