"""What every form is read into."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from secondlook.evaluation.datasets.tables import TableFile
    from secondlook.evaluation.records import Case, Problem
    from secondlook.library import Text

Form = Literal["lines", "squad", "beir", "own", "tables"]
_PROBLEMS_TOLD = 100
_OF_TABLES = frozenset({"table", "values"})


def _no_texts() -> Iterator[Text]:
    return iter(())


def _no_table(name: str) -> TableFile:
    raise KeyError(name)


@dataclass(frozen=True, slots=True)
class EvalSet:
    """Questions and the documents that they are asked of."""

    name: str
    path: Path
    """Absolute: the folder, or the one file that holds everything."""
    form: Form
    cases: tuple[Case, ...]
    problems: tuple[Problem, ...]
    """Rows that cannot be used, and parts of rows that are not used."""
    fingerprint: str
    """SHA-256 of what gets indexed: names, titles and texts, or names and contents of files. The
    same on every machine, and whether or not a file is compressed."""
    documents: tuple[Path, ...] = ()
    """Of form `own`: the files to add to a library."""
    passages: int = 0
    """Of all other forms: how many documents `texts` yields."""
    has_corpus: bool = True
    """False: questions of multiple choice alone, or over tables, with nothing to search."""
    tables: int = 0
    """Of form `tables`: how many there are."""
    split: str | None = None
    """Of form `beir`: the judgements that were read."""
    notes: tuple[str, ...] = ()
    """What is left out rightly, such as queries that nobody judged."""
    read_texts: Callable[[], Iterator[Text]] = field(default=_no_texts, compare=False, repr=False)
    read_table: Callable[[str], TableFile] = field(default=_no_table, compare=False, repr=False)
    """Of form `tables`: the table that a question names."""

    def texts(self) -> Iterator[Text]:
        """The documents, read again from disk each time; none of form `own`."""
        return self.read_texts()

    @property
    def document_count(self) -> int:
        return len(self.documents) or self.passages

    @property
    def questions_fingerprint(self) -> str:
        """SHA-256 of the questions and all that is known about them."""
        digest = hashlib.sha256()
        for case in self.cases:
            digest.update(json.dumps(_said(case), sort_keys=True).encode() + b"\n")
        return digest.hexdigest()


def _said(case: Case) -> dict[str, Any]:
    """Without the fields of questions over tables where it is none."""
    said = asdict(case)
    return said if case.table else {key: said[key] for key in said if key not in _OF_TABLES}


def describe(data: EvalSet) -> dict[str, Any]:
    """What `results.json` says about the set: plain values, and no path of this machine."""
    cases = data.cases
    return {
        "name": data.name,
        "form": data.form,
        "split": data.split,
        "questions": len(cases),
        "answerable": sum(case.answerable for case in cases),
        "with_answers": sum(bool(case.answers) for case in cases),
        "with_gold": sum(bool(case.gold) for case in cases),
        "with_choices": sum(case.choices is not None for case in cases),
        "documents": data.document_count,
        "tables": data.tables,
        "problems": [asdict(problem) for problem in data.problems[:_PROBLEMS_TOLD]],
        "problem_count": len(data.problems),
        "notes": list(data.notes),
        "fingerprint": data.fingerprint,
        "questions_fingerprint": data.questions_fingerprint,
    }
