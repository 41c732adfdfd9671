"""What the queries of a run brought, one after the other: whether asking again in other words
leads nearer to the evidence, or away from the question."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from secondlook.evaluation.records import Attempt, Tried
from secondlook.retrieval.analyse import query_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from secondlook.answer import Step
    from secondlook.evaluation.records import Row

BEST = 5


def tried(
    question: str,
    queries: Sequence[str],
    steps: Sequence[Step],
    *,
    after: Mapping[str, Sequence[str]],
    gold: Mapping[str, int],
    language: str = "english",
) -> tuple[Tried, ...]:
    """Each query in order. `after` is the documents as they stood when it had been searched, best
    first; `steps` may tell how many passages it brought, by a number `query`."""
    told = {str(step.numbers["query"]): step for step in steps if "query" in step.numbers}
    return tuple(
        Tried(
            query=query,
            recall=_share_of_gold(after[query], gold) if query in after else None,
            relevant=_count(told.get(query), "relevant"),
            new=_count(told.get(query), "new"),
            words_kept=words_kept(question, query, language),
        )
        for query in queries
    )


def words_kept(question: str, query: str, language: str = "english") -> float | None:
    """The share of the question's words, stop words aside, that the query has too."""
    asked = set(query_terms(question, language))
    return len(asked & set(query_terms(query, language))) / len(asked) if asked else None


def attempts(rows: Sequence[Row]) -> tuple[Attempt, ...]:
    """By number of the query, over the runs that came so far; nothing where none asked again."""
    most = max((len(row.tried) for row in rows), default=0)
    if most < 2:  # noqa: PLR2004 - the question itself, and nothing after it
        return ()
    return tuple(
        _attempt(number, [row.tried for row in rows if len(row.tried) > number])
        for number in range(most)
    )


def _attempt(number: int, runs: Sequence[Sequence[Tried]]) -> Attempt:
    known = [run for run in runs if run[number].recall is not None and run[0].recall is not None]
    return Attempt(
        number=number,
        runs=len(runs),
        recall=_mean(run[number].recall for run in known),
        recall_first=_mean(run[0].recall for run in known),
        relevant=_mean(run[number].relevant for run in runs),
        new=_mean(run[number].new for run in runs),
        words_kept=_mean(run[number].words_kept for run in runs),
    )


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _share_of_gold(ranked: Sequence[str], gold: Mapping[str, int]) -> float | None:
    wanted = {document for document, grade in gold.items() if grade > 0}
    best = list(dict.fromkeys(ranked))[:BEST]
    return len(wanted.intersection(best)) / len(wanted) if wanted else None


def _count(step: Step | None, name: str) -> int | None:
    value = step.numbers.get(name) if step else None
    return int(value) if isinstance(value, int | float) else None
