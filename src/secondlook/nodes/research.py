"""Searches for the pending step of a research in all its wordings at once, and keeps the best that
no earlier step was shown."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.errors import BudgetExceeded, ModelError
from secondlook.library.library import search_options
from secondlook.nodes import ranking
from secondlook.nodes.check import grounded
from secondlook.nodes.cite import cut_note
from secondlook.nodes.cite import standing as claims_standing
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.extract import extract, withheld
from secondlook.nodes.queries import queries_for
from secondlook.nodes.ranking import measured
from secondlook.nodes.retrieve import found_by, where
from secondlook.nodes.screen import is_quarantined
from secondlook.nodes.state import (
    Cited,
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
from secondlook.roles.sentences import sentence_around

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from secondlook.answer import QueryType, StepStatus, StopReason
    from secondlook.passage import Passage
    from secondlook.retrieval.index.port import Filter

_NODE = "search_step"


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
    pool = await _searched(context, current["queries"], allowed)
    placed, lost = await _read(context, current, pool)
    found: list[Found] = [{**item, "search": current["id"]} for item in placed]
    return {
        "found": joined(state["found"], found),
        "plan": [*state["plan"][:-1], current],
        "steps": [_told(current, found, len(excluded), numbers)],
        "warnings": [*warnings, *lost],
    }


def _left_out(context: Context, state: Researched, current: StepData) -> frozenset[str]:
    """What earlier steps were shown, and what gave a model orders: that is not looked at again."""
    fresh = context.settings.research.enable_fresh_evidence
    shown = shown_before(state["plan"], current) if fresh else frozenset[str]()
    return shown | {item["id"] for item in state["found"] if is_quarantined(item)}


async def _searched(context: Context, queries: Sequence[str], allowed: Filter) -> list[Found]:
    """What any of the queries finds, each passage once with its best place, best first."""
    settings = context.settings
    options = search_options(settings.search, k=settings.answer.k)
    searches = [asyncio.to_thread(context.shelf.find, query, options, allowed) for query in queries]
    pool: dict[str, Found] = {}
    for hits in await asyncio.gather(*searches):
        for item in map(found_by, hits):
            known = pool.get(item["id"])
            if known is None or known["fusion_score"] < item["fusion_score"]:
                pool[item["id"]] = item
    return sorted(pool.values(), key=lambda item: (-item["fusion_score"], item["id"]))


async def _read(
    context: Context, current: StepData, pool: list[Found]
) -> tuple[list[Found], list[dict[str, Any]]]:
    search, k = context.settings.search, context.settings.answer.k
    warnings: list[dict[str, Any]] = []
    if search.rerank and pool:
        first, rest = pool[: search.candidates], pool[search.candidates :]
        primary = context.settings.research.as_published
        query = current["queries"][0] if primary else current["question"]
        try:
            read = await ranking.read(context, query, first, looks=max(search.looks, k))
            pool = [*read, *rest]
        except Exception as error:  # noqa: BLE001 - a search is worth more than its second look
            warnings = [trouble(_NODE, error, "the order of the searches was kept")]
    return ranking.ranked(pool, blend=search.blend, k=k), warnings


def _told(
    current: StepData, found: Sequence[Found], excluded: int, numbers: dict[str, Any]
) -> dict[str, Any]:
    kept = len(ranking.kept(found))
    said = f"{current['question']} Found {len(found)} passages and kept {kept}."
    return step(
        _NODE,
        said,
        numbers,
        step=current["id"],
        phase=current["phase"],
        attempt=current["attempt"],
        queries=" | ".join(current["queries"]),
        found=len(found),
        kept=kept,
        excluded=excluded,
    )


# Writes what the passages of a step say: in a model's words, each sentence cited and checked,
# or word for word. Where the evidence fails, nothing is written.

_SYNTHESISE_NODE = "synthesise"


class Synthesised(Plan, Trace):
    pass


async def synthesise(state: Researched, runtime: Runtime[Context]) -> Synthesised:
    context, current = runtime.context, state["plan"][-1]
    items = of_step(state["found"], current)
    kept = ranking.kept(items)
    cosines, warnings = await _cosines(context, current, kept)
    confidence = step_confidence(context, kept, cosines)
    worth = Scale.of(context).status(confidence) != "failed"
    complaints: list[str] = []
    draft = withheld("low_confidence", reasons=["its passages do not seem to answer it"])
    if worth or context.settings.research.as_published:
        emit = runtime.stream_writer if worth else _unheard
        draft, complaints, more = await _written(context, current, kept, emit)
        warnings += more
    done: StepData = {
        **current,
        "confidence": confidence,
        "evidence": records(items, cosines),
        "draft": draft,
        "complaints": complaints,
    }
    return {
        "plan": [*state["plan"][:-1], done],
        "steps": [_synthesise_told(done, draft)],
        "warnings": warnings,
    }


async def _written(
    context: Context, current: StepData, kept: list[Found], emit: Callable[[Any], None]
) -> tuple[DraftData, list[str], list[dict[str, Any]]]:
    """The findings, what was cut from them, and what went wrong on the way."""
    question, by_model = current["question"], context.settings.models.servers.synthesise == "model"
    if not (by_model and context.models.serves("answer") and kept):
        return await _quoted(context, question, kept, emit), [], []
    from secondlook.nodes.answer import written

    try:
        from secondlook.nodes.answer import Asking

        chosen = context.settings.research
        structure = ", then ".join(chosen.structure) or "what answers the question"
        made = await written(
            context,
            question,
            kept,
            emit,
            Asking("synthesise", {"structure": structure, "vocabulary": chosen.vocabulary}),
        )
    except (ModelError, BudgetExceeded) as error:
        lost = trouble(_SYNTHESISE_NODE, error, "the passages' own words were taken instead")
        return await _quoted(context, question, kept, emit), [], [lost]
    if not context.settings.answer.enable_grounded_check:
        return made.draft, list(made.cut), []
    checked = await grounded(context, question, made.draft, made.cut)
    return cut(checked.draft, made.draft), list(checked.complaints), checked.warnings


def cut(checked: DraftData, made: DraftData) -> DraftData:
    """The draft without what its evidence does not carry."""
    left = claims_standing(checked["sentences"])
    lost = len(checked["sentences"]) - len(left)
    if not left and made["sentences"]:
        reason = "the evidence supports no sentence that the model wrote"
        return withheld("no_evidence", reasons=[reason], model=made["model"])
    return {**checked, "sentences": left, "note": cut_note(lost) if lost else checked["note"]}


async def _quoted(
    context: Context, question: str, kept: Sequence[Found], emit: Callable[[Any], None]
) -> DraftData:
    draft = await quoted(context, question, kept)
    for sentence in draft["sentences"]:
        emit({"token": f"{sentence['text']} "})
    return draft


async def _cosines(
    context: Context, current: StepData, kept: Sequence[Found]
) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """How like each passage is to the step's first query, where that is what counts."""
    if context.settings.research.evaluator != "cosine" or not kept:
        return {}, []
    try:
        query = current["queries"][0]
        held = await ranking.texts(context, [item["id"] for item in kept])
        pairs = [(query, held[item["id"]].text) for item in kept if item["id"] in held]
        likes = await asyncio.to_thread(context.shelf.similarity, pairs)
        there = [item["id"] for item in kept if item["id"] in held]
        both = zip(there, likes, strict=True)
        return {name: round(like, 4) for name, like in both if math.isfinite(like)}, []
    except Exception as error:  # noqa: BLE001 - without likeness the step is kept with a caveat
        return {}, [trouble(_SYNTHESISE_NODE, error, "the step could not be judged")]


def _unheard(_: object) -> None:
    """Nothing of a step that failed is shown."""


def _synthesise_told(done: StepData, draft: DraftData) -> dict[str, Any]:
    count = len(draft["sentences"])
    things = "1 thing" if count == 1 else f"{count} things"
    said = f"Found out {things}." if count else f"Found out nothing: {draft['reasons'][0]}."
    return step(
        _SYNTHESISE_NODE,
        said,
        step=done["id"],
        phase=done["phase"],
        model=draft["model"],
        sentences=count,
        cut=len(done["complaints"]),
        confidence=done["confidence"],
    )


# Judges the step that was just made, and decides whether the research goes on. Asks no model.

Way = Literal["replan", "aggregate"]


class Evaluated(Plan, Kind, Cycles, Trace):
    route: str


async def evaluate(state: Researched, runtime: Runtime[Context]) -> Evaluated:
    context, cycles = runtime.context, state.get("cycles", 0) + 1
    scale = Scale.of(context)
    judged = _judged(state["plan"][-1], scale)
    plan = [*state["plan"][:-1], judged]
    escalates = bool(state["found"]) and _escalates(context, state, judged)
    why = None if escalates else _enough(context, state, plan, cycles, scale)
    way: Way = "aggregate" if why else "replan"
    onward = "its only step failed" if escalates else "there may be more to find out"
    return {
        "plan": plan,
        "cycles": cycles,
        "stopped": why or "",
        "query_type": "multi_hop" if escalates else _kind(state),
        "classified_by": state.get("classified_by", "nobody"),
        "escalated": escalates or state.get("escalated", False),
        "route": way,
        "steps": [_evaluate_told(judged, plan, scale, (way, why or onward))],
        "warnings": [],
    }


def _judged(done: StepData, scale: Scale) -> StepData:
    """A step without findings has failed, whatever its passages looked like. One whose reader
    quotes passages and is sure of no answer in them is weak at best."""
    draft = done["draft"]
    if draft is None or not draft["sentences"]:
        return {**done, "status": "failed"}
    status = scale.status(done["confidence"])
    unsure = draft["method"] == "extractive" and draft["short"] is None
    return {**done, "status": "weak" if unsure and status == "completed" else status}


def _kind(state: Researched) -> QueryType:
    """Where nobody has classified it, a question may take several steps."""
    return state.get("query_type", "multi_hop")


def _escalates(context: Context, state: Researched, judged: StepData) -> bool:
    """Whether what was taken for simple goes on in several steps."""
    chosen = context.settings.research
    return (
        _kind(state) == "simple"
        and judged["status"] == "failed"
        and not chosen.as_published
        and chosen.enable_replanning
        and not state.get("escalated", False)
        and chosen.max_cycles > 1
    )


def _enough(
    context: Context, state: Researched, plan: Sequence[StepData], cycles: int, scale: Scale
) -> str | None:
    """Why there is no further step; None where there may be one."""
    chosen = context.settings.research
    if not state["found"]:
        return "there is nothing to be found"
    if _kind(state) == "simple":
        return "a simple question takes one step"
    if not chosen.enable_replanning:
        return "planning on is switched off"
    if len(standing(plan)) >= chosen.max_steps:
        return f"{len(standing(plan))} steps are done, as many as may be"
    if cycles >= chosen.max_cycles:
        return f"{cycles} steps were tried, as many as may be"
    return stagnates(plan, scale.noise) if chosen.enable_stagnation else None


def _evaluate_told(
    judged: StepData, plan: Sequence[StepData], scale: Scale, route: tuple[str, str]
) -> dict[str, Any]:
    done, lost = len(standing(plan)), len(failed(plan))
    said = f"Step {judged['id']} ({judged['phase']}) is {judged['status']}: {done} of {len(plan)}"
    return step(
        "evaluate",
        f"{said} {'stands' if done == 1 else 'stand'}, {lost} failed.",
        route=route,
        step=judged["id"],
        phase=judged["phase"],
        question=judged["question"],
        status=judged["status"],
        confidence=judged["confidence"],
        threshold=scale.threshold,
        attempt=judged["attempt"],
        model=judged["draft"]["model"] if judged["draft"] else None,
        completed=sum(one["status"] == "completed" for one in plan),
        weak=sum(one["status"] == "weak" for one in plan),
        failed=lost,
    )


# Makes one answer of the steps of a research: every finding that stands, checked once more, or
# an honest account of what was tried.

_AGGREGATE_NODE = "aggregate"
_MOST_QUOTED = 200
"""Characters of a question that an account of failures repeats."""


class Aggregated(Draft, Trace):
    pass


async def aggregate(state: Researched, runtime: Runtime[Context]) -> Aggregated:
    context, plan = runtime.context, state["plan"]
    done = standing(plan)
    warnings: list[dict[str, Any]] = []
    if not done:
        draft = _nothing(context, state)
    elif any(map(_is_written, done)):
        draft, warnings = await _checked(context, state["question"], together(done))
    else:
        draft = await _read_out(context, state, done)
    draft = {**draft, "note": draft["note"] or _unanswered(plan, draft)}
    if draft["sentences"] and (refusal := context.ledger.refusal):
        draft = {**draft, "stop": refusal.reason}
    said = f"{len(done)} of {len(plan)} steps make up the answer." if done else "Every step failed."
    told = step(
        _AGGREGATE_NODE,
        said,
        steps=len(plan),
        standing=len(done),
        sentences=len(draft["sentences"]),
        confidence=draft["confidence"],
        stopped=state.get("stopped", ""),
    )
    return {"draft": draft, "steps": [told], "warnings": warnings}


def findings(plan: Sequence[StepData]) -> list[Sentence]:
    """The sentences of the steps that stand, in order, each once."""
    every = [one for done in standing(plan) if done["draft"] for one in done["draft"]["sentences"]]
    first: dict[str, Sentence] = {}
    for one in every:
        first.setdefault(one["text"], one)
    return list(first.values())


def mean_confidence(done: Sequence[StepData]) -> float | None:
    known = [one["confidence"] for one in done if one["confidence"] is not None]
    return round(sum(known) / len(known), 4) if known else None


def _all_right(done: Sequence[StepData]) -> float | None:
    """How likely every part has its right answer; None where that is not known of one."""
    known = [one["draft"]["confidence"] if one["draft"] else None for one in done]
    sure = [value for value in known if value is not None]
    return round(math.prod(sure), 4) if len(sure) == len(done) else None


def _is_written(done: StepData) -> bool:
    return done["draft"] is not None and done["draft"]["method"] == "generative"


def together(done: Sequence[StepData]) -> DraftData:
    drafts = [one["draft"] for one in done if one["draft"] is not None]
    lost = sum(len(one["complaints"]) for one in done)
    return DraftData(
        method="generative" if any(map(_is_written, done)) else "extractive",
        model=next((draft["model"] for draft in drafts if draft["model"]), None),
        sentences=findings(done),
        short=drafts[0]["short"] if len(done) == 1 else None,
        stop="answered",
        confidence=mean_confidence(done),
        reasons=[_reason(one) for one in done],
        note=cut_note(lost) if lost else _caveat(done),
    )


def _reason(one: StepData) -> str:
    sure = "" if one["confidence"] is None else f" ({one['confidence']:.2f})"
    return f"step {one['id']}, {one['phase']}: {one['status']}{sure}"


def _caveat(done: Sequence[StepData]) -> str | None:
    weak = [str(one["id"]) for one in done if one["status"] == "weak"]
    if not weak:
        return None
    which = f"Step {weak[0]} stands" if len(weak) == 1 else f"Steps {', '.join(weak)} stand"
    return f"({which} on weak evidence: look at it yourself.)"


async def _checked(
    context: Context, question: str, draft: DraftData
) -> tuple[DraftData, list[dict[str, Any]]]:
    """The whole passes the check that each step has passed."""
    if not context.settings.answer.enable_grounded_check:
        return draft, []
    checked = await grounded(context, question, draft, ())
    made = cut(checked.draft, draft)
    return {**made, "note": made["note"] or draft["note"]}, checked.warnings


def _unanswered(plan: Sequence[StepData], draft: DraftData) -> str | None:
    """The parts of the question that nothing was found out about."""
    lost = [_short(one["question"]) for one in failed(plan) if one["phase"] == PART]
    return f"(Not found out: {' '.join(lost)})" if lost and draft["sentences"] else None


async def _read_out(context: Context, state: Researched, done: Sequence[StepData]) -> DraftData:
    """Without a model: the reader's answer to the question itself, from all that was found, and
    then what each step found. Without such an answer nothing is claimed, unless the steps were
    the parts of the question."""
    if all(one["phase"] == PART for one in done):
        return {**together(done), "confidence": _all_right(done)}
    kept = ranking.kept(state["found"])
    if len(done) > 1:
        kept = await _read_for(context, state["question"], kept)
    whole = await extract(context, state["question"], kept)
    if not whole["sentences"]:
        return whole
    quotes = [one for one in findings(done) if one["text"] != whole["sentences"][0]["text"]]
    return {**whole, "sentences": [*whole["sentences"], *quotes]}


async def _read_for(context: Context, question: str, kept: list[Found]) -> list[Found]:
    """Each step read its passages for its own question."""
    try:
        return await ranking.read(context, question, kept)
    except Exception:  # noqa: BLE001 - what the steps read is worth something too
        return kept


def _nothing(context: Context, state: Researched) -> DraftData:
    """No synthesis is given as an answer where every step failed."""
    plan = state["plan"]
    tried = "; ".join(_attempt(number, one, state) for number, one in enumerate(plan, 1))
    return {
        **withheld(_stop(context, state), confidence=None, reasons=[_all_failed(plan)]),
        "note": f"{_all_failed(plan)}. Tried: {tried}.",
    }


def _all_failed(plan: Sequence[StepData]) -> str:
    few = {1: "The only step failed", 2: "Both steps failed"}
    return few.get(len(plan), f"All {len(plan)} steps failed")


def _attempt(number: int, one: StepData, state: Researched) -> str:
    nearest = ", ".join(f'"{title}"' for title in titles(state["found"], one))
    return f"({number}) {_short(one['question'])}" + (f" Nearest: {nearest}" if nearest else "")


def _short(question: str) -> str:
    plain = " ".join(question.split())
    return plain if len(plain) <= _MOST_QUOTED else f"{plain[: _MOST_QUOTED - 3]}..."


def _stop(context: Context, state: Researched) -> StopReason:
    plan = state["plan"]
    if not any(record["kept"] for one in plan for record in one["evidence"]):
        return "no_evidence"
    if len(plan) >= context.settings.research.max_cycles > 1:
        return "attempts_exhausted"
    return "no_progress" if len(plan) > 1 else "low_confidence"


# Which passages the steps of a research were shown, and the typed records of it.

PART: Final = "Part of the question"
"""Phase of a step that asks one of several questions in one."""
STANDING: frozenset[StepStatus] = frozenset({"completed", "weak"})
"""Of steps whose findings are part of the answer."""


def standing(plan: Sequence[StepData]) -> list[StepData]:
    return [step for step in plan if step["status"] in STANDING]


def failed(plan: Sequence[StepData]) -> list[StepData]:
    return [step for step in plan if step["status"] == "failed"]


def shown_before(plan: Sequence[StepData], step: StepData) -> frozenset[str]:
    """What no step may be shown again. A retry may: what failed the first wording may well answer
    the next. So may a part of the question: its answer may stand beside that of another part."""
    if step["phase"] == PART:
        return frozenset()
    earlier = [one for one in plan if one["id"] < step["id"]]
    if step["retry_of"] is not None:
        earlier = standing(earlier)
    return frozenset(kept_of(earlier))


def kept_of(plan: Sequence[StepData]) -> list[str]:
    """The passages that these steps were shown."""
    return [record["passage"] for step in plan for record in step["evidence"] if record["kept"]]


def of_step(found: Sequence[Found], step: StepData) -> list[Found]:
    """What a step found, best first."""
    return [item for item in found if item["search"] == step["id"]]


def joined(before: Sequence[Found], now: Sequence[Found]) -> list[Found]:
    """All that was found, each passage once, as the step that was shown it last saw it: first what
    was kept, step by step."""
    firm = {item["id"] for item in ranking.kept(before)}
    new = [item for item in now if item["kept"] or item["id"] not in firm]
    again = {item["id"] for item in new}
    found = [*(item for item in before if item["id"] not in again), *new]
    return sorted(found, key=lambda item: (not item["kept"], item["search"]))


def records(items: Sequence[Found], cosines: Mapping[str, float]) -> list[EvidenceData]:
    return [
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
    ]


def titles(found: Sequence[Found], step: StepData, most: int = 3) -> list[str]:
    """Of the best passages that a step was shown."""
    return list(dict.fromkeys(item["title"] for item in ranking.kept(of_step(found, step))))[:most]


# How sure a step of research is, and what that makes of it. The same evidence gets the same
# verdict: nothing here asks a model.

MIN_COSINE = 0.70
_PUBLISHED_NOISE = 0.05
WEAK_MARGIN = 0.15
"""How much the confidence of one question differs between two wordings, where it can be answered:
the median on `squad2-dev` and `hotpot` is 0.17 and 0.13. Nearer to the threshold than that, other
words would have turned the verdict as often as not."""
NOISE = 0.013
"""The same on `barexam`, where steps mostly fail: failures that differ by less are all the same.
Measured like the two others: docs/research.md."""
COSINE_NOISE = 0.0075
"""And that of the mean likeness, there."""
RUN_OF_FAILURES = 3


@dataclass(frozen=True, slots=True)
class Scale:
    """Where a step stands and falls, on the scale in use."""

    threshold: float
    margin: float
    noise: float

    @classmethod
    def of(cls, context: Context) -> Scale:
        chosen = context.settings.research
        cosine = chosen.evaluator == "cosine"
        threshold = MIN_COSINE if cosine else chosen.min_confidence
        measured = COSINE_NOISE if cosine else NOISE
        return cls(
            threshold=context.calibration.min_quality if threshold < 0 else threshold,
            margin=0.0 if chosen.as_published else WEAK_MARGIN,
            noise=_PUBLISHED_NOISE if chosen.as_published else measured,
        )

    def status(self, confidence: float | None) -> StepStatus:
        """Nobody can tell what an unknown reader's scores are worth: kept, with a caveat."""
        if confidence is None or abs(confidence - self.threshold) < self.margin:
            return "weak"
        return "completed" if confidence >= self.threshold else "failed"


def step_confidence(
    context: Context, kept: Sequence[Found], cosines: Mapping[str, float]
) -> float | None:
    """Probability that these passages answer the step's question, or their mean likeness to its
    query; 0 where there are none."""
    if not kept:
        return 0.0
    if context.settings.research.evaluator == "cosine":
        likes = [cosines[item["id"]] for item in kept if item["id"] in cosines]
        return round(sum(likes) / len(likes), 4) if likes else None
    quality = measured(kept, context.calibration)
    return None if quality is None else round(quality, 4)


def stagnates(plan: Sequence[StepData], noise: float) -> str | None:
    """Why another try would be no use; None where it might be."""
    last = plan[-RUN_OF_FAILURES:]
    if len(last) < RUN_OF_FAILURES or any(step["status"] != "failed" for step in last):
        return None
    seen = set(kept_of(plan[:-RUN_OF_FAILURES]))
    fresh = 0
    for failed in last:
        fresh += len(set(kept_of([failed])) - seen)
        seen |= set(kept_of([failed]))
    if not fresh:
        return f"{RUN_OF_FAILURES} steps in a row failed and brought nothing new"
    scores = [step["confidence"] for step in last if step["confidence"] is not None]
    if len(scores) == RUN_OF_FAILURES and max(scores) - min(scores) < noise:
        return f"{RUN_OF_FAILURES} steps in a row failed alike: other words do not help"
    return None


# The findings of a step without a model: the sentences in which the reader sees an answer.

_QUOTES = 3
_ENDS = (".", "!", "?", ";", ":", '"', ")")
_SENTENCE_WORDS = 8


async def quoted(context: Context, question: str, kept: Sequence[Found]) -> DraftData:
    """The reader's answer first, where it is sure of one; then what else bears on the question."""
    if not kept:
        return withheld("no_evidence", reasons=["nothing was found"])
    sure = await extract(context, question, kept)
    about = [item for item in kept if _bears(context, item)]
    held = await ranking.texts(context, [item["id"] for item in about])
    every = [_quote(item, held[item["id"]]) for item in about if item["id"] in held]
    quotes = [quote for quote in every if _says_something(quote["text"])]
    sentences = _once([*sure["sentences"], *quotes])[:_QUOTES]
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


def _bears(context: Context, item: Found) -> bool:
    relevance, span = item["relevance"], item["span_end"]
    return relevance is not None and span is not None and relevance > context.calibration.min_about


def _quote(item: Found, passage: Passage) -> Sentence:
    length = len(passage.text)
    first = min(max(item["span_start"] or 0, 0), length)
    last = min(max(item["span_end"] or 0, first), length)
    start, end = sentence_around(passage.text, first, last)
    return Sentence(
        text=" ".join(passage.text[start:end].split()),
        cited=[Cited(passage=passage.id, start=passage.start + start, end=passage.start + end)],
        support=1.0,
        supported=True,
    )


def _says_something(text: str) -> bool:
    """A heading is no finding."""
    return text.endswith(_ENDS) or len(text.split()) >= _SENTENCE_WORDS


def _once(sentences: Sequence[Sentence]) -> list[Sentence]:
    return list({one["text"]: one for one in reversed(sentences) if one["text"]}.values())[::-1]
