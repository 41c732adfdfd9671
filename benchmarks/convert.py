"""Turns public evaluation sets, as they are published, into the one form that we read.

    python benchmarks/convert.py squad     dev-v2.0.json                 OUT
    python benchmarks/convert.py beir      scifact/ --split train        OUT
    python benchmarks/convert.py hotpot    hotpot_dev_distractor_v1.json OUT
    python benchmarks/convert.py cranfield cran/                         OUT

OUT is a folder that gets `corpus.jsonl.gz` (id, title, text) and `queries.jsonl.gz` (id, question,
answers, gold, answerable). docs/data.md says where each set comes from and under which licence.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_OF_NO_INTEREST = -1
_FIELD = re.compile(r"^\.([A-Z])\s*$")
_RECORD = re.compile(r"^\.I\s+(\d+)\s*$")


class ConversionError(Exception):
    """The source is not what it was said to be."""


@dataclass(frozen=True, slots=True)
class PassageRow:
    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class QueryRow:
    id: str
    question: str
    answers: list[str]
    gold: list[str]
    answerable: bool
    extra: dict[str, Any] = field(default_factory=dict)
    """What a set knows beyond that: where the answer starts, the kind of question."""


@dataclass(frozen=True, slots=True)
class Converted:
    corpus: list[PassageRow]
    queries: list[QueryRow]

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        _write_lines(folder / "corpus.jsonl.gz", map(asdict, self.corpus))
        _write_lines(folder / "queries.jsonl.gz", map(_flat, self.queries))


def convert_squad(source: Path) -> Converted:
    """SQuAD 1.1 and 2.0. A question without an answer keeps the paragraph it seems to be about."""
    corpus: dict[str, PassageRow] = {}
    queries: list[QueryRow] = []
    for article in _read_json(source)["data"]:
        title = article["title"].replace("_", " ")
        for paragraph in article["paragraphs"]:
            passage = _passage(title, paragraph["context"])
            corpus[passage.id] = passage
            queries.extend(_squad_query(row, passage.id) for row in paragraph["qas"])
    return Converted(list(corpus.values()), queries)


def _squad_query(row: dict[str, Any], passage: str) -> QueryRow:
    answers = row["answers"]
    starts = [answer["answer_start"] for answer in answers]
    texts = [answer["text"] for answer in answers]
    answerable = not row.get("is_impossible", False)
    extra = {"answer_starts": starts, "answer_texts": texts}
    distinct = list(dict.fromkeys(texts))
    return QueryRow(row["id"], row["question"].strip(), distinct, [passage], answerable, extra)


def convert_beir(folder: Path, split: str = "test") -> Converted:
    """A set of the BEIR collection: corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv."""
    corpus = [
        PassageRow(str(row["_id"]), row.get("title", ""), row["text"])
        for row in _read_lines(folder / "corpus.jsonl")
    ]
    judged: dict[str, list[str]] = {}
    for query, document, grade in _judgements(folder / "qrels" / f"{split}.tsv"):
        if grade > 0:
            judged.setdefault(query, []).append(document)
    queries = [
        QueryRow(str(row["_id"]), row["text"], [], judged[str(row["_id"])], answerable=True)
        for row in _read_lines(folder / "queries.jsonl")
        if str(row["_id"]) in judged
    ]
    return Converted(corpus, queries)


def _judgements(path: Path) -> Iterator[tuple[str, str, int]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        for row in rows:
            yield row["query-id"], row["corpus-id"], int(row["score"])


def convert_hotpot(source: Path) -> Converted:
    """HotpotQA: the paragraphs of all questions together make the corpus."""
    corpus: dict[str, PassageRow] = {}
    queries = []
    for row in _read_json(source):
        passages = [_passage(title, "".join(lines).strip()) for title, lines in row["context"]]
        corpus.update((passage.id, passage) for passage in passages)
        supporting = {title for title, _ in row["supporting_facts"]}
        gold = [passage.id for passage in passages if passage.title in supporting]
        extra = {key: row[key] for key in ("type", "level") if key in row}
        query = QueryRow(row["_id"], row["question"], [row["answer"]], gold, bool(gold), extra)
        queries.append(query)
    return Converted(list(corpus.values()), queries)


def convert_cranfield(folder: Path) -> Converted:
    """cran.all.1400, cran.qry and cranqrel.

    cranqrel counts queries in the order of cran.qry, whose own numbers have gaps; a grade of -1
    marks references of no interest.
    """
    corpus = [
        PassageRow(number, _joined(fields, "T"), _joined(fields, "W"))
        for number, fields in _records(folder / "cran.all.1400")
    ]
    judged: dict[str, list[str]] = {}
    for line in (folder / "cranqrel").read_text("utf-8").splitlines():
        query, document, grade = line.split()[:3]
        if int(grade) != _OF_NO_INTEREST:
            judged.setdefault(query, []).append(document)
    queries = []
    for position, (_, fields) in enumerate(_records(folder / "cran.qry"), 1):
        gold = judged.get(str(position), [])
        queries.append(QueryRow(str(position), _joined(fields, "W"), [], gold, bool(gold)))
    return Converted(corpus, queries)


def _records(path: Path) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Records of `.I number` followed by fields of one letter, such as .T and .W."""
    number, fields, lines = "", dict[str, list[str]](), list[str]()
    for line in path.read_text("utf-8").splitlines():
        if start := _RECORD.match(line):
            if number:
                yield number, fields
            number, fields = str(int(start[1])), {}
        elif mark := _FIELD.match(line):
            lines = fields.setdefault(mark[1], [])
        elif number:
            lines.append(line)
    if not number:
        raise ConversionError(f"{str(path)!r} holds no records that begin with .I")
    yield number, fields


def _joined(fields: dict[str, list[str]], letter: str) -> str:
    return " ".join(" ".join(fields.get(letter, [])).split())


def _passage(title: str, text: str) -> PassageRow:
    """Named by its content, so that a paragraph that many questions share is kept once."""
    return PassageRow(hashlib.sha256(f"{title}\n{text}".encode()).hexdigest()[:16], title, text)


def _flat(query: QueryRow) -> dict[str, Any]:
    row = asdict(query)
    extra = row.pop("extra")
    return {**row, **extra}


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def _read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def _write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    # No name and no time in the header: the same source gives the same bytes.
    with path.open("wb") as out, gzip.GzipFile("", "wb", fileobj=out, mtime=0) as packed:
        for row in rows:
            packed.write(f"{json.dumps(row, ensure_ascii=False)}\n".encode())


CONVERTERS = {"squad": convert_squad, "hotpot": convert_hotpot, "cranfield": convert_cranfield}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Convert a public set into our form.")
    parser.add_argument("form", choices=[*CONVERTERS, "beir"])
    parser.add_argument("source", type=Path, help="the file or folder as published")
    parser.add_argument("out", type=Path, help="folder for corpus.jsonl.gz and queries.jsonl.gz")
    parser.add_argument("--split", default="test", help="which judgements of a BEIR set")
    given = parser.parse_args(arguments)
    converted = (
        convert_beir(given.source, given.split)
        if given.form == "beir"
        else CONVERTERS[given.form](given.source)
    )
    converted.write(given.out)
    print(f"{len(converted.queries):,} questions, {len(converted.corpus):,} passages: {given.out}")


if __name__ == "__main__":
    main()
