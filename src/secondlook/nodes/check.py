"""Checks a draft against its evidence, and has it written anew where it does not stand on it."""

from __future__ import annotations

import asyncio
import json
import math
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Literal

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.errors import BudgetExceeded, ModelError, UnusableReply
from secondlook.nodes import ranking
from secondlook.nodes.cite import standing
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.evidence import evidence_budget, evidence_items, packed
from secondlook.nodes.limits import (
    GREY,
    MIN_LIKENESS,
    AnswerGrade,
    AnswerGrades,
    may_regenerate,
    may_search_again,
    rewriting_may_help,
)
from secondlook.nodes.state import (
    READER,
    Asked,
    Draft,
    Drafts,
    Evidence,
    JudgedDraft,
    Query,
    Question,
    Readings,
    Searches,
    Trace,
    step,
    trouble,
)
from secondlook.reading.languages import foreign
from secondlook.reading.numbers import missing_numbers
from secondlook.reading.support import DEFAULT_MIN_SUPPORT, Cap, cap, is_verbatim, joined_evidence
from secondlook.roles.prompts import load
from secondlook.roles.prompts.marks import evidence_marks
from secondlook.roles.verdicts import Verdict, verdicts_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.answer import Scalar
    from secondlook.models.chat import Message
    from secondlook.nodes.state import Cited, DraftData, Sentence
    from secondlook.passage import Passage
    from secondlook.settings.sections import Settings

GroundedWay = Literal["answer", "check_useful", "settle"]


class ToCheck(Question, Draft, Drafts):
    """A draft, and what was cut from it already."""


class Checked(Draft, Drafts, Trace):
    route: str


async def check_grounded(state: ToCheck, runtime: Runtime[Context]) -> Checked:
    context, regenerations = runtime.context, state.get("regenerations", 0)
    cut = state.get("complaints", [])
    made = await grounded(context, state["question"], state["draft"], cut)
    share, stands = share_grounded(made.draft, made.complaints, context.settings)
    again = stands is False and may_regenerate(context, made.draft, regenerations)
    way = _way(context, again=again)
    judged = JudgedDraft(
        draft=made.draft, grounded=share, is_grounded=stands, useful=None, is_useful=None
    )
    told = step(
        "check_grounded",
        _said(made.draft, made.complaints, again=again),
        {**made.numbers, "judge": context.settings.models.servers.grounded},
        route=(way, _why(stands=stands, again=again)),
        grounded=share,
        regenerations=regenerations,
    )
    return {
        "draft": made.draft,
        "drafts": [] if way == "check_useful" else [judged],
        # Where the draft is final, whoever writes another one later has nothing to answer to.
        "complaints": [] if way == "settle" else list(made.complaints),
        "regenerations": regenerations + again,
        "route": way,
        "steps": [told],
        "warnings": made.warnings,
    }


def _way(context: Context, *, again: bool) -> GroundedWay:
    if again:
        return "answer"
    return "check_useful" if context.settings.corrective.enable_useful_check else "settle"


def _why(*, stands: bool | None, again: bool) -> str:
    if stands is None:
        return "there is nothing to check"
    if stands:
        return "the draft stands on its evidence"
    rest = "it is written anew" if again else "it is not written anew"
    return f"the draft does not stand on its evidence, and {rest}"


def _said(draft: DraftData, complaints: Sequence[str], *, again: bool) -> str:
    if not complaints:
        count = len(draft["sentences"])
        return f"Every sentence stands on its evidence ({count})." if count else "Nothing to check."
    named = f"The evidence does not carry: {' | '.join(complaints)}"
    return f"{named} Asking for the answer anew." if again else named


# Has a model judge the finished answer, and once have it written more strictly.

GRADE_ANSWER = "grade_answer"


class ToGrade(Asked, Draft, AnswerGrades):
    pass


class GradedAnswer(AnswerGrades, Trace):
    route: str


async def grade_answer(state: ToGrade, runtime: Runtime[Context]) -> GradedAnswer:
    context, earlier = runtime.context, state.get("answer_grades", [])
    grade, warnings = await _graded(state, context)
    # What the reader took from a passage would be taken again.
    again = (
        grade == "no"
        and not earlier
        and (state["draft"]["model"] is not None and context.models.serves("answer"))
    )
    way = "answer" if again else "finish"
    said = {
        "yes": "A model holds the answer to be right.",
        "no": "A model holds the answer to be wrong.",
        "not graded": "The answer was not graded.",
    }[grade]
    told = step(
        GRADE_ANSWER,
        (f"{said} Asking for a stricter one." if again else said),
        {"verdict": grade, "answer": len(earlier) + 1},
        route=(way, _grade_answer_why(grade, again=again, earlier=len(earlier))),
    )
    return {"answer_grades": [grade], "route": way, "steps": [told], "warnings": warnings}


async def _graded(state: ToGrade, context: Context) -> tuple[AnswerGrade, list[dict[str, Any]]]:
    if not state["draft"]["sentences"]:
        return "not graded", []
    if not context.models.serves("grade"):
        missing = ModelError("no model serves the role 'grade'")
        return "not graded", [trouble(GRADE_ANSWER, missing, "the answer was not graded")]
    # Once for each run, however often it grades.
    warnings = [] if state.get("answer_grades") else unfit_judge(context, GRADE_ANSWER)
    try:
        prompt, question = load(GRADE_ANSWER), state["question"]
        answer = " ".join(sentence["text"] for sentence in state["draft"]["sentences"])
        bare = prompt.render(question=question, answer=answer, evidence="")
        budget = await evidence_budget(context, "grade", bare, max_tokens=prompt.max_tokens)
        items, _ = await evidence_items(context, state["found"])
        shown = packed(context, "grade", question, items, budget)
        if not shown.blocks:
            raise UnusableReply("the evidence of the answer cannot be read any more")
        evidence = evidence_marks(context.run).wrap([block.text for block in shown.blocks])
        said = await yes_or_no(
            context,
            prompt.render(question=question, answer=answer, evidence=evidence),
            node=GRADE_ANSWER,
        )
    except (ModelError, BudgetExceeded) as error:
        return "not graded", [*warnings, trouble(GRADE_ANSWER, error, "the answer was not graded")]
    return "yes" if said else "no", warnings


def _grade_answer_why(grade: AnswerGrade, *, again: bool, earlier: int) -> str:
    if again:
        return "the answer was refused once"
    if grade != "no":
        return "nothing speaks against the answer"
    return "it has been written again already" if earlier else "no model wrote it"


# Whether each sentence of a draft stands on what it cites: the rules that hold for every judge,
# and what the verdicts amount to.

_NAMES: Final[tuple[Cap, ...]] = ("name",)
_MOST = 0.5
"""The share of sentences of which more must pass where likeness of meaning judges."""


@dataclass(frozen=True, slots=True)
class Groundedness:
    """A draft with the verdicts on its sentences."""

    draft: DraftData
    complaints: tuple[str, ...]
    """The sentences that the evidence does not carry, those cut before the check included."""
    numbers: dict[str, Scalar]
    warnings: list[dict[str, Any]] = field(default_factory=list)


async def grounded(
    context: Context, question: str, draft: DraftData, cut: Sequence[str]
) -> Groundedness:
    """The draft as it was written, each sentence marked by whether it stands."""
    ones = await backed(context, draft["sentences"])
    open_ones = [one for one in ones if _is_open(one, draft)]
    heard = await opinions(context, question, open_ones)
    said = iter(heard.opinions)
    ruled = [
        _with_rules(one, next(said), question) if _is_open(one, draft) else _closed(one)
        for one in ones
    ]
    sentences = [_marked(one.sentence, opinion) for one, opinion in zip(ones, ruled, strict=True)]
    failing = [one["text"] for one in sentences if one["supported"] is False]
    numbers: dict[str, Scalar] = {
        "sentences": len(sentences) + len(cut),
        "unsupported": len(failing) + len(cut),
        "cut": len(cut),
        "absent": sum(opinion.absent for opinion in ruled),
        **heard.numbers,
    }
    complaints = tuple(dict.fromkeys([*cut, *failing]))
    return Groundedness({**draft, "sentences": sentences}, complaints, numbers, heard.warnings)


def share_grounded(
    draft: DraftData, complaints: Sequence[str], settings: Settings
) -> tuple[float | None, bool | None]:
    """The share of what was written that the evidence carries, and whether that is enough; None
    where nothing was written or nobody has checked it."""
    sentences = draft["sentences"]
    texts = {sentence["text"] for sentence in sentences}
    cut = sum(complaint not in texts for complaint in complaints)
    checked = cut or any(sentence["supported"] is not None for sentence in sentences)
    if not checked or not settings.answer.enable_grounded_check:
        return None, None
    failing = cut + sum(sentence["supported"] is False for sentence in sentences)
    share = 1 - failing / (len(sentences) + cut)
    if settings.models.servers.grounded == "similarity":
        return round(share, 4), share > _MOST
    return round(share, 4), failing == 0


def _is_open(one: Backed, draft: DraftData) -> bool:
    """Whether somebody must judge it: not what is computed, was taken word for word from a
    passage, or cites nothing that is there."""
    computed = one.sentence.get("computation") is not None
    return bool(one.quotes) and not computed and draft["method"] != "extractive"


def _closed(one: Backed) -> Opinion:
    if one.quotes or one.sentence.get("computation") is not None:
        return Opinion(supported=True, support=one.sentence["support"])
    return Opinion(supported=False, support=0.0)


def _with_rules(one: Backed, opinion: Opinion, question: str) -> Opinion:
    """A number or a name that stands nowhere makes a sentence unsupported, whoever judges."""
    if opinion.supported is False or not _is_absent(one, question):
        return opinion
    return replace(opinion, supported=False, absent=True)


def _is_absent(one: Backed, question: str) -> bool:
    """Whether the sentence has a number that neither its quotes nor the question have, or a name
    that not even the passages around the quotes have: there "she" may stand in the quote."""
    if is_verbatim(one.text, one.evidence):
        return False
    known = f"{one.evidence}\n\n{question}"
    if missing_numbers(one.text, known):
        return True
    return cap(one.text, "\n\n".join([known, *one.around]), _NAMES) < 1


def _marked(sentence: Sentence, opinion: Opinion) -> Sentence:
    marked: Sentence = {**sentence, "supported": opinion.supported, "support": opinion.support}
    return marked


# Whether an answer addresses the question: how well the reader finds an answer in its text.

CHECK_USEFUL = "check_useful"
_STEEPEST = 30.0


@dataclass(frozen=True, slots=True)
class UsefulHead:
    """What the reader's margin between an answer and none is worth, for one reader;
    `benchmarks/useful.py` measures it."""

    reader: str
    bias: float
    weight: float
    threshold: float
    """An answer that scores below it does not address its question."""
    grey: tuple[float, float]
    """Between these, answers to the question and to other ones mix."""

    def score(self, margin: float) -> float:
        logit = max(-_STEEPEST, min(_STEEPEST, self.bias + self.weight * margin))
        return round(1 / (1 + math.exp(-logit)), 4)


@dataclass(frozen=True, slots=True)
class Usefulness:
    score: float | None
    """From 0 to 1; None where the reader cannot tell."""
    is_useful: bool | None
    asked_model: bool = False
    warnings: list[dict[str, Any]] = field(default_factory=list)


UNKNOWN = Usefulness(None, None)


@cache
def shipped_head() -> UsefulHead:
    made = json.loads(files(__package__).joinpath("useful.json").read_text("utf-8"))
    return UsefulHead(
        made["reader"], made["bias"], made["weight"], made["threshold"], tuple(made["grey"])
    )


async def usefulness(context: Context, question: str, text: str) -> Usefulness:
    """By the reader; with `models.servers.useful = "llm"` by a model where the reader is unsure."""
    found = await asyncio.to_thread(_by_reader, context, question, text)
    judge, grey = context.settings.models.servers.useful, shipped_head().grey
    if judge == "reader" or found.score is None or not grey[0] <= found.score < grey[1]:
        return found

    warnings = [*found.warnings, *unfit_judge(context, CHECK_USEFUL)]
    try:
        # Whether the text addresses the question. Raises ModelError or BudgetExceeded.
        evidence = evidence_marks(context.run).wrap([text])
        messages = load("check_useful").render(question=question, evidence=evidence)
        said = await yes_or_no(context, messages, node="check_useful")
    except (ModelError, BudgetExceeded) as error:
        told = trouble(CHECK_USEFUL, error, "the reader judged the answer alone")
        return replace(found, warnings=[*warnings, told])
    return replace(found, is_useful=said, asked_model=True, warnings=warnings)


def _by_reader(context: Context, question: str, text: str) -> Usefulness:
    """Nobody can tell with another reader, or in a language that it was not trained for."""
    head = shipped_head()
    try:
        known = context.shelf.reader_name == head.reader
        if not known or foreign(question, text, context.shelf.reader_languages):
            return UNKNOWN
        reading = context.shelf.read_text(question, text)
    except Exception as error:  # noqa: BLE001 - whatever a reader does, the draft stays
        return replace(
            UNKNOWN, warnings=[trouble(CHECK_USEFUL, error, "the answer was not checked")]
        )
    margin = reading.span_score - reading.null_score
    if not math.isfinite(margin):
        return UNKNOWN
    score = head.score(margin)
    return Usefulness(score, score >= head.threshold)


# Checks that a draft addresses the question, and has the search go on where it does not.

UsefulWay = Literal["rewrite", "settle"]
_NOTHING = Usefulness(0.0, is_useful=False)
"""No answer addresses no question."""


class ToWeigh(Query, Evidence, Searches, Readings, Draft, Drafts):
    """A draft, and what was tried for it."""


class Weighed(Trace):
    drafts: list[JudgedDraft]
    complaints: list[str]
    route: str


async def check_useful(state: ToWeigh, runtime: Runtime[Context]) -> Weighed:
    context, draft = runtime.context, state["draft"]
    # What the evidence does not carry does not count: it will be cut.
    text = " ".join(one["text"] for one in standing(draft["sentences"]))
    found = await usefulness(context, state["question"], text) if text else _NOTHING
    share, stands = share_grounded(draft, state.get("complaints", []), context.settings)
    judged = JudgedDraft(
        draft=draft,
        grounded=share,
        is_grounded=stands,
        useful=found.score,
        is_useful=found.is_useful,
    )
    way, why = _check_useful_way(state, context, found)
    told = step(
        "check_useful",
        _check_useful_said(found, draft),
        route=(way, why),
        useful=found.score,
        is_useful=found.is_useful,
        by="a model" if found.asked_model else "the reader",
    )
    return {
        "drafts": [judged],
        "complaints": [],
        "route": way,
        "steps": [told],
        "warnings": found.warnings,
    }


def _check_useful_way(state: ToWeigh, context: Context, found: Usefulness) -> tuple[UsefulWay, str]:
    if found.is_useful is not False:
        return "settle", "nothing speaks against the draft"
    if not rewriting_may_help(state["draft"]):
        return "settle", "what was found has been weighed already"
    # Whether the reader sees an answer. A model that grades may say so of anything.
    if not state["draft"]["sentences"] and any(
        item["grade"] == "answers" and item["graded_by"] == READER for item in state["found"]
    ):
        return "settle", "a passage seems to answer it, whatever the model made of it"
    searches, stuck = state.get("searches", []), state.get("stuck", False)
    assumed = state.get("assumed")
    if not stuck and may_search_again(
        state["queries"], searches, context.settings, assumed=assumed
    ):
        return "rewrite", "another search may find more"
    return "settle", "no other search is allowed, or the last one brought nothing new"


def _check_useful_said(found: Usefulness, draft: DraftData) -> str:
    if not draft["sentences"]:
        return "There is no answer to the question yet."
    if found.is_useful is None:
        return "Nobody could tell whether the draft addresses the question."
    return f"The draft {'addresses' if found.is_useful else 'does not address'} the question."


# Who judges whether a sentence stands on its evidence: the reader, likeness of meaning, or a
# model where the reader is unsure.

CHECK_GROUNDED = "check_grounded"


@dataclass(frozen=True, slots=True)
class Opinion:
    supported: bool | None
    """None where nobody could tell."""
    support: float | None
    absent: bool = False
    """It has a number or a name that its evidence lacks."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One opinion for each sentence, in order."""

    opinions: list[Opinion]
    numbers: dict[str, Scalar] = field(default_factory=dict)
    warnings: list[dict[str, Any]] = field(default_factory=list)


async def opinions(context: Context, question: str, ones: Sequence[Backed]) -> Heard:
    """By the judge that is set. One that fails is replaced by the reader, and that is told."""
    judge = context.settings.models.servers.grounded
    if not ones:
        return Heard([])
    if judge == "similarity":
        return await _by_likeness(context, ones)
    heard = await _judges_by_reader(context, ones)
    return await _by_model(context, question, ones, heard) if judge == "llm" else heard


async def _judges_by_reader(context: Context, ones: Sequence[Backed]) -> Heard:
    """As it was measured when the draft was written; measured now where that was not done, or
    where some of the evidence is gone since."""
    known = [one.sentence["support"] if one.complete else None for one in ones]
    unknown = [
        (one.text, one.evidence) for one, value in zip(ones, known, strict=True) if value is None
    ]
    try:
        measured = iter(
            await asyncio.to_thread(context.support.support, unknown) if unknown else ()
        )
    except Exception as error:  # noqa: BLE001 - whatever a reader does, the draft stays
        told = trouble(CHECK_GROUNDED, error, "the sentences were not checked")
        return Heard([Opinion(None, value) for value in known], warnings=[told])
    supports = [next(measured) if value is None else value for value in known]
    return Heard([Opinion(value >= DEFAULT_MIN_SUPPORT, round(value, 4)) for value in supports])


async def _by_likeness(context: Context, ones: Sequence[Backed]) -> Heard:
    """By the place that is most like the sentence in meaning."""
    pairs = [(one.text, quote) for one in ones for _, quote in one.quotes]
    try:
        likes = await asyncio.to_thread(context.shelf.similarity, pairs)
        if not all(map(math.isfinite, likes)):
            raise ModelError("the embedder gave something that is no number")  # noqa: TRY301
    except Exception as error:  # noqa: BLE001 - whatever an embedder does
        heard = await _judges_by_reader(context, ones)
        told = trouble(CHECK_GROUNDED, error, "the sentences were judged by the reader")
        return replace(heard, warnings=[*heard.warnings, told])
    values = iter(likes)
    best = [max(next(values) for _ in one.quotes) for one in ones]
    return Heard([Opinion(value >= MIN_LIKENESS, round(value, 4)) for value in best])


async def _by_model(context: Context, question: str, ones: Sequence[Backed], heard: Heard) -> Heard:
    """A model is asked about the sentences that the reader is unsure of, all in one call. Where it
    says nothing, the reader's opinion stands."""

    unsure = [
        at
        for at, opinion in enumerate(heard.opinions)
        if (opinion.support is not None and abs(opinion.support - DEFAULT_MIN_SUPPORT) <= GREY)
    ]
    if not unsure:
        return heard
    warnings = [*heard.warnings, *unfit_judge(context, CHECK_GROUNDED)]
    try:
        said = await sentence_verdicts(context, question, [ones[at] for at in unsure])
    except (ModelError, BudgetExceeded) as error:
        told = trouble(CHECK_GROUNDED, error, "the reader judged the sentences alone")
        return replace(heard, warnings=[*warnings, told])
    ruled = list(heard.opinions)
    for place, verdict in said.by_place.items():
        ruled[unsure[place]] = replace(ruled[unsure[place]], supported=verdict)
    numbers: dict[str, Scalar] = {
        "asked_of_model": len(unsure),
        "missing": len(unsure) - len(said.by_place),
        "unknown": said.unknown,
        "overruled": sum(
            one.supported != other.supported
            for one, other in zip(heard.opinions, ruled, strict=True)
        ),
    }
    return Heard(ruled, numbers, warnings)


# What a model is asked about a draft, in the role that grades: yes or no, as JSON.

_ENTRY_TOKENS = 24
"""Of one verdict in the reply, as widely spaced as models write JSON."""


@dataclass(frozen=True, slots=True)
class SentenceVerdicts:
    by_place: dict[int, bool]
    """Counted from 0. What the model left out, or judged in two ways, is not in it."""
    unknown: int
    """Verdicts on sentences that there are not."""


async def sentence_verdicts(
    context: Context, question: str, ones: Sequence[Backed]
) -> SentenceVerdicts:
    """Whether each sentence stands on its own evidence, in one call. Raises ModelError or
    BudgetExceeded."""
    prompt = load("check_grounded")
    evidence = evidence_marks(context.run).wrap([one.evidence for one in ones])
    reply = await context.models.ask(
        "grade",
        prompt.render(question=question, sentences=_numbered(ones), evidence=evidence),
        verdicts_of(len(ones)),
        node=prompt.name,
        max_tokens=prompt.max_tokens + _ENTRY_TOKENS * len(ones),
        final=True,
    )
    count = len(ones)
    found: dict[int, set[bool]] = {}
    unknown = 0
    for entry in reply.value.verdicts if reply.value else ():
        if 1 <= entry.number <= count:
            found.setdefault(entry.number - 1, set()).add(entry.verdict == "yes")
        else:
            unknown += 1
    return SentenceVerdicts(
        {place: next(iter(ways)) for place, ways in found.items() if len(ways) == 1}, unknown
    )


async def yes_or_no(context: Context, messages: Sequence[Message], *, node: str) -> bool:
    reply = await context.models.ask(
        "grade", messages, Verdict, node=node, max_tokens=load(node).max_tokens, final=True
    )
    if reply.value is None:
        raise UnusableReply(f"{context.models.name('grade')} gave {node} no verdict")
    return reply.value.verdict == "yes"


def unfit_judge(context: Context, node: str) -> list[dict[str, Any]]:
    """A warning, with the figures, where the model was measured to judge answers badly."""
    from secondlook.nodes.grade import fit_to_grade, unfit_for_answers

    objection = unfit_for_answers(fit_to_grade(context))
    return [trouble(node, objection, "it was asked as it is set")] if objection else []


def _numbered(ones: Sequence[Backed]) -> str:
    return "\n".join(
        f"Sentence {number}: {' '.join(one.text.split())}" for number, one in enumerate(ones, 1)
    )


# What stands behind each sentence of a draft, as the library or the web page has it now.


@dataclass(frozen=True, slots=True)
class Backed:
    """A sentence, and the places it cites that are there."""

    sentence: Sentence
    quotes: tuple[tuple[str, str], ...]
    """Title and words of each place."""
    around: tuple[str, ...]
    """The passages that the places lie in."""

    @property
    def text(self) -> str:
        return self.sentence["text"]

    @property
    def evidence(self) -> str:
        return joined_evidence(self.quotes)

    @property
    def complete(self) -> bool:
        """Whether every place that it cites is there."""
        return len(self.quotes) == len(self.sentence["cited"])


async def backed(context: Context, sentences: Sequence[Sentence]) -> list[Backed]:
    wanted = {place["passage"] for sentence in sentences for place in sentence["cited"]}
    held = await ranking.texts(context, sorted(wanted))
    return [_backed(sentence, held) for sentence in sentences]


def _backed(sentence: Sentence, held: Mapping[str, Passage]) -> Backed:
    there = [
        (held[place["passage"]], quote)
        for place in sentence["cited"]
        if place["passage"] in held and (quote := _quote(held[place["passage"]], place))
    ]
    return Backed(
        sentence,
        quotes=tuple((passage.title, quote) for passage, quote in there),
        around=tuple(dict.fromkeys(passage.text for passage, _ in there)),
    )


def _quote(passage: Passage, place: Cited) -> str:
    start, end = place["start"] - passage.start, place["end"] - passage.start
    return passage.text[start:end].strip() if 0 <= start < end else ""
