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
import hashlib
import json
import re
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secondlook.evaluation.datasets.evalset import Passage, objects, read_passages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from secondlook.evaluation.records import Problem

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
    """Rows of the source that are left out."""

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        _write_lines(folder / "corpus.jsonl.gz", (one.model_dump() for one in self.corpus))
        _write_lines(folder / "queries.jsonl.gz", map(_flat, self.queries))


def named_by_content(title: str, text: str) -> Passage:
    """Named by a hash, so that a paragraph that stands in several places is kept once."""
    digest = hashlib.sha256(f"{title}\n{text}".encode()).hexdigest()
    return Passage(id=digest[:16], title=title, text=text)


def convert_squad(source: Path) -> Converted:
    """SQuAD 1.1 and 2.0. A question without an answer keeps the paragraph it seems to be about."""
    corpus: dict[str, Passage] = {}
    queries: list[QueryRow] = []
    for article in _read_json(source)["data"]:
        title = article.get("title", "").replace("_", " ")
        for paragraph in article["paragraphs"]:
            passage = named_by_content(title, paragraph["context"])
            corpus[passage.id] = passage
            for row in paragraph["qas"]:
                texts = [answer["text"] for answer in row["answers"]]
                starts = [answer.get("answer_start") for answer in row["answers"]]
                queries.append(
                    QueryRow(
                        row["id"],
                        row["question"].strip(),
                        list(dict.fromkeys(texts)),
                        [passage.id],
                        not row.get("is_impossible", False),
                        {"answer_starts": starts, "answer_texts": texts},
                    )
                )
    return Converted(list(corpus.values()), queries)


def convert_beir(folder: Path, split: str = "test") -> Converted:
    """A set of the BEIR collection: corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv. Queries
    without a relevant passage are left out."""
    problems: list[Problem] = []
    judgements = folder / "qrels" / f"{split}.tsv"
    if not judgements.is_file():
        raise ConversionError(f"{str(folder)!r} has no judgements of the split {split!r}")
    gold: dict[str, list[str]] = {}
    for line in judgements.read_text("utf-8").splitlines():
        query, document, grade = (cell.strip() for cell in line.split("\t"))
        if grade.isdecimal() and int(grade) > 0:  # the first line names the columns
            gold.setdefault(query, []).append(document)

    def file(name: str) -> Path:
        return next(one for end in ("", ".gz") if (one := folder / f"{name}.jsonl{end}").exists())

    queries = [
        QueryRow(str(row["_id"]), row["text"], [], gold[str(row["_id"])], answerable=True)
        for _, row in objects(file("queries"), problems)
        if str(row["_id"]) in gold
    ]
    corpus = read_passages(file("corpus"), problems, id_field="_id")
    return Converted(list(corpus), queries, tuple(problems))


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
        Passage(id=number, title=_joined(fields, "T"), text=_joined(fields, "W"))
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
