"""The whole preparation on a small data folder: its rows, its bytes, and what it must refuse."""

import json
from collections import Counter
from pathlib import Path

import pytest

import secondlook_weights
from secondlook.reading.weights import read_weights
from tests.support.training_sets import write_sets
from training import prepare
from training.card import facts
from training.data.chance import chance
from training.data.files import Maker, faults, filled, own_templates, templates
from training.data.leakage import Guard
from training.data.report import Leak, report
from training.data.rows import (
    Passage,
    read_claims,
    read_lines,
    read_passages,
    read_questions,
    without,
)
from training.data.sources import SOURCES
from training.data.support import NLI_FILES


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a text of a test set hidden in each training source."""
    return write_sets(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def prepared(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out")
    assert prepare.main(["--data", str(data), "--out", str(out)]) == 0
    return out


def test_spans_say_the_answer_and_negatives_never_hold_it(prepared: Path) -> None:
    passages = read_passages(prepared)
    rows = list(read_questions(prepared)) + list(read_questions(prepared, "dev"))
    assert Counter(row.source for row in rows)["squad"] == 180
    for row in rows:
        for positive in row.positives:
            if positive.span:
                start, end = positive.span
                assert passages[positive.passage].text[start:end] == row.answers[0]
        if row.source == "squad":
            assert 2 <= len(row.negatives) <= 12
            assert row.positives[0].passage not in row.negatives
            texts = [passages[number].text for number in row.negatives]
            assert not any(row.answers[0] in text for text in texts)


def test_unanswerable_rows_do_not_say_the_answer_or_ask_something_else(prepared: Path) -> None:
    passages = read_passages(prepared)
    kinds: Counter[str] = Counter()
    for row in read_questions(prepared):
        for made in row.unanswerable:
            kinds[made.how] += 1
            text = without(passages[made.passage].text, made.cut)
            if made.question:
                assert made.question != row.question
            elif row.source == "squad":
                assert row.answers[0] not in text
    assert {"number changed", "sentence removed", "no such opinion"} <= set(kinds)


def test_held_out_articles_are_in_no_training_row(prepared: Path) -> None:
    passages = read_passages(prepared)
    dev = [row for row in read_questions(prepared, "dev") if row.source == "squad"]
    held = {passages[row.positives[0].passage].title for row in dev}
    assert held
    for row in read_questions(prepared):
        used = {p.passage for p in row.positives} | set(row.negatives)
        used |= {made.passage for made in row.unanswerable}
        assert not held & {passages[number].title for number in used}
    claims = [claim for claim in read_claims(prepared) if claim.passage is not None]
    assert not held & {passages[claim.passage].title for claim in claims if claim.passage}


def test_no_text_of_a_test_set_is_in_it(prepared: Path, data: Path) -> None:
    texts = "".join(
        json.dumps(row) for file in prepared.glob("*.gz") for row in read_lines(file)
    ).lower()
    assert "lisbon" not in texts
    assert "hidden harbour" not in texts
    found = json.loads((prepared / prepare.REPORT_FILE).read_text("utf-8"))
    assert found["texts_of_test_sets"] == 0
    assert found["left_out"]["squad: passage with text of a test set"] == 1
    assert found["left_out"]["squad: question of a test set"] == 1
    assert found["left_out"]["squad: passage left out"] == 1
    assert found["left_out"]["squad: answer not at its place"] == 1
    assert found["left_out"]["snli: text of a test set"] == 1
    assert found["left_out"]["halueval: text of a test set"] == 1
    assert found["left_out"]["hotpot: needs a passage of a test set"] == 1


def test_the_report_stops_where_something_leaks(prepared: Path) -> None:
    guard = Guard()
    guard.forbid_question("Who built mill number 3 in 1803 near the river?")
    guard.forbid(next(iter(read_passages(prepared))).text)
    with pytest.raises(Leak, match="texts of test sets"):
        report(prepared, guard)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(
    data: Path, prepared: Path, tmp_path: Path
) -> None:
    assert prepare.main(["--data", str(data), "--out", str(tmp_path / "same")]) == 0
    assert prepare.main(["--data", str(data), "--out", str(tmp_path / "b"), "--seed", "1"]) == 0
    for file in sorted(prepared.iterdir()):
        assert (tmp_path / "same" / file.name).read_bytes() == file.read_bytes()
    assert (tmp_path / "b" / "qa.jsonl.gz").read_bytes() != (prepared / "qa.jsonl.gz").read_bytes()


# Documents as people keep them, filled in from templates: every answer stands where a row says.

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
    assert not [f"{one.name}: {fault}" for one in own_templates() for fault in faults(one)]
    assert len(own_templates()) >= 200


# The cards that are shipped, and what a card may say.


@pytest.mark.parametrize("model", secondlook_weights.MODELS)
def test_a_card_says_what_the_manifest_says(model: secondlook_weights.ModelName) -> None:
    folder = secondlook_weights.path(model)
    card = (folder / "card.md").read_text("utf-8")
    assert card.startswith(f"# {read_weights(folder).name}, int8\n")
    assert facts(folder) in card
    for heading in ("Intended use", "Limits", "Licence", "Trained on|Made from"):
        assert any(f"## {name}" in card for name in heading.split("|"))


def test_every_source_of_claims_has_its_licence() -> None:
    assert {name.rsplit("_", 1)[0] for name in NLI_FILES} <= SOURCES.keys()
