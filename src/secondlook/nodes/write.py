"""An answer in a model's words: only from the passages, each sentence cited and checked."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from secondlook.errors import ContextOverflow, UnusableReply
from secondlook.nodes import ranking
from secondlook.nodes.claims import Checker, cut_note, objected, objected_note, sentences_were
from secondlook.nodes.extract import withheld
from secondlook.nodes.revalidating import guard_of
from secondlook.nodes.risk import dial
from secondlook.nodes.sentences import Sentences
from secondlook.nodes.showing import SMALLEST, evidence_budget, evidence_items, packed
from secondlook.prompts import evidence_marks, load
from secondlook.reading.languages import foreign
from secondlook.retrieval.sentences import sentence_starts
from secondlook.state import DraftData
from secondlook.state import Sentence as Claimed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from secondlook.answer import Scalar
    from secondlook.context import Context
    from secondlook.models import Message, Reply
    from secondlook.nodes.packing import Packed
    from secondlook.nodes.sentences import Sentence
    from secondlook.passage import Passage
    from secondlook.state import Found

    _Held = tuple[float | None, list[str]]
    """How likely an answer is there, and the reasons."""

NODE = "answer"
_DOUBT = 0.5
"""Share of the confidence that an extracted answer needs, below which a written one says so. It is
not withheld: a model can answer from passages what the reader cannot."""


@dataclass(frozen=True, slots=True)
class Asking:
    """How a model is asked to write."""

    prompt: str = "answer"
    values: Mapping[str, str] = field(default_factory=dict)
    """What fills the holes of the prompt besides the question and the evidence."""
    temperature: float | None = None
    """None = as set for the role."""
    doubted: float = 0.0
    """A sentence that lacks no more than so much support is left in, marked, for whoever checks
    the draft."""

    def render(self, question: str, evidence: str) -> tuple[Message, ...]:
        return load(self.prompt).render(question=question, evidence=evidence, **self.values)


PLAIN: Final = Asking()


@dataclass(frozen=True, slots=True)
class Written:
    draft: DraftData
    numbers: dict[str, Scalar]
    cut: tuple[str, ...] = ()
    """What the model said and the evidence does not carry."""


async def write(
    context: Context, question: str, found: Sequence[Found], emit: Callable[[Any], None]
) -> tuple[DraftData, dict[str, Scalar]]:
    """The draft, and numbers about it. Raises ModelError or BudgetExceeded when there is none."""
    made = await written(context, question, found, emit)
    return made.draft, made.numbers


async def written(
    context: Context,
    question: str,
    found: Sequence[Found],
    emit: Callable[[Any], None],
    asking: Asking = PLAIN,
) -> Written:
    """The draft and what was cut from it. Raises ModelError or BudgetExceeded when there is none.

    Where a risk is named, nothing is asked that could not be given, and nothing is heard of an
    answer before it is known to keep to the risk.
    """
    allowed, held = dial(context), await _held(context, question, found)
    if allowed is None:
        return await _written(context, question, found, held, emit, asking=asking)
    probability, reasons = held
    if objection := allowed.objection(probability):
        reasons = [objection, *reasons]
        return Written(withheld("low_confidence", confidence=probability, reasons=reasons), {})
    heard: list[Any] = []
    made = await _written(context, question, found, held, heard.append, asking=asking)
    if made.draft["sentences"] and (objection := allowed.objection(made.draft["confidence"])):
        return replace(made, draft=_too_risky(made.draft, objection))
    for said in heard:
        emit(said)
    return made


def _too_risky(draft: DraftData, objection: str) -> DraftData:
    return withheld(
        "low_confidence",
        confidence=draft["confidence"],
        reasons=[objection, *draft["reasons"]],
        model=draft["model"],
    )


async def _written(
    context: Context,
    question: str,
    found: Sequence[Found],
    known: _Held,
    emit: Callable[[Any], None],
    *,
    asking: Asking,
) -> Written:
    items, held = await evidence_items(context, found)
    most = load(asking.prompt).max_tokens
    budget = await evidence_budget(context, "answer", asking.render(question, ""), max_tokens=most)
    while True:
        shown = packed(context, "answer", question, items, budget)
        if not shown.blocks:  # the passages were found, and are gone or empty
            gone = ["nothing of what was found can be read any more"]
            return Written(withheld("no_evidence", reasons=gone), {})
        writing = _Writing.begin(context, question, shown, held, emit, asking=asking)
        try:
            reply = await context.models.ask(
                "answer",
                writing.messages,
                node=NODE,
                max_tokens=most,
                temperature=asking.temperature,
                on_text=writing.hear,
                final=True,
            )
        except ContextOverflow:
            # Tokens were estimated; the model has counted them. Half as much will do.
            if (budget := budget // 2) < SMALLEST:
                raise
            continue
        writing.hear_out(reply.text)
        return await asyncio.to_thread(_drafted, context, writing, reply, known, shown)


@dataclass(frozen=True, slots=True)
class _Writing:
    """One try: what the model is told, and how what it says is heard and checked."""

    messages: tuple[Message, ...]
    evidence: str
    question: str
    blocks: int
    checker: Checker
    emit: Callable[[Any], None]
    preview: Sentences
    unsupported: str
    asking: Asking

    @classmethod
    def begin(
        cls,
        context: Context,
        question: str,
        shown: Packed,
        held: dict[str, Passage],
        emit: Callable[[Any], None],
        *,
        asking: Asking,
    ) -> _Writing:
        settings = context.settings.answer
        evidence = evidence_marks(context.run).wrap([block.text for block in shown.blocks])
        checker = Checker(
            passages=[held[block.passage] for block in shown.blocks],
            support=context.support,
            min_support=settings.min_support,
            enabled=settings.enable_sentence_check,
            guard=guard_of(context, question),
        )
        return cls(
            messages=asking.render(question, evidence),
            evidence=evidence,
            question=question,
            blocks=len(shown.blocks),
            checker=checker,
            emit=emit,
            preview=_sentences(asking, len(shown.blocks), question, evidence),
            unsupported=settings.unsupported,
            asking=asking,
        )

    def hear(self, text: str) -> None:
        """Passes on what is complete and stands; the rest is never seen."""
        self._pass_on(self.preview.feed(text))

    def _pass_on(self, sentences: Sequence[Sentence]) -> None:
        for sentence in sentences:
            claimed = self.checker.check(sentence)
            if self.stands(claimed):
                self.emit({"token": f"{claimed['text']} "})

    def hear_out(self, text: str) -> None:
        """The rest of a reply that is complete; all of it where a journal had it."""
        if not self.preview.begun:
            self.hear(text)
        self._pass_on(self.preview.finish())

    def stands(self, claimed: Claimed) -> bool:
        """Whether a person may see it."""
        return claimed["supported"] is not False or self.unsupported == "mark"

    def stays(self, claimed: Claimed) -> bool:
        """Whether it is part of the draft: what stands, and what another judge may let stand."""
        least = self.checker.min_support - self.asking.doubted
        doubted = self.asking.doubted > 0 and (claimed["support"] or 0.0) >= least
        return self.stands(claimed) or (doubted and bool(claimed["cited"]))


def _drafted(
    context: Context,
    writing: _Writing,
    reply: Reply[None],
    held: _Held,
    shown: Packed,
) -> Written:
    heard = _sentences(writing.asking, writing.blocks, writing.question, writing.evidence)
    said = [*heard.feed(reply.text), *heard.finish(cut_short=reply.finish == "length")]
    claimed = [writing.checker.check(sentence) for sentence in said]
    standing = [claim for claim in claimed if writing.stays(claim)]
    cut = tuple(claim["text"] for claim in claimed if not writing.stays(claim))
    numbers: dict[str, Scalar] = {
        "evidence": len(shown.blocks),
        "evidence_tokens": shown.tokens,
        "sentences": len(said),
        "unsupported": sum(claim["supported"] is False for claim in claimed),
        "cut": sum(heard.dropped.values()) - heard.dropped["citation"] + len(cut),
        "prompt_leaks": heard.dropped["prompt"] + heard.dropped["control"],
        "unknown_citations": heard.dropped["citation"],
    }
    objections = objected(claimed)
    if objections:
        numbers["not_asked_for"] = "; ".join(objections)
    model = context.models.name("answer")
    abstains = context.settings.answer.enable_abstention
    if not standing and (heard.not_found or claimed) and abstains:
        reason = (
            "the model found no answer in the evidence"
            if heard.not_found
            else "the evidence supports no sentence that the model wrote"
            if not objections
            else f"what the model wrote was not asked for: it {objections[0]}"
        )
        return Written(withheld("no_evidence", reasons=[reason], model=model), numbers, cut)
    if not standing:
        raise UnusableReply(f"{model} wrote nothing that can be used: {reply.text[:80]!r}")
    confidence, reasons = _judged(held, standing)
    draft = DraftData(
        method="generative",
        model=model,
        sentences=standing,
        short=_short(context, writing.question, standing),
        stop="answered",
        confidence=confidence,
        reasons=reasons,
        note=objected_note(claimed) or _note(len(cut), standing, confidence, context),
    )
    return Written(draft, numbers, cut)


def _sentences(asking: Asking, blocks: int, question: str, evidence: str) -> Sentences:
    own = load(asking.prompt).own_words
    return Sentences(blocks, own_words=own, question=question, evidence=evidence)


def _short(context: Context, question: str, standing: Sequence[Claimed]) -> str | None:
    """The few words that answer, read out of the model's own text."""
    text = " ".join(claim["text"] for claim in standing)
    try:
        reading = context.shelf.read_text(question, text)
    except Exception:  # noqa: BLE001 - a short form is a convenience
        return None
    span = text[reading.start : reading.end]
    return span[: min(sentence_starts(span), default=len(span))].strip() or None


def _judged(held: _Held, standing: Sequence[Claimed]) -> tuple[float | None, list[str]]:
    """How sure: that the evidence holds an answer, times how well it carries what was said."""
    supports = [claim["support"] for claim in standing if claim["support"] is not None]
    if not supports:
        return None, ["the sentences were not checked"]
    covered = sum(supports) / len(supports)
    reasons = [f"the evidence covers {covered:.0%} of what is said"]
    probability, about = held
    if probability is None:
        return None, [*about, *reasons]
    return round(probability * covered, 4), [*reasons, *about]


async def _held(context: Context, question: str, found: Sequence[Found]) -> _Held:
    """How likely the evidence holds an answer, as the reader sees it, and why. No one can say
    where it was not trained for the language."""
    read = [item for item in ranking.kept(found) if ranking.candidate(item) is not None]
    candidates = ranking.candidates(read)
    calibration = context.calibration
    best = calibration.best_answer(candidates)
    if best is None:
        return None, []
    texts = await ranking.texts(context, [read[best]["id"]])
    languages = context.shelf.reader_languages
    for passage in texts.values():
        if other := await asyncio.to_thread(foreign, question, passage.text, languages):
            return None, [other.reason]
    probability = calibration.answer_probability(candidates, best)
    return probability, list(calibration.reasons(candidates, best))


def _note(
    cut: int, standing: Sequence[Claimed], confidence: float | None, context: Context
) -> str | None:
    marks = context.settings.answer.unsupported == "mark"
    marked = sum(claim["supported"] is False for claim in standing) if marks else 0
    doubtful = context.calibration.min_answer * _DOUBT
    if cut:
        return cut_note(cut)
    if marked:
        return f"({marked} {sentences_were(marked)} marked: not supported by the evidence.)"
    if confidence is not None and confidence < doubtful:
        return "(Confidence is low: look at the evidence yourself.)"
    return None
