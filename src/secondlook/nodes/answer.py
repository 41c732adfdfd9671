"""Drafts the answer: in a model's words where a model serves `answer`, else the reader's span. Then
`settle` chooses the best of all drafts."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.errors import BudgetExceeded, ContextOverflow, ModelError, UnusableReply
from secondlook.nodes import ranking
from secondlook.nodes.cite import Checker, cut_note, objected, sentences_were, standing
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.evidence import SMALLEST, Packed, evidence_budget, evidence_items, packed
from secondlook.nodes.extract import extract, withheld
from secondlook.nodes.grade import fit_to_grade
from secondlook.nodes.limits import GREY, AnswerGrades, dial, hotter, rewrites
from secondlook.nodes.revalidate import guard_of
from secondlook.nodes.state import (
    Asked,
    Draft,
    DraftData,
    Drafts,
    Found,
    JudgedDraft,
    Readings,
    Settled,
    Trace,
    step,
    trouble,
)
from secondlook.nodes.state import Sentence as Claimed
from secondlook.reading.calibration import CalibrationError
from secondlook.reading.languages import foreign, other_language
from secondlook.reading.numbers import missing_numbers
from secondlook.reading.support import DEFAULT_MIN_SUPPORT, SupportHeadError, stands_in
from secondlook.retrieval.outline import sentence_starts
from secondlook.retrieval.terms import query_terms
from secondlook.roles.prompts import load
from secondlook.roles.prompts.marks import evidence_marks
from secondlook.roles.sentences import Sentence, Sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from secondlook.answer import Scalar, StopReason
    from secondlook.models.chat import Message, Reply

    Emit = Callable[[Any], None]
    Likely = tuple[float | None, list[str]]
    """The probability that the evidence has an answer, and the reasons."""

_UNLIKELY, _NEITHER = 0.84, 0.6
"""What a model wrote gives way to what the reader is sure of where, as the reader judges it, it is
less likely the answer than the first and has other words; below the second to nothing, where the
reader has no answer either. What it costs right replies: python -m benchmarks.double."""


@dataclass(frozen=True, slots=True)
class Asking:
    """How a model is asked to write."""

    prompt: str = "answer"
    values: Mapping[str, str] = field(default_factory=dict)
    """What fills the holes of the prompt besides the question and the evidence."""
    temperature: float | None = None  # None = as set for the role
    doubted: float = 0.0
    """A sentence that lacks no more support than this stays in the draft, marked: another judge
    may let it stand."""

    def render(self, question: str, evidence: str) -> tuple[Message, ...]:
        return load(self.prompt).render(question=question, evidence=evidence, **self.values)


PLAIN: Final = Asking()
_STRICT: Final = Asking("answer_strict")


class Drafted(Draft, Trace):
    complaints: list[str]  # sentences of a model that were cut


class ToAnswerStrictly(Asked, AnswerGrades):
    """Evidence, and whether an answer from it was refused."""


class ToAnswerAnew(Asked, Drafts, AnswerGrades):
    """Evidence, and the objections to the answers so far."""


async def answer(state: Asked, runtime: Runtime[Context]) -> Drafted:
    return await _or_read(state, runtime, await _answered(state, runtime, PLAIN))


async def answer_strictly(state: ToAnswerStrictly, runtime: Runtime[Context]) -> Drafted:
    """The same, and once more in stricter terms where a model refused the answer."""
    if state.get("answer_grades", [])[-1:] != ["no"]:
        return await answer(state, runtime)
    runtime.stream_writer({"redraft": "the answer was refused"})
    return await _answered(state, runtime, _STRICT)


async def answer_anew(state: ToAnswerAnew, runtime: Runtime[Context]) -> Drafted:
    """The same, and again where a check complained, where more was found, or where a model
    refused the answer."""
    context, complaints = runtime.context, state.get("complaints", [])
    servers, regenerations = context.settings.models.servers, state.get("regenerations", 0)
    # A model will check the sentences that the reader is unsure of: they stay until then.
    checks = context.settings.answer.enable_grounded_check and servers.grounded == "llm"
    doubted = GREY if checks and context.models.serves("grade") else 0.0
    if regenerations and complaints:
        runtime.stream_writer({"redraft": "the evidence does not carry all of it"})
        listed = "\n".join(f"- {' '.join(complaint.split())}" for complaint in complaints)
        temperature = hotter(context.models.temperature("answer"), regenerations)
        asking = Asking("answer_again", {"complaints": listed}, temperature, doubted)
        return await _answered(state, runtime, asking)
    if state.get("answer_grades", [])[-1:] == ["no"]:
        runtime.stream_writer({"redraft": "the answer was refused"})
        return await _answered(state, runtime, _STRICT)
    if state.get("drafts"):
        runtime.stream_writer({"redraft": "more was found"})
    drafted = await _answered(state, runtime, Asking(doubted=doubted))
    # The model may write what was cut anew.
    return drafted if drafted["complaints"] else await _or_read(state, runtime, drafted)


async def _answered(state: Asked, runtime: Runtime[Context], asking: Asking) -> Drafted:
    context, question, found = runtime.context, state["question"], state["found"]
    warnings: list[dict[str, Any]] = []
    made = None
    if not ranking.kept(found):
        made = Written(withheld("no_evidence", reasons=["nothing was found"]), {})
    elif context.models.serves("answer"):
        try:
            made = await written(context, question, found, runtime.stream_writer, asking)
        except (ModelError, BudgetExceeded) as error:
            warnings = [trouble("answer", error, "the reader's own answer was given instead")]
    if made is None:
        made = Written(await extract(context, question, found), {})
        for sentence in made.draft["sentences"]:
            runtime.stream_writer({"token": sentence["text"]})
    file, draft = context.calibration_file, made.draft
    if file is not None and file.is_file():
        warnings += _about_calibration(context)
    if draft["method"] == "generative" and (why := stands_in(context.support)):
        judge = SupportHeadError(why)
        warnings.append(trouble("support", judge, "the sentences were checked by words alone"))
    told = step("answer", _said(draft), made.numbers, confidence=draft["confidence"])
    return {"draft": draft, "complaints": list(made.cut), "steps": [told], "warnings": warnings}


async def _or_read(state: Asked, runtime: Runtime[Context], drafted: Drafted) -> Drafted:
    """The same, or the reader's answer in place of what a model wrote."""
    draft, question, found = drafted["draft"], state["question"], state["found"]
    if (own := await read_instead(runtime.context, question, found, draft)) is None:
        return drafted
    if own["model"]:  # its own words, in doubt
        return {**drafted, "draft": own}
    runtime.stream_writer({"redraft": own["reasons"][-1]})
    for sentence in own["sentences"]:
        runtime.stream_writer({"token": sentence["text"]})
    numbers = drafted["steps"][0]["numbers"]
    said = f"{own['reasons'][-1]}. {_said(own)}"
    told = step("answer", said, numbers, confidence=own["confidence"])
    return {**drafted, "draft": own, "steps": [told]}


def _about_calibration(context: Context) -> list[dict[str, Any]]:
    """A warning where the library's own calibration could not be used."""
    try:
        calibration = context.calibration
    except ModelError:  # no reader: there are no scores to calibrate, and others tell why
        return []
    if calibration.warning is None:
        return []
    used = calibration.label == "calibrated"
    consequence = "the shipped one was used" if used else "there are no probabilities"
    return [trouble("calibration", CalibrationError(calibration.warning), consequence)]


def _said(draft: DraftData) -> str:
    if not draft["sentences"]:
        return f"Withheld: {'; '.join(draft['reasons']) or draft['stop']}."
    if draft["method"] == "extractive":
        return f"Took the answer from a passage: {draft['short']}"
    return f"{draft['model']} wrote {len(draft['sentences'])} sentences that stand."


async def read_instead(
    context: Context, question: str, found: Sequence[Found], draft: DraftData
) -> DraftData | None:
    """The reader's answer where a model has none, or wrote what hardly answers while the reader is
    sure: small models overlook much of what is there. Where the reader is sure of something else,
    what fits is in doubt. None where the model's word stands: as that of one that was measured to
    judge answers well, or of a hosted one with a name and a price."""
    fits = draft.get("fits", 1.0) if draft["sentences"] else 0.0
    if draft["model"] is None:
        return None
    fit = fit_to_grade(context, "answer")
    if fit.judges_answers if fit else context.models.is_known("answer"):
        return None
    own = await extract(context, question, found)
    is_sure = (own["confidence"] or 0.0) >= (context.calibration.min_sure if fits else 0.0)
    if fits and own["sentences"] and (not is_sure or _agree(question, own, draft)):
        return None
    if fits >= _UNLIKELY:
        return {**draft, "fits": _UNLIKELY} if own["sentences"] else None
    if not (is_sure if own["sentences"] else draft["sentences"] and fits < _NEITHER):
        return None
    return {**own, "reasons": [*own["reasons"], f"{draft['model']} gave no answer that stands"]}


def _agree(question: str, own: DraftData, draft: DraftData) -> bool:
    """Whether two drafts say yes or no alike, else whether the second's short form has the numbers
    of the first's and a third of what tells in either besides the question's words."""
    one, other = own["short"] or "", draft["short"] or ""
    if one in {"Yes", "No"}:
        return draft["sentences"][0]["text"].startswith(one)
    asked = set(query_terms(question))
    first, second = set(query_terms(one)) - asked, set(query_terms(other)) - asked
    shared = 3 * len(first & second) >= min(len(first), len(second)) > 0
    return shared and not missing_numbers(one, other)


# An answer in a model's words: only from the passages, each sentence cited and checked.


class Written(NamedTuple):
    draft: DraftData
    numbers: dict[str, Scalar]
    cut: tuple[str, ...] = ()  # sentences of the model that the evidence does not carry


async def written(
    context: Context, question: str, found: Sequence[Found], emit: Emit, asking: Asking = PLAIN
) -> Written:
    """The draft and what was cut from it. Raises ModelError or BudgetExceeded when there is none.
    Where a risk is named, no model is asked for an answer that could not be given, and nothing is
    streamed before the answer is known to keep to the risk."""
    allowed, likely = dial(context), await _likely(context, question, found)
    if allowed and (objection := allowed.objection(likely[0])):
        reasons = [objection, *likely[1]]
        return Written(withheld("low_confidence", confidence=likely[0], reasons=reasons), {})
    heard: list[Any] = []
    hear = heard.append if allowed else emit
    made = await _written(context, question, found, likely, emit=hear, asking=asking)
    draft = made.draft
    if allowed and draft["sentences"] and (objection := allowed.objection(draft["confidence"])):
        kept_back = withheld(
            "low_confidence",
            confidence=draft["confidence"],
            reasons=[objection, *draft["reasons"]],
            model=draft["model"],
        )
        return made._replace(draft=kept_back)
    for said in heard:
        emit(said)
    return made


async def _likely(context: Context, question: str, found: Sequence[Found]) -> Likely:
    """How likely the evidence holds an answer, as the reader sees it. Nobody knows where it was
    not trained for the language."""
    read = [item for item in ranking.kept(found) if ranking.candidate(item) is not None]
    candidates, calibration = ranking.candidates(read), context.calibration
    best = calibration.best_answer(candidates)
    if best is None:
        return None, []
    languages = context.shelf.reader_languages
    for passage in (await ranking.texts(context, [read[best]["id"]])).values():
        if other := await asyncio.to_thread(foreign, question, passage.text, languages):
            return None, [other.reason]
    probability = calibration.answer_probability(candidates, best)
    return probability, list(calibration.reasons(candidates, best))


async def _written(
    context: Context,
    question: str,
    found: Sequence[Found],
    likely: Likely,
    *,
    emit: Emit,
    asking: Asking,
) -> Written:
    items, held = await evidence_items(context, found)
    most, bare = load(asking.prompt).max_tokens, asking.render(question, "")
    budget = await evidence_budget(context, "answer", bare, max_tokens=most)
    while True:
        shown = packed(context, "answer", question, items, budget)
        if not shown.blocks:  # the passages were found, and are gone or empty
            gone = ["nothing of what was found can be read any more"]
            return Written(withheld("no_evidence", reasons=gone), {})
        evidence = evidence_marks(context.run).wrap([block.text for block in shown.blocks])
        checker = Checker(
            passages=[held[block.passage] for block in shown.blocks],
            support=context.support,
            min_support=DEFAULT_MIN_SUPPORT,
            enabled=context.settings.answer.enable_sentence_check,
            guard=guard_of(context, question),
            question=question,
            in_context=partial(context.shelf.in_context, question),
        )
        writing = _Writing(context, question, asking, shown, evidence, checker, emit)
        try:
            return await writing.written(likely)
        except ContextOverflow:
            # Tokens were estimated; the model has counted them. Half as much will do.
            if (budget := budget // 2) < SMALLEST:
                raise


@dataclass(frozen=True, slots=True)
class _Writing:
    """One try: what the model is shown, and the draft that its reply becomes."""

    context: Context
    question: str
    asking: Asking
    shown: Packed
    evidence: str
    checker: Checker
    emit: Emit

    async def written(self, likely: Likely) -> Written:
        """Streams the sentences that are complete and stand; the rest is never seen."""
        preview = self._listener()

        def show(sentences: Sequence[Sentence]) -> None:
            for claimed in map(self.checker.check, sentences):
                if claimed["supported"] is not False:
                    self.emit({"token": f"{claimed['text']} "})

        reply = await self.context.models.ask(
            "answer",
            self.asking.render(self.question, self.evidence),
            node="answer",
            max_tokens=load(self.asking.prompt).max_tokens,
            temperature=self.asking.temperature,
            on_text=lambda text: show(preview.feed(text)),
            final=True,
        )
        if not preview.begun:  # it came from a journal
            show(preview.feed(reply.text))
        show(preview.finish())
        return await asyncio.to_thread(self._drafted, reply, likely)

    def _listener(self) -> Sentences:
        own = load(self.asking.prompt).own_words
        count = len(self.shown.blocks)
        return Sentences(count, own_words=own, question=self.question, evidence=self.evidence)

    def _drafted(self, reply: Reply[None], likely: Likely) -> Written:
        context, heard = self.context, self._listener()
        said = [*heard.feed(reply.text), *heard.finish(cut_short=reply.finish == "length")]
        claimed = [self.checker.check(sentence) for sentence in said]
        # What stands is part of the draft, and what another judge may let stand.
        doubted = self.asking.doubted
        least = self.checker.min_support - doubted if doubted else math.inf
        stays = [
            one
            for one in claimed
            if one["supported"] is not False or (one["cited"] and (one["support"] or 0.0) >= least)
        ]
        cut = tuple(one["text"] for one in claimed if one not in stays)
        numbers: dict[str, Scalar] = {
            "evidence": len(self.shown.blocks),
            "evidence_tokens": self.shown.tokens,
            "sentences": len(said),
            "unsupported": sum(claim["supported"] is False for claim in claimed),
            "cut": sum(heard.dropped.values()) - heard.dropped["citation"] + len(cut),
            "prompt_leaks": heard.dropped["prompt"] + heard.dropped["control"],
            "unknown_citations": heard.dropped["citation"],
        }
        if objections := objected(claimed):
            numbers["not_asked_for"] = "; ".join(objections)
        model = context.models.name("answer")
        if not stays and (heard.not_found or claimed) and context.settings.answer.enable_abstention:
            reason = "the evidence supports no sentence that the model wrote"
            if heard.not_found:
                reason = "the model found no answer in the evidence"
            elif objections:
                reason = f"what the model wrote was not asked for: it {objections[0]}"
            return Written(withheld("no_evidence", reasons=[reason], model=model), numbers, cut)
        if not stays:
            raise UnusableReply(f"{model} wrote nothing that can be used: {reply.text[:80]!r}")
        # How sure: that the evidence holds an answer, times how well it carries what was said.
        probability, about = likely
        supports = [claim["support"] for claim in stays if claim["support"] is not None]
        confidence, reasons = None, ["the sentences were not checked"]
        if supports:
            covered = sum(supports) / len(supports)
            confidence = None if probability is None else round(probability * covered, 4)
            reasons = [f"the evidence covers {covered:.0%} of what is said"]
            reasons = [*about, *reasons] if probability is None else [*reasons, *about]
        note = cut_note(len(cut)) if cut else None
        if count := sum("objection" in one for one in claimed):
            why = ", or ".join(f"it {reason}" for reason in objections)
            note = f"({count} {sentences_were(count)} not asked for and held back: {why}.)"
        text = " ".join(one["text"] for one in stays)
        draft: DraftData = {
            **withheld("answered", confidence=confidence, reasons=reasons, model=model),
            "method": "generative",
            "sentences": stays,
            "short": self._short(text),
            "note": note,
            "fits": 1.0 if probability is None else self._fits(text, stays),
        }
        return Written(draft, numbers, cut)

    def _fits(self, text: str, stays: Sequence[Claimed]) -> float:
        """How likely the text answers the question, by the best of the passages that it cites."""
        checker, cited = self.checker, {at["passage"] for one in stays for at in one["cited"]}
        views = [checker.in_context(one) for one in checker.passages if one.id in cited]
        asked = [(text, (view,)) for view in views if not other_language(text)]
        fits = checker.support.answers(self.question, asked) if checker.enabled else None
        return max(fits or [1.0])

    def _short(self, text: str) -> str | None:
        """The few words that answer, read out of the model's own text."""
        try:
            reading = self.context.shelf.read_text(self.question, text)
        except Exception:  # noqa: BLE001 - a short form is a convenience
            return None
        span = text[reading.start : reading.end]
        return span[: min(sentence_starts(span), default=len(span))].strip() or None


# The best of all drafts, without what does not stand, and what the run came to.


class ToSettle(Asked, Drafts, Draft, AnswerGrades, Readings):
    """Every draft, and the one that no check has seen."""


class Chosen(Settled, Draft, Trace):
    pass


async def settle(state: ToSettle, runtime: Runtime[Context]) -> Chosen:
    context, drafts = runtime.context, list(state.get("drafts", []))
    last = state.get("draft")
    if last is not None and all(judged["draft"] != last for judged in drafts):
        drafts.append(_unjudged(last))
    # What a model has refused is not given again, whatever it was worth.
    best = drafts[-1] if drafts and state.get("answer_grades") else best_of(drafts)
    nothing = ["nothing that was found is about the question"]
    draft = withheld("no_evidence", reasons=nothing) if best is None else cut(best)
    own = None
    if not draft["sentences"]:
        own = await read_instead(context, state["question"], state["found"], draft)
    if own is not None:
        best, draft = _unjudged(own), own
    made = rewrites(state["queries"], state.get("assumed"))
    useless = best is not None and best["is_useful"] is False and bool(draft["sentences"])
    unanswered = not draft["sentences"] and draft["stop"] in {"no_evidence", "low_confidence"}
    stop: StopReason = draft["stop"]
    if (unanswered and made) or useless:
        ended = made >= context.settings.corrective.max_rewrites
        stop = "attempts_exhausted" if ended else "no_progress"
    beside = "(It may not be what was asked: look at the evidence yourself.)" if useless else None
    draft = {**draft, "stop": stop, "note": draft["note"] or beside}
    weak = best is not None and best["is_grounded"] is False
    review = weak or stop in {"attempts_exhausted", "no_progress"}
    said = f"The best of {len(drafts)} drafts is given." if len(drafts) > 1 else "The draft stands."
    if best is None or not best["draft"]["sentences"]:
        said = "No draft is worth giving."
    counted = {"drafts": len(drafts), "rewrites": made, "needs_review": review, "stop": stop}
    return {
        "draft": draft,
        "settled": best,
        "needs_review": review,
        "steps": [step("settle", said, counted)],
        "warnings": [],
    }


def _unjudged(draft: DraftData) -> JudgedDraft:
    return JudgedDraft(draft=draft, grounded=None, is_grounded=None, useful=None, is_useful=None)


def best_of(drafts: Sequence[JudgedDraft]) -> JudgedDraft | None:
    """The one that stands best; of equals the latest, which has seen the most evidence."""

    def worth(judged: JudgedDraft) -> tuple[Any, ...]:
        draft = judged["draft"]
        return (
            bool(standing(draft["sentences"])),
            judged["is_useful"] is not False,
            judged["is_grounded"] is not False,
            judged["grounded"] or 0.0,
            draft["confidence"] or 0.0,
        )

    return max(reversed(drafts), key=worth, default=None)


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
