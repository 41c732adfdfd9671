"""Grades what was found, and decides: enough to answer, ask again, look on the web, or give up."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.errors import BudgetExceeded, ContextOverflow, ModelError, UnusableReply, UsageError
from secondlook.models.chat import approximate_prompt, approximate_tokens
from secondlook.nodes import ranking
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.evidence import evidence_item, pack
from secondlook.nodes.limits import may_search_again, rewrites
from secondlook.nodes.ranking import measured, min_quality, min_web_quality
from secondlook.nodes.screen import is_quarantined
from secondlook.nodes.state import (
    READER,
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
    trouble,
)
from secondlook.roles.ambiguity import unresolved
from secondlook.roles.prompts import load
from secondlook.roles.prompts.marks import evidence_marks
from secondlook.roles.verdicts import answers_identity, grades_of, passages_identity

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from secondlook.answer import Scalar
    from secondlook.errors import SecondlookError
    from secondlook.models.calls import Asker
    from secondlook.models.chat import Role
    from secondlook.models.probe import GradingFigures, Probe
    from secondlook.nodes.evidence import Block
    from secondlook.nodes.state import Grade
    from secondlook.passage import Passage
    from secondlook.reading.calibration import Calibration
    from secondlook.roles.prompts import Prompt
    from secondlook.roles.verdicts import SaidGrade

LAST_RESORT = 3
"""Passages that an answer rests on where a model lets too few pass: the best of any search."""
MIN_RELEVANT = 3  # relevant passages that are enough
_SAID = {
    "answer": "answering from the best",
    "rewrite": "asking again in other words",
    "search_web": "looking on the web",
    "readings": "but one of its words is unclear",
    "settle": "nothing that was found comes near it",
}


class Searched(Asked, Searches, Readings, Drafts):
    """What is asked, what was found, and the searches and drafts so far."""


class Weighed(Evidence, Trace):
    searches: list[Search]
    quality: float | None
    route: str


async def grade(state: Searched, runtime: Runtime[Context]) -> Weighed:
    context, all_found = runtime.context, state["found"]
    settings = context.settings
    made = Grading(list(all_found), {}, [])
    # Where there was no other way to ask, nothing new has come but from the web.
    web = any(item["origin"] == "web" and item["grade"] == "not graded" for item in all_found)
    if settings.corrective.enable_grading and (web or not state.get("stuck", False)):
        clean = [item for item in all_found if not is_quarantined(item)]
        made = await graded(context, state["question"], clean)
        made = made._replace(found=[*made.found, *filter(is_quarantined, all_found)])
    grades = Counter(item["grade"] for item in made.found)
    relevant = grades["about"] + grades["answers"]
    read = bool(ranking.candidates(made.found))
    quality = measured(made.found, context.calibration) if read else None
    found = _chosen(made.found, context, last_resort=False)
    number = len(state["searches"])
    welcome = RELEVANT if settings.corrective.enable_grading else {"not graded"}
    kept = ranking.kept(found)
    fresh = sum(item["search"] == number and item["grade"] in welcome for item in kept)
    search = Search(query=state["queries"][-1], new=fresh, relevant=relevant)
    # The web is no search of its own: it has no other words. A refused rewrite has brought none.
    searched = 1 + rewrites(state["queries"], state.get("assumed"))
    new = [search] if number < searched else []
    searches = [*state["searches"], *new]
    way, why, last_resort = _decided(state, context, made.found, quality, searches)
    web = any(item["origin"] == "web" for item in kept)
    if way == "answer" and state.get("drafts") and not searches[-1]["new"] and not web:
        way, why = "settle", "nothing was found that the last draft did not have"
    elif last_resort:
        found = _chosen(made.found, context, last_resort=True)
    said = _SAID[way]
    if way == "settle" and relevant:
        said = "a new draft would see nothing new"
    told = step(
        "grade",
        f"{relevant} of {grades.total() - grades['not graded']} passages are about the question: "
        f"{said}.",
        {**made.numbers, "query": search["query"], "relevant": relevant},
        new=search["new"],
        quality=quality,
        route=(way, why),
    )
    return {
        "found": found,
        # For the question as it is understood then, all is searched and graded anew.
        "searches": [] if way == "readings" else new,
        "quality": quality,
        "route": way,
        "steps": [told],
        "warnings": made.warnings,
    }


def _decided(
    state: Searched,
    context: Context,
    found: Sequence[Found],
    quality: float | None,
    searches: Sequence[Search],
) -> tuple[str, str, bool]:
    """Where to go, why, and whether as a last resort: too little fits, and nothing else may be
    tried."""
    settings, assumed = context.settings, state.get("assumed")
    first = settings.corrective.enable_readings and "assumed" not in state
    if first and unresolved(state["question"]) is not None:
        return "readings", "a word of the question may mean several things", False
    grades = Counter(item["grade"] for item in found)
    relevant = grades["about"] + grades["answers"]
    if enough := _enough(context, found, grades, quality):
        return "answer", enough, False
    why = f"{relevant} of {grades.total() - grades['not graded']} are about it"
    if not state.get("stuck", False) and may_search_again(
        state["queries"], searches, settings, assumed=assumed
    ):
        return "rewrite", why, False
    if settings.web.enable_web_search and not state.get("web_tried", False):
        return "search_web", why, False
    floor = min_web_quality(settings, context.calibration)
    far = quality is not None and quality < floor and not relevant
    if far and settings.answer.enable_abstention:
        return "settle", f"{why}, and nothing else may be tried", False
    return "answer", f"{why}, and nothing else may be tried: the best has to do", True


def _enough(
    context: Context, found: Sequence[Found], grades: Mapping[Grade, int], quality: float | None
) -> str | None:
    """Why what was found is enough to answer from; None where it is not."""
    settings, relevant = context.settings, grades["about"] + grades["answers"]
    if not settings.corrective.enable_grading:
        return "nothing is graded"
    if grades["answers"]:
        return f"{grades['answers']} answer it"
    if relevant >= MIN_RELEVANT:
        return f"{relevant} are about it"
    if ranking.graded_by_model(found):  # then the reader's own hopes do not count
        return None
    if quality is None:
        return "nobody could read what was found"
    good = quality >= min_quality(settings, context.calibration)
    return f"what answers is among the best with a probability of {quality:.2f}" if good else None


def _chosen(found: Sequence[Found], context: Context, *, last_resort: bool) -> list[Found]:
    """What an answer may rest on. Where a model graded, what it let pass, or as a last resort the
    best few. The reader's grades follow the order that is there: nothing is to be chosen anew."""
    if not ranking.graded_by_model(found):
        return list(found)
    unlike = [item for item in found if item["why"] != ranking.REPEATS and not is_quarantined(item)]
    best = sorted(unlike, key=lambda item: item["grade"] not in RELEVANT)
    passed = [item for item in best if item["grade"] in RELEVANT]
    few = last_resort or not passed
    kept = {
        item["id"] for item in (best[:LAST_RESORT] if few else passed[: context.settings.answer.k])
    }

    def marked(item: Found) -> Found:
        keep = item["id"] in kept
        if item["kept"] == keep or is_quarantined(item):
            return item
        why = "it was graded relevant" if keep else "others fit better"
        return {**item, "kept": keep, "why": why}

    return ranking.kept_first([marked(item) for item in found])


# The grades: those of the chosen grader, and the reader's for all that it leaves open.


class Grading(NamedTuple):
    """Passages with their grades, and how these came about."""

    found: list[Found]  # all that were given, in their order
    numbers: dict[str, Scalar]
    warnings: list[dict[str, Any]]


async def graded(context: Context, question: str, found: Sequence[Found]) -> Grading:
    """The same passages, the first `corrective.graded` that had no grade with one. A passage is
    graded once in a run. Whatever a model does, each passage that the reader has seen gets a grade:
    where the model's is missing, the reader's."""
    settings, calls = context.settings, context.ledger.usage().calls
    open_ones = [item for item in found if item["grade"] == "not graded"]
    items = open_ones[: settings.corrective.graded]
    chosen, grader = settings.models.servers.grade, None
    warnings: list[dict[str, Any]] = []
    if chosen != READER and not context.models.serves("grade"):
        none = UsageError(f"no model serves the role 'grade', so {chosen!r} cannot grade")
        warnings.append(trouble("grade", none, "the reader graded instead"))
    elif chosen != READER:
        fit = fit_to_grade(context)
        if objection := unfit(fit, "passages"):
            warnings.append(trouble("grade", objection, "it was asked all the same, as chosen"))
        as_probed = fit is not None and fit.passages is not None and fit.passages.few_shot
        grader = ModelGrader(
            context.models,
            texts=partial(ranking.texts, context),
            few_shot=as_probed,
            alone=chosen == "llm-each",
        )
        await grader.grade(question, items)
    by_model = grader.grades if grader else {}
    missing = len(items) - len(by_model) if grader else 0
    if grader and grader.error is not None:
        consequence = f"the reader graded {missing} of {len(items)} instead"
        warnings.append(trouble("grade", grader.error, consequence))
    calibration = None
    with suppress(ModelError):  # no reader: there are no scores, and others tell why
        calibration = context.calibration
    done: dict[str, Found] = {}
    for item in items:
        name, by = item["id"], context.models.name("grade") if grader else READER
        given = by_model.get(name)
        if given is None and calibration is not None:
            by, given = READER, reader_grade(item, calibration)
        if given not in {None, "not graded"}:
            done[name] = cast("Found", {**item, "grade": given, "graded_by": by})
    grades = Counter(item["grade"] for item in done.values())
    numbers: dict[str, Scalar] = {
        "graded": len(done),
        "about": grades["about"],
        "answers": grades["answers"],
        "irrelevant": grades["irrelevant"],
        "by_reader": sum(item["graded_by"] == READER for item in done.values()),
        "by_model": len(by_model),
        "calls": context.ledger.usage().calls - calls,
        "missing": missing,
        "unknown": grader.unknown if grader else 0,
        "grader": chosen,
    }
    return Grading([done.get(item["id"], item) for item in found], numbers, warnings)


def reader_grade(item: Found, calibration: Calibration) -> Grade:
    """By the scores that are there already; `not graded` for what the reader has not seen."""
    if item["relevance"] is None:
        return "not graded"
    if not item["relevance"] > calibration.min_about:
        return "irrelevant"
    candidate = ranking.candidate(item)
    chance = None if candidate is None else calibration.answer_probability([candidate], 0)
    return "answers" if chance is not None and chance >= calibration.min_answer else "about"


# A chat model as a grader: all passages in the fewest calls that fit, or each in one of its own.

AT_ONCE = 4  # calls that run at the same time
USUAL_TOKENS = 6000  # of passages in one call, where nobody knows how much the model can see
_SMALLEST = 64
_REPLY_TOKENS = 24  # of one grade in the reply, as widely spaced as models write JSON
_MARK_TOKENS = 24  # of the mark before each passage
_GRADES: dict[SaidGrade, Grade] = {"answers": "answers", "about": "about", "no": "irrelevant"}


@dataclass(slots=True)
class ModelGrader:
    """`texts` finds passages by id; what it does not find is not graded."""

    models: Asker
    texts: Callable[[Sequence[str]], Awaitable[Mapping[str, Passage]]]
    few_shot: bool = False
    alone: bool = False  # each passage in a call of its own
    grades: dict[str, Grade] = field(default_factory=dict)  # the usable ones, by passage
    unknown: int = 0  # grades for passages that it was not given
    error: SecondlookError | None = None  # why grades are missing, where something failed
    gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    closed: bool = False  # a model that is away or not paid for is not asked again

    async def grade(self, question: str, items: Sequence[Found]) -> None:
        """Never raises for what a model does."""
        if not items:
            return
        held = await self.texts([item["id"] for item in items])
        prompt = self._prompt()
        try:
            room = await self.models.room(
                "grade", max_tokens=prompt.max_tokens, schema=grades_of(AT_ONCE)
            )
        except (ModelError, BudgetExceeded) as error:
            self.error = error
            return
        bare = approximate_prompt(prompt.render(question=question, evidence=""))
        room = USUAL_TOKENS if room is None else max(_SMALLEST, room - bare)
        # The whole passage, or where it alone is too long what lies around the reader's span.
        fitting = max(_SMALLEST, room - _MARK_TOKENS - _REPLY_TOKENS)
        batches: list[list[Block]] = []
        left = 0
        for item in (item for item in items if item["id"] in held):
            whole = [evidence_item(item, held[item["id"]])]
            for block in pack(question, whole, mode="passages", budget_tokens=fitting).blocks:
                tokens = approximate_tokens(block.text) + _MARK_TOKENS + _REPLY_TOKENS
                if self.alone or not batches or tokens > left:
                    batches.append([])
                    left = room
                batches[-1].append(block)
                left -= tokens
        await asyncio.gather(*(self._ask(question, batch) for batch in batches))

    def _prompt(self) -> Prompt:
        return load("grade_few" if self.few_shot else "grade")

    async def _ask(self, question: str, batch: Sequence[Block]) -> None:
        """Half at a time where the model counts more tokens than were estimated."""
        async with self.gate:
            if self.closed:
                return
            prompt = self._prompt()
            evidence = evidence_marks(self.models.run).wrap([one.text for one in batch])
            try:
                reply = await self.models.ask(
                    "grade",
                    prompt.render(question=question, evidence=evidence),
                    grades_of(len(batch)),
                    node="grade",
                    max_tokens=prompt.max_tokens + _REPLY_TOKENS * len(batch),
                )
            except (ModelError, BudgetExceeded) as error:
                self.closed = self.closed or speaks_of_the_model(error)
                if not isinstance(error, ContextOverflow) or len(batch) == 1:
                    self.error = self.error or error
                    return
                reply = None
        if reply is None:
            half = len(batch) // 2
            await self._ask(question, batch[:half])
            await self._ask(question, batch[half:])
            return
        entries = reply.value.grades if reply.value else []
        self.unknown += sum(not 1 <= entry.passage <= len(batch) for entry in entries)
        for number, one in enumerate(batch, 1):
            said = {entry.grade for entry in entries if entry.passage == number}
            if len(said) == 1:  # a passage with two different grades has none
                self.grades[one.passage] = _GRADES[said.pop()]


def speaks_of_the_model(error: SecondlookError) -> bool:
    """Whether the next call would fare no better: not where only this reply or prompt was bad."""
    return not isinstance(error, UnusableReply | ContextOverflow)


# Whether a model may be trusted to grade, as `secondlook models probe` has measured it.


class UnfitGrader(ModelError):
    """A model that was chosen by hand to grade, although it was measured not to be able to."""


@dataclass(frozen=True, slots=True)
class Fit:
    """What is known of one model as a grader. None where it was not measured, or by a version
    that asked or counted otherwise."""

    model: str
    passages: GradingFigures | None
    answers: GradingFigures | None

    @property
    def grades_passages(self) -> bool:
        return self.passages is not None and self.passages.fit

    @property
    def judges_answers(self) -> bool:
        return self.answers is not None and self.answers.fit


def fit_to_grade(context: Context, role: Role = "grade") -> Fit | None:
    """The model that serves the role; None where there is none, or it was never measured."""
    models = context.models
    part = models.models.cast.part(role, models.workflow)
    probe = models.models.probe(part.spec) if part.spec.named else None
    return None if probe is None else fit_of(probe)


def fit_of(probe: Probe) -> Fit | None:
    passages, answers = probe.grading, probe.answer_grading
    if passages is not None and passages.made_with != passages_identity():
        passages = None
    if answers is not None and answers.made_with != answers_identity():
        answers = None
    return Fit(probe.spec, passages, answers) if passages or answers else None


def unfit(fit: Fit | None, what: Literal["passages", "answers"]) -> UnfitGrader | None:
    """The objection to a model that grades badly; None where nothing is known of it."""
    figures = None if fit is None else fit.passages if what == "passages" else fit.answers
    if fit is None or figures is None or figures.fit:
        return None
    verb, hint = "grades passages", "models.servers.grade=reader does not ask it"
    if what == "answers":
        verb, hint = "judges answers", "answer.enable_answer_grading=false does without it"
    return UnfitGrader(f"{fit.model!r} {verb} badly: {in_words(figures)}", hint=hint)


def in_words(figures: GradingFigures) -> str:
    """`precision 0.92, recall 0.40 on 36 labelled pairs`"""
    precision = figures.precision
    told = "none (it accepts nothing)" if precision is None else f"{precision:.2f}"
    shown = " with examples" if figures.few_shot else ""
    return f"precision {told}, recall {figures.recall:.2f} on {figures.pairs} labelled pairs{shown}"
