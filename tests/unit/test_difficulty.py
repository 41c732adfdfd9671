"""Questions made to lean on others, and the figures and tables over them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from benchmarks.difficulty import configurations, parsed, resolved, rows_of, stand_alone
from benchmarks.difficulty_making import Made, made_questions
from benchmarks.difficulty_table import markdown, verdict
from secondlook.roles.follow_up import Turn, leans

TEXTS = [
    "The Orrin is a river in Scotland. It rises in the hills. It is long.",
    "The Orrin is a river with salmon. It freezes in winter. It floods the town of Brae.",
]
CORPUS = [{"id": f"p{at}", "title": "River Orrin", "text": text} for at, text in enumerate(TEXTS)]


def query(name: str, question: str, answer: str, *, gold: str = "p0") -> dict[str, Any]:
    return {
        "id": name,
        "question": question,
        "answers": [answer],
        "gold": [gold],
        "answerable": True,
    }


QUERIES = [
    query("d1", "Where does the Orrin rise?", "in the hills"),
    query("d2", "When does the Orrin freeze?", "in winter", gold="p1"),
    query("d3", "What is the Orrin's length?", "long"),
    query("d4", "What is the Orrin salmon like?", "good"),
    query("d5", "How high are the hills?", "high"),
]


def made() -> dict[str, Made]:
    return {one.row["id"]: one for one in made_questions(CORPUS, QUERIES)}


def test_a_name_gives_way_and_a_real_question_goes_before() -> None:
    found = made()
    assert set(found) == {"d1", "d2", "d3"}
    for one in found.values():
        assert one.name == "Orrin"
        assert "Orrin" not in one.question
        assert one.question != one.row["question"]
        others = {row["question"] for row in QUERIES if row["id"] != one.row["id"]}
        assert one.turn.asked in others
        assert one.name in one.turn.asked
    words = {one.word for one in found.values()}
    assert words == {"it", "the river"}


def test_pronouns_are_inflected() -> None:
    pronouns = [one for one in made().values() if one.word == "it"]
    assert pronouns
    for one in pronouns:
        assert leans(one.question)
        assert " it " in one.question or " its " in one.question


def test_parts_of_longer_phrases_stay() -> None:
    assert "d4" not in made()


def test_it_is_the_same_each_time() -> None:
    assert made_questions(CORPUS, QUERIES) == made_questions(CORPUS, QUERIES)


def of_one(word: str = "it", question: str = "When does it freeze?") -> Made:
    turn = Turn("Where does Warsaw lie?", "on a river", "on a river", ("Warsaw",))
    return Made(
        query("q1", "When does Warsaw freeze?", "in winter"), question, word, "Warsaw", turn
    )


def test_levels_share_their_questions(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECONDLOOK_CACHE", str(tmp_path))
    one = of_one()
    alone = asyncio.run(stand_alone([one], {"models.default": "none"}))
    assert alone == {"q1": "When does Warsaw freeze?"}
    questions = {level: rows_of(level, [one], alone)[0] for level in ("easy", "medium", "alone")}
    assert questions["easy"]["question"] == "When does Warsaw freeze?"
    assert questions["alone"]["question"] == "When does it freeze?"
    assert {row["level"] for row in questions.values()} == set(questions)
    assert resolved([one], alone)["pronoun"]["named_again"] == 1
    assert resolved([one], {"q1": one.question})["all"]["named_again"] == 0


def test_a_workflow_can_be_compared_with_itself() -> None:
    found = configurations("linear,linear")
    assert [one.name for one in found] == ["linear", "linear (2)"]
    assert {one.workflow for one in found} == {"linear"}


def test_a_level_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert parsed(["--limit", "3"]).limit == 3
    with pytest.raises(SystemExit):
        parsed(["--levels", "easy,hardest"])
    assert "hardest" in capsys.readouterr().err


def results(difference: float, p: float) -> dict[str, Any]:
    change = {
        "metric": "f1", "part": "all", "other_name": "b", "difference": difference,
        "low": difference - 0.01, "high": difference + 0.01, "p": p,
    }  # fmt: skip
    figures = {name: {"metrics": {"f1": {"value": 0.5}}} for name in ("a", "b")}
    level = {"questions": 9, "configurations": figures, "differences": [change]}
    return {"workflows": ["a", "b"], "levels": {"easy": level}}


def test_the_table_says_what_is_lost() -> None:
    assert "significant loss of f1" in markdown(results(-0.1, 0.001))
    assert "| easy | difference | | - | -10.0 (-11.0 to -9.0) | - |" in markdown(results(-0.1, 0.2))
    assert "no significant loss" in verdict(results(-0.1, 0.2))
    assert "no significant loss" in verdict(results(0.1, 0.001))
    assert "not asked" in verdict({"levels": {}})
