"""Drafts the answer: in a model's words where there is a model, else the reader's span."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.errors import BudgetExceeded, ContextOverflow, ModelError, UnusableReply
from secondlook.nodes import ranking
from secondlook.nodes.cite import (
    Checker,
    cut_note,
    objected,
    objected_note,
    sentences_were,
    standing,
)
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.evidence import SMALLEST, evidence_budget, evidence_items, packed
from secondlook.nodes.extract import extract, withheld
from secondlook.nodes.grade import fit_to_grade
from secondlook.nodes.limits import GREY, AnswerGrades, dial, hotter, is_refused, rewrites
from secondlook.nodes.revalidate import guard_of
from secondlook.nodes.state import (
    Asked,
    Draft,
    DraftData,
    Drafts,
    JudgedDraft,
    Readings,
    Settled,
    Trace,
    step,
    trouble,
)
from secondlook.nodes.state import Sentence as Claimed
from secondlook.reading.calibration import CalibrationError
from secondlook.reading.languages import foreign
from secondlook.reading.support import DEFAULT_MIN_SUPPORT, SupportHeadError, stands_in
from secondlook.retrieval.outline import sentence_starts
from secondlook.roles.prompts import load
from secondlook.roles.prompts.marks import evidence_marks
from secondlook.roles.sentences import Sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from secondlook.answer import Scalar, StopReason
    from secondlook.models.chat import Message, Reply
    from secondlook.nodes.evidence import Packed
    from secondlook.nodes.state import Found
    from secondlook.passage import Passage
    from secondlook.roles.sentences import Sentence

# An answer in a model's words: only from the passages, each sentence cited and checked.

if TYPE_CHECKING:
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
        return replace(
            made,
            draft=withheld(
                "low_confidence",
                confidence=made.draft["confidence"],
                reasons=[objection, *made.draft["reasons"]],
                model=made.draft["model"],
            ),
        )
    for said in heard:
        emit(said)
    return made


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
            min_support=DEFAULT_MIN_SUPPORT,
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


if TYPE_CHECKING:
    _Manner = Callable[[Context], Asking]


class Drafted(Draft, Trace):
    complaints: list[str]
    """What a model wrote and was cut; heard where somebody checks."""


class ToAnswerStrictly(Asked, AnswerGrades):
    """Evidence, and whether an answer from it was refused."""


class ToAnswerAnew(Asked, Drafts, AnswerGrades):
    """Evidence, and what is held against the answers so far."""


async def answer(state: Asked, runtime: Runtime[Context]) -> Drafted:
    return await _answered(state, runtime)


async def answer_strictly(state: ToAnswerStrictly, runtime: Runtime[Context]) -> Drafted:
    """The same, and once more in stricter terms where a model refused the answer."""
    if not is_refused(state.get("answer_grades", [])):
        return await _answered(state, runtime)
    runtime.stream_writer({"redraft": "the answer was refused"})
    return await _answered(state, runtime, _strict)


async def answer_anew(state: ToAnswerAnew, runtime: Runtime[Context]) -> Drafted:
    """The same, and again where a check complained, where more was found, or where a model
    refused the answer."""
    grades, complaints = state.get("answer_grades", []), state.get("complaints", [])
    drafts, regenerations = state.get("drafts", []), state.get("regenerations", 0)
    if regenerations and complaints:
        runtime.stream_writer({"redraft": "the evidence does not carry all of it"})
        return await _answered(
            state, runtime, partial(_again, complaints=complaints, regenerations=regenerations)
        )
    if is_refused(grades):
        runtime.stream_writer({"redraft": "the answer was refused"})
        return await _answered(state, runtime, _strict)
    if drafts:
        runtime.stream_writer({"redraft": "more was found"})
    # Where a model finds nothing and the reader does: the reader's. What a model wrote and
    # was cut it may write anew.
    drafted = await _answered(state, runtime, _checked)
    if drafted["complaints"]:
        return drafted
    draft = drafted["draft"]
    own = await read_instead(runtime.context, state["question"], state["found"], draft)
    if own is None:
        return drafted
    for sentence in own["sentences"]:
        runtime.stream_writer({"token": sentence["text"]})
    said = f"{draft['model']} found no answer. {_said(own)}"
    told = step("answer", said, drafted["steps"][0]["numbers"], confidence=own["confidence"])
    return {**drafted, "draft": own, "steps": [told]}


async def _answered(
    state: Asked, runtime: Runtime[Context], manner: _Manner | None = None
) -> Drafted:
    context = runtime.context
    warnings: list[dict[str, Any]] = []
    numbers: dict[str, Scalar] = {}
    cut: list[str] = []
    if not ranking.kept(state["found"]):
        draft = withheld("no_evidence", reasons=["nothing was found"])
    elif context.models.serves("answer"):
        # prompts and all: not needed without a model

        asking = manner(context) if manner else PLAIN
        try:
            made = await written(
                context, state["question"], state["found"], runtime.stream_writer, asking
            )
            draft, numbers, cut = made.draft, made.numbers, list(made.cut)
        except (ModelError, BudgetExceeded) as error:
            warnings = [trouble("answer", error, "the reader's own answer was given instead")]
            draft = await _extracted(state, runtime)
    else:
        draft = await _extracted(state, runtime)
    warnings += [*_about_calibration(context), *_about_judge(context, draft)]
    told = step("answer", _said(draft), numbers, confidence=draft["confidence"])
    return {"draft": draft, "complaints": cut, "steps": [told], "warnings": warnings}


def _strict(_context: Context) -> Asking:

    return Asking("answer_strict")


def _checked(context: Context) -> Asking:
    """For a draft that a model will check where the reader is unsure."""

    return Asking(doubted=_doubted(context))


def _again(context: Context, *, complaints: Sequence[str], regenerations: int) -> Asking:

    listed = "\n".join(f"- {' '.join(complaint.split())}" for complaint in complaints)
    temperature = hotter(context.models.temperature("answer"), regenerations)
    return Asking("answer_again", {"complaints": listed}, temperature, _doubted(context))


def _doubted(context: Context) -> float:
    settings = context.settings
    asks = settings.answer.enable_grounded_check and settings.models.servers.grounded == "llm"
    return GREY if asks and context.models.serves("grade") else 0.0


async def _extracted(state: Asked, runtime: Runtime[Context]) -> DraftData:
    draft = await extract(runtime.context, state["question"], state["found"])
    for sentence in draft["sentences"]:
        runtime.stream_writer({"token": sentence["text"]})
    return draft


def _about_calibration(context: Context) -> list[dict[str, Any]]:
    """That the library's own calibration is not the one that was used."""
    if context.calibration_file is None or not context.calibration_file.is_file():
        return []
    try:
        calibration = context.calibration
    except ModelError:  # no reader: there are no scores to calibrate, and others tell why
        return []
    if calibration.warning is None:
        return []
    used = calibration.label == "calibrated"
    consequence = "the shipped one was used" if used else "there are no probabilities"
    return [trouble("calibration", CalibrationError(calibration.warning), consequence)]


def _about_judge(context: Context, draft: DraftData) -> list[dict[str, Any]]:
    """That a model's sentences were not checked by the judge that was asked for."""
    why = stands_in(context.support) if draft["method"] == "generative" else None
    consequence = "the sentences were checked by words alone"
    return [trouble("support", SupportHeadError(why), consequence)] if why else []


def _said(draft: DraftData) -> str:
    if not draft["sentences"]:
        return f"Withheld: {'; '.join(draft['reasons']) or draft['stop']}."
    if draft["method"] == "extractive":
        return f"Took the answer from a passage: {draft['short']}"
    return f"{draft['model']} wrote {len(draft['sentences'])} sentences that stand."


# What a model overlooked and the reader finds. Small models overlook much of what is there; one
# that was measured to judge answers well is believed.


async def read_instead(
    context: Context, question: str, found: Sequence[Found], draft: DraftData
) -> DraftData | None:
    """The reader's answer where a model has none; None where the model's word stands."""
    if draft["model"] is None or draft["sentences"]:
        return None
    fit = fit_to_grade(context, "answer")
    if fit and fit.judges_answers:
        return None
    own = await extract(context, question, found)
    if not own["sentences"]:
        return None
    return {**own, "reasons": [*own["reasons"], f"{draft['model']} gave no answer that stands"]}


# Chooses the best of all drafts, cuts what does not stand, and says what the run came to.

_UNANSWERED: frozenset[StopReason] = frozenset({"no_evidence", "low_confidence"})
_NOT_USEFUL = "(It may not be what was asked: look at the evidence yourself.)"


class ToSettle(Asked, Drafts, Draft, AnswerGrades, Readings):
    """Every draft, and the one that no check has seen."""


class Chosen(Settled, Draft, Trace):
    pass


async def settle(state: ToSettle, runtime: Runtime[Context]) -> Chosen:
    context = runtime.context
    drafts = candidates(state.get("drafts", []), state.get("draft"))
    best = _last(drafts) if state.get("answer_grades") else best_of(drafts)
    draft = withheld("no_evidence", reasons=["nothing that was found is about the question"])
    if best is not None:
        draft = cut(best) if context.settings.answer.unsupported == "cut" else best["draft"]
    if own := await read_instead(context, state["question"], state["found"], draft):
        best, draft = _unjudged(own), own
    made = rewrites(state["queries"], state.get("assumed"))
    stop = _stop(best, draft, rewrites=made, most=context.settings.corrective.max_rewrites)
    draft = _noted({**draft, "stop": stop}, best)
    review = stop in {"attempts_exhausted", "no_progress"} or (
        best is not None and best["is_grounded"] is False
    )
    told = step(
        "settle",
        _settle_said(best, len(drafts)),
        drafts=len(drafts),
        rewrites=made,
        needs_review=review,
        stop=stop,
    )
    return {
        "draft": draft,
        "settled": best,
        "needs_review": review,
        "steps": [told],
        "warnings": [],
    }


def candidates(drafts: Sequence[JudgedDraft], last: DraftData | None) -> list[JudgedDraft]:
    """All that was judged, and the last one where no check has seen it."""
    if last is None or any(judged["draft"] == last for judged in drafts):
        return list(drafts)
    return [*drafts, _unjudged(last)]


def _unjudged(draft: DraftData) -> JudgedDraft:
    return JudgedDraft(draft=draft, grounded=None, is_grounded=None, useful=None, is_useful=None)


def best_of(drafts: Sequence[JudgedDraft]) -> JudgedDraft | None:
    """The one that stands best; of equals the latest, which has seen the most evidence."""
    return max(reversed(drafts), key=_worth, default=None)


def _last(drafts: Sequence[JudgedDraft]) -> JudgedDraft | None:
    """A model has refused what was given before: whatever it was worth, it is not given again."""
    return drafts[-1] if drafts else None


def _worth(judged: JudgedDraft) -> tuple[Any, ...]:
    draft = judged["draft"]
    return (
        bool(standing(draft["sentences"])),
        judged["is_useful"] is not False,
        judged["is_grounded"] is not False,
        judged["grounded"] or 0.0,
        draft["confidence"] or 0.0,
    )


def cut(judged: JudgedDraft) -> DraftData:
    """The draft without what its evidence does not carry."""
    draft = judged["draft"]
    left = standing(draft["sentences"])
    lost = len(draft["sentences"]) - len(left)
    if not lost:
        return draft
    if not left:
        reason = "the evidence supports no sentence that the model wrote"
        return withheld("no_evidence", reasons=[reason], model=draft["model"])
    return {**draft, "sentences": left, "note": draft["note"] or cut_note(lost)}


def _stop(best: JudgedDraft | None, draft: DraftData, *, rewrites: int, most: int) -> StopReason:
    """Why the run ended: a search that went on without an answer says so."""
    failed = not draft["sentences"] and draft["stop"] in _UNANSWERED
    useless = best is not None and bool(draft["sentences"]) and best["is_useful"] is False
    if (failed and rewrites) or useless:
        return "attempts_exhausted" if rewrites >= most else "no_progress"
    return draft["stop"]


def _noted(draft: DraftData, best: JudgedDraft | None) -> DraftData:
    if best is None or best["is_useful"] is not False or not draft["sentences"]:
        return draft
    return {**draft, "note": draft["note"] or _NOT_USEFUL}


def _settle_said(best: JudgedDraft | None, drafts: int) -> str:
    if best is None or not best["draft"]["sentences"]:
        return "No draft is worth giving."
    return "The draft stands." if drafts <= 1 else f"The best of {drafts} drafts is given."
