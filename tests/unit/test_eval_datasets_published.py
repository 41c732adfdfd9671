"""Sets as they are published: SQuAD files and BEIR folders."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.convert import convert_beir, convert_squad
from secondlook.errors import UsageError
from secondlook.evaluation.datasets import load
from tests.support.eval_sets import beir_set, told, write_rows

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.evaluation.datasets.evalset import EvalSet

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


def test_squad_compressed_is_the_same_set(tmp_path: Path) -> None:
    file = _squad(tmp_path / "dev.json", WHOLE)
    packed = tmp_path / "dev.json.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    plain, unpacked = load(file), load(packed)
    assert (plain.name, plain.fingerprint, plain.cases) == (
        unpacked.name,
        unpacked.fingerprint,
        unpacked.cases,
    )


def test_squad_names_passages_as_the_converter_does(tmp_path: Path) -> None:
    file = _squad(tmp_path / "dev.json", WHOLE)
    converted = convert_squad(file)
    converted.write(tmp_path / "out")
    published, lines = load(file), load(tmp_path / "out")
    assert lines.fingerprint == published.fingerprint
    assert lines.cases == published.cases


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
        "data[0].paragraphs[3]: qas is an object, not a list",
        f"{last}.qas[0]: not an object but 'no question'",
        f"{last}.qas[1]: question is empty",
        f"{last}.qas[3]: text is missing",
        f"{last}.qas[5]: is_impossible is 1, not true or false",
        f"{last}.qas[2]: id of another at data[0].paragraphs[0].qas[0], with the id 'q1'",
        f"{last}.qas[4]: an answer is empty",
        f"{last}.qas[7]: it is said to have no answer: the answers given are not used",
    ]
    assert data.passages == sum(1 for _ in data.texts()) == 2


def test_squad_loses_only_the_row_that_is_not_utf8(tmp_path: Path) -> None:
    file = _squad(tmp_path / "dev.json", WHOLE, {"context": "Harbour @.", "qas": []})
    file.write_bytes(file.read_bytes().replace(b"@", b"\xff"))
    data = load(file)
    assert len(data.cases) == 2
    assert told(data) == [
        ("dev.json", None, "data[0].paragraphs[1]: context holds a broken character at 8")
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[]", "not in the form of SQuAD"),
        (b'{"data": 7}', "not in the form of SQuAD"),
        (b'{"data": ["x"]}', "data\\[0\\]: not an object but 'x'"),
        (b'{"data": []}', "holds no question that can be used"),
        (gzip.compress(b'{"data": []}')[:-9], "damaged archive"),
    ],
)
def test_what_is_no_squad_file_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "dev.json"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=message):
        load(file)


def test_one_of_several_squad_files_must_be_named(tmp_path: Path) -> None:
    for name in ("dev.json", "train.json"):
        _squad(tmp_path / name, WHOLE)
    with pytest.raises(UsageError, match=r"several SQuAD files: dev\.json, train\.json"):
        load(tmp_path)


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


def test_beir_without_judgements_is_refused(tmp_path: Path) -> None:
    beir_set(tmp_path, judgements="")
    (tmp_path / "qrels" / "test.tsv").unlink()
    (tmp_path / "qrels").rmdir()
    with pytest.raises(UsageError, match="no judgements") as caught:
        load(tmp_path)
    assert caught.value.hint == "in qrels/ there is: nothing"


def test_beir_judgements_that_cannot_be_used(tmp_path: Path) -> None:
    broken = [
        "1\t8\t3\n",  # line 6: graded 0 before
        "1\t7\n",
        "1\t7\tvery\n",
        "3\t77\t1\n",
        "3\t10\t1\n",
        "44\t7\t1\n",
        "44\t8\t1\n",
        "\n",
        "3\t8\t1\n",
    ]
    data = load(beir_set(tmp_path, judgements=JUDGED + "".join(broken)))
    file = "qrels/test.tsv"
    assert told(data) == [
        (file, 6, "'8' was given another grade for '1' before"),
        (file, 7, "not three columns with tabs between: query, document, grade"),
        (file, 8, "grade 'very' is no whole number"),
        (file, 9, "gold '77' is not in the corpus"),
        (file, 10, "gold '10' is a passage without text"),
        (file, 11, "query '44' is not among the queries"),
    ]
    assert data.cases[0].gold == {"7": 2, "9": 1}


def test_beir_without_a_header_and_in_another_encoding(tmp_path: Path) -> None:
    beir_set(tmp_path, judgements="")
    (tmp_path / "qrels" / "test.tsv").write_bytes(b"1\t7\t1\n1\t\xff\t1\n")
    data = load(tmp_path)
    assert data.cases[0].gold == {"7": 1}
    assert told(data) == [("qrels/test.tsv", 2, "not UTF-8 at byte 3 of the line")]


def test_beir_judgements_compressed_and_cut_short(tmp_path: Path) -> None:
    beir_set(tmp_path, judgements="")
    lines = "1\t7\t1\n" * 9 + "3\t9\t1\n"
    (tmp_path / "qrels" / "test.tsv").write_bytes(gzip.compress(lines.encode())[:-9])
    ((file, line, reason),) = told(load(tmp_path))
    assert file == "qrels/test.tsv"
    assert line is not None
    assert reason.startswith("the compressed file is damaged from here on")


def test_beir_questions_that_cannot_be_used(tmp_path: Path) -> None:
    beir_set(tmp_path, judgements=JUDGED + "5\t7\t1\n")
    rows = [
        {"_id": "5", "text": " "},
        {"text": "x"},
        {"_id": 1, "text": "a"},
        {"_id": 1, "text": "b"},
    ]
    write_rows(tmp_path / "queries.jsonl", rows)
    data = load(tmp_path)
    assert [case.id for case in data.cases] == ["1"]
    assert told(data) == [
        ("queries.jsonl", 1, "text is empty"),
        ("queries.jsonl", 2, "_id is missing"),
        ("queries.jsonl", 4, "id of another at line 3, with the id '1'"),
        ("qrels/test.tsv", 5, "query '3' is not among the queries"),
    ]


def test_a_judged_question_without_gold_in_the_corpus_stays(tmp_path: Path) -> None:
    data: EvalSet = load(beir_set(tmp_path, judgements="1\t77\t1\n3\t8\t1\n"))
    assert [case.gold for case in data.cases] == [{}, {"8": 1}]


def test_unreadable_judgements_are_an_error(tmp_path: Path) -> None:
    beir_set(tmp_path, judgements="")
    (tmp_path / "qrels" / "test.tsv").unlink()
    (tmp_path / "qrels" / "test.tsv").mkdir()
    with pytest.raises(UsageError, match="cannot be read"):
        load(tmp_path)
