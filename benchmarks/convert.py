"""Turns public evaluation sets, as they are published, into the one form that we read.

    python -m benchmarks.convert squad     dev-v2.0.json                 OUT
    python -m benchmarks.convert beir      scifact/ --split train        OUT
    python -m benchmarks.convert hotpot    hotpot_dev_distractor_v1.json OUT
    python -m benchmarks.convert cranfield cran/                         OUT

OUT is a folder that gets `corpus.jsonl.gz` (id, title, text) and `queries.jsonl.gz` (id, question,
answers, gold, answerable). docs/data.md says where each set comes from and under which licence.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secondlook.evaluation.datasets import load
from secondlook.evaluation.datasets.evalset import Passage, read_passages
from secondlook.evaluation.datasets.public import BEIR_ID_FIELD as BEIR_ID
from secondlook.evaluation.datasets.public import SquadQuestion, named_by_content, paragraphs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from secondlook.evaluation.records import Problem

CORPUS_FILES = ("corpus.jsonl", "corpus.jsonl.gz")
_OF_NO_INTEREST = -1
_FIELD = re.compile(r"^\.([A-Z])\s*$")
_RECORD = re.compile(r"^\.I\s+(\d+)\s*$")


class ConversionError(Exception):
    """The source is not what it was said to be."""


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
    corpus: list[Passage]
    queries: list[QueryRow]
    problems: tuple[Problem, ...] = ()
    """Rows of the source that are left out, or parts of them."""

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        _write_lines(folder / "corpus.jsonl.gz", map(asdict, self.corpus))
        _write_lines(folder / "queries.jsonl.gz", map(_flat, self.queries))


def convert_squad(source: Path) -> Converted:
    """SQuAD 1.1 and 2.0. A question without an answer keeps the paragraph it seems to be about."""
    problems: list[Problem] = []
    corpus: dict[str, Passage] = {}
    queries: list[QueryRow] = []
    for paragraph in paragraphs(source, problems):
        corpus[paragraph.passage.id] = paragraph.passage
        queries.extend(_squad_query(row, paragraph.passage.id) for row in paragraph.questions)
    return Converted(list(corpus.values()), queries, tuple(problems))


def _squad_query(row: SquadQuestion, passage: str) -> QueryRow:
    texts = [span.text for span in row.spans]
    extra = {"answer_starts": [span.start for span in row.spans], "answer_texts": texts}
    distinct = list(dict.fromkeys(texts))
    return QueryRow(row.id, row.question, distinct, [passage], row.answerable, extra)


def convert_beir(folder: Path, split: str = "test") -> Converted:
    """A set of the BEIR collection: corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv."""
    data = load(folder, split=split)
    queries = [
        QueryRow(case.id, case.question, [], list(case.gold), answerable=True)
        for case in data.cases
    ]
    file = next(file for name in CORPUS_FILES if (file := folder / name).exists())
    corpus = read_passages(file, [], id_field=BEIR_ID)
    return Converted(list(corpus), queries, data.problems)


def convert_hotpot(source: Path) -> Converted:
    """HotpotQA: the paragraphs of all questions together make the corpus."""
    corpus: dict[str, Passage] = {}
    queries = []
    for row in _read_json(source):
        passages = [
            named_by_content(title, "".join(lines).strip()) for title, lines in row["context"]
        ]
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
        Passage(number, _joined(fields, "T"), _joined(fields, "W"))
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


def _flat(query: QueryRow) -> dict[str, Any]:
    row = asdict(query)
    extra = row.pop("extra")
    return {**row, **extra}


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


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
    for problem in converted.problems:
        place = problem.file if problem.line is None else f"{problem.file}, line {problem.line}"
        print(f"{place}: {problem.reason}", file=sys.stderr)
    print(f"{len(converted.queries):,} questions, {len(converted.corpus):,} passages: {given.out}")


if __name__ == "__main__":
    main()
