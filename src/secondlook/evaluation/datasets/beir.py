"""Sets as the BEIR collection publishes them: corpus, queries, and judgements in `qrels/`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from secondlook.errors import UsageError
from secondlook.evaluation.datasets import fields
from secondlook.evaluation.datasets.evalset import EvalSet
from secondlook.evaluation.datasets.fields import Malformed
from secondlook.evaluation.datasets.gathering import Gathering
from secondlook.evaluation.datasets.jsonlines import numbered_lines, objects
from secondlook.evaluation.datasets.passages import Corpus, read_passages, read_texts
from secondlook.evaluation.records import Case, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ID_FIELD = "_id"
JUDGEMENTS = "qrels"
_PREFERRED = ("test", "dev", "train")
_COLUMNS = 3


@dataclass(slots=True)
class _Judgements:
    file: str
    lines: dict[str, int] = field(default_factory=dict)
    """Where each query is judged first."""
    gold: dict[str, dict[str, int]] = field(default_factory=dict)
    """Of each query with a relevant passage: grades of those that are in the corpus."""


def read_beir(folder: Path, *, corpus: Path, queries: Path, split: str | None) -> EvalSet:
    chosen = _chosen_split(folder, split)
    problems: list[Problem] = []
    known = Corpus.survey(read_passages(corpus, problems, id_field=ID_FIELD))
    judged = _read_judgements(folder / JUDGEMENTS / f"{chosen}.tsv", known, problems)
    cases, notes = _cases(queries, judged, problems)
    return EvalSet(
        name=folder.name,
        path=folder,
        form="beir",
        cases=cases,
        problems=tuple(problems),
        fingerprint=known.fingerprint,
        passages=len(known.ids),
        split=chosen,
        notes=(*known.notes, *notes),
        read_texts=partial(read_texts, corpus, ID_FIELD),
    )


def _chosen_split(folder: Path, split: str | None) -> str:
    there = sorted(path.stem for path in (folder / JUDGEMENTS).glob("*.tsv"))
    wanted = _PREFERRED if split is None else (split,)
    for name in wanted:
        if name in there:
            return name
    if split is None and len(there) == 1:
        return there[0]
    lacking = f"the split {split!r}" if split else "test, dev or train"
    listed = ", ".join(f"{name}.tsv" for name in there) or "nothing"
    raise UsageError(
        f"{str(folder)!r} has no judgements of {lacking}",
        hint=f"in {JUDGEMENTS}/ there is: {listed}",
    )


def _read_judgements(path: Path, corpus: Corpus, problems: list[Problem]) -> _Judgements:
    judged = _Judgements(f"{JUDGEMENTS}/{path.name}")
    gathering = Gathering(judged.file, problems)
    seen: dict[tuple[str, str], int] = {}
    for line, query, document, grade in _judgements(path, gathering):
        judged.lines.setdefault(query, line)
        if seen.setdefault((query, document), grade) != grade:
            gathering.tell(line, f"{document!r} was given another grade for {query!r} before")
        elif grade > 0:
            found = gathering.findable({document: grade}, corpus, line=line)
            judged.gold.setdefault(query, {}).update(found)
    return judged


def _judgements(path: Path, gathering: Gathering) -> Iterator[tuple[int, str, str, int]]:
    for line, data in numbered_lines(path, gathering.file, gathering.problems):
        try:
            if data.strip() and not (line == 1 and _is_header(data)):
                yield line, *_judgement(data)
        except Malformed as error:
            gathering.tell(line, error.message)


def _is_header(data: bytes) -> bool:
    first, *_, last = data.lower().split(b"\t")
    return b"query" in first and not last.strip().isdigit()


def _judgement(data: bytes) -> tuple[str, str, int]:
    try:
        cells = [cell.strip() for cell in data.decode().split("\t")]
    except UnicodeDecodeError as error:
        raise Malformed(f"not UTF-8 at byte {error.start + 1} of the line") from error
    if len(cells) != _COLUMNS or not all(cells):
        raise Malformed("not three columns with tabs between: query, document, grade")
    query, document, grade = cells
    try:
        return query, document, int(grade)
    except ValueError as error:
        raise Malformed(f"grade {fields.shown(grade)} is no whole number") from error


def _cases(
    path: Path, judged: _Judgements, problems: list[Problem]
) -> tuple[tuple[Case, ...], tuple[str, ...]]:
    gathering = Gathering(path.name, problems)
    unknown, without_gold = dict(judged.lines), 0
    for line, row in objects(path, problems):
        try:
            query = fields.identifier(row, ID_FIELD)
            unknown.pop(query, None)
            if query in judged.gold:
                case = Case(query, fields.filled_text(row, "text"), gold=judged.gold[query])
                gathering.take(case, line=line, where=f"line {line}")
            else:
                without_gold += 1
        except Malformed as error:
            gathering.tell(line, error.message)
    for query, line in unknown.items():
        problems.append(Problem(judged.file, line, f"query {query!r} is not among the queries"))
    return tuple(gathering.cases), _notes(without_gold, judged.file)


def _notes(without_gold: int, file: str) -> tuple[str, ...]:
    if not without_gold:
        return ()
    return (f"{without_gold:,} queries without a relevant passage in {file} are left out",)
