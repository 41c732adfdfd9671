"""Cases gathered one by one: no id twice, and gold that can be found."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from secondlook.evaluation.datasets.fields import Malformed
from secondlook.evaluation.records import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from secondlook.evaluation.datasets.passages import Corpus
    from secondlook.evaluation.records import Case


@dataclass(slots=True)
class Gathering:
    """Questions of one file. What is wrong with a part of a row costs that part only."""

    file: str
    problems: list[Problem]
    cases: list[Case] = field(default_factory=list)
    _seen: dict[str, tuple[str, str]] = field(default_factory=dict)

    def take(self, case: Case, *, line: int | None, where: str) -> None:
        """`where` names the row for those that come after it."""
        if case.id in self._seen:
            place, question = self._seen[case.id]
            same = "the same question as" if question == case.question else "id of another at"
            raise Malformed(f"{same} {place}, with the id {case.id!r}")
        self._seen[case.id] = where, case.question
        if case.answers and not case.answerable:
            reason = "it is said to have no answer: the answers given are not used"
            self.tell(line, reason if line else f"{where}: {reason}")
            case = replace(case, answers=())
        self.cases.append(case)

    def findable(
        self, gold: Mapping[str, int], corpus: Corpus, *, line: int | None
    ) -> dict[str, int]:
        """Gold that is in the corpus; the rest is reported."""
        for name in gold:
            if why := corpus.why_not(name):
                self.tell(line, f"gold {name!r} {why}")
        return {name: grade for name, grade in gold.items() if name in corpus.ids}

    def tell(self, line: int | None, reason: str) -> None:
        self.problems.append(Problem(self.file, line, reason))
