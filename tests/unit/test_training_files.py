"""Documents as people keep them, filled in from templates: every answer stands where a row says."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from training.data.chance import chance
from training.data.files import Maker, faults, filled, own_templates, templates
from training.data.rows import Passage, without

if TYPE_CHECKING:
    from pathlib import Path

INVOICE = """=== invoice of a plumber
# Invoice {no:code INV-####}
{firm:firm}, {town:town}
Invoice date :: {day:date}
Due date :: {due:date}

Item | Price
Valve | {p1:money 20-90}
Radiator key | {p2:money 100-900}

[[cash|We do not accept cheques.]] Write to {who:person}.
1. [[s1|Close the main tap]].
2. [[s2|Drain the pipes]].
---
due: When is invoice {no} due? | payment deadline for {no}
p1: price of the valve
no cash: do they take cheques?
list s1 s2: how do I drain it?
none: what is their VAT number?
true due: Invoice {no} is due on {due}.
false cash: A cheque is as good as money.
"""


def made(folder: Path, text: str) -> tuple[list[Passage], Maker]:
    (folder / "some.txt").write_text(text, "utf-8")
    held: dict[Passage, int] = {}

    def keep(passage: Passage) -> int:
        return held.setdefault(passage, len(held))

    maker = Maker(keep, seed=0, times=6, dev_share=0.0, dropped=Counter())
    found = templates([folder / "some.txt"])
    rows = [row for _, row in maker.rows(found)]
    claims = [claim for _, claim in maker.claims(found)]
    passages = list(held)
    assert {row.source for row in rows} == {"files"}
    for row in rows:
        for right in row.positives:
            assert right.span is not None
            assert passages[right.passage].text[slice(*right.span)] == row.answers[0]
        for lost in row.unanswerable:
            rest = without(passages[lost.passage].text, lost.cut)
            if lost.cut:
                assert row.answers[0] not in rest
            elif lost.question:
                assert lost.question != row.question
    by_how: dict[str, set[int]] = {}
    for claim in claims:
        by_how.setdefault(claim.source, set()).add(claim.label)
    assert by_how["files: answer"] == {1}
    assert by_how["files: beside"] == by_how["files: not said"] == {0}
    assert by_how["files: yes or no"] == {0, 1}
    assert by_how["said: true"] == {1}
    assert by_how["said: false"] == by_how["said: another value"] == {0}
    return passages, maker


def test_answers_stand_where_rows_say(tmp_path: Path) -> None:
    passages, _ = made(tmp_path, INVOICE)
    assert len({passage.text for passage in passages}) == 6, "each time other values"


def test_the_label_beside_the_right_one_is_a_wrong_answer(tmp_path: Path) -> None:
    (tmp_path / "some.txt").write_text(INVOICE, "utf-8")
    (template,) = templates([tmp_path / "some.txt"])
    document = filled(template, chance(0, "one"))
    maker = Maker(lambda _: 0, seed=0, times=20, dev_share=0.0, dropped=Counter())
    wrong = [claim.hypothesis for _, claim in maker.claims([template]) if "beside" in claim.source]
    assert document.drawn["due"][0] == document.drawn["day"][0] == "date"
    assert any("due" in one or "deadline" in one for one in wrong)


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ("{due:date}", "{date}", "no 'due' in the document"),
        ("[[cash|", "[[money|", "nobody asks for 'money'"),
        ("payment deadline for {no}", "deadline for {number}", "unknown ['number']"),
        ("We do not accept cheques.]]", "We do not accept cheques.", "is not closed"),
    ],
)
def test_what_is_wrong_with_a_template(tmp_path: Path, was: str, becomes: str, said: str) -> None:
    (tmp_path / "some.txt").write_text(INVOICE.replace(was, becomes), "utf-8")
    (template,) = templates([tmp_path / "some.txt"])
    assert any(said in fault for fault in faults(template))


def test_our_own_templates_are_sound() -> None:
    wrong = [f"{one.name}: {fault}" for one in own_templates() for fault in faults(one)]
    assert not wrong
    assert len(own_templates()) >= 200
