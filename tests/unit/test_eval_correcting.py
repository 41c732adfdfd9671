"""What is measured of correcting oneself: the bars, the caps, the queries, the review sheet."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.answer import Answer, Route, SeenPassage, Step
from secondlook.evaluation import report
from secondlook.evaluation import study as results
from secondlook.evaluation.cache import Saved
from secondlook.evaluation.comparison import compare
from secondlook.evaluation.hypotheses import (
    MAX_REWRITES,
    capped_plan,
    caps,
    criteria,
    recommended,
    rises_where_poor,
)
from secondlook.evaluation.records import Case, Looked, Results, Row, Tried
from secondlook.evaluation.report import sheets as review
from secondlook.evaluation.report.console import tables
from secondlook.evaluation.report.page import as_html
from secondlook.evaluation.rows import RowMaker, Seen, attempts, tried, words_kept
from secondlook.events import Answered, PassagesFound
from secondlook.graphs import registry
from secondlook.graphs.registry import Workflow
from secondlook.passage import Passage
from tests.support.engine import settings_of
from tests.support.eval_rows import row, rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from secondlook.evaluation.records import Criterion, Hypothesis


def recalled(name: str, figures: Sequence[float], recall: Sequence[float]) -> list[Row]:
    return [
        one.model_copy(update={"metrics": {**one.metrics, "recall@5": share}})
        for one, share in zip(rows(figures, name), recall, strict=True)
    ]


def stated(n: int, *, rise: int, full: int = 0) -> Hypothesis:
    """`n` questions that linear answers poorly; of `full` it has all gold already."""
    before = [1.0] * full + [0.5] * (n - full)
    after = [1.0] * (full + rise) + [0.5] * (n - full - rise)
    return rises_where_poor(
        {
            "linear": recalled("linear", [0.0] * n + [1.0] * 30, before + [0.0] * 30),
            "corrective": recalled("corrective", [0.0] * n + [1.0] * 30, after + [1.0] * 30),
        }
    )


@pytest.mark.parametrize(
    ("rise", "verdict"), [(100, "supported"), (75, "undecided"), (20, "not supported")]
)
def test_the_claim_as_it_was_first_stated(rise: int, verdict: str) -> None:
    found = stated(100, rise=rise)
    assert (found.verdict, found.numbers["rose"]) == (verdict, rise)
    assert found.numbers["questions"] == 100
    assert "any other" in found.why


def test_gold_that_is_there_already_cannot_rise() -> None:
    found = stated(40, rise=10, full=20)
    assert found.numbers["share"] == 0.25
    assert found.numbers["share_of_those_that_could"] == 0.5
    assert "50.0%" in found.why


def test_too_few_poor_answers_test_nothing() -> None:
    assert stated(19, rise=19).verdict == "not tested"
    assert "it takes 20" in stated(19, rise=19).why
    assert rises_where_poor({"linear": rows([0.0], "linear")}).verdict == "not tested"


def by_name(found: Sequence[Criterion]) -> dict[str, Criterion]:
    return {one.name: one for one in found}


def test_the_bars_that_were_set() -> None:
    linear = recalled("linear", [1.0] * 80 + [0.0] * 20, [0.9] * 100)
    more: dict[str, Any] = {"seconds": 2.0}
    corrective = [
        one.model_copy(
            update={
                **more,
                "configuration": "corrective",
                "retries": int(at < 8 or at > 90),
                "metrics": {**one.metrics, "recall@5": 0.98, "faithfulness": 1.0},
            }
        )
        for at, one in enumerate(linear)
    ]
    found = by_name(criteria({"linear": linear, "corrective": corrective}))
    assert {name: one.met for name, one in found.items()} == {
        "recall@5": True,
        "faithfulness": True,
        "success": False,
        "seconds, 95 of 100": False,
        "asked again though linear is right": True,
    }
    assert found["seconds, 95 of 100"].value == pytest.approx(2.0)
    again = found["asked again though linear is right"]
    assert (again.value, again.n) == (0.1, 80)
    assert "verbatim" in found["faithfulness"].why
    written = [one.model_copy(update={"method": "generative"}) for one in corrective]
    assert "verbatim" not in by_name(criteria({"corrective": written}))["faithfulness"].why


def test_what_cannot_be_measured_is_neither_met_nor_missed() -> None:
    assert criteria({"linear": rows([1.0], "linear")}) == ()
    found = by_name(criteria({"corrective": rows([1.0], "corrective")}))
    assert found["recall@5"].met is None
    assert found["seconds, 95 of 100"].met is None
    assert found["asked again though linear is right"].met is None


def test_retries_on_what_the_base_gets_right() -> None:
    base = rows([1.0] * 6 + [0.0] * 4)
    other = [
        one.model_copy(update={"configuration": "other", "retries": int(at in {0, 1, 9})})
        for at, one in enumerate(base)
    ]
    found = compare(base, other)
    assert (found.right_in_base, found.asked_again) == (6, 2)


def test_every_smaller_number_of_rewrites_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.WORKFLOWS, "corrective", Workflow("corrective", "corrects"))
    plan = capped_plan(settings_of(corrective={"max_rewrites": 2}), {"search.rerank": True})
    assert [one.changes[MAX_REWRITES] for one in plan] == [0, 1]
    assert all(one.changes["search.rerank"] is True for one in plan)
    assert capped_plan(settings_of(corrective={"enable_rewriting": False}), {}) == []
    monkeypatch.delitem(registry.WORKFLOWS, "corrective")
    assert capped_plan(settings_of(), {}) == []


def capped(*successes: int, n: int = 400) -> dict[str, list[Row]]:
    """So many successes with at most 0, 1, ... rewrites."""
    names = [f"corrective, at most {at} rewrites" for at in range(len(successes) - 1)]
    return {
        name: rows([1.0] * right + [0.0] * (n - right), name)
        for name, right in zip([*names, "corrective"], successes, strict=True)
    }


def test_the_fewest_rewrites_that_lose_nothing() -> None:
    found = caps(capped(300, 340, 360, 360), most=3)
    assert [one.rewrites for one in found] == [0, 1, 2, 3]
    assert recommended(found) == 2
    assert found[0].success_lost is not None
    assert found[0].success_lost.difference == pytest.approx(-0.15)
    assert found[-1].success_lost is None
    assert recommended(caps(capped(300, 340, 350, 360), most=3)) == 3
    assert recommended(caps({"corrective": rows([1.0], "corrective")}, most=3)) is None
    assert caps({"linear": rows([1.0])}, most=3) == ()


def test_what_each_query_brought() -> None:
    steps = [
        Step(node="grade", said="", numbers={"query": "deep berth", "relevant": 1, "new": 20}),
        Step(node="grade", said="", numbers={"query": "berth metres", "relevant": 3, "new": 4}),
    ]
    found = tried(
        "How deep is the berth?",
        ["deep berth", "berth metres", "boats"],
        steps,
        after={"deep berth": ["a", "b"], "berth metres": ["a", "a", "b", "c", "d", "gold"]},
        gold={"gold": 1, "other": 1},
    )
    assert [one.recall for one in found] == [0.0, 0.5, None]
    assert [one.relevant for one in found] == [1, 3, None]
    assert [one.new for one in found] == [20, 4, None]
    assert [one.words_kept for one in found] == [1.0, 0.5, 0.0]
    assert words_kept("?", "anything") is None


def test_queries_are_compared_on_the_runs_that_came_to_them() -> None:
    runs = [
        (Tried(query="a", recall=1.0),),
        (Tried(query="a", recall=0.0, new=20), Tried(query="b", recall=0.5, new=2)),
        (Tried(query="a", recall=0.5), Tried(query="b", recall=0.5, words_kept=0.5)),
    ]
    asked = [row(f"q{at}", tried=run) for at, run in enumerate(runs)]
    first, second = attempts(asked)
    assert (first.runs, first.recall) == (3, 0.5)
    assert (second.runs, second.recall, second.recall_first) == (2, 0.5, 0.25)
    assert (second.new, second.words_kept, second.relevant) == (2.0, 0.5, None)
    assert attempts(asked[:1]) == ()
    assert attempts([]) == ()


PASSAGE = Passage(
    id="d.0", document="d", sha256="0" * 64, title="Survey", text="Berth 4. " * 99, start=0, end=9
)
SEEN = SeenPassage(
    id="d.0", document="d", title="Survey", page=3, start=0, end=9, score=1.0, rerank_score=1.25,
    grade="relevant", answers=False, graded_by="reader", kept=True, why="among the best",
)  # fmt: skip


class OneShelf:
    def passages(self, ids: Sequence[str]) -> dict[str, Passage]:
        return {name: PASSAGE for name in ids if name == PASSAGE.id}


class NoTruth:
    def metrics(self, *_: Any, **__: Any) -> dict[str, float]:
        return {}


def rowed(**changes: Any) -> Row:
    """The row of a run that asked twice and found one passage."""
    answer = Answer(
        run="r", question="How deep?", asked="How deep is berth 4?", workflow="corrective",
        method="none", text="I don't know.", status="abstained", stop_reason="attempts_exhausted",
        queries=("How deep is berth 4?", "=berth 4"), passages=(SEEN,), attempts=2,
        created="now", version="1", **changes,
    )  # fmt: skip
    seen = Seen()
    web = SEEN.model_copy(update={"document": "web", "id": "w"})
    seen.take(PassagesFound(run="r", at=0.0, query="How deep is berth 4?", passages=(web,)))
    seen.take(PassagesFound(run="r", at=0.0, query="=berth 4", passages=(SEEN,)))
    seen.take(Answered(run="r", at=0.0, answer=answer))
    shelf: Any = OneShelf()
    truth: Any = NoTruth()
    maker = RowMaker("corrective", {"d": ("survey.pdf",)}, shelf, truth)
    case = Case("q", "How deep?", ("7 m",), {"survey.pdf": 1})
    return maker.row(case, seen, repeat=0, seconds=1.0, saved=Saved())


def test_a_row_tells_who_graded_and_what_each_query_brought() -> None:
    found = rowed(needs_review=True)
    assert (found.graded, found.graded_by) == (((1, True),), ("reader",))
    assert [one.recall for one in found.tried] == [0.0, 1.0]
    assert (found.retries, found.needs_review, found.sent_back) == (1, True, False)
    (best,) = found.best
    assert (best.document, best.page, best.grade, len(best.text)) == (
        "survey.pdf", 3, "relevant", 400,
    )  # fmt: skip
    assert rowed().best == ()


@pytest.mark.parametrize(
    ("node", "to", "verdict", "back"),
    [
        ("check_useful", "rewrite", None, True),
        ("check_grounded", "answer", None, True),
        ("check_grounded", "check_useful", None, False),
        ("grade_answer", "finish", "no", True),
        ("grade_answer", "finish", "yes", False),
        ("grade", "rewrite", None, False),
    ],
)
def test_an_answer_that_a_check_refused(node: str, to: str, verdict: str, *, back: bool) -> None:
    way = Step(node=node, said="", numbers={"verdict": verdict}, route=Route(to=to, why="so"))
    assert rowed(steps=(way,)).sent_back is back


def reviewed(tmp_path: Path, *found: Row) -> list[dict[str, str]]:
    report.write(Results(rows=found), tmp_path)
    file = tmp_path / review.FILE
    if not file.exists():
        return []
    return list(csv.DictReader(io.StringIO(file.read_bytes().decode(), newline="")))


def test_the_review_sheet_has_what_a_person_needs(tmp_path: Path) -> None:
    (line,) = reviewed(tmp_path, rowed(needs_review=True), row("fine"))
    assert line["question"] == "How deep?"
    assert line["queries"] == "How deep is berth 4?; =berth 4"
    assert line["grades"] == "1 of 1 about the question by reader"
    assert line["best_passages"].startswith("Survey, p. 3 [relevant, 1.25]: Berth 4. Berth 4.")
    assert (line["status"], line["stop_reason"]) == ("abstained", "attempts_exhausted")
    assert reviewed(tmp_path, row("fine")) == []  # that of the earlier run is gone


def test_a_review_sheet_carries_nothing_out(tmp_path: Path) -> None:
    odd = row("q", question="=1+1", needs_review=True, best=(
        Looked(document="d", title="@d", grade="not graded", answers=True, text="x"),
    ))  # fmt: skip
    (line,) = reviewed(tmp_path, odd)
    assert line["question"] == "'=1+1"
    assert line["best_passages"] == "'@d [answers it]: x"
    assert line["grades"] == ""


def test_the_report_shows_bars_caps_queries_and_what_to_review() -> None:
    given = capped(300, 360, n=400)
    linear = rows([1.0] * 400, "linear")
    corrective = [
        one.model_copy(update={"retries": 1, "needs_review": at < 2})
        for at, one in enumerate(given["corrective"])
    ]
    found = caps(given, most=1)
    made = Results(
        criteria=criteria({"linear": linear, "corrective": corrective}),
        caps=found,
        recommended_rewrites=recommended(found),
        comparisons=(compare(linear, corrective),),
        rows=(*linear, *corrective),
    )
    page = as_html(made, ()).decode()
    for told in ("Criteria", "Rewrites allowed", "max_rewrites = 1", "To be reviewed",
                 "Asked again though the base is right", "2 answers should be"):  # fmt: skip
        assert told in page
    assert "not met" in page
    shown = [getattr(part, "plain", "") for part in tables(made)]
    assert {"Criteria", "Rewrites allowed"} <= set(shown)


def test_results_of_an_earlier_form_are_read(tmp_path: Path) -> None:
    """They know nothing of reviews, graders or queries."""
    made = Results(rows=(row("q", graded=((1, True),)),)).model_dump(mode="json")
    for name in ("criteria", "caps", "recommended_rewrites"):
        del made[name]
    for name in ("graded_by", "grounded", "useful", "sent_back", "needs_review", "queries",
                 "tried", "best"):  # fmt: skip
        del made["rows"][0][name]
    (tmp_path / "results.json").write_text(json.dumps(made), encoding="utf-8")
    (found,) = results.read(tmp_path).rows
    assert (found.graded, found.graded_by, found.needs_review) == (((1, True),), (), False)
