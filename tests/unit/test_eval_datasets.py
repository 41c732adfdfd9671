"""Evaluation sets: what is read of each form, and what becomes of every row that cannot be."""

import codecs
import gzip
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from secondlook.evaluation.datasets import load
from secondlook.evaluation.datasets.evalset import EvalSet, sample
from secondlook.evaluation.records import Case

CORPUS: tuple[dict[str, Any], ...] = (
    {"id": "p1", "title": "North quay", "text": "The north quay was built in 1931."},
    {"id": "p2", "title": "Cape Varn", "text": "The light at Cape Varn was lit in 1868."},
    {"id": 3, "title": "", "text": "Tolham has a weir of oak."},
)
QUERIES: tuple[dict[str, Any], ...] = (
    {"id": "q1", "question": "When was the north quay built?", "answers": ["1931"], "gold": ["p1"]},
    {"id": 2, "question": "Who keeps the light?", "answerable": False, "gold": ["p2"]},
    {"id": "q3", "question": "What is the weir of Tolham made of?", "answers": ["oak", "oak wood"],
     "gold": [3, "p2"], "answerable": True, "type": "bridge", "level": "hard"},
)  # fmt: skip


def as_line(row: object) -> bytes:
    """A row as JSON; bytes and texts stand for themselves, however broken."""
    if isinstance(row, bytes):
        return row
    return (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)).encode()


def write_rows(path: Path, rows: Iterable[object]) -> Path:
    data = b"".join(as_line(row) + b"\n" for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def lines_set(
    folder: Path,
    *,
    corpus: Sequence[object] = CORPUS,
    queries: Sequence[object] = QUERIES,
    end: str = "",
) -> Path:
    write_rows(folder / f"corpus.jsonl{end}", corpus)
    write_rows(folder / f"queries.jsonl{end}", queries)
    return folder


def own_set(folder: Path, table: str | bytes) -> Path:
    for name, text in (
        ("harbour.md", "# Harbour\n\nThe deepest berth has 14.2 metres."),
        ("rules/bakery.txt", "The oven is lit at four."),
        ("rules/Täglich.txt", "Bread is sold from seven."),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "questions.csv").write_bytes(table.encode() if isinstance(table, str) else table)
    return folder


def told(data: EvalSet) -> list[tuple[str, int | None, str]]:
    return [(problem.file, problem.line, problem.reason) for problem in data.problems]


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
    texts = list(data.texts())
    assert [(text.name, text.title, text.text) for text in texts] == [
        ("p1", "North quay", "The north quay was built in 1931."),
        ("p2", "Cape Varn", "The light at Cape Varn was lit in 1868."),
        ("3", None, "Tolham has a weir of oak."),
    ]
    assert data.document_count == 3
    assert list(data.texts()) == texts, "read again, not used up"


BROKEN_QUERIES: list[tuple[object, str]] = [
    ("{not json", "not JSON in UTF-8"),
    (b'{"id": "\xff"}', "not JSON in UTF-8"),
    ("[" * 100_000, "not JSON in UTF-8"),
    ({"question": "Who?"}, "id is missing"),
    ({"id": "x", "question": "Who?", "answers": [1931]}, "answers.0 must be text"),
    ({"id": "q1", "question": "Who?"}, "another question has the id 'q1'"),
]


@pytest.mark.parametrize(("row", "reason"), BROKEN_QUERIES)
def test_a_broken_question_costs_its_row_alone(tmp_path: Path, row: object, reason: str) -> None:
    data = load(lines_set(tmp_path, queries=[QUERIES[0], "", row, QUERIES[1]]))
    assert [case.id for case in data.cases] == ["q1", "2"]
    ((file, line, said),) = told(data)
    assert (file, line) == ("queries.jsonl", 3)
    assert said.startswith(reason)


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


def test_a_sample_is_random_repeatable_and_in_order() -> None:
    cases = [Case(f"q{number}", f"Question {number}?") for number in range(200)]
    drawn = sample(cases, limit=50, seed=1)
    assert len(drawn) == 50
    assert drawn == sample(cases, limit=50, seed=1)
    assert drawn != sample(cases, limit=50, seed=2)
    assert list(drawn) == [case for case in cases if case in drawn]
    assert drawn != tuple(cases[:50])
    more = sample(cases, limit=80, seed=1)
    assert all(case in more for case in drawn), "more keeps what is done"


# A person's own documents with `questions.csv`, as spreadsheets write it.

TABLE = (
    "question,answer,document\n"
    "How deep is the deepest berth?,14.2 metres|14.2 m,harbour.md\n"
    '"When is the oven lit, and when is bread sold?",at four,rules/bakery.txt|täglich.txt\n'
)


def test_documents_and_questions(tmp_path: Path) -> None:
    data = load(own_set(tmp_path / "mine", TABLE))
    assert (data.name, data.form, data.problems) == ("mine", "own", ())
    first, second = data.cases
    assert (first.id, first.question) == ("line-2", "How deep is the deepest berth?")
    assert (first.answers, first.gold) == (("14.2 metres", "14.2 m"), {"harbour.md": 1})
    assert second.gold == {"rules/bakery.txt": 1, "rules/Täglich.txt": 1}
    names = [path.relative_to(data.path).as_posix() for path in data.documents]
    assert names == ["harbour.md", "rules/Täglich.txt", "rules/bakery.txt"]
    assert load(tmp_path / "mine" / "questions.csv") == data


@pytest.mark.parametrize(
    ("encoding", "mark", "separator", "end"),
    [
        ("utf-8", b"", ",", "\n"),
        ("utf-8", codecs.BOM_UTF8, ";", "\r\n"),
        ("utf-16-le", codecs.BOM_UTF16_LE, "\t", "\r\n"),
        ("cp1252", b"", ";", "\r"),
    ],
)
def test_encodings_separators_and_line_ends(
    tmp_path: Path, encoding: str, mark: bytes, separator: str, end: str
) -> None:
    rows = [
        ["Question", "Expected Answer", "Source"],
        ['"Wie tief ist der Hafen; wie, genau?"', "Für große Schiffe täglich zwölf", "harbour.md"],
    ]
    table = "".join(separator.join(row) + end for row in rows)
    data = load(own_set(tmp_path, mark + table.encode(encoding)))
    assert data.problems == ()
    (case,) = data.cases
    assert case.question == "Wie tief ist der Hafen; wie, genau?"
    assert (case.answers, case.gold) == (("Für große Schiffe täglich zwölf",), {"harbour.md": 1})


def test_all_columns(tmp_path: Path) -> None:
    table = (
        "\n"
        "ID;Question;expected;ANSWERABLE;difficulty;gold;remark;\n"
        "a1;How deep?;14.2;Yes;easy;;;\n"
        "a2;How wide?;;no;hard;harbour.md;seen;\n"
        ";How long?;;;;;;\n"
        ";;;;;;;\n"
        "a4;How old?;;\n"
    )
    data = load(own_set(tmp_path, table))
    assert [(c.id, c.answers, c.answerable, c.type, dict(c.gold)) for c in data.cases] == [
        ("a1", ("14.2",), True, "easy", {}),
        ("a2", (), False, "hard", {"harbour.md": 1}),
        ("line-5", (), True, None, {}),
        ("a4", (), True, None, {}),
    ]
    assert data.problems == ()
    (unread, unjudged) = data.notes
    assert unread == "the column 'remark' is not read"
    assert unjudged.startswith("2 questions have no answer to compare with")


def test_rows_that_cannot_be_used_are_named_by_their_first_line(tmp_path: Path) -> None:
    (tmp_path / "film.mp4").write_bytes(b"0000")
    table = (
        "id,question,answer,gold,answerable\n"
        'a,"Two\nlines?",yes,,\n'  # lines 2 and 3
        "b,,lost,,\n"
        "c,How, deep?,14.2,,\n"
        "d,Maybe?,,,perhaps\n"
        "a,Again?,,,\n"
        'e,"Quoted"badly?,,,\n'
        "f,Gold?,14.2,nowhere.md|harbour.md|film.mp4|questions.csv,\n"
        "g,No answer?,some,,no\n"
        'h,"never closed,,,\n'
        "i,The last?,x,./RULES\\bakery.txt,true\n"
    )
    data = load(own_set(tmp_path, table))
    assert [case.id for case in data.cases] == ["a", "f", "g", "i"]
    assert data.cases[0].question == "Two\nlines?"
    assert data.cases[1].gold == {"harbour.md": 1}
    assert (data.cases[2].answers, data.cases[2].answerable) == ((), False)
    assert data.cases[3].gold == {"rules/bakery.txt": 1}
    (film, *rest) = sorted(told(data), key=lambda problem: (problem[1] or 0, problem[2]))
    assert film == ("film.mp4", None, "files of type .mp4 are not supported")
    assert [(line, reason) for _, line, reason in rest] == [
        (4, "question is empty"),
        (5, "6 cells under 5 columns: is a text unquoted?"),
        (6, "answerable is 'perhaps', not yes or no"),
        (7, "another question has the id 'a'"),
        (8, "not a row of a table: ',' expected after '\"'"),
        (9, "document 'film.mp4' is not indexed"),
        (9, "document 'nowhere.md' is not indexed"),
        (9, "document 'questions.csv' is not indexed"),
        (10, "it is said to have no answer: the answers given are not used"),
        (11, "not a row of a table: unexpected end of data"),
    ]
