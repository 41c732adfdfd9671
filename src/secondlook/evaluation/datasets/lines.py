"""The form that public sets are converted to: `corpus.jsonl` and `queries.jsonl`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from secondlook.evaluation.datasets import fields
from secondlook.evaluation.datasets.evalset import EvalSet
from secondlook.evaluation.datasets.fields import Malformed
from secondlook.evaluation.datasets.gathering import Gathering
from secondlook.evaluation.datasets.jsonlines import first_object, objects
from secondlook.evaluation.datasets.passages import Corpus, read_passages, read_texts
from secondlook.evaluation.records import Case, Problem

if TYPE_CHECKING:
    from pathlib import Path

ID_FIELD = "id"
SUBJECT_FIELD = "subject"
TYPE_FIELDS = ("type", "level", "difficulty", SUBJECT_FIELD)
"""Fields by which questions are told apart; the first that is filled counts."""


_NOTHING_TO_SEARCH = (
    "there is no corpus, so that nothing is searched: only what a model knows can answer "
    "(--workflow research --set research.guess=true)"
)


def has_choices(queries: Path) -> bool:
    """Whether the questions can be put to a model without a corpus: those of multiple choice."""
    return bool(first_object(queries).get("choices"))


def read_choices(folder: Path, *, queries: Path) -> EvalSet:
    """Questions of multiple choice without a corpus."""
    problems: list[Problem] = []
    cases = _cases(queries, None, problems)
    return EvalSet(
        name=folder.name,
        path=folder,
        form="lines",
        cases=cases,
        problems=tuple(problems),
        fingerprint=Corpus.survey(()).fingerprint,
        has_corpus=False,
        notes=(_NOTHING_TO_SEARCH,),
    )


def read_lines(folder: Path, *, corpus: Path, queries: Path) -> EvalSet:
    problems: list[Problem] = []
    known = Corpus.survey(read_passages(corpus, problems, id_field=ID_FIELD))
    cases = _cases(queries, known, problems)
    return EvalSet(
        name=folder.name,
        path=folder,
        form="lines",
        cases=cases,
        problems=tuple(problems),
        fingerprint=known.fingerprint,
        passages=len(known.ids),
        notes=known.notes,
        read_texts=partial(read_texts, corpus, ID_FIELD),
    )


def _cases(path: Path, corpus: Corpus | None, problems: list[Problem]) -> tuple[Case, ...]:
    gathering = Gathering(path.name, problems)
    for line, row in objects(path, problems):
        try:
            case = _case(row, gathering, corpus, line)
            gathering.take(case, line=line, where=f"line {line}")
        except Malformed as error:
            gathering.tell(line, error.message)
    return tuple(gathering.cases)


def _case(row: dict[str, Any], gathering: Gathering, corpus: Corpus | None, line: int) -> Case:
    named = [fields.as_identifier(gold, "gold") for gold in fields.optional_list(row, "gold")]
    gold = dict.fromkeys(named, 1)
    choices, choice = _choices(row)
    return Case(
        id=fields.identifier(row, ID_FIELD),
        question=fields.filled_text(row, "question"),
        answers=fields.answers(fields.optional_list(row, "answers")),
        answerable=fields.optional_flag(row, "answerable", default=True),
        type=fields.first_label(row, TYPE_FIELDS),
        subject=fields.first_label(row, (SUBJECT_FIELD,)),
        choices=choices,
        choice=choice,
        gold=gathering.findable(gold, corpus, line=line) if corpus else {},
    )


def _choices(row: dict[str, Any]) -> tuple[dict[str, str] | None, str | None]:
    choices = fields.text_map(row, "choices")
    choice = fields.optional_text(row, "choice") or None
    if choice is not None and choice not in (choices or {}):
        raise Malformed(f"choice {fields.shown(choice)} is none of the choices")
    return choices, choice
