"""Grades what was found, and decides: enough to answer, ask again, look on the web, or give up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.nodes import ranking
from secondlook.nodes.assess import measured, min_quality, min_web_quality
from secondlook.nodes.checking.attempts import may_search_again, rewrites
from secondlook.nodes.grading import Grading, graded
from secondlook.nodes.meaning.unclear import unresolved
from secondlook.nodes.quarantine import is_quarantined
from secondlook.state import (
    RELEVANT,
    Asked,
    Drafts,
    Evidence,
    Found,
    Readings,
    Search,
    Searches,
    Trace,
    step,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.settings import Settings

Way = Literal["answer", "rewrite", "search_web", "readings", "settle"]
LAST_RESORT = 3
"""Passages that an answer rests on where a model lets too few pass: the best of any search."""


class Searched(Asked, Searches, Readings, Drafts):
    """What is asked, what was found, and the searches and drafts so far."""


class Weighed(Evidence, Trace):
    searches: list[Search]
    quality: float | None
    route: str


@dataclass(frozen=True, slots=True)
class _Weights:
    """What the decision goes by."""

    relevant: int
    answering: int
    graded: int
    quality: float | None
    by_model: bool
    """Somebody else than the reader graded: then the reader's own hopes do not count."""

    def enough(self, settings: Settings, limit: float) -> str | None:
        """Why this is enough to answer from; None where it is not."""
        if self.answering:
            return f"{self.answering} answer it"
        if self.relevant >= settings.corrective.min_relevant:
            return f"{self.relevant} are about it"
        if not self.by_model and self.quality is None:
            return "nobody could read what was found"
        if not self.by_model and self.quality is not None and self.quality >= limit:
            return f"what answers is among the best with a probability of {self.quality:.2f}"
        return None


@dataclass(frozen=True, slots=True)
class _Decision:
    way: Way
    why: str
    last_resort: bool = False
    """Too little fits, and nothing else may be tried."""


async def grade(state: Searched, runtime: Runtime[Context]) -> Weighed:
    context = runtime.context
    made = await _graded(state, context)
    weights = _weighed(made.found, context)
    found = _chosen(made.found, context, last_resort=False)
    search = _search(state, found, weights, context.settings)
    new = _new_searches(state, search)
    searches = [*state["searches"], *new]
    decision = _decided(state, context, weights, searches)
    if decision.way == "answer" and _is_as_before(state, found, searches):
        decision = _Decision("settle", "nothing was found that the last draft did not have")
    if decision.last_resort:
        found = _chosen(made.found, context, last_resort=True)
    told = step(
        "grade",
        _said(decision.way, weights),
        {**made.numbers, "query": search["query"], "relevant": weights.relevant},
        new=search["new"],
        quality=weights.quality,
        route=(decision.way, decision.why),
    )
    return {
        "found": found,
        # For the question as it is understood then, all is searched and graded anew.
        "searches": [] if decision.way == "readings" else new,
        "quality": weights.quality,
        "route": decision.way,
        "steps": [told],
        "warnings": made.warnings,
    }


def _search(
    state: Searched, found: Sequence[Found], weights: _Weights, settings: Settings
) -> Search:
    number = len(state["searches"])
    welcome = RELEVANT if settings.corrective.enable_grading else {"not graded"}
    return Search(
        query=state["queries"][-1],
        new=sum(
            item["search"] == number and item["grade"] in welcome for item in ranking.kept(found)
        ),
        relevant=weights.relevant,
    )


def _new_searches(state: Searched, search: Search) -> list[Search]:
    """The search that led here, unless it is known. The web is none: it has no other words, and a
    rewrite that was refused has brought none."""
    made = 1 + rewrites(state["queries"], state.get("assumed"))
    return [search] if len(state["searches"]) < made else []


async def _graded(state: Searched, context: Context) -> Grading:
    """Whatever a search has just brought. Where there was no other way to ask, nothing has come."""
    found = state["found"]
    web = any(item["origin"] == "web" and item["grade"] == "not graded" for item in found)
    if not context.settings.corrective.enable_grading or (state.get("stuck", False) and not web):
        return Grading(list(found), {})
    clean = [item for item in found if not is_quarantined(item)]
    made = await graded(context, state["question"], clean)
    return replace(made, found=[*made.found, *filter(is_quarantined, found)])


def _weighed(found: Sequence[Found], context: Context) -> _Weights:
    grades = [item for item in found if item["grade"] != "not graded"]
    return _Weights(
        relevant=sum(item["grade"] in RELEVANT for item in grades),
        answering=sum(item["grade"] == "answers" for item in grades),
        graded=len(grades),
        quality=measured(found, context.calibration) if ranking.candidates(found) else None,
        by_model=ranking.graded_by_model(grades),
    )


def _decided(
    state: Searched, context: Context, weights: _Weights, searches: Sequence[Search]
) -> _Decision:
    settings = context.settings
    if _is_unclear(state, settings):
        return _Decision("readings", "a word of the question may mean several things")
    if not settings.corrective.enable_grading:
        return _Decision("answer", "nothing is graded")
    if enough := weights.enough(settings, min_quality(settings, context.calibration)):
        return _Decision("answer", enough)
    why = f"{weights.relevant} of {weights.graded} are about it"
    if way := _next_try(state, settings, weights, searches):
        return _Decision(way, why)
    if _nothing_fits(context, weights):
        return _Decision("settle", f"{why}, and nothing else may be tried")
    rest = "nothing else may be tried: the best has to do"
    return _Decision("answer", f"{why}, and {rest}", last_resort=True)


def _next_try(
    state: Searched, settings: Settings, weights: _Weights, searches: Sequence[Search]
) -> Way | None:
    """Other words, or the web: whichever comes first, as long as it may."""
    words = not state.get("stuck", False) and may_search_again(
        state["queries"], searches, settings, assumed=state.get("assumed")
    )
    web = settings.web.enable_web_search and not state.get("web_tried", False)
    if web and settings.web.after == "first" and 2 * weights.relevant < weights.graded:
        return "search_web"
    if words:
        return "rewrite"
    return "search_web" if web else None


def _is_as_before(state: Searched, found: Sequence[Found], searches: Sequence[Search]) -> bool:
    """Whether there is a draft, and whoever wrote it would see nothing else now."""
    web = any(item["origin"] == "web" for item in ranking.kept(found))
    return bool(state.get("drafts")) and not searches[-1]["new"] and not web


def _is_unclear(state: Searched, settings: Settings) -> bool:
    first = settings.corrective.enable_readings and "assumed" not in state
    return first and unresolved(state["question"]) is not None


def _nothing_fits(context: Context, weights: _Weights) -> bool:
    """Whether what was found is too far from the question to say anything by it."""
    if not context.settings.answer.enable_abstention or weights.relevant:
        return False
    floor = min_web_quality(context.settings, context.calibration)
    return weights.quality is not None and weights.quality < floor


def _chosen(found: Sequence[Found], context: Context, *, last_resort: bool) -> list[Found]:
    """What an answer may rest on. Where a model graded, what it let pass, or as a last resort the
    best few. The reader's grades follow the order that is there: nothing is to be chosen anew."""
    if not ranking.graded_by_model(found):
        return list(found)
    unlike = [item for item in found if item["why"] != ranking.REPEATS and not is_quarantined(item)]
    passed = [item for item in unlike if item["grade"] in RELEVANT]
    best = [*passed, *(item for item in unlike if item["grade"] not in RELEVANT)]
    few = best[:LAST_RESORT]
    kept = few if last_resort or not passed else passed[: context.settings.answer.k]
    ids = {item["id"] for item in kept}
    return ranking.kept_first([_marked(item, kept=item["id"] in ids) for item in found])


def _marked(item: Found, *, kept: bool) -> Found:
    if item["kept"] == kept or is_quarantined(item):
        return item
    return {**item, "kept": kept, "why": "it was graded relevant" if kept else "others fit better"}


def _said(way: Way, weights: _Weights) -> str:
    found = f"{weights.relevant} of {weights.graded} passages are about the question"
    said = {
        "answer": "answering from the best",
        "rewrite": "asking again in other words",
        "search_web": "looking on the web",
        "readings": "but one of its words is unclear",
        "settle": "a new draft would see nothing new"
        if weights.relevant
        else "nothing that was found comes near it",
    }[way]
    return f"{found}: {said}."
