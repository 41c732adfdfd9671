"""Converters, each on a few rows written by hand in the form in which the set is published."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest  # noqa: TC002

from benchmarks.convert import convert_beir, convert_squad, main

if TYPE_CHECKING:
    from pathlib import Path

QUAY = "The quay was built in 1931. It was lengthened in 1974."
SQUAD = {
    "version": "v2.0",
    "data": [
        {
            "title": "Port_of_Halvermouth",
            "paragraphs": [
                {
                    "context": QUAY,
                    "qas": [
                        {
                            "id": "q1",
                            "question": " When was the quay built?",
                            "is_impossible": False,
                            "answers": [
                                {"text": "1931", "answer_start": 22},
                                {"text": "1931", "answer_start": 22},
                                {"text": "in 1931", "answer_start": 19},
                            ],
                        },
                        {
                            "id": "q2",
                            "question": "Who built the quay?",
                            "is_impossible": True,
                            "answers": [],
                            "plausible_answers": [{"text": "1931", "answer_start": 22}],
                        },
                    ],
                },
                {"context": QUAY, "qas": []},
            ],
        }
    ],
}


def _json(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_squad(tmp_path: Path) -> None:
    made = convert_squad(_json(tmp_path / "dev-v2.0.json", SQUAD))
    (passage,) = made.corpus
    assert (passage.title, passage.text) == ("Port of Halvermouth", QUAY)
    answered, impossible = made.queries
    assert answered.question == "When was the quay built?"
    assert answered.answers == ["1931", "in 1931"]
    assert answered.extra["answer_starts"] == [22, 22, 19]
    for start, text in zip(*answered.extra.values(), strict=True):
        assert passage.text[start : start + len(text)] == text
    assert (impossible.answerable, impossible.answers) == (False, [])
    assert impossible.gold == [passage.id]


def _beir(folder: Path) -> Path:
    (folder / "qrels").mkdir()
    documents = [{"_id": "7", "title": "A", "text": "tides"}, {"_id": "8", "text": "silt"}]
    queries = [{"_id": "1", "text": "claim"}, {"_id": "2", "text": "not judged"}]
    for name, rows in (("corpus", documents), ("queries", queries)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines + "\n", encoding="utf-8")
    judged = "query-id\tcorpus-id\tscore\n1\t8\t1\n1\t7\t0\n"
    (folder / "qrels" / "train.tsv").write_text(judged, encoding="utf-8")
    return folder


def test_beir(tmp_path: Path) -> None:
    made = convert_beir(_beir(tmp_path), "train")
    assert [(row.id, row.title) for row in made.corpus] == [("7", "A"), ("8", "")]
    (query,) = made.queries
    assert (query.id, query.question, query.gold) == ("1", "claim", ["8"])


def test_command_writes_the_form_the_same_each_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = _json(tmp_path / "squad.json", SQUAD)
    for name in ("one", "two"):
        main(["squad", str(source), str(tmp_path / name)])
    assert "2 questions, 1 passages" in capsys.readouterr().out
    for name in ("corpus.jsonl.gz", "queries.jsonl.gz"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    with gzip.open(tmp_path / "one" / "queries.jsonl.gz", "rt", encoding="utf-8") as file:
        row = json.loads(file.readline())
    assert {"id", "question", "answers", "gold", "answerable", "answer_starts"} <= row.keys()
    assert "extra" not in row
