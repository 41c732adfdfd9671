"""Sets as they are published: SQuAD files and BEIR folders."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.convert import convert_beir
from secondlook.errors import UsageError
from secondlook.evaluation.datasets import load
from tests.support.eval_sets import beir_set, told

if TYPE_CHECKING:
    from pathlib import Path


QUAY = "The quay was built in 1931. It was lengthened in 1974."


def _qa(identifier: object, question: object, *answers: str, **more: object) -> dict[str, Any]:
    found = [{"text": text, "answer_start": QUAY.find(text)} for text in answers]
    return {"id": identifier, "question": question, "answers": found, **more}


def _squad(path: Path, *paragraphs: object, **more: object) -> Path:
    article = {"title": "Port_of_Halvermouth", "paragraphs": list(paragraphs)}
    path.write_text(json.dumps({"data": [article], **more}), encoding="utf-8")
    return path


WHOLE = {
    "context": QUAY,
    "qas": [
        _qa("q1", " When was it built?", "1931", "1931", "in 1931"),
        _qa("q2", "Who built it?", is_impossible=True, plausible_answers=[{"text": "1931"}]),
    ],
}


@pytest.mark.parametrize("inside", [False, True])
def test_squad(tmp_path: Path, inside: bool) -> None:
    file = _squad(tmp_path / "dev-v2.0.json", WHOLE, {"context": QUAY, "qas": []}, version="v2.0")
    (tmp_path / "notes.json").write_text('{"data": []}', encoding="utf-8")
    data = load(tmp_path if inside else file)
    assert (data.form, data.problems) == ("squad", ())
    assert data.name == (tmp_path.name if inside else "dev-v2.0")
    (text,) = data.texts()
    assert (text.title, text.text) == ("Port of Halvermouth", QUAY)
    answered, impossible = data.cases
    assert (answered.question, answered.answers) == ("When was it built?", ("1931", "in 1931"))
    assert (impossible.answerable, impossible.answers) == (False, ())
    assert answered.gold == impossible.gold == {text.name: 1}
    assert data.passages == 1


def test_squad_tells_where_a_broken_row_lies(tmp_path: Path) -> None:
    paragraphs = [
        WHOLE,
        "no paragraph",
        {"context": " ", "qas": [_qa("q9", "Why?")]},
        {"context": "Tolham.", "qas": {"id": 1}},
        {
            "context": "Other.",
            "qas": [
                "no question",
                _qa("q3", ""),
                _qa("q1", "Where?"),
                {"id": "q4", "question": "Who?", "answers": [{"answer_start": 1}]},
                _qa("q5", "Who?", " "),
                {"id": "q6", "question": "Which?", "answers": [], "is_impossible": 1},
                _qa("q7", "A good one?", is_impossible=False),
                _qa("q8", "Not built?", "1931", is_impossible=True),
            ],
        },
    ]
    data = load(_squad(tmp_path / "dev.json", *paragraphs))
    assert [case.id for case in data.cases] == ["q1", "q2", "q7", "q8"]
    assert {(file, line) for file, line, _ in told(data)} == {("dev.json", None)}
    last = "data[0].paragraphs[4]"
    assert [problem.reason for problem in data.problems] == [
        "data[0].paragraphs[1]: not an object but 'no paragraph'",
        "data[0].paragraphs[2]: context is empty, which leaves out 1 questions",
        "data[0].paragraphs[3]: qas must be a valid list",
        f"{last}.qas[0]: not an object but 'no question'",
        f"{last}.qas[1]: question is empty",
        f"{last}.qas[3]: answers.0.text is missing",
        f"{last}.qas[5]: is_impossible must be true or false",
        f"{last}.qas[2]: id of another at data[0].paragraphs[0].qas[0], with the id 'q1'",
        f"{last}.qas[4]: an answer is empty",
        f"{last}.qas[7]: it is said to have no answer: the answers given are not used",
    ]
    assert data.passages == sum(1 for _ in data.texts()) == 2


JUDGED = "1\t7\t2\n1\t8\t0\n1\t9\t1\n3\t8\t1\n"


@pytest.mark.parametrize("end", ["", ".gz"])
def test_beir(tmp_path: Path, end: str) -> None:
    data = load(beir_set(tmp_path, judgements=JUDGED, end=end))
    assert (data.form, data.split, data.problems) == ("beir", "test", ())
    assert [(case.id, case.question, case.gold) for case in data.cases] == [
        ("1", "When do spring tides come?", {"7": 2, "9": 1}),
        ("3", "Where does silt settle?", {"8": 1}),
    ]
    assert all(case.answerable and case.answers == () for case in data.cases)
    assert [(text.name, text.title, text.text) for text in data.texts()] == [
        ("7", "Tides", "Spring tides follow the new moon."),
        ("8", None, "Silt settles where the current is slow."),
        ("9", "Only a title", "Only a title"),
    ]
    assert data.notes == (
        "1 passages without text are not indexed",
        "1 queries without a relevant passage in qrels/test.tsv are left out",
    )
    converted = convert_beir(tmp_path)
    assert [row.id for row in converted.corpus] == ["7", "8", "9", "10"]


def test_beir_splits(tmp_path: Path) -> None:
    def split_of(split: str | None = None) -> str | None:
        return load(tmp_path, split=split).split

    beir_set(tmp_path, judgements=JUDGED, split="odd")
    assert split_of() == "odd", "the only one there is"
    beir_set(tmp_path, judgements=JUDGED, split="even")
    with pytest.raises(UsageError, match="no judgements of test, dev or train") as caught:
        load(tmp_path)
    assert caught.value.hint == "in qrels/ there is: even.tsv, odd.tsv"
    for split in ("train", "dev", "test"):
        beir_set(tmp_path, judgements=JUDGED, split=split)
        assert split_of() == split
    assert split_of("train") == "train"
    with pytest.raises(UsageError, match="no judgements of the split 'valid'"):
        load(tmp_path, split="valid")
