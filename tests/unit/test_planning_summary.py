"""What a planner is told of earlier steps comes from their records, in whole sentences."""

from __future__ import annotations

from typing import Any

from secondlook.nodes.plan import records, told
from secondlook.nodes.state import pending
from tests.support.planning import FIRST, SECOND, done, lost, sentence

TITLES = {"a.0": "Harbour law", "b.0": "Storms\nand piers", "c.0": "Harbour law", "d.0": "Tides"}


def numbered(*steps: Any) -> list[Any]:
    return [{**one, "id": number} for number, one in enumerate(steps, 1)]


def test_each_step_tells_what_it_asked_and_what_came_of_it() -> None:
    plan = numbered(done(FIRST), lost(SECOND, "b.0", "a.0"), pending(3, "Later?", phase="Later"))
    assert told(plan, TITLES) == (
        f"1. Necessity: {FIRST}\n"
        "completed (0.80): Private necessity lets a captain moor in a storm.\n"
        f"2. Necessity: {SECOND}\n"
        "failed (0.21): found no answer, best passages: Storms and piers; Harbour law"
    )


def test_the_best_supported_sentences_come_first_and_refuted_ones_not_at_all() -> None:
    findings = [
        sentence("Weak.", 0.2),
        sentence("Strong.", 0.9),
        sentence("Refuted.", 0.99, supported=False),
        sentence("Unchecked.", None, supported=None),
        sentence("  "),
    ]
    (record,) = records(numbered(done(FIRST, *findings)))
    assert record.endswith(": Strong. Weak. Unchecked.")


def test_no_sentence_is_ever_cut() -> None:
    findings = [
        sentence(f"Finding {number} says that {'very ' * 20}much is owed.", 1 - number / 100)
        for number in range(40)
    ]
    for tokens in (0, 30, 60, 200, 1000):
        (record,) = records(numbered(done(FIRST, *findings)), tokens=tokens)
        said = record.rpartition("): ")[2]
        assert said.count("Finding") == said.count("owed.") >= 1
        assert said.endswith("owed.")
    assert said.count("Finding") > 3


def test_steps_share_the_room() -> None:
    plan = numbered(*(done(FIRST, *[sentence("Something is owed here." * 3)] * 50),) * 3)
    whole = records(plan[:1], tokens=300)[0]
    assert len(records(plan, tokens=300)[0]) < len(whole)
    assert sum(map(len, records(plan, tokens=300))) < 2 * len(whole)


def test_a_failed_step_without_passages_and_one_without_a_draft() -> None:
    assert told(numbered(lost(FIRST))).endswith("failed (0.21): found no answer")
    bare = {**done(FIRST), "draft": None, "confidence": None}
    assert told(numbered(bare)).endswith("completed: found no answer")
    assert told([]) == ""


def test_titles_are_named_once_and_few_of_them() -> None:
    record = told(numbered(lost(FIRST, "c.0", "a.0", "gone", "d.0", "b.0", "e.0")), TITLES)
    assert record.endswith("best passages: Harbour law; Tides; Storms and piers")
