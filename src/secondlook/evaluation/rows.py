"""What came of one question, as a row: the answer held against what the set knows about it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from secondlook.evaluation.metrics import (
    answer_metrics,
    is_guess,
    is_right,
    letter_of,
    parts_right,
    recall,
    retrieval_metrics,
    value_metrics,
)
from secondlook.evaluation.records import Analysed, Researched, Row
from secondlook.events import Answered, PassagesFound

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from secondlook.answer import Answer, SeenPassage, Step
    from secondlook.evaluation.cache import Saved
    from secondlook.evaluation.faithfulness import Truth
    from secondlook.evaluation.records import Case
    from secondlook.events import Event
    from secondlook.library.library import Shelf


@dataclass(slots=True)
class Seen:
    first: tuple[SeenPassage, ...] = ()  # as the first search found them, before the reader looked
    answer: Answer | None = None

    def take(self, event: Event) -> None:
        if isinstance(event, PassagesFound):
            self.first = self.first or event.passages
        elif isinstance(event, Answered):
            self.answer = event.answer


@dataclass(frozen=True, slots=True)
class RowMaker:
    configuration: str
    names: Mapping[str, tuple[str, ...]]  # what the set calls each document of the library
    shelf: Shelf
    truth: Truth
    min_about: float = 0.0  # relevance above which a passage is about the question

    def row(self, case: Case, seen: Seen, *, repeat: int, seconds: float, saved: Saved) -> Row:
        answer = seen.answer
        if answer is None:
            return self.failed(case, "the run ended without an answer", repeat=repeat)
        usage = answer.usage
        nodes = {step.node for step in answer.steps}
        trigger = next((one for one in answer.steps if one.node.startswith("assess")), None)
        read = [(one, score) for one in answer.passages if (score := one.rerank_score) is not None]
        graded = [one for one in answer.passages if one.grade != "not graded"]
        calls: Counter[str] = Counter()
        for call in usage.by_node:
            calls[call.node] += call.calls
        said = [one.message for one in answer.warnings]
        why = "; ".join(said) or answer.text or "it failed"
        return Row(
            **self._known(case, repeat),
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
            read=tuple((self._grade(case, one), round(score, 4)) for one, score in read),
            # A glance is a first guess and no judgement.
            judged=tuple(
                (self._grade(case, one), one.answer_score is not None and score > self.min_about)
                for one, score in read
            ),
            graded=tuple((self._grade(case, one), one.grade == "relevant") for one in graded),
            graded_by=tuple(one.graded_by for one in graded),
            grounded=answer.grounded.value,
            useful=answer.useful.value,
            needs_review=answer.needs_review,
            queries=answer.queries,
            fallback="fall_back" in nodes,
            web="search_web" in nodes,
            retries=max(0, answer.attempts - 1),
            regenerations=answer.regenerations,
            trigger=_number(trigger, "value"),
            trigger_below=_number(trigger, "threshold"),
            shown=len(shown(answer)),
            research=_researched(answer),
            analysed=_analysed(case, answer) if case.table else None,
            llm_calls=usage.calls,
            calls_by_node=dict(calls),
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out,
            tokens_cached=usage.tokens_cached,
            characters_in=usage.characters_in,
            characters_out=usage.characters_out,
            parse_failures=sum(call.parse_failures for call in usage.by_node),
            cost=usage.cost,
            seconds=round(seconds + saved.seconds, 4),
            seconds_by_node=_by_node(answer.steps, saved),
            warnings=tuple(f"{one.node}: {one.message}" for one in answer.warnings),
            error=why if answer.status == "failed" else None,
        )

    def failed(self, case: Case, error: str, *, repeat: int) -> Row:
        """A question of which nothing came: 0 in all that it is measured by."""
        metrics: dict[str, float] = {}
        if case.answerable and case.gold:
            missed = retrieval_metrics(case.gold, [])
            metrics = missed | {f"{name}_before": value for name, value in missed.items()}
            metrics["recall_shown"] = 0.0
        if case.choices:
            metrics["accuracy"] = 0.0
        parts = {name: False for name, _ in case.values}
        return Row(
            **self._known(case, repeat),
            status="failed",
            stop_reason="error",
            metrics=metrics | (value_metrics(parts) if case.table else {}),
            analysed=Analysed(parts=parts) if case.table else None,
            error=error,
        )

    def _known(self, case: Case, repeat: int) -> dict[str, Any]:
        return {
            "configuration": self.configuration,
            "case": case.id,
            "repeat": repeat,
            "question": case.question,
            "expected": case.answers,
            "type": case.type,
            "subject": case.subject,
            "answerable": case.answerable,
            "scored": case.scored,
        }

    def _metrics(
        self, case: Case, first: Sequence[SeenPassage], answer: Answer
    ) -> dict[str, float]:
        found = answer_metrics(case, answer)
        if case.table:  # what is said there rests on no passage
            return found | self.truth.leaked(case, answer)
        if case.answerable and case.gold:
            before = sorted(first, key=lambda item: -(item.fusion_score or 0.0))
            found |= retrieval_metrics(case.gold, self._named(case, before), suffix="_before")
            found |= retrieval_metrics(case.gold, self._named(case, answer.passages))
            found["recall_shown"] = recall(case.gold, self._named(case, shown(answer)))
        cited = [self._name(case, item.document) for item in answer.citations]
        evidence: list[str] = []
        if answer.claims or answer.text:
            kept = [item for item in answer.passages if item.kept]
            held = self.shelf.passages([item.id for item in kept if item.text is None])
            texts = (held[item.id].text if item.id in held else item.text for item in kept)
            evidence = [text for text in texts if text]
        return found | self.truth.metrics(case, answer, evidence=evidence, cited=cited)

    def _named(self, case: Case, passages: Iterable[SeenPassage]) -> list[str]:
        return [self._name(case, item.document) for item in passages]

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


def _researched(answer: Answer) -> Researched | None:
    research = answer.research
    if research is None:
        return None
    same = set(Researched.model_fields) - {"screen", "recalled"}
    return Researched(
        **research.model_dump(include=same),
        screen=research.screen.verdict,
        recalled=research.recalled is not None,
    )


def _analysed(case: Case, answer: Answer) -> Analysed:
    analysis, parts = answer.analysis, parts_right(case, answer)
    if analysis is None:
        return Analysed(parts=parts)
    # What our own code computes, or fails to, is no code that a model wrote.
    written = () if analysis.query is not None else analysis.attempts
    return Analysed(
        kind=analysis.kind,
        parts=parts,
        attempts=len(written),
        failed_attempts=sum(one.status != "ok" for one in written),
        remedies=len(analysis.remedies),
        checks={one.name: one.passed for one in analysis.checks},
    )


def _number(step: Step | None, name: str) -> float | None:
    value = step.numbers.get(name) if step else None
    return float(value) if isinstance(value, int | float) else None


def _by_node(steps: Sequence[Step], saved: Saved) -> dict[str, float]:
    taken: dict[str, float] = {}
    for step in steps:
        taken[step.node] = taken.get(step.node, 0.0) + step.seconds
    return {
        node: round(seconds + saved.by_node.get(node, 0.0), 4) for node, seconds in taken.items()
    }
