"""An answer in a model's words: only from the passages, each sentence cited and checked."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from secondlook.errors import ContextOverflow, UnusableReply
from secondlook.models.counting import approximate_prompt, approximate_tokens
from secondlook.nodes import ranking
from secondlook.nodes.claims import Checker
from secondlook.nodes.extract import withheld
from secondlook.nodes.packing import EvidenceItem, Mode, Packed, pack
from secondlook.nodes.risk import dial
from secondlook.nodes.sentences import Sentences
from secondlook.prompts import evidence_marks, load
from secondlook.reading.languages import foreign
from secondlook.retrieval.sentences import sentence_starts
from secondlook.state import DraftData, Found
from secondlook.state import Sentence as Claimed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.answer import Scalar
    from secondlook.context import Context
    from secondlook.models import Message, Reply
    from secondlook.nodes.sentences import Sentence
    from secondlook.passage import Passage

    _Held = tuple[float | None, list[str]]
    """How likely an answer is there, and the reasons."""

NODE = "answer"
SENTENCES_TOKENS = 500
"""Evidence for a local model: its prefill is what a person waits for."""
PASSAGES_TOKENS = 6000
_DOUBT = 0.5
"""Share of the confidence that an extracted answer needs, below which a written one says so. It is
not withheld: a model can answer from passages what the reader cannot."""
_SMALLEST = 64
"""Less evidence than this is not worth asking about."""


async def write(
    context: Context, question: str, found: Sequence[Found], emit: Callable[[Any], None]
) -> tuple[DraftData, dict[str, Scalar]]:
    """The draft, and numbers about it. Raises ModelError or BudgetExceeded when there is none.

    Where a risk is named, nothing is asked that could not be given, and nothing is heard of an
    answer before it is known to keep to the risk.
    """
    allowed, held = dial(context), await _held(context, question, found)
    if allowed is None:
        return await _written(context, question, found, held, emit)
    probability, reasons = held
    if objection := allowed.objection(probability):
        return withheld("low_confidence", confidence=probability, reasons=[objection, *reasons]), {}
    heard: list[Any] = []
    draft, numbers = await _written(context, question, found, held, heard.append)
    if draft["sentences"] and (objection := allowed.objection(draft["confidence"])):
        reasons = [objection, *draft["reasons"]]
        confidence, model = draft["confidence"], draft["model"]
        return withheld(
            "low_confidence", confidence=confidence, reasons=reasons, model=model
        ), numbers
    for said in heard:
        emit(said)
    return draft, numbers


async def _written(
    context: Context,
    question: str,
    found: Sequence[Found],
    known: _Held,
    emit: Callable[[Any], None],
) -> tuple[DraftData, dict[str, Scalar]]:
    kept = ranking.kept(found)
    held = await ranking.texts(context, [item["id"] for item in kept])
    items = [_item(item, held[item["id"]]) for item in kept if item["id"] in held]
    budget = await _budget(context, question)
    while True:
        packed = pack(
            question, items, mode=_mode(context), budget_tokens=budget, count=approximate_tokens
        )
        writing = _Writing.begin(context, question, packed, held, emit)
        try:
            reply = await context.models.ask(
                "answer",
                writing.messages,
                node=NODE,
                max_tokens=load(NODE).max_tokens,
                on_text=writing.hear,
                final=True,
            )
        except ContextOverflow:
            # Tokens were estimated; the model has counted them. Half as much will do.
            if (budget := budget // 2) < _SMALLEST:
                raise
            continue
        writing.hear_out(reply.text)
        return await asyncio.to_thread(_drafted, context, writing, reply, known, packed)


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

    @classmethod
    def begin(
        cls,
        context: Context,
        question: str,
        packed: Packed,
        held: dict[str, Passage],
        emit: Callable[[Any], None],
    ) -> _Writing:
        settings = context.settings.answer
        evidence = evidence_marks(context.run).wrap([block.text for block in packed.blocks])
        checker = Checker(
            passages=[held[block.passage] for block in packed.blocks],
            support=context.support,
            min_support=settings.min_support,
            enabled=settings.enable_sentence_check,
        )
        return cls(
            messages=load(NODE).render(question=question, evidence=evidence),
            evidence=evidence,
            question=question,
            blocks=len(packed.blocks),
            checker=checker,
            emit=emit,
            preview=_sentences(len(packed.blocks), question, evidence),
            unsupported=settings.unsupported,
        )

    def hear(self, text: str) -> None:
        """Passes on what is complete and stands; the rest is never seen."""
        self._pass_on(self.preview.feed(text))

    def _pass_on(self, sentences: Sequence[Sentence]) -> None:
        for sentence in sentences:
            claimed = self.checker.check(sentence)
            if self.stays(claimed):
                self.emit({"token": f"{claimed['text']} "})

    def hear_out(self, text: str) -> None:
        """The rest of a reply that is complete; all of it where a journal had it."""
        if not self.preview.begun:
            self.hear(text)
        self._pass_on(self.preview.finish())

    def stays(self, claimed: Claimed) -> bool:
        return claimed["supported"] is not False or self.unsupported == "mark"


def _drafted(
    context: Context,
    writing: _Writing,
    reply: Reply[None],
    held: _Held,
    packed: Packed,
) -> tuple[DraftData, dict[str, Scalar]]:
    heard = _sentences(writing.blocks, writing.question, writing.evidence)
    said = [*heard.feed(reply.text), *heard.finish(cut_short=reply.finish == "length")]
    claimed = [writing.checker.check(sentence) for sentence in said]
    standing = [claim for claim in claimed if writing.stays(claim)]
    numbers: dict[str, Scalar] = {
        "evidence": len(packed.blocks),
        "evidence_tokens": packed.tokens,
        "sentences": len(said),
        "unsupported": sum(claim["supported"] is False for claim in claimed),
        "cut": sum(heard.dropped.values())
        - heard.dropped["citation"]
        + len(claimed)
        - len(standing),
        "prompt_leaks": heard.dropped["prompt"] + heard.dropped["control"],
        "unknown_citations": heard.dropped["citation"],
    }
    model = context.models.name("answer")
    abstains = context.settings.answer.enable_abstention
    if not standing and (heard.not_found or claimed) and abstains:
        reason = (
            "the model found no answer in the evidence"
            if heard.not_found
            else "the evidence supports no sentence that the model wrote"
        )
        return withheld("no_evidence", reasons=[reason], model=model), numbers
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
        note=_note(len(claimed) - len(standing), standing, confidence, context),
    )
    return draft, numbers


def _sentences(blocks: int, question: str, evidence: str) -> Sentences:
    return Sentences(blocks, own_words=load(NODE).own_words, question=question, evidence=evidence)


def _item(item: Found, passage: Passage) -> EvidenceItem:
    span = (item["span_start"] or 0, item["span_end"] or 0)
    return EvidenceItem(
        passage=passage.id,
        title=passage.title,
        heading=passage.heading,
        page=passage.page,
        text=passage.text,
        span=span if span[1] > span[0] else None,
        relevance=item["relevance"],
    )


def _mode(context: Context) -> Mode:
    chosen = context.settings.answer.packing
    if chosen != "auto":
        return chosen
    return "sentences" if context.models.local("answer") else "passages"


async def _budget(context: Context, question: str) -> int:
    """Tokens of evidence: as set, or what is usual, but no more than fits beside the rest."""
    chosen = context.settings.answer.evidence_tokens
    usual = SENTENCES_TOKENS if _mode(context) == "sentences" else PASSAGES_TOKENS
    wanted = chosen or usual
    room = await context.models.room("answer", max_tokens=load(NODE).max_tokens)
    if room is None:
        return wanted
    bare = approximate_prompt(load(NODE).render(question=question, evidence=""))
    return max(_SMALLEST, min(wanted, room - bare))


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
    marked = sum(claim["supported"] is False for claim in standing)
    doubtful = context.calibration.min_answer * _DOUBT
    if cut:
        return f"({cut} more {_sentences_word(cut)} cut: not supported by the evidence.)"
    if marked:
        return f"({marked} {_sentences_word(marked)} marked: not supported by the evidence.)"
    if confidence is not None and confidence < doubtful:
        return "(Confidence is low: look at the evidence yourself.)"
    return None


def _sentences_word(count: int) -> str:
    return "sentence was" if count == 1 else "sentences were"
