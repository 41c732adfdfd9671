"""Grades what was found, and decides: enough to answer, ask again, look on the web, or give up."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.errors import BudgetExceeded, ContextOverflow, ModelError, UnusableReply, UsageError
from secondlook.models.chat import approximate_prompt, approximate_tokens
from secondlook.nodes import ranking
from secondlook.nodes.context import Context
from secondlook.nodes.evidence import EvidenceItem, pack
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
    from secondlook.nodes.state import Grade
    from secondlook.passage import Passage
    from secondlook.reading.calibration import Calibration
    from secondlook.roles.prompts import Prompt
    from secondlook.roles.verdicts import Grades, SaidGrade
    from secondlook.settings.sections import Settings

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
    number = len(state["searches"])
    welcome = RELEVANT if context.settings.corrective.enable_grading else {"not graded"}
    search = Search(
        query=state["queries"][-1],
        new=sum(
            item["search"] == number and item["grade"] in welcome for item in ranking.kept(found)
        ),
        relevant=weights.relevant,
    )
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
    first = settings.corrective.enable_readings and "assumed" not in state
    if first and unresolved(state["question"]) is not None:
        return _Decision("readings", "a word of the question may mean several things")
    if not settings.corrective.enable_grading:
        return _Decision("answer", "nothing is graded")
    if enough := weights.enough(settings, min_quality(settings, context.calibration)):
        return _Decision("answer", enough)
    why = f"{weights.relevant} of {weights.graded} are about it"
    if way := _next_try(state, settings, searches):
        return _Decision(way, why)
    if _nothing_fits(context, weights):
        return _Decision("settle", f"{why}, and nothing else may be tried")
    rest = "nothing else may be tried: the best has to do"
    return _Decision("answer", f"{why}, and {rest}", last_resort=True)


def _next_try(state: Searched, settings: Settings, searches: Sequence[Search]) -> Way | None:
    """Other words, then the web, as long as it may."""
    words = not state.get("stuck", False) and may_search_again(
        state["queries"], searches, settings, assumed=state.get("assumed")
    )
    web = settings.web.enable_web_search and not state.get("web_tried", False)
    if words:
        return "rewrite"
    return "search_web" if web else None


def _is_as_before(state: Searched, found: Sequence[Found], searches: Sequence[Search]) -> bool:
    """Whether there is a draft, and whoever wrote it would see nothing else now."""
    web = any(item["origin"] == "web" for item in ranking.kept(found))
    return bool(state.get("drafts")) and not searches[-1]["new"] and not web


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


# Who grades what: the one that was chosen, and the reader for all that it leaves open.


async def graded(context: Context, question: str, found: Sequence[Found]) -> Grading:
    """The same passages, the first `corrective.graded` that had no grade with one.

    A passage is graded once in a run. Whatever a model does, each passage that the reader has
    seen gets a grade: where the model's is missing, the reader's.
    """
    open_ones = [item for item in found if item["grade"] == "not graded"]
    items = open_ones[: context.settings.corrective.graded]
    reader = ReaderGrader(_calibration(context))
    plan = _plan(context, reader, items)
    calls = context.ledger.usage().calls
    asked = plan.asked if plan.model else []
    said = await plan.model.verdicts(question, asked) if plan.model and asked else Verdicts()
    made = _Made(
        by_reader=await reader.verdicts(question, items),
        by_model=said,
        model=plan.model.name if plan.model else "",
    )
    items = [made.marked(item) for item in items]
    numbers = _numbers(items, asked, said, calls=context.ledger.usage().calls - calls)
    return Grading(
        found=_put_back(found, items),
        numbers={**numbers, **plan.numbers},
        warnings=[*plan.warnings, *_about(said, asked)],
    )


@dataclass(frozen=True, slots=True)
class _Plan:
    """Which passages a model is asked about, and what is to be said of that."""

    numbers: dict[str, Scalar]
    model: ModelGrader | None = None
    asked: Sequence[Found] = ()
    warnings: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class _Made:
    by_reader: Verdicts
    by_model: Verdicts
    model: str

    def marked(self, item: Found) -> Found:
        name = item["id"]
        if name in self.by_model.grades:
            return {**item, "grade": self.by_model.grades[name], "graded_by": self.model}
        if name in self.by_reader.grades:
            return {**item, "grade": self.by_reader.grades[name], "graded_by": READER}
        return item


def _plan(context: Context, reader: ReaderGrader, items: Sequence[Found]) -> _Plan:
    chosen = context.settings.models.servers.grade
    numbers: dict[str, Scalar] = {"grader": chosen}
    if chosen == "reader":
        return _Plan(numbers)
    fit = fit_to_grade(context)
    if chosen == "auto":
        if why := _not_asked(context, fit):
            return _Plan({**numbers, "not_asked": why})
        return _Plan(numbers, _model(context, fit, alone=False), reader.grey(items))
    if not context.models.serves("grade"):
        none = UsageError(f"no model serves the role 'grade', so {chosen!r} cannot grade")
        return _Plan(numbers, warnings=(trouble(NODE, none, "the reader graded instead"),))
    objection = unfit(fit)
    warned = (
        (trouble(NODE, objection, "it was asked all the same, as chosen"),) if objection else ()
    )
    return _Plan(numbers, _model(context, fit, alone=chosen == "llm-each"), items, warned)


def _not_asked(context: Context, fit: Fit | None) -> str | None:
    """Why `auto` asks no model; None when it does."""
    if not context.models.serves("grade"):
        return "there is no model"
    if fit is None or fit.passages is None:
        return "the model's grading was never measured"
    return None if fit.passages.fit else "the model grades badly"


def _model(context: Context, fit: Fit | None, *, alone: bool) -> ModelGrader:

    chosen = context.settings.corrective.few_shot
    as_probed = fit is not None and fit.passages is not None and fit.passages.few_shot
    return ModelGrader(
        context.models,
        texts=partial(ranking.texts, context),
        few_shot=as_probed if chosen == "auto" else chosen == "on",
        alone=alone,
    )


def _calibration(context: Context) -> Calibration | None:
    try:
        return context.calibration
    except ModelError:  # no reader: there are no scores, and others tell why
        return None


def _numbers(
    items: Sequence[Found], asked: Sequence[Found], said: Verdicts, *, calls: int
) -> dict[str, Scalar]:
    by = Counter(
        READER if item["graded_by"] == READER else "model" for item in _choosing_graded(items)
    )
    grades = Counter(item["grade"] for item in items)
    return {
        "graded": len(_choosing_graded(items)),
        "about": grades["about"],
        "answers": grades["answers"],
        "irrelevant": grades["irrelevant"],
        "by_reader": by[READER],
        "by_model": by["model"],
        "calls": calls,
        "missing": len(asked) - len(said.grades),
        "unknown": said.unknown,
    }


def _choosing_graded(items: Sequence[Found]) -> list[Found]:
    return [item for item in items if item["grade"] != "not graded"]


def _about(said: Verdicts, asked: Sequence[Found]) -> list[dict[str, Any]]:
    if said.error is None:
        return []
    missing = len(asked) - len(said.grades)
    return [trouble(NODE, said.error, f"the reader graded {missing} of {len(asked)} instead")]


def _put_back(found: Sequence[Found], items: Sequence[Found]) -> list[Found]:
    by_id = {item["id"]: item for item in items}
    return [by_id.get(item["id"], item) for item in found]


# What every grader of passages is given, and what it says. Data, and the port.

NODE = "grade"


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What one grader holds of the passages that it was given, by their ids."""

    grades: dict[str, Grade] = field(default_factory=dict)
    """Those it has graded. Of the others it said nothing that can be used."""
    unknown: int = 0
    """Grades for passages that it was not given."""
    error: SecondlookError | None = None
    """Why grades are missing, where something failed."""

    def __add__(self, other: Verdicts) -> Verdicts:
        return Verdicts(
            {**self.grades, **other.grades}, self.unknown + other.unknown, self.error or other.error
        )


class Grader(Protocol):
    """Who says whether passages are about a question, and whether they answer it."""

    @property
    def name(self) -> str:
        """What `graded_by` says."""
        ...

    async def verdicts(self, question: str, items: Sequence[Found]) -> Verdicts:
        """Never raises for what a model does; what it could not grade is not in the grades."""
        ...


@dataclass(frozen=True, slots=True)
class Grading:
    """Passages with their grades, and how these came about."""

    found: list[Found]
    """All that were given, in their order."""
    numbers: dict[str, Scalar]
    warnings: list[dict[str, Any]] = field(default_factory=list)


# Grades by the reader's own scores, which are there already: no model is asked, nothing is
# read.

GREY_RELEVANCE = 1.5
"""Points of relevance (a logit) on either side of `min_about` within which the reader is unsure."""
GREY_ANSWER = 0.15
"""The same of the probability that it answers, on either side of `min_answer`."""


@dataclass(frozen=True, slots=True)
class ReaderGrader:
    """`calibration` is None where there is no reader: then nothing is graded."""

    calibration: Calibration | None
    name: str = READER

    async def verdicts(self, question: str, items: Sequence[Found]) -> Verdicts:  # noqa: ARG002
        """By the scores in the items, which are of this question."""
        if self.calibration is None:
            return Verdicts()
        graded = {item["id"]: reader_grade(item, self.calibration) for item in items}
        return Verdicts({name: grade for name, grade in graded.items() if grade != "not graded"})

    def grey(self, items: Sequence[Found]) -> list[Found]:
        """Those of which the reader is unsure, or could not say anything."""
        known = self.calibration
        return [item for item in items if known is None or is_grey(item, known)]


def reader_grade(item: Found, calibration: Calibration) -> Grade:
    """`not graded` for what the reader has not seen."""
    if item["relevance"] is None:
        return "not graded"
    if not item["relevance"] > calibration.min_about:
        return "irrelevant"
    chance = answer_chance(item, calibration)
    return "answers" if chance is not None and chance >= calibration.min_answer else "about"


def is_grey(item: Found, calibration: Calibration) -> bool:
    """Whether a little more or less of a score would have changed the grade."""
    if item["relevance"] is None:
        return True
    distance = item["relevance"] - calibration.min_about
    if abs(distance) < GREY_RELEVANCE:
        return True
    chance = answer_chance(item, calibration)
    close = chance is not None and abs(chance - calibration.min_answer) < GREY_ANSWER
    return distance > 0 and close


def answer_chance(item: Found, calibration: Calibration) -> float | None:
    """How likely the passage, taken alone, holds a right answer; None when nobody can tell."""
    candidate = ranking.candidate(item)
    return None if candidate is None else calibration.answer_probability([candidate], 0)


# Grades by a chat model: all passages in the fewest calls that fit, or each in one of its own.

if TYPE_CHECKING:
    Batch = Sequence["Shown"]

AT_ONCE = 4
"""Calls that run at the same time."""
USUAL_TOKENS = 6000
"""Of passages in one call, where nobody knows how much the model can see."""
_SMALLEST = 64
_REPLY_TOKENS = 24
"""Of one grade in the reply, as widely spaced as models write JSON."""
_MARK_TOKENS = 24
"""Of the mark before each passage."""
_GRADES: dict[SaidGrade, Grade] = {"answers": "answers", "about": "about", "no": "irrelevant"}


@dataclass(frozen=True, slots=True)
class Shown:
    """A passage as the model sees it."""

    id: str
    text: str

    @property
    def tokens(self) -> int:
        """What it takes of the context: shown, and graded in the reply."""
        return approximate_tokens(self.text) + _MARK_TOKENS + _REPLY_TOKENS


@dataclass(slots=True)
class _Desk:
    """The calls of one grading. Nobody goes on asking a model that is away or not paid for."""

    gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    closed: bool = False


@dataclass(frozen=True, slots=True)
class ModelGrader:
    """`texts` finds passages by id; what it does not find is not graded."""

    models: Asker
    texts: Callable[[Sequence[str]], Awaitable[Mapping[str, Passage]]]
    few_shot: bool = False
    alone: bool = False
    """Each passage in a call of its own."""

    @property
    def name(self) -> str:
        return self.models.name("grade")

    @property
    def prompt(self) -> Prompt:
        return load("grade_few" if self.few_shot else "grade")

    async def verdicts(self, question: str, items: Sequence[Found]) -> Verdicts:
        """What a reply leaves out is asked for once more."""
        held = await self.texts([item["id"] for item in items])
        evidence = [_evidence(item, held[item["id"]]) for item in items if item["id"] in held]
        try:
            room = await self._room(question)
        except (ModelError, BudgetExceeded) as error:
            return Verdicts(error=error)
        shown = [one for item in evidence if (one := _shown(question, item, room)) is not None]
        batches = [[one] for one in shown] if self.alone else _fewest(shown, room)
        desk = _Desk()
        asking = (self._complete(desk, question, batch) for batch in batches)
        return sum(await asyncio.gather(*asking), Verdicts())

    async def _complete(self, desk: _Desk, question: str, batch: Batch) -> Verdicts:
        said = await self._asked(desk, question, batch)
        missing = [one for one in batch if one.id not in said.grades]
        if not missing or said.error is not None or len(missing) == len(batch):
            return said
        return said + await self._asked(desk, question, missing)

    async def _asked(self, desk: _Desk, question: str, batch: Batch) -> Verdicts:
        """Half at a time where the model counts more tokens than were estimated."""
        said = await self._one_call(desk, question, batch)
        if not isinstance(said.error, ContextOverflow) or len(batch) == 1:
            return said
        half = len(batch) // 2
        return await self._asked(desk, question, batch[:half]) + await self._asked(
            desk, question, batch[half:]
        )

    async def _one_call(self, desk: _Desk, question: str, batch: Batch) -> Verdicts:
        async with desk.gate:
            if desk.closed:
                return Verdicts()
            try:
                evidence = evidence_marks(self.models.run).wrap([one.text for one in batch])
                reply = await self.models.ask(
                    "grade",
                    self.prompt.render(question=question, evidence=evidence),
                    grades_of(len(batch)),
                    node=NODE,
                    max_tokens=self.prompt.max_tokens + _REPLY_TOKENS * len(batch),
                )
            except (ModelError, BudgetExceeded) as error:
                desk.closed = desk.closed or speaks_of_the_model(error)
                return Verdicts(error=error)
        return Verdicts() if reply.value is None else _read(reply.value, batch)

    async def _room(self, question: str) -> int:
        """Tokens for passages and their grades in one call."""
        room = await self.models.room(
            "grade", max_tokens=self.prompt.max_tokens, schema=grades_of(AT_ONCE)
        )
        if room is None:
            return USUAL_TOKENS
        bare = approximate_prompt(self.prompt.render(question=question, evidence=""))
        return max(_SMALLEST, room - bare)


def speaks_of_the_model(error: SecondlookError) -> bool:
    """Whether the next call would fare no better: not where only this reply or prompt was bad."""
    return not isinstance(error, UnusableReply | ContextOverflow)


def _evidence(item: Found, passage: Passage) -> EvidenceItem:
    span = (item["span_start"] or 0, item["span_end"] or 0)
    return EvidenceItem(
        passage=passage.id,
        title=passage.title,
        heading=passage.heading,
        text=passage.text,
        span=span if span[1] > span[0] else None,
    )


def _shown(question: str, item: EvidenceItem, room: int) -> Shown | None:
    """The whole passage, or where it alone is too long what lies around the reader's span."""
    fitting = max(_SMALLEST, room - _MARK_TOKENS - _REPLY_TOKENS)
    packed = pack(
        question, [item], mode="passages", budget_tokens=fitting, count=approximate_tokens
    )
    return Shown(item.passage, packed.blocks[0].text) if packed.blocks else None


def _fewest(shown: Sequence[Shown], room: int) -> list[list[Shown]]:
    """In their order, in as few calls as have room for them."""
    batches: list[list[Shown]] = []
    left = 0
    for one in shown:
        if not batches or one.tokens > left:
            batches.append([])
            left = room
        batches[-1].append(one)
        left -= one.tokens
    return batches


def _read(said: Grades, batch: Batch) -> Verdicts:
    """Numbers that were not shown are dropped. A passage with two different grades has none."""
    by_number: dict[int, set[SaidGrade]] = {}
    for entry in said.grades:
        by_number.setdefault(entry.passage, set()).add(entry.grade)
    grades = {
        one.id: _GRADES[next(iter(by_number[number]))]
        for number, one in enumerate(batch, 1)
        if len(by_number.get(number, ())) == 1
    }
    unknown = sum(not 1 <= entry.passage <= len(batch) for entry in said.grades)
    return Verdicts(grades, unknown)


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


def fit_to_grade(who: Context | Asker, role: Role = "grade") -> Fit | None:
    """The model that serves the role; None where there is none, or it was never measured."""
    models = who.models if isinstance(who, Context) else who
    part = models.models.cast.part(role, models.workflow)
    probe = models.models.probe(part.spec) if part.spec.named else None
    return None if probe is None else fit_of(probe)


def fit_of(probe: Probe) -> Fit | None:
    passages = _current(probe.grading, passages_identity())
    answers = _current(probe.answer_grading, answers_identity())
    return Fit(probe.spec, passages, answers) if passages or answers else None


def unfit(fit: Fit | None) -> UnfitGrader | None:
    """The objection to a model that grades passages badly; None where nothing is known of it."""
    if fit is None or fit.passages is None or fit.passages.fit:
        return None
    return UnfitGrader(
        f"{fit.model!r} grades passages badly: {in_words(fit.passages)}",
        hint="models.servers.grade=reader or auto does not ask it",
    )


def unfit_for_answers(fit: Fit | None) -> UnfitGrader | None:
    """The same for one that judges answers."""
    if fit is None or fit.answers is None or fit.answers.fit:
        return None
    return UnfitGrader(
        f"{fit.model!r} judges answers badly: {in_words(fit.answers)}",
        hint="answer.enable_answer_grading=false does without it",
    )


def in_words(figures: GradingFigures) -> str:
    """`precision 0.92, recall 0.40 on 36 labelled pairs`"""
    precision = (
        "none (it accepts nothing)" if figures.precision is None else f"{figures.precision:.2f}"
    )
    shown = " with examples" if figures.few_shot else ""
    return (
        f"precision {precision}, recall {figures.recall:.2f} on {figures.pairs} labelled "
        f"pairs{shown}"
    )


def _current(figures: GradingFigures | None, identity: str) -> GradingFigures | None:
    return figures if figures is not None and figures.made_with == identity else None
