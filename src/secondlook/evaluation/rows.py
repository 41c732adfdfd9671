"""What came of one question, as a row: the answer held against what the set knows about it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any

from secondlook.evaluation.metrics import (
    answer_metrics,
    is_guess,
    is_right,
    letter_of,
    parts_of,
    parts_right,
    recall,
    retrieval_metrics,
    value_metrics,
)
from secondlook.evaluation.records import Analysed, Attempt, Looked, Researched, Row, Tried
from secondlook.events import Answered, PassagesFound
from secondlook.retrieval.terms import query_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from secondlook.answer import Answer, SeenPassage, Step, Usage
    from secondlook.evaluation.cache import Saved
    from secondlook.evaluation.faithfulness import Truth
    from secondlook.evaluation.records import Case
    from secondlook.events import Event
    from secondlook.library.library import Shelf

_JUDGES = ("assess", "assess_again")
_FALLBACK = "fall_back"
_WEB = "search_web"
_CHECKS = frozenset({"check_grounded", "check_useful", "grade_answer"})
_AGAIN = frozenset({"answer", "rewrite"})
"""Where a check of an answer leads that does not let it pass."""
_REVIEWED = 5
_EXCERPT = 400
"""Characters of a passage that a person is shown to review."""


@dataclass(slots=True)
class Seen:
    """What is kept of a run's events."""

    first: tuple[SeenPassage, ...] = ()
    """As the first search found them, before the reader looked."""
    after: dict[str, tuple[SeenPassage, ...]] = field(default_factory=dict)
    """By query, as they stood when it had been searched and read."""
    answer: Answer | None = None

    def take(self, event: Event) -> None:
        if isinstance(event, PassagesFound):
            self.first = self.first or event.passages
            self.after[event.query] = event.passages
        elif isinstance(event, Answered):
            self.answer = event.answer


@dataclass(frozen=True, slots=True)
class RowMaker:
    """Makes the rows of one configuration."""

    configuration: str
    names: Mapping[str, tuple[str, ...]]
    """What the set calls each document of the library."""
    shelf: Shelf
    truth: Truth
    min_about: float = 0.0
    """The relevance above which the reader takes a passage to be about the question."""
    language: str = "english"

    def row(self, case: Case, seen: Seen, *, repeat: int, seconds: float, saved: Saved) -> Row:
        answer = seen.answer
        if answer is None:
            return self.failed(case, "the run ended without an answer", repeat=repeat)
        usage = answer.usage
        judged = next((step for step in answer.steps if step.node in _JUDGES), None)
        return Row(
            **_known(case),
            configuration=self.configuration,
            repeat=repeat,
            status=answer.status,
            stop_reason=answer.stop_reason,
            method=answer.method,
            short=answer.short,
            chosen=letter_of(case, answer),
            ungrounded=is_guess(answer),
            text=answer.text,
            confidence=answer.confidence.value,
            right=is_right(case, answer),
            metrics=self._metrics(case, seen.first, answer),
            read=tuple(
                (self._grade(case, item), round(item.rerank_score, 4))
                for item in answer.passages
                if item.rerank_score is not None
            ),
            judged=tuple(
                (self._grade(case, item), _is_about(item, self.min_about))
                for item in answer.passages
                if item.rerank_score is not None
            ),
            **self._graded(case, answer),
            grounded=answer.grounded.value,
            useful=answer.useful.value,
            sent_back=any(map(_sends_back, answer.steps)),
            needs_review=answer.needs_review,
            queries=answer.queries,
            tried=self._tried(case, seen, answer),
            best=self._best(case, answer) if answer.needs_review else (),
            fallback=any(step.node == _FALLBACK for step in answer.steps),
            web=any(step.node == _WEB for step in answer.steps),
            retries=max(0, answer.attempts - 1),
            regenerations=answer.regenerations,
            trigger=_number(judged, "value"),
            trigger_below=_number(judged, "threshold"),
            shown=len(shown(answer)),
            gold_ranks=self._gold_ranks(case, answer),
            research=Researched.of(answer.research),
            analysed=_analysed(case, answer),
            llm_calls=usage.calls,
            calls_by_node=_calls_by_node(usage),
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out,
            tokens_cached=usage.tokens_cached,
            characters_in=usage.characters_in,
            characters_out=usage.characters_out,
            parse_failures=sum(call.parse_failures for call in usage.by_node),
            cost=usage.cost,
            seconds=round(seconds + saved.seconds, 4),
            seconds_by_node=_by_node(answer.steps, saved),
            warnings=tuple(f"{item.node}: {item.message}" for item in answer.warnings),
            error=_why(answer),
        )

    def failed(self, case: Case, error: str, *, repeat: int) -> Row:
        return Row(
            **_known(case),
            configuration=self.configuration,
            repeat=repeat,
            status="failed",
            stop_reason="error",
            metrics=_nothing(case),
            analysed=Analysed(parts=_none_right(case)) if case.table else None,
            error=error,
        )

    def _graded(self, case: Case, answer: Answer) -> dict[str, Any]:
        graded = [item for item in answer.passages if item.grade != "not graded"]
        return {
            "graded": tuple((self._grade(case, item), item.grade == "relevant") for item in graded),
            "graded_by": tuple(item.graded_by for item in graded),
        }

    def _gold_ranks(self, case: Case, answer: Answer) -> tuple[int, ...]:
        first: dict[str, int] = {}
        for rank, name in enumerate(self._named(case, answer.passages), start=1):
            if name in case.gold:
                first.setdefault(name, rank)
        return tuple(first.values())

    def _tried(self, case: Case, seen: Seen, answer: Answer) -> tuple[Tried, ...]:
        after = {query: list(self._named(case, passages)) for query, passages in seen.after.items()}
        gold = case.gold if case.answerable else {}
        return tried(
            answer.asked,
            answer.queries,
            answer.steps,
            after=after,
            gold=gold,
            language=self.language,
        )

    def _best(self, case: Case, answer: Answer) -> tuple[Looked, ...]:
        shown = answer.passages[:_REVIEWED]
        held = self.shelf.passages([item.id for item in shown if item.text is None])
        return tuple(
            Looked.at(
                item,
                document=self._name(case, item.document),
                text=(held[item.id].text if item.id in held else item.text or "")[:_EXCERPT],
            )
            for item in shown
        )

    def _metrics(
        self, case: Case, first: Sequence[SeenPassage], answer: Answer
    ) -> dict[str, float]:
        found = answer_metrics(case, answer)
        if case.table:  # what is said there rests on no passage
            return found | self.truth.leaked(case, answer)
        if case.answerable and case.gold:
            before = sorted(first, key=lambda item: -(item.fusion_score or 0.0))
            found |= retrieval_metrics(case.gold, list(self._named(case, before)), suffix="_before")
            found |= retrieval_metrics(case.gold, list(self._named(case, answer.passages)))
            found["recall_shown"] = recall(case.gold, self._named(case, shown(answer)))
        cited = [self._name(case, item.document) for item in answer.citations]
        evidence = self._evidence(answer) if answer.claims or answer.text else []
        return found | self.truth.metrics(case, answer, evidence=evidence, cited=cited)

    def _evidence(self, answer: Answer) -> list[str]:
        kept = [item for item in answer.passages if item.kept]
        held = self.shelf.passages([item.id for item in kept if item.text is None])
        texts = (held[item.id].text if item.id in held else item.text for item in kept)
        return [text for text in texts if text]

    def _named(self, case: Case, passages: Iterable[SeenPassage]) -> Iterator[str]:
        return (self._name(case, item.document) for item in passages)

    def _name(self, case: Case, document: str) -> str:
        """The set's name of a document; of several for the same text the one that is gold."""
        names = self.names.get(document, (document,))
        return next((name for name in names if name in case.gold), names[0])

    def _grade(self, case: Case, passage: SeenPassage) -> int:
        return case.gold.get(self._name(case, passage.document), 0)


def shown(answer: Answer) -> list[SeenPassage]:
    """The passages that the answer could rest on: of research, those of all its steps."""
    steps = answer.research.steps if answer.research else ()
    of_steps = {item.passage for step in steps for item in step.evidence if item.kept}
    return [item for item in answer.passages if item.kept or item.id in of_steps]


def _calls_by_node(usage: Usage) -> dict[str, int]:
    counted: Counter[str] = Counter()
    for call in usage.by_node:
        counted[call.node] += call.calls
    return dict(counted)


def _sends_back(step: Step) -> bool:
    refused = step.numbers.get("verdict") == "no"
    goes_back = step.route is not None and step.route.to in _AGAIN
    return step.node in _CHECKS and (refused or goes_back)


def _is_about(passage: SeenPassage, min_about: float) -> bool:
    """A glance is a first guess and no judgement."""
    looked = passage.answer_score is not None
    return looked and passage.rerank_score is not None and passage.rerank_score > min_about


def _known(case: Case) -> dict[str, Any]:
    return {
        "case": case.id,
        "question": case.question,
        "expected": case.answers,
        "type": case.type,
        "subject": case.subject,
        "answerable": case.answerable,
        "scored": case.scored,
        "gold": len(case.gold),
    }


def _nothing(case: Case) -> dict[str, float]:
    """The figures of a question of which nothing came: 0 in all that it is measured by."""
    missed = retrieval_metrics(case.gold, []) if case.answerable else {}
    missed |= {f"{name}_before": value for name, value in missed.items()}
    missed |= {"recall_shown": 0.0} if case.answerable and case.gold else {}
    missed |= {"accuracy": 0.0} if case.choices else {}
    return missed | (value_metrics(_none_right(case)) if case.table else {})


def _none_right(case: Case) -> dict[str, bool]:
    return dict.fromkeys(parts_of(case), False)


def _analysed(case: Case, answer: Answer) -> Analysed | None:
    return Analysed.of(answer.analysis, parts_right(case, answer)) if case.table else None


def _number(step: Step | None, name: str) -> float | None:
    value = step.numbers.get(name) if step else None
    return float(value) if isinstance(value, int | float) else None


def _by_node(steps: Sequence[Step], saved: Saved) -> dict[str, float]:
    taken: dict[str, float] = {}
    for step in steps:
        taken[step.node] = taken.get(step.node, 0.0) + step.seconds
    for node, seconds in saved.by_node.items():
        if node in taken:
            taken[node] += seconds
    return {node: round(seconds, 4) for node, seconds in taken.items()}


def _why(answer: Answer) -> str | None:
    if answer.status != "failed":
        return None
    return "; ".join(item.message for item in answer.warnings) or answer.text or "it failed"


# What the queries of a run brought, one after the other: whether asking again in other words
# leads nearer to the evidence, or away from the question.

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
