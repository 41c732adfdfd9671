"""A person's own documents with `questions.csv`, as spreadsheets write it."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

import pytest

from secondlook.evaluation.datasets import load
from tests.support.eval_sets import own_set, told

if TYPE_CHECKING:
    from pathlib import Path

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
    assert first.answers == ("14.2 metres", "14.2 m")
    assert first.gold == {"harbour.md": 1}
    assert second.gold == {"rules/bakery.txt": 1, "rules/Täglich.txt": 1}
    assert second.question == "When is the oven lit, and when is bread sold?"
    names = [path.relative_to(data.path).as_posix() for path in data.documents]
    assert names == ["harbour.md", "rules/Täglich.txt", "rules/bakery.txt"]
    assert data.document_count == 3
    assert list(data.texts()) == []
    assert load(tmp_path / "mine" / "questions.csv") == data


@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        ("utf-8", b""),
        ("utf-8", codecs.BOM_UTF8),
        ("utf-16-le", codecs.BOM_UTF16_LE),
        ("cp1252", b""),
    ],
)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
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
        "sep=;\n"
        "ID;Question;expected;ANSWERABLE;difficulty;gold;remark;\n"
        "a1;How deep?;14.2;Yes;easy;;;\n"
        "a2;How wide?;;no;hard;harbour.md;seen;\n"
        ";How long?;;;;;;\n"
        ";;;;;;;\n"
        "a4;How old?;;\n"
    )
    data = load(own_set(tmp_path, table))
    found = [(c.id, c.answers, c.answerable, c.type, dict(c.gold)) for c in data.cases]
    assert found == [
        ("a1", ("14.2",), True, "easy", {}),
        ("a2", (), False, "hard", {"harbour.md": 1}),
        ("line-5", (), True, None, {}),
        ("a4", (), True, None, {}),
    ]
    assert data.problems == ()
    (unread, unjudged) = data.notes
    assert unread == "the column 'remark' is not read"
    assert unjudged.startswith("2 questions have no answer to compare with")


def test_a_misspelled_document_is_told_with_what_was_meant(tmp_path: Path) -> None:
    data = load(own_set(tmp_path, "question,answer,document\nHow deep?,14.2,Harbor.md\n"))
    assert told(data) == [
        (
            "questions.csv",
            2,
            "document 'Harbor.md' is not in the folder; did you mean 'harbour.md'?",
        )
    ]
    assert [dict(case.gold) for case in data.cases] == [{}]


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
    assert film == ("film.mp4", None, "not supported: it is video")
    csv = "questions.csv"
    assert rest == [
        (csv, 4, "question is empty"),
        (csv, 5, "6 cells under 5 columns: is a text unquoted?"),
        (csv, 6, "answerable is 'perhaps', not yes or no"),
        (csv, 7, "id of another at line 2, with the id 'a'"),
        (csv, 8, "not a row of a table: ',' expected after '\"'"),
        (csv, 9, "document 'film.mp4' is not indexed: not supported: it is video"),
        (csv, 9, "document 'nowhere.md' is not in the folder"),
        (csv, 9, "document 'questions.csv' is not in the folder"),
        (csv, 10, "it is said to have no answer: the answers given are not used"),
        (csv, 11, "not a row of a table: unexpected end of data"),
    ]


def test_results_of_an_earlier_run_are_no_documents(tmp_path: Path) -> None:
    folder = own_set(tmp_path / "mine", TABLE)
    before = load(folder)
    (folder / "secondlook-eval" / "mine").mkdir(parents=True)
    (folder / "secondlook-eval" / "mine" / "report.html").write_text("<p>All.</p>", "utf-8")
    assert load(folder) == before
    (folder / "results").mkdir()
    (folder / "results" / "report.html").write_text("<p>All answers.</p>", encoding="utf-8")
    assert load(folder).fingerprint != before.fingerprint
    assert load(folder, leave_out=[folder / ".." / "mine" / "results"]) == before
