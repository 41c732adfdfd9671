"""Sets of lines: what is read, and what becomes of every row that cannot be."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import strategies as st

from secondlook.evaluation.datasets import load
from secondlook.evaluation.datasets.evalset import describe
from tests.support.eval_sets import CORPUS, QUERIES, lines_set, told

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("end", ["", ".gz"])
def test_questions_and_passages_are_read(tmp_path: Path, end: str) -> None:
    data = load(lines_set(tmp_path / "harbours", end=end))
    assert (data.name, data.form, data.problems, data.notes) == ("harbours", "lines", (), ())
    first, second, third = data.cases
    assert (first.id, first.question) == ("q1", "When was the north quay built?")
    assert (first.answers, first.gold, first.answerable) == (("1931",), {"p1": 1}, True)
    assert (second.id, second.answers, second.answerable) == ("2", (), False)
    assert not second.scored
    assert (third.gold, third.type) == ({"3": 1, "p2": 1}, "bridge")
    assert third.answers == ("oak", "oak wood")
    texts = list(data.texts())
    assert [(text.name, text.title, text.text) for text in texts] == [
        ("p1", "North quay", "The north quay was built in 1931."),
        ("p2", "Cape Varn", "The light at Cape Varn was lit in 1868."),
        ("3", None, "Tolham has a weir of oak."),
    ]
    assert data.passages == data.document_count == 3
    assert list(data.texts()) == texts, "read again, not used up"


def test_multiple_choice(tmp_path: Path) -> None:
    choices = {"A": "oak", "B": "stone"}
    rows = [
        {"id": 1, "question": "Of what?", "choices": choices, "choice": "B", "answers": ["stone"]},
        {"id": 2, "question": "Of what?", "choices": choices},
        {"id": 3, "question": "Of what?", "choices": choices, "choice": "C"},
        {"id": 4, "question": "Of what?", "choice": "A"},
        {"id": 5, "question": "Of what?", "choices": ["oak", "stone"]},
        {"id": 6, "question": "Of what?", "choices": {"A": 1}},
    ]
    data = load(lines_set(tmp_path, queries=rows))
    assert [(case.id, case.choice) for case in data.cases] == [("1", "B"), ("2", None)]
    assert data.cases[0].choices == choices
    assert told(data) == [
        ("queries.jsonl", 3, "choice 'C' is none of the choices"),
        ("queries.jsonl", 4, "choice 'A' is none of the choices"),
        ("queries.jsonl", 5, "choices must be a valid dictionary"),
        ("queries.jsonl", 6, "choices.A must be text"),
    ]


BROKEN_QUERIES: list[tuple[object, str]] = [
    ("{not json", "not JSON: Expecting property name enclosed in double quotes at column 2"),
    (b'{"id": "\xff"}', "not UTF-8 at byte 9 of the line"),
    ("[1, 2]", "not a JSON object but [1, 2]"),
    ("{}", "an empty object"),
    ("[" * 100_000, "not JSON that can be read: RecursionError"),
    ({"question": "Who?"}, "id is missing"),
    ({"id": True, "question": "Who?"}, "id must be text"),
    ({"id": "x", "question": "\n "}, "question is empty"),
    ('{"id": "x", "question": "\\ud800?"}', "question must be text"),
    ({"id": "x", "question": "Who?", "answers": [1931]}, "answers.0 must be text"),
    ({"id": "x", "question": "Who?", "answerable": "no"}, "answerable must be true or false"),
    ({"id": "q1", "question": "Who?"}, "id of another at line 1, with the id 'q1'"),
    (QUERIES[0], "the same question as line 1, with the id 'q1'"),
]


@pytest.mark.parametrize(("row", "reason"), BROKEN_QUERIES)
def test_a_broken_question_costs_its_row_alone(tmp_path: Path, row: object, reason: str) -> None:
    rows = [QUERIES[0], "", row, QUERIES[1]]
    data = load(lines_set(tmp_path, queries=rows))
    assert [case.id for case in data.cases] == ["q1", "2"]
    assert told(data) == [("queries.jsonl", 3, reason)]


BROKEN_PASSAGES: list[tuple[object, str]] = [
    ("{", "not JSON: Expecting property name enclosed in double quotes at column 2"),
    ({"id": "p4", "title": "A"}, "text is missing"),
    ({"id": "p1", "text": "another"}, "id 'p1' is that of line 1 already"),
]


@pytest.mark.parametrize(("row", "reason"), BROKEN_PASSAGES)
def test_a_broken_passage_costs_its_row_alone(tmp_path: Path, row: object, reason: str) -> None:
    data = load(lines_set(tmp_path, corpus=[*CORPUS, row]))
    assert told(data) == [("corpus.jsonl", 4, reason)]
    assert [text.name for text in data.texts()] == ["p1", "p2", "3"]
    assert data.passages == 3


@pytest.mark.parametrize("name", ["corpus", "queries"])
def test_a_truncated_archive_gives_what_it_holds(tmp_path: Path, name: str) -> None:
    many = [{"id": n, "text": f"passage {n * n}", "question": f"{n * n}?"} for n in range(5000)]
    lines_set(tmp_path, corpus=many, queries=many, end=".gz")
    file = tmp_path / f"{name}.jsonl.gz"
    file.write_bytes(file.read_bytes()[:-2000])
    data = load(tmp_path)
    kept = data.passages if name == "corpus" else len(data.cases)
    assert 1000 < kept < 5000
    (problem,) = data.problems
    assert (problem.file, problem.line) == (file.name, kept + 1)
    assert problem.reason.startswith("the compressed file is damaged from here on")


def test_fingerprint_follows_what_is_indexed(tmp_path: Path) -> None:
    plain = load(lines_set(tmp_path / "plain"))
    packed = load(lines_set(tmp_path / "packed", end=".gz", queries=QUERIES[:1]))
    assert plain.fingerprint == packed.fingerprint
    asked = [describe(data)["questions_fingerprint"] for data in (plain, packed)]
    assert asked[0] != asked[1]
    respelt = [json.dumps(dict(reversed(row.items()))) for row in CORPUS]
    assert load(lines_set(tmp_path / "b", corpus=respelt)).fingerprint == plain.fingerprint
    # The same characters, divided otherwise between the fields.
    moved = [{**CORPUS[0], "title": "North quayT", "text": "he north quay was built in 1931."}]
    changed = load(lines_set(tmp_path / "c", corpus=[*moved, *CORPUS[1:]]))
    assert changed.fingerprint != plain.fingerprint


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.just("p1"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=3,
)
_NAMES = ("id", "question", "answers", "gold", "answerable", "choices", "choice", "type", "text")
_ROWS = st.fixed_dictionaries({}, optional=dict.fromkeys(_NAMES, _VALUES))
_LINES = st.one_of(_ROWS, st.sampled_from([*QUERIES, *CORPUS]), st.binary(max_size=12))
