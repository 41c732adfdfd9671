"""Checks a draft: sentence by sentence against its evidence, and as a whole against the question.
`grade_answer` has a model judge the finished answer."""

from __future__ import annotations

import asyncio
import json
import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.errors import BudgetExceeded, ModelError, UnusableReply
from secondlook.nodes import ranking
from secondlook.nodes.cite import standing
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.evidence import evidence_budget, evidence_items, packed
from secondlook.nodes.grade import fit_to_grade, unfit
from secondlook.nodes.limits import GREY, AnswerGrade, AnswerGrades, may_search_again
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
from secondlook.reading.languages import foreign, other_language
from secondlook.reading.numbers import missing_numbers
from secondlook.reading.support import DEFAULT_MIN_SUPPORT, cap, is_verbatim, joined_evidence
from secondlook.roles.prompts import load
from secondlook.roles.prompts.marks import evidence_marks
from secondlook.roles.verdicts import Verdict, verdicts_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.answer import Scalar
    from secondlook.nodes.state import DraftData, Sentence
    from secondlook.passage import Passage
    from secondlook.reading.support import Cap
    from secondlook.settings.sections import Settings

MOST_REGENERATIONS = 2  # times a draft that is not grounded is written anew
_ENTRY_TOKENS = 24  # of one verdict in a reply, as widely spaced as models write JSON
_STEEPEST = 30.0
_NAMES: Final[tuple[Cap, ...]] = ("name",)


class ToCheck(Question, Draft, Drafts):
    """A draft, and what was cut from it already."""


class Checked(Draft, Drafts, Trace):
    route: str


async def check_grounded(state: ToCheck, runtime: Runtime[Context]) -> Checked:
    context, regenerations = runtime.context, state.get("regenerations", 0)
    chosen = context.settings.corrective
    made = await grounded(context, state["question"], state["draft"], state.get("complaints", []))
    draft, complaints = made.draft, made.complaints
    share, stands = share_grounded(draft, complaints, context.settings)
    # What the reader took from a passage would be taken again: only a model writes anew.
    again = (
        stands is False
        and chosen.enable_regeneration
        and regenerations < MOST_REGENERATIONS
        and draft["model"] is not None
        and context.models.serves("answer")
    )
    way = "answer" if again else "check_useful" if chosen.enable_useful_check else "settle"
    why = "the draft stands on its evidence" if stands else "there is nothing to check"
    if stands is False:
        rest = "it is written anew" if again else "it is not written anew"
        why = f"the draft does not stand on its evidence, and {rest}"
    count = len(draft["sentences"])
    said = f"Every sentence stands on its evidence ({count})." if count else "Nothing to check."
    if complaints:
        said = f"The evidence does not carry: {' | '.join(complaints)}"
        said += " Asking for the answer anew." if again else ""
    judged = JudgedDraft(
        draft=draft, grounded=share, is_grounded=stands, useful=None, is_useful=None
    )
    told = step(
        "check_grounded",
        said,
        {**made.numbers, "judge": context.settings.models.servers.grounded},
        route=(way, why),
        grounded=share,
        regenerations=regenerations,
    )
    return {
        "draft": draft,
        "drafts": [] if way == "check_useful" else [judged],
        # Where the draft is final, a later one has nothing to answer to.
        "complaints": [] if way == "settle" else list(complaints),
        "regenerations": regenerations + again,
        "route": way,
        "steps": [told],
        "warnings": made.warnings,
    }


# Whether each sentence of a draft stands on what it cites.


class Groundedness(NamedTuple):
    """A draft with the verdicts on its sentences."""

    draft: DraftData
    complaints: tuple[str, ...]
    """The sentences that the evidence does not carry, those cut before the check included."""
    numbers: dict[str, Scalar]
    warnings: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _Backed:
    """A sentence, and the places it cites that are still there."""

    sentence: Sentence
    quotes: tuple[tuple[str, str], ...]  # title and words of each place
    around: tuple[str, ...]  # the passages that the places lie in

    @classmethod
    def of(cls, sentence: Sentence, held: Mapping[str, Passage]) -> _Backed:
        there = []
        for place in sentence["cited"]:
            if passage := held.get(place["passage"]):
                start, end = place["start"] - passage.start, place["end"] - passage.start
                if 0 <= start < end and (quote := passage.text[start:end].strip()):
                    there.append((passage, quote))
        quotes = tuple((passage.title, quote) for passage, quote in there)
        return cls(sentence, quotes, tuple(dict.fromkeys(passage.text for passage, _ in there)))

    @property
    def evidence(self) -> str:
        return joined_evidence(self.quotes)

    def lacks(self, question: str) -> bool:
        """Whether the sentence has a number that neither its quotes nor the question have, or a
        name that not even the passages around the quotes have: there "she" may stand in the
        quote."""
        text, known = self.sentence["text"], f"{self.evidence}\n\n{question}"
        if is_verbatim(text, self.evidence):
            return False
        if missing_numbers(text, known):
            return True
        if self.sentence.get("answers") and other_language(text):  # it has capitals of its own
            return False
        return cap(text, "\n\n".join([known, *self.around]), _NAMES) < 1


async def grounded(
    context: Context, question: str, draft: DraftData, cut: Sequence[str]
) -> Groundedness:
    """The draft as it was written, each sentence marked by whether it stands."""
    sentences = [sentence.copy() for sentence in draft["sentences"]]
    wanted = {place["passage"] for sentence in sentences for place in sentence["cited"]}
    held = await ranking.texts(context, sorted(wanted))
    open_ones: list[_Backed] = []
    for sentence in sentences:
        one, computed = _Backed.of(sentence, held), sentence.get("computation") is not None
        if not one.quotes and not computed:
            sentence["supported"], sentence["support"] = False, 0.0
        elif computed:
            sentence["supported"] = True
        elif draft["method"] != "extractive":  # else word for word, and looked at twice
            open_ones.append(one)
    numbers, warnings = await _judge(context, question, open_ones)
    # A number or a name that stands nowhere makes a sentence unsupported, whoever judges.
    absent = [
        one for one in open_ones if one.sentence["supported"] is not False and one.lacks(question)
    ]
    for one in absent:
        one.sentence["supported"] = False
    failing = [one["text"] for one in sentences if one["supported"] is False]
    counted: dict[str, Scalar] = {
        "sentences": len(sentences) + len(cut),
        "unsupported": len(failing) + len(cut),
        "cut": len(cut),
        "absent": len(absent),
        **numbers,
    }
    complaints = tuple(dict.fromkeys([*cut, *failing]))
    return Groundedness({**draft, "sentences": sentences}, complaints, counted, warnings)


async def _judge(
    context: Context, question: str, ones: Sequence[_Backed]
) -> tuple[dict[str, Scalar], list[dict[str, Any]]]:
    """Marks the sentences by the reader's support, and by a model where the reader is unsure and
    `models.servers.grounded` says so. Where the model fails, the reader's word stands."""
    # Measured when the draft was written, unless that was not done or some evidence is gone.
    unknown = [
        one
        for one in ones
        if one.sentence["support"] is None or len(one.quotes) < len(one.sentence["cited"])
    ]
    pairs = [(one.sentence["text"], one.evidence) for one in unknown]
    try:
        supports = await asyncio.to_thread(context.support.support, pairs) if pairs else []
    except Exception as error:  # noqa: BLE001 - whatever a reader does, the draft stays
        for one in ones:
            one.sentence["supported"] = None
        for one in unknown:
            one.sentence["support"] = None
        return {}, [trouble("check_grounded", error, "the sentences were not checked")]
    for one, value in zip(unknown, supports, strict=True):
        one.sentence["support"] = value
    unsure: list[_Backed] = []
    for one in ones:
        support = one.sentence["support"] or 0.0
        one.sentence["supported"] = support >= DEFAULT_MIN_SUPPORT
        one.sentence["support"] = support = round(support, 4)
        if abs(support - DEFAULT_MIN_SUPPORT) <= GREY:
            unsure.append(one)
    if context.settings.models.servers.grounded != "llm" or not unsure:
        return {}, []
    warnings = _unfit_judge(context, "check_grounded")
    try:
        by_place, others = await _sentence_verdicts(context, question, unsure)
    except (ModelError, BudgetExceeded) as error:
        told = trouble("check_grounded", error, "the reader judged the sentences alone")
        return {}, [*warnings, told]
    numbers: dict[str, Scalar] = {
        "asked_of_model": len(unsure),
        "missing": len(unsure) - len(by_place),
        "unknown": others,
        "overruled": sum(unsure[at].sentence["supported"] != way for at, way in by_place.items()),
    }
    for place, verdict in by_place.items():
        unsure[place].sentence["supported"] = verdict
    return numbers, warnings


async def _sentence_verdicts(
    context: Context, question: str, ones: Sequence[_Backed]
) -> tuple[dict[int, bool], int]:
    """Whether each sentence stands on its own evidence, in one call: the verdicts by place from 0,
    without those that are missing or contradict one another, and how many were on no sentence.
    Raises ModelError or BudgetExceeded."""
    prompt = load("check_grounded")
    listed = "\n".join(
        f"Sentence {number}: {' '.join(one.sentence['text'].split())}"
        for number, one in enumerate(ones, 1)
    )
    evidence = evidence_marks(context.run).wrap([one.evidence for one in ones])
    reply = await context.models.ask(
        "grade",
        prompt.render(question=question, sentences=listed, evidence=evidence),
        verdicts_of(len(ones)),
        node=prompt.name,
        max_tokens=prompt.max_tokens + _ENTRY_TOKENS * len(ones),
        final=True,
    )
    entries = reply.value.verdicts if reply.value else []
    said = [{one.verdict for one in entries if one.number == at} for at, _ in enumerate(ones, 1)]
    clear = {at: "yes" in verdicts for at, verdicts in enumerate(said) if len(verdicts) == 1}
    return clear, sum(not 1 <= entry.number <= len(ones) for entry in entries)


def share_grounded(
    draft: DraftData, complaints: Sequence[str], settings: Settings
) -> tuple[float | None, bool | None]:
    """The share of what was written that the evidence carries, and whether all of it is carried;
    None where nothing was written or nobody has checked it."""
    sentences = draft["sentences"]
    texts = {sentence["text"] for sentence in sentences}
    cut = sum(complaint not in texts for complaint in complaints)
    checked = cut or any(sentence["supported"] is not None for sentence in sentences)
    if not checked or not settings.answer.enable_grounded_check:
        return None, None
    failing = cut + sum(sentence["supported"] is False for sentence in sentences)
    return round(1 - failing / (len(sentences) + cut), 4), failing == 0


# Whether a draft addresses the question: how well the reader finds an answer in its text.


class UsefulHead(NamedTuple):
    """What the reader's margin between an answer and none is worth, for one reader."""

    reader: str
    bias: float
    weight: float
    threshold: float  # an answer that scores below it does not address its question
    grey: Sequence[float]  # between these, answers to the question and to other ones mix

    def score(self, margin: float) -> float:
        logit = max(-_STEEPEST, min(_STEEPEST, self.bias + self.weight * margin))
        return round(1 / (1 + math.exp(-logit)), 4)


@cache
def shipped_head() -> UsefulHead:
    made = json.loads(files(__package__).joinpath("useful.json").read_text("utf-8"))
    return UsefulHead(**{name: made[name] for name in UsefulHead._fields})


class Usefulness(NamedTuple):
    score: float | None = None  # from 0 to 1; None where the reader cannot tell
    is_useful: bool | None = None
    asked_model: bool = False
    warnings: Sequence[dict[str, Any]] = ()


class ToWeigh(Query, Evidence, Searches, Readings, Draft, Drafts):
    """A draft, and what was tried for it."""


class Weighed(Trace):
    drafts: list[JudgedDraft]
    complaints: list[str]
    route: str


async def check_useful(state: ToWeigh, runtime: Runtime[Context]) -> Weighed:
    context, draft = runtime.context, state["draft"]
    # What the evidence does not carry does not count: it will be cut.
    stands = standing(draft["sentences"])
    text = " ".join(one["text"] for one in stands)
    found = Usefulness(0.0, is_useful=False)  # no answer addresses no question
    if any(one.get("answers") for one in stands):
        found = Usefulness(1.0, is_useful=True)
    elif text:
        found = await _usefulness(context, state["question"], text)
    share, grounded = share_grounded(draft, state.get("complaints", []), context.settings)
    judged = JudgedDraft(
        draft=draft,
        grounded=share,
        is_grounded=grounded,
        useful=found.score,
        is_useful=found.is_useful,
    )
    way, why = "settle", "nothing speaks against the draft"
    if found.is_useful is False:
        way, why = _after_useless(state, context)
    said = "Nobody could tell whether the draft addresses the question."
    if not draft["sentences"]:
        said = "There is no answer to the question yet."
    elif found.is_useful is not None:
        said = f"The draft {'addresses' if found.is_useful else 'does not address'} the question."
    told = step(
        "check_useful",
        said,
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
        "warnings": list(found.warnings),
    }


def _after_useless(state: ToWeigh, context: Context) -> tuple[str, str]:
    """Whether a draft that is not useful is a reason to search again."""
    draft = state["draft"]
    if not draft["sentences"] and draft["model"] is None:
        # The reader withheld its own answer by the scores that say what was found.
        return "settle", "what was found has been weighed already"
    # Only the reader's grade counts here: a model that grades may say so of anything.
    if not draft["sentences"] and any(
        item["grade"] == "answers" and item["graded_by"] == READER for item in state["found"]
    ):
        return "settle", "a passage seems to answer it, whatever the model made of it"
    searches, assumed = state.get("searches", []), state.get("assumed")
    if not state.get("stuck", False) and may_search_again(
        state["queries"], searches, context.settings, assumed=assumed
    ):
        return "rewrite", "another search may find more"
    return "settle", "no other search is allowed, or the last one brought nothing new"


async def _usefulness(context: Context, question: str, text: str) -> Usefulness:
    """By the reader; with `models.servers.useful = "llm"` by a model where the reader is unsure.
    Nobody can tell with another reader, or in a language that it was not trained for."""
    head, shelf = shipped_head(), context.shelf
    try:
        other = await asyncio.to_thread(foreign, question, text, shelf.reader_languages)
        if shelf.reader_name != head.reader or other:
            return Usefulness()
        reading = await asyncio.to_thread(shelf.read_text, question, text)
    except Exception as error:  # noqa: BLE001 - whatever a reader does, the draft stays
        return Usefulness(warnings=[trouble("check_useful", error, "the answer was not checked")])
    margin = reading.span_score - reading.null_score
    if not math.isfinite(margin):
        return Usefulness()
    score = head.score(margin)
    found = Usefulness(score, score >= head.threshold)
    judge = context.settings.models.servers.useful
    if judge == "reader" or not head.grey[0] <= score < head.grey[1]:
        return found
    warnings = _unfit_judge(context, "check_useful")
    try:
        said = await _yes_or_no(context, "check_useful", [text], question=question)
    except (ModelError, BudgetExceeded) as error:
        told = trouble("check_useful", error, "the reader judged the answer alone")
        return found._replace(warnings=[*warnings, told])
    return Usefulness(score, said, asked_model=True, warnings=warnings)


# A model judges the finished answer, and once has it written more strictly.


class ToGrade(Asked, Draft, AnswerGrades):
    pass


class GradedAnswer(AnswerGrades, Trace):
    route: str


async def grade_answer(state: ToGrade, runtime: Runtime[Context]) -> GradedAnswer:
    context, earlier = runtime.context, state.get("answer_grades", [])
    grade, warnings = await _graded(state, context)
    # What the reader took from a passage would be taken again.
    by_model = state["draft"]["model"] is not None and context.models.serves("answer")
    again = grade == "no" and not earlier and by_model
    way, why = "finish", "nothing speaks against the answer"
    if again:
        way, why = "answer", "the answer was refused once"
    elif grade == "no":
        why = "it has been written again already" if earlier else "no model wrote it"
    held = {"yes": "A model holds the answer to be right.", "no": "A model holds it to be wrong."}
    said = held.get(grade, "The answer was not graded.")
    said += " Asking for a stricter one." if again else ""
    told = step(
        "grade_answer", said, {"verdict": grade, "answer": len(earlier) + 1}, route=(way, why)
    )
    return {"answer_grades": [grade], "route": way, "steps": [told], "warnings": warnings}


async def _graded(state: ToGrade, context: Context) -> tuple[AnswerGrade, list[dict[str, Any]]]:
    node, question = "grade_answer", state["question"]
    if not state["draft"]["sentences"]:
        return "not graded", []
    if not context.models.serves("grade"):
        missing = ModelError("no model serves the role 'grade'")
        return "not graded", [trouble(node, missing, "the answer was not graded")]
    # Once for each run, however often it grades.
    warnings = [] if state.get("answer_grades") else _unfit_judge(context, node)
    try:
        prompt = load(node)
        answer = " ".join(sentence["text"] for sentence in state["draft"]["sentences"])
        bare = prompt.render(question=question, answer=answer, evidence="")
        budget = await evidence_budget(context, "grade", bare, max_tokens=prompt.max_tokens)
        items, _ = await evidence_items(context, state["found"])
        shown = packed(context, "grade", question, items, budget)
        if not shown.blocks:
            raise UnusableReply("the evidence of the answer cannot be read any more")
        blocks = [block.text for block in shown.blocks]
        said = await _yes_or_no(context, node, blocks, question=question, answer=answer)
    except (ModelError, BudgetExceeded) as error:
        return "not graded", [*warnings, trouble(node, error, "the answer was not graded")]
    return "yes" if said else "no", warnings


async def _yes_or_no(context: Context, node: str, blocks: Sequence[str], **holes: str) -> bool:
    prompt = load(node)
    messages = prompt.render(**holes, evidence=evidence_marks(context.run).wrap(blocks))
    reply = await context.models.ask(
        "grade", messages, Verdict, node=node, max_tokens=prompt.max_tokens, final=True
    )
    if reply.value is None:
        raise UnusableReply(f"{context.models.name('grade')} gave {node} no verdict")
    return reply.value.verdict == "yes"


def _unfit_judge(context: Context, node: str) -> list[dict[str, Any]]:
    """A warning, with the figures, where the model was measured to judge answers badly."""
    objection = unfit(fit_to_grade(context), "answers")
    return [trouble(node, objection, "it was asked as it is set")] if objection else []
