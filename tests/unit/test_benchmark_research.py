"""What the benchmarks of research make of rows: recall at equal numbers of passages, letters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from benchmarks import multiple_choice_figures as letters
from benchmarks import research_recall
from benchmarks.multiple_choice import Kept
from benchmarks.multiple_choice_asking import Made, named, task_of
from tests.support.engine import settings_of
from tests.support.eval_questions import case as a_case
from tests.support.eval_rows import row

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.evaluation.records import Row


def one_pass(case: str, *ranks: int, **more: Any) -> Row:
    return row(case, None, gold=2, gold_ranks=ranks, shown=20, **more)


def in_steps(case: str, share: float, shown: int, **more: Any) -> Row:
    return row(case, None, gold=2, shown=shown, metrics={"recall_shown": share}, **more)


def test_one_pass_is_cut_where_the_steps_end() -> None:
    deep = one_pass("q", 3, 11)
    assert [research_recall.best(deep, number) for number in (2, 3, 10, 11)] == [0, 0.5, 0.5, 1]


def test_steps_are_held_against_as_many_passages_of_the_same_question() -> None:
    base = [one_pass("q", 1, 8), one_pass("r", 1, 12), one_pass("s", 2)]
    other = [in_steps("q", 1.0, 10), in_steps("r", 1.0, 10), in_steps("s", 0.5, 5)]
    found = research_recall.at_equal_numbers(base, other)
    assert (found["improved"], found["same"], found["degraded"]) == (1, 2, 0)
    assert found["difference"] == round(0.5 / 3, 4)
    assert (found["recall_one_pass"], found["recall_steps"]) == (0.6667, 0.8333)
    assert found["low"] <= found["difference"] <= found["high"]
    assert found["by_type"] == {}


def test_types_are_compared_apart() -> None:
    base = [one_pass("q", 1, 8, type="bridge"), one_pass("r", 1, 12, type="comparison")]
    other = [in_steps("q", 0.5, 10, type="bridge"), in_steps("r", 1.0, 10, type="comparison")]
    found = research_recall.at_equal_numbers(base, other)["by_type"]
    assert {kind: one["difference"] for kind, one in found.items()} == {
        "bridge": -0.5,
        "comparison": 0.5,
    }


def test_one_pass_may_show_as_many_as_the_most_steps() -> None:
    settings = settings_of(answer={"k": 5}, research={"max_cycles": 6})
    found = {one.name: one for one in research_recall.configurations(settings)}
    assert found["deep"].changes == {"answer.k": 30, "search.candidates": 30}
    assert found["wide"].changes["search.looks"] == 30
    assert found["research"].changes == {}


def test_what_is_written_has_a_line_for_each_comparison() -> None:
    rows = {
        name: [in_steps("q", 0.5, 5, gold_ranks=(1,))]
        for name in ("linear", "deep", "wide", "corrective", "research")
    }
    content = research_recall.told(rows)
    assert content["questions"] == 1
    assert content["recall"]["research"]["value"] == 0.5
    assert len(research_recall.table(content).splitlines()) == 2 + len(content["comparisons"]) == 6


# Multiple choice


def made(case: str, letter: str | None, **more: Any) -> dict[str, Any]:
    """The right letter is A."""
    known: dict[str, Any] = {
        "subject": "torts",
        "grounded": True,
        "calls": 1,
        "tokens_in": 9,
        "tokens_out": 1,
        "characters_in": 30,
        "characters_out": 3,
        "seconds": 1.0,
        "gold_shown": None,
    }
    return Made(**{"case": case, "letter": letter, "right": letter == "A", **known, **more}).row


def test_errors_are_those_of_retrieval_or_of_selection() -> None:
    gold = [made("q", "A"), made("r", "B"), made("s", "B"), made("t", "A")]
    research = [made("q", "C"), made("r", None), made("s", "A"), made("t", "A"), made("u", "A")]
    assert letters.errors(gold, research) == {
        "questions": 4,
        "right": 2,
        "retrieval": 1,
        "selection": 1,
        "right_in_spite_of_selection": 1,
    }
    assert letters.errors([], research) is None


def test_conditions_are_compared_on_the_same_questions() -> None:
    rows = {
        "alone": [made("q", "B"), made("r", "A", grounded=False)],
        "research": [
            made("q", "A", calls=4, gold_shown=1.0),
            made("r", None, calls=5, gold_shown=0.0),
            made("s", "A", gold_shown=0.5),
        ],
    }
    found = letters.figures(rows)
    first = found["differences"][0]
    assert (first["base"], first["other"], first["n"]) == ("alone", "research", 2)
    assert (first["improved"], first["degraded"]) == (1, 1)
    joined = found["conditions"][letters.ELSE_ALONE]
    assert joined["accuracy"]["value"] == 1.0
    assert joined["most_calls"] == 6, "research and the guess after it"
    assert joined["ungrounded"] == 1
    research = found["conditions"]["research"]
    assert research["letters"] == {"A": 2, "none": 1}
    assert research["by_subject"]["torts"]["n"] == 3
    assert research["by_subject"]["torts"]["low"] < 2 / 3 < research["by_subject"]["torts"]["high"]
    assert research["gold_shown"] == 0.5
    assert "| research | 0.667" in letters.table(found)
    nothing_searched = [{**one, "gold_shown": None} for one in rows["research"]]
    guessed = letters.figures({**rows, "research": nothing_searched})
    assert letters.ELSE_ALONE not in guessed["conditions"]


def test_flips_are_counted_against_the_most_frequent_letter() -> None:
    rows = [made("q", letter, repeat=at) for at, letter in enumerate("AABAC")]
    rows += [made("r", "B", repeat=at) for at in range(5)]
    found = letters.flips(rows)
    assert (found["questions"], found["repeats"], found["flipping_questions"]) == (2, 5, 1)
    assert found["mean_share_of_other_letters"] == pytest.approx(0.2)


def test_rows_of_a_condition_outlive_an_interruption(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "rows" / "alone.jsonl")
    assert kept.rows() == {}
    kept.add(made("q", "A"))
    kept.add(made("q", "B", repeat=1))
    with kept.file.open("a", encoding="utf-8") as file:
        file.write('{"case": "r", "let')
    kept.add(made("r", "C"))
    assert {key: one["letter"] for key, one in kept.rows().items()} == {
        ("q", 0): "A",
        ("q", 1): "B",
        ("r", 0): "C",
    }


def test_options_are_lettered_from_a_on_and_named_again_as_the_set_does() -> None:
    one = a_case(question="Of what?", choices={"1": "oak", "2": "stone"}, choice="2")
    task = task_of(one, ["Weirs are of stone."])
    assert task.options == {"A": "oak", "B": "stone"}
    assert [sentence["text"] for sentence in task.research] == ["Weirs are of stone."]
    assert [named(one, letter) for letter in ("B", "C", None)] == ["2", None, None]
