"""A step of research: search in all its wordings, write what the passages say, judge it; and in the
end one answer of all steps."""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.errors import BudgetExceeded, ModelError
from secondlook.library.library import search_options
from secondlook.nodes import ranking
from secondlook.nodes.check import grounded
from secondlook.nodes.cite import cut_note
from secondlook.nodes.cite import standing as claims_standing
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.extract import extract, sentence_at, span, withheld
from secondlook.nodes.queries import queries_for
from secondlook.nodes.retrieve import found_by, where
from secondlook.nodes.screen import is_quarantined
from secondlook.nodes.state import (
    Cycles,
    Draft,
    DraftData,
    Evidence,
    EvidenceData,
    Found,
    Kind,
    Plan,
    Researched,
    Sentence,
    StepData,
    Trace,
    step,
    trouble,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from secondlook.answer import StepStatus, StopReason
    from secondlook.retrieval.index.port import Filter

PART: Final = "Part of the question"  # Phase of a step that asks one of several questions in one


def standing(plan: Sequence[StepData]) -> list[StepData]:
    """The steps whose findings are part of the answer."""
    return [step for step in plan if step["status"] in {"completed", "weak"}]


def failed(plan: Sequence[StepData]) -> list[StepData]:
    return [step for step in plan if step["status"] == "failed"]


def of_step(found: Sequence[Found], step: StepData) -> list[Found]:
    """What a step found, best first."""
    return [item for item in found if item["search"] == step["id"]]


def _shown(plan: Sequence[StepData]) -> set[str]:
    """The passages that these steps were shown."""
    return {record["passage"] for step in plan for record in step["evidence"] if record["kept"]}


# Searches for the pending step, and keeps the best that no earlier step was shown.


class SteppedOn(Evidence, Plan, Trace):
    pass


async def search_step(state: Researched, runtime: Runtime[Context]) -> SteppedOn:
    context, current = runtime.context, state["plan"][-1]
    warnings: list[dict[str, Any]] = []
    numbers: dict[str, Any] = {}
    excluded = _left_out(context, state, current)
    allowed = replace(where(state["scope"]), excluded=excluded)
    if not current["queries"]:
        worded = await queries_for(context, state["question"], current, allowed=allowed)
        current = {**current, "queries": worded.queries}
        warnings, numbers = list(worded.warnings), dict(worded.numbers)
    pool = await _pooled(context, current["queries"], allowed)
    search, k = context.settings.search, context.settings.answer.k
    if search.rerank and pool:
        first, rest = pool[: search.candidates], pool[search.candidates :]
        try:
            read = await ranking.read(
                context, current["question"], first, looks=max(search.looks, k)
            )
            pool = [*read, *rest]
        except Exception as error:  # noqa: BLE001 - a search is worth more than its second look
            warnings.append(trouble("search_step", error, "the order of the searches was kept"))
    placed = ranking.ranked(pool, blend=search.blend, k=k)
    found: list[Found] = [{**item, "search": current["id"]} for item in placed]
    kept = len(ranking.kept(found))
    told = step(
        "search_step",
        f"{current['question']} Found {len(found)} passages and kept {kept}.",
        numbers,
        step=current["id"],
        queries=" | ".join(current["queries"]),
        found=len(found),
        kept=kept,
        excluded=len(excluded),
    )
    return {
        "found": _joined(state["found"], found),
        "plan": [*state["plan"][:-1], current],
        "steps": [told],
        "warnings": warnings,
    }


def _left_out(context: Context, state: Researched, current: StepData) -> frozenset[str]:
    """What earlier steps were shown, save for retries and parts; and what gave a model orders."""
    earlier = [one for one in state["plan"] if one["id"] < current["id"]]
    if current["retry_of"] is not None:
        earlier = standing(earlier)
    if current["phase"] == PART or not context.settings.research.enable_fresh_evidence:
        earlier = []
    return frozenset(_shown(earlier) | {one["id"] for one in state["found"] if is_quarantined(one)})


async def _pooled(context: Context, queries: Sequence[str], allowed: Filter) -> list[Found]:
    """What any of the queries finds, each passage once with its best place, best first."""
    options = search_options(context.settings.search, k=context.settings.answer.k)
    searches = [asyncio.to_thread(context.shelf.find, query, options, allowed) for query in queries]
    pool: dict[str, Found] = {}
    for hits in await asyncio.gather(*searches):
        for item in map(found_by, hits):
            known = pool.get(item["id"])
            if known is None or known["fusion_score"] < item["fusion_score"]:
                pool[item["id"]] = item
    return sorted(pool.values(), key=lambda item: (-item["fusion_score"], item["id"]))


def _joined(before: Sequence[Found], now: Sequence[Found]) -> list[Found]:
    """Each passage once, as the step that was shown it last saw it: first what was kept."""
    last = {item["id"]: item for item in before}
    for item in now:
        if item["kept"] or not last.get(item["id"], item)["kept"]:
            last.pop(item["id"], None)
            last[item["id"]] = item
    return sorted(last.values(), key=lambda item: (not item["kept"], item["search"]))


# Writes what the passages of a step say: in a model's words, each sentence cited and checked,
# or word for word. A model reads whatever was found: the reader's doubt orders and marks. Without
# one, nothing is written where the evidence fails.


class Synthesised(Plan, Trace):
    pass


async def synthesise(state: Researched, runtime: Runtime[Context]) -> Synthesised:
    context, current = runtime.context, state["plan"][-1]
    items = of_step(state["found"], current)
    kept = ranking.kept(items)
    cosines, warnings = await _cosines(context, current, kept)
    confidence = _confidence(context, kept, cosines)
    worth = status_of(context, confidence) != "failed"
    # Where a cosine decides, nothing of a step that failed is shown.
    quiet = not worth and context.settings.research.evaluator == "cosine"
    emit = (lambda _: None) if quiet else runtime.stream_writer
    draft, complaints, more = await _written(context, current["question"], kept, emit, worth=worth)
    warnings += more
    done: StepData = {
        **current,
        "confidence": confidence,
        "evidence": [
            EvidenceData(
                passage=item["id"],
                rank=rank,
                score=item["score"],
                relevance=item["relevance"],
                answerable=item["answerable"],
                cosine=cosines.get(item["id"]),
                kept=item["kept"],
                why=item["why"],
            )
            for rank, item in enumerate(items, 1)
        ],
        "draft": draft,
        "complaints": complaints,
    }
    count = len(draft["sentences"])
    things = "1 thing" if count == 1 else f"{count} things"
    told = step(
        "synthesise",
        f"Found out {things}." if count else f"Found out nothing: {draft['reasons'][0]}.",
        step=done["id"],
        sentences=count,
        cut=len(complaints),
        confidence=confidence,
    )
    return {"plan": [*state["plan"][:-1], done], "steps": [told], "warnings": warnings}


async def _written(
    context: Context, question: str, kept: list[Found], emit: Callable[[Any], None], *, worth: bool
) -> tuple[DraftData, list[str], list[dict[str, Any]]]:
    """The findings, what was cut from them, and what went wrong on the way. `worth` is whether the
    passages seem to answer."""
    lost: list[dict[str, Any]] = []
    by_model = context.settings.models.servers.synthesise == "model"
    if by_model and context.models.serves("answer") and kept:
        from secondlook.nodes.answer import Asking, written

        chosen = context.settings.research
        structure = ", then ".join(chosen.structure) or "what answers the question"
        asking = Asking("synthesise", {"structure": structure, "vocabulary": chosen.vocabulary})
        try:
            made = await written(context, question, kept, emit, asking)
            draft = _without_titles(made.draft, kept)
            if not context.settings.answer.enable_grounded_check:
                return draft, list(made.cut), []
            checked = await grounded(context, question, draft, made.cut)
            return _cut(checked.draft, draft), list(checked.complaints), checked.warnings
        except (ModelError, BudgetExceeded) as error:
            lost = [trouble("synthesise", error, "the passages' own words were taken instead")]
    if not worth:
        reason = "its passages do not seem to answer it"
        return withheld("low_confidence", reasons=[reason]), [], lost
    draft = await _quoted(context, question, kept)
    for sentence in draft["sentences"]:
        emit({"token": f"{sentence['text']} "})
    return draft, [], lost


def _without_titles(draft: DraftData, kept: Sequence[Found]) -> DraftData:
    """Small models list the titles that they were shown: a title supports itself, and tells
    nothing."""
    titles = {item["title"].casefold() for item in kept}
    said = draft["sentences"]
    left = [one for one in said if one["text"].strip(" .:*#").casefold() not in titles]
    return _cut({**draft, "sentences": left}, draft)


def _cut(checked: DraftData, made: DraftData) -> DraftData:
    """The draft without what its evidence does not carry."""
    left = claims_standing(checked["sentences"])
    lost = len(checked["sentences"]) - len(left)
    if not left and made["sentences"]:
        reason = "the evidence supports no sentence that the model wrote"
        return withheld("no_evidence", reasons=[reason], model=made["model"])
    return {**checked, "sentences": left, "note": cut_note(lost) if lost else checked["note"]}


async def _cosines(
    context: Context, current: StepData, kept: Sequence[Found]
) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """How like each passage is to the step's first query, where that is what counts."""
    if context.settings.research.evaluator != "cosine" or not kept:
        return {}, []
    try:
        held = await ranking.texts(context, [item["id"] for item in kept])
        pairs = [(current["queries"][0], passage.text) for passage in held.values()]
        likes = await asyncio.to_thread(context.shelf.similarity, pairs)
        both = zip(held, likes, strict=True)
        return {name: round(like, 4) for name, like in both if math.isfinite(like)}, []
    except Exception as error:  # noqa: BLE001 - without likeness the step is kept with a caveat
        return {}, [trouble("synthesise", error, "the step could not be judged")]


def _confidence(
    context: Context, kept: Sequence[Found], cosines: Mapping[str, float]
) -> float | None:
    """That these passages answer the step's question, or their mean likeness to its query."""
    if not kept:
        return 0.0
    if context.settings.research.evaluator == "cosine":
        return round(sum(cosines.values()) / len(cosines), 4) if cosines else None
    quality = ranking.measured(kept, context.calibration)
    return None if quality is None else round(quality, 4)


_QUOTES = 3
_ENDS = (".", "!", "?", ";", ":", '"', ")")
_SENTENCE_WORDS = 8  # What has fewer and no end is a heading, and no finding


async def _quoted(context: Context, question: str, kept: Sequence[Found]) -> DraftData:
    """Without a model: what the reader is sure of, then the sentences that else bear on it."""
    if not kept:
        return withheld("no_evidence", reasons=["nothing was found"])
    sure = await extract(context, question, kept)
    least = context.calibration.min_about
    held = await ranking.texts(context, [item["id"] for item in kept])
    first = {one["text"]: one for one in sure["sentences"]}
    for item in kept:
        if (item["relevance"] or 0.0) > least and item["span_end"] and item["id"] in held:
            quote = sentence_at(held[item["id"]], *span(item))
            if quote["text"].endswith(_ENDS) or len(quote["text"].split()) >= _SENTENCE_WORDS:
                first.setdefault(quote["text"], quote)
    sentences = list(first.values())[:_QUOTES]
    if not sentences:
        return sure
    reasons = sure["reasons"] if sure["sentences"] else ["the passages bear on it"]
    return {
        **sure,
        "method": "extractive",
        "sentences": sentences,
        "stop": "answered",
        "reasons": reasons,
    }


# Judges the step that was just made, and decides whether the research goes on. Asks no model: the
# same evidence gets the same verdict.

MIN_COSINE = 0.70
COSINE_NOISE = 0.05  # Of the published design, as is that no cosine is weak
WEAK_MARGIN = 0.15
"""Between two wordings of a question the confidence differs by 0.17 and 0.13 (medians on
`squad2-dev` and `hotpot`): nearer to the threshold, other words would have turned the verdict."""
NOISE = 0.013
"""The same on `barexam`, where steps mostly fail: failures that differ by less are all the same."""
RUN_OF_FAILURES = 3


def threshold_of(context: Context) -> float:
    """The confidence from which a step has answered its question."""
    if context.settings.research.evaluator == "cosine":
        return MIN_COSINE
    least = context.settings.research.min_confidence
    return context.calibration.min_quality if least < 0 else least


def status_of(context: Context, confidence: float | None) -> StepStatus:
    """Nobody can tell what an unknown reader's scores are worth: kept, with a caveat."""
    margin = 0.0 if context.settings.research.evaluator == "cosine" else WEAK_MARGIN
    threshold = threshold_of(context)
    if confidence is None or abs(confidence - threshold) < margin:
        return "weak"
    return "completed" if confidence >= threshold else "failed"


class Evaluated(Plan, Kind, Cycles, Trace):
    route: str


async def evaluate(state: Researched, runtime: Runtime[Context]) -> Evaluated:
    context, cycles = runtime.context, state.get("cycles", 0) + 1
    chosen, last = context.settings.research, state["plan"][-1]
    # A step without findings has failed, whatever its passages looked like. One whose reader quotes
    # passages and is sure of no answer in them is weak at best.
    status: StepStatus = "failed"
    if (draft := last["draft"]) is not None and draft["sentences"]:
        status = status_of(context, last["confidence"])
        unsure = draft["method"] == "extractive" and draft["short"] is None
        status = "weak" if unsure and status == "completed" else status
        # Of what a model has read and the evidence carries, the reader's doubt is a caveat at most.
        if _is_written(last) and chosen.evaluator == "calibrated":
            status = "weak" if status == "failed" else "completed"
    judged: StepData = {**last, "status": status}
    plan = [*state["plan"][:-1], judged]
    # Where nobody has classified it, a question may take several steps.
    kind = state.get("query_type", "multi_hop")
    escalated = state.get("escalated", False)
    escalates = (
        bool(state["found"])
        and (kind, status, escalated) == ("simple", "failed", False)
        and chosen.enable_escalation
        and chosen.enable_replanning
        and chosen.max_cycles > 1
    )
    why = None if escalates else _enough(context, state, plan, cycles)
    way = "aggregate" if why else "replan"
    onward = "its only step failed" if escalates else "there may be more to find out"
    done, lost = len(standing(plan)), len(failed(plan))
    told = step(
        "evaluate",
        f"Step {last['id']} ({last['phase']}) is {status}: {done} of {len(plan)} "
        f"{'stands' if done == 1 else 'stand'}, {lost} failed.",
        route=(way, why or onward),
        step=last["id"],
        status=status,
        confidence=last["confidence"],
        threshold=threshold_of(context),
    )
    return {
        "plan": plan,
        "cycles": cycles,
        "stopped": why or "",
        "query_type": "multi_hop" if escalates else kind,
        "classified_by": state.get("classified_by", "nobody"),
        "escalated": escalates or escalated,
        "route": way,
        "steps": [told],
        "warnings": [],
    }


def _enough(
    context: Context, state: Researched, plan: Sequence[StepData], cycles: int
) -> str | None:
    """Why there is no further step; None where there may be one."""
    chosen, done = context.settings.research, len(standing(plan))
    reasons = {
        "there is nothing to be found": not state["found"],
        "a simple question takes one step": state.get("query_type") == "simple",
        "planning on is switched off": not chosen.enable_replanning,
        f"{done} steps are done, as many as may be": done >= chosen.max_steps,
        f"{cycles} steps were tried, as many as may be": cycles >= chosen.max_cycles,
    }
    why = next((reason for reason, holds in reasons.items() if holds), None)
    last = plan[-RUN_OF_FAILURES:]
    if why or not chosen.enable_stagnation or len(failed(last)) < RUN_OF_FAILURES:
        return why
    if _shown(last) <= _shown(plan[:-RUN_OF_FAILURES]):
        return f"{RUN_OF_FAILURES} steps in a row failed and brought nothing new"
    scores = [step["confidence"] for step in last if step["confidence"] is not None]
    noise = COSINE_NOISE if chosen.evaluator == "cosine" else NOISE
    if len(scores) == RUN_OF_FAILURES and max(scores) - min(scores) < noise:
        return f"{RUN_OF_FAILURES} steps in a row failed alike: other words do not help"
    return None


# Makes one answer of the steps of a research: every finding that stands, checked once more, or
# an honest account of what was tried.

_MOST_QUOTED = 200  # Characters of a question that an account of failures repeats


class Aggregated(Draft, Trace):
    pass


async def aggregate(state: Researched, runtime: Runtime[Context]) -> Aggregated:
    context, plan = runtime.context, state["plan"]
    done = standing(plan)
    warnings: list[dict[str, Any]] = []
    if not done:
        draft = _nothing(context, state)
    elif any(map(_is_written, done)):
        draft = together(done)
        if context.settings.answer.enable_grounded_check:
            checked = await grounded(context, state["question"], draft, ())
            made, warnings = _cut(checked.draft, draft), checked.warnings
            draft = {**made, "note": made["note"] or draft["note"]}
    else:
        draft = await _read_out(context, state, done)
    missing = [_short(one["question"]) for one in failed(plan) if one["phase"] == PART]
    if missing and draft["sentences"] and not draft["note"]:
        draft = {**draft, "note": f"(Not found out: {' '.join(missing)})"}
    if draft["sentences"] and (refusal := context.ledger.refusal):
        draft = {**draft, "stop": refusal.reason}
    said = f"{len(done)} of {len(plan)} steps make up the answer." if done else "Every step failed."
    told = step(
        "aggregate",
        said,
        sentences=len(draft["sentences"]),
        confidence=draft["confidence"],
        stopped=state.get("stopped", ""),
    )
    return {"draft": draft, "steps": [told], "warnings": warnings}


def findings(plan: Sequence[StepData]) -> list[Sentence]:
    """The sentences of the steps that stand, in order, each once."""
    first: dict[str, Sentence] = {}
    for done in standing(plan):
        for one in done["draft"]["sentences"] if done["draft"] else ():
            first.setdefault(one["text"], one)
    return list(first.values())


def _is_written(done: StepData) -> bool:
    return done["draft"] is not None and done["draft"]["method"] == "generative"


def together(done: Sequence[StepData]) -> DraftData:
    drafts = [one["draft"] for one in done if one["draft"] is not None]
    known = [one["confidence"] for one in done if one["confidence"] is not None]
    lost = sum(len(one["complaints"]) for one in done)
    weak = [str(one["id"]) for one in done if one["status"] == "weak"]
    which = f"Step {weak[0]} stands" if len(weak) == 1 else f"Steps {', '.join(weak)} stand"
    caveat = f"({which} on weak evidence: look at it yourself.)" if weak else None
    reasons = []
    for one in done:
        sure = "" if one["confidence"] is None else f" ({one['confidence']:.2f})"
        reasons.append(f"step {one['id']}, {one['phase']}: {one['status']}{sure}")
    model = next((draft["model"] for draft in drafts if draft["model"]), None)
    mean = round(sum(known) / len(known), 4) if known else None
    return {
        **withheld("answered", confidence=mean, reasons=reasons, model=model),
        "method": "generative" if any(map(_is_written, done)) else "extractive",
        "sentences": findings(done),
        "short": drafts[0]["short"] if len(done) == 1 else None,
        "note": cut_note(lost) if lost else caveat,
    }


async def _read_out(context: Context, state: Researched, done: Sequence[StepData]) -> DraftData:
    """Without a model: the reader's answer to the question itself, from all that was found, and
    then what each step found. Without such an answer nothing is claimed, unless the steps were
    the parts of the question: then all of it is right only where each part is."""
    if all(one["phase"] == PART for one in done):
        known = [one["draft"]["confidence"] if one["draft"] else None for one in done]
        sure = [value for value in known if value is not None]
        both = round(math.prod(sure), 4) if len(sure) == len(done) else None
        return {**together(done), "confidence": both}
    kept = ranking.kept(state["found"])
    if len(done) > 1:  # each step read its passages for its own question
        with suppress(Exception):  # what the steps read is worth something too
            kept = await ranking.read(context, state["question"], kept)
    whole = await extract(context, state["question"], kept)
    if not whole["sentences"]:
        return whole
    quotes = [one for one in findings(done) if one["text"] != whole["sentences"][0]["text"]]
    return {**whole, "sentences": [*whole["sentences"], *quotes]}


def _nothing(context: Context, state: Researched) -> DraftData:
    """No synthesis is given as an answer where every step failed."""
    plan = state["plan"]
    few = {1: "The only step failed", 2: "Both steps failed"}
    reason = few.get(len(plan), f"All {len(plan)} steps failed")
    tried = []
    for number, one in enumerate(plan, 1):
        kept = ranking.kept(of_step(state["found"], one))
        titles = list(dict.fromkeys(f'"{item["title"]}"' for item in kept))[:3]
        nearest = f" Nearest: {', '.join(titles)}" if titles else ""
        tried.append(f"({number}) {_short(one['question'])}{nearest}")
    stop: StopReason = "no_progress" if len(plan) > 1 else "low_confidence"
    if not _shown(plan):
        stop = "no_evidence"
    elif len(plan) >= context.settings.research.max_cycles > 1:
        stop = "attempts_exhausted"
    draft = withheld(stop, confidence=None, reasons=[reason])
    return {**draft, "note": f"{reason}. Tried: {'; '.join(tried)}."}


def _short(question: str) -> str:
    plain = " ".join(question.split())
    return plain if len(plain) <= _MOST_QUOTED else f"{plain[: _MOST_QUOTED - 3]}..."
