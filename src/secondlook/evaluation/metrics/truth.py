"""Whether an answer keeps to its evidence, one question at a time; docs/metrics.md defines it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.evaluation.metrics.faithfulness import SIMILAR, Faithfulness
from secondlook.evaluation.metrics.leaks import leaks
from secondlook.evaluation.metrics.said import is_answered, said, sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Answer
    from secondlook.evaluation.records import Case
    from secondlook.reading.port import Embedder


class Truth:
    """Keep one per run: it remembers the vectors of sentences that come again."""

    def __init__(self, embedder: Embedder) -> None:
        self._faithfulness = Faithfulness(embedder)

    def metrics(
        self, case: Case, answer: Answer, *, evidence: Sequence[str], cited: Sequence[str]
    ) -> dict[str, float]:
        """`evidence`: texts of the passages it was made from; `cited`: the document of each of its
        citations, by the names that `case.gold` uses."""
        figures = _citations(case, answer, cited)
        if not is_answered(answer):
            return figures
        told = sentences(said(answer))
        figures["faithfulness"] = self._faithfulness.share(told, evidence)
        figures["faithfulness_cosine"] = self._faithfulness.share(told, evidence, cosine=SIMILAR)
        supports = [claim.support for claim in answer.claims if claim.support is not None]
        if supports:
            figures["support"] = sum(supports) / len(supports)
        return figures | self.leaked(case, answer, evidence=evidence)

    def leaked(
        self, case: Case, answer: Answer, *, evidence: Sequence[str] = ()
    ) -> dict[str, float]:
        """`prompt_leak` alone, of an answer that was given."""
        if not is_answered(answer):
            return {}
        told = "\n".join([answer.short or "", answer.text])
        found = leaks(told, question=case.question, evidence=evidence)
        return {"prompt_leak": float(bool(found))}


def _citations(case: Case, answer: Answer, cited: Sequence[str]) -> dict[str, float]:
    """Against the gold documents, where there are any and the question has an answer: those of an
    unanswerable question are what it seems to be about, not what could be cited rightly."""
    gold = {document for document, grade in case.gold.items() if grade > 0}
    if not gold or not case.answerable:
        return {}
    given = cited if is_answered(answer) else ()
    figures = {}
    if case.scored:
        figures["citation_recall"] = len(gold.intersection(given)) / len(gold)
    if is_answered(answer):
        right = sum(document in gold for document in given)
        figures["citation_precision"] = right / len(given) if given else 0.0
    return figures
