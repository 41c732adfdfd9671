"""What a model proposes to look into and to search for, and what of it may be used. A step has a
primary query, which keeps to its question, and two alternatives in other words, near in meaning."""

from __future__ import annotations

import asyncio
import math
import re
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from secondlook.errors import BudgetExceeded, ModelError
from secondlook.library.library import search_options
from secondlook.nodes.state import StepData, trouble
from secondlook.roles.ambiguity import unresolved
from secondlook.roles.prompts import load
from secondlook.roles.prompts.marks import CONTROL_MARK, EVIDENCE_MARK, evidence_marks
from secondlook.roles.rewrite import (
    Stems,
    Verdict,
    accepted,
    bare,
    content,
    expansions,
    normalised,
    numbers,
    subject,
    word_count,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Scalar
    from secondlook.nodes.context import Context
    from secondlook.passage import Passage
    from secondlook.retrieval.index.port import Filter

Action = Literal["next_step", "retry", "complete"]
QUERIES = "queries"

# How long, and how many, is told and not demanded. Servers that hold a model to a schema end its
# loops by it. Three queries are not forced: a small model fills up with the examples it was shown.
_Phase = Annotated[
    str, Field(description="What it is, in few words.", json_schema_extra={"maxLength": 40})
]
_Asked = Annotated[
    str, Field(description="One plain question.", json_schema_extra={"maxLength": 240})
]
_Searches = Annotated[
    list[str],
    Field(
        description="Three search queries.",
        json_schema_extra={"maxItems": 3, "items": {"type": "string", "maxLength": 240}},
    ),
]


class _Reply(BaseModel):
    """What a model is asked for in full. What it leaves out is empty: no reason to ask again."""

    model_config = ConfigDict(
        extra="ignore",
        json_schema_extra=lambda schema: schema.update(required=list(schema["properties"])),
    )


class Queries(_Reply):
    queries: _Searches = []


class Planned(_Reply):
    phase: _Phase = ""
    question: _Asked = ""


class PlannedSearch(Planned):
    queries: _Searches = []


class Replanned(_Reply):
    action: Action = Field(description="What to do next.")
    phase: _Phase = ""
    question: _Asked = ""


class ReplannedSearch(Replanned):
    queries: _Searches = []


@dataclass(frozen=True, slots=True)
class Proposal:
    """What to do next, as a model said it."""

    action: Action
    phase: str
    question: str
    queries: tuple[str, ...]
    prompt: str  # The prompt that the model was given: examples in it are no proposals


async def proposed(context: Context, question: str, steps: Sequence[str] | None = None) -> Proposal:
    """The first step, or the next one after `steps`. Raises ModelError or BudgetExceeded."""
    node, merged = "plan" if steps is None else "replan", is_merged(context)
    prompt = load(f"{node}_search" if merged else node)
    holes = {"field": _field_of(context), "question": " ".join(question.split())}
    form: type[_Reply] = PlannedSearch if merged else Planned
    if steps is not None:
        form = ReplannedSearch if merged else Replanned
        holes["evidence"] = evidence_marks(context.run).wrap(steps)
    messages = prompt.render(**holes)
    reply = await context.models.ask(
        prompt.role, messages, form, node=node, max_tokens=prompt.max_tokens
    )
    said = reply.value.model_dump() if reply.value else {}
    action = said.get("action", "next_step" if steps is None else "complete")
    phase, asked = said.get("phase", ""), said.get("question", "")
    return Proposal(action, phase, asked, tuple(said.get("queries", ())), prompt.name)


def is_merged(context: Context) -> bool:
    """Whether the call that plans a step words its searches too."""
    return context.settings.research.calls == "merged"


def _field_of(context: Context) -> str:
    """What the profile says about the words of its field."""
    vocabulary = " ".join(context.settings.research.vocabulary.split())
    return f"Field: {vocabulary}\n" if vocabulary else ""


# Whether a question that a model proposes may become a step.

Reason = Literal[
    "no reply", "empty", "too long", "marks", "example", "leans", "off the subject", "repeat"
]
"""`example`: it is copied from the prompt; `leans`: it cannot be understood by itself."""

UNNAMED = "Research"  # Phase of a step whose model gave none
MOST_WORDS_OF_QUESTION: Final = 45
MOST_WORDS_OF_PHASE: Final = 6
LONGEST_PHASE: Final = 60  # Characters of a heading
_MARKUP = re.compile(r"https?://|```|[{}<>|]")
_LABEL = re.compile(r"\A[\s*_#>-]*(?:question|q|step \d+)\s*[:.]\s*", re.IGNORECASE)
_QUOTES: Final = "\"'“”‘’`*_ "  # noqa: RUF001


@dataclass(frozen=True, slots=True)
class Checked:
    """A question that may be asked, or why not."""

    question: str | None
    reason: Reason | None = None
    repeats: int | None = None
    """The step that asks the same; of a question that may be asked, the failed one."""
    warnings: tuple[dict[str, Any], ...] = ()


def tidy(said: str) -> str:
    """The first question of what a model said, without what stands around it."""
    text = _LABEL.sub("", " ".join(said.split()), count=1).strip(_QUOTES)
    first, mark, _ = text.partition("?")
    asked = (first if mark else text.rstrip(" .:;,")).strip(_QUOTES)
    return f"{asked[:1].upper()}{asked[1:]}?" if asked else ""


def tidy_phase(said: str) -> str:
    """A few words that can stand as a heading."""
    text = re.split(r"[,:;.?!\n]", said.strip(_QUOTES), maxsplit=1)[0].strip(_QUOTES)
    phase = " ".join(text.split()[:MOST_WORDS_OF_PHASE])
    usable = phase.replace(" ", "").isprintable() and not _MARKUP.search(text)
    if not phase or not usable or len(phase) > LONGEST_PHASE:
        return UNNAMED
    return f"{phase[:1].upper()}{phase[1:]}"


async def checked(
    context: Context, proposal: Proposal, *, asked: str, known: str, earlier: Sequence[StepData]
) -> Checked:
    """`asked` is the whole question, `known` what else the model was told."""
    question, language = tidy(proposal.question), context.settings.library.language
    if wrong := _fault_of_form(question, asked, proposal.prompt):
        return Checked(None, wrong)
    warnings: tuple[dict[str, Any], ...] = ()
    others = [asked, *(step["question"] for step in earlier)]
    try:
        near = await likeness(context, question, others)
    except Exception as error:  # noqa: BLE001 - whatever an embedder does, the research goes on
        near = [0.0] * len(others)
        warnings = (trouble("plan", error, "questions were compared by their words alone"),)
    held = Stems(content(f"{asked} {known}", language))
    if near[0] < LEAST_LIKE and not any(stem in held for stem in content(question, language)):
        return Checked(None, "off the subject", warnings=warnings)
    same = [
        step
        for step, like in zip(earlier, near[1:], strict=True)
        if _asks_the_same(question, step["question"], like, language)
    ]
    # Only a step that failed may be tried again, and only in other words.
    words = normalised(question, language)
    for step in same:
        if step["status"] != "failed" or words == normalised(step["question"], language):
            return Checked(None, "repeat", same[0]["id"], warnings)
    return Checked(question, None, same[-1]["id"] if same else None, warnings)


def _fault_of_form(question: str, asked: str, prompt: str) -> Reason | None:
    if not word_count(question):
        return "empty"
    if word_count(question) > max(MOST_WORDS_OF_QUESTION, word_count(asked)):
        return "too long"
    if CONTROL_MARK.search(question) or EVIDENCE_MARK.search(question) or _MARKUP.search(question):
        return "marks"
    if is_example(question, prompt) and tidy(asked) != question:
        return "example"
    return "leans" if unresolved(question) else None


def is_example(text: str, prompt: str) -> bool:
    """Whether it stands in the prompt itself: small models copy what they were shown."""
    plain = " ".join(text.split()).rstrip(" ?.").casefold()
    return bool(plain) and plain in " ".join(load(prompt).own_words.split()).casefold()


# How unlike two wordings are, and how near: an alternative query must be both.

MOST_SHARED: Final = 0.5
"""Of the words of the shorter wording; more of them, and an alternative repeats."""
LEAST_LIKE: Final = 0.25
"""Likeness to the primary query below which an alternative is about something else."""
SAME_LIKE: Final = 0.8
SAME_SHARED: Final = 0.6
"""Likeness, and share of all their words, from which two questions ask the same."""

_UNRELATED: Final = (
    "The baker sells rye bread and cakes from six in the morning.",
    "Clean the filter of the washing machine once a month.",
    "The orchestra played a symphony by Brahms in the second half.",
    "Wolves hunt in packs and raise their young together.",
    "A comet is a lump of ice and dust that circles the sun.",
    "Mix the paint with water until it runs off the brush.",
    "Our team lost the final by three points after extra time.",
    "Install the printer driver and start the computer again.",
)


async def likeness(context: Context, text: str, others: Sequence[str]) -> list[float]:
    """How near in meaning each is to the text, on a scale where unrelated texts have 0."""
    if not others:
        return []
    pairs = [(text, other) for other in (*_UNRELATED, *others)]
    cosines = await asyncio.to_thread(context.shelf.similarity, pairs)
    unrelated = fmean(cosines[: len(_UNRELATED)])
    return [
        (cosine - unrelated) / (1 - unrelated) if unrelated < 1 else math.nan
        for cosine in cosines[len(_UNRELATED) :]
    ]


def _is_repeat(query: str, chosen: Sequence[str], question: str, language: str) -> bool:
    """Whether it shares too many telling words, names apart, with a query before it."""
    named = Stems(stem for name in subject(question, language).names for stem in name.stems)
    mine = {stem for stem in content(query, language) if stem not in named}
    for one in chosen:
        theirs = {stem for stem in content(one, language) if stem not in named}
        fewer, more = sorted((mine, theirs), key=len)
        kindred = Stems(more)
        if not fewer or sum(stem in kindred for stem in fewer) / len(fewer) > MOST_SHARED:
            return True
    return False


def _asks_the_same(one: str, other: str, like: float, language: str) -> bool:
    """Whether two questions differ in no more than their wording, and ask for the same numbers."""
    if numbers(one) != numbers(other):
        return False
    if normalised(one, language) == normalised(other, language):
        return True
    mine, theirs = content(one, language), content(other, language)
    alike = sum(stem in Stems(theirs) for stem in mine) / max(1, len(mine | theirs))
    return like >= SAME_LIKE and alike >= SAME_SHARED


# The queries of a step.

ALTERNATIVES: Final = 2
MOST_WORDS_OF_QUERY: Final = 30
"""Of a query by a model. It is asked for at least ten; a question of four words has no ten."""
_DEPTH: Final = 20  # Passages of the primary query by which telling terms are known
_OF_NO_MATTER = frozenset({"drift", "new words"})
"""Faults of a rewrite that an alternative may have: meaning and words are weighed otherwise."""


@dataclass(frozen=True, slots=True)
class Worded:
    """The queries of a step, the primary first, and how they came about."""

    queries: list[str]
    numbers: dict[str, Scalar] = field(default_factory=dict)
    warnings: list[dict[str, Any]] = field(default_factory=list)


async def queries_for(
    context: Context, question: str, step: StepData, *, allowed: Filter | None = None
) -> Worded:
    """The wordings of a step. `allowed` is where passages lend their terms."""
    if step["queries"]:
        return Worded(list(step["queries"]))
    given: list[str] = []
    warnings: list[dict[str, Any]] = []
    if context.models.serves("rewrite"):
        prompt = load(QUERIES)
        asked = " ".join(step["question"].split())
        try:
            reply = await context.models.ask(
                prompt.role,
                prompt.render(field=_field_of(context), question=asked),
                Queries,
                node=QUERIES,
                max_tokens=prompt.max_tokens,
            )
            given = reply.value.queries if reply.value else []
        except (ModelError, BudgetExceeded) as error:
            warnings.append(trouble(QUERIES, error, "the searches were worded by code"))
    worded = await validated(context, step["question"], given, known=question, allowed=allowed)
    return Worded(worded.queries, worded.numbers, [*warnings, *worded.warnings])


async def validated(
    context: Context,
    question: str,
    given: Sequence[str],
    *,
    known: str = "",
    allowed: Filter | None = None,
    prompt: str = QUERIES,
) -> Worded:
    """What may be searched for of the queries that a model gave for a step's `question`, filled up
    by code. Names and numbers may come from `known`. `prompt` is the one the model was given."""
    language = context.settings.library.language
    told = f"{known} {context.settings.research.vocabulary}"
    verdict = _primary(given, question, told, language, prompt)
    plain = " ".join(question.split())
    chosen = [verdict.query or plain]
    repeats: list[str] = []
    drifters = 0
    warnings: list[dict[str, Any]] = []
    wanted = ALTERNATIVES if context.settings.research.enable_multi_query else 0
    # A primary query of too many new words is just what an alternative is for, though it shares
    # what the question is about.
    rich = given[:1] if verdict.reason == "new words" else ()
    about = f"{question} {chosen[0]}"
    texts = [
        bare(one)
        for one in (*rich, *given[1:])
        if wanted and _is_sound(one, about, told, language, prompt)
    ]
    try:
        likes = await likeness(context, chosen[0], texts)
    except Exception as error:  # noqa: BLE001 - whatever an embedder does, the search goes on
        consequence = "alternative queries were judged by their words alone"
        warnings.append(trouble(QUERIES, error, consequence))
        likes = [math.nan] * len(texts)
    for text, like in zip(texts, likes, strict=True):
        before = () if text in map(bare, rich) else chosen
        if _is_repeat(text, before, question, language):
            repeats.append(text)
        elif like < LEAST_LIKE:  # nan where nobody knows
            drifters += 1
        elif len(chosen) <= wanted:
            chosen.append(text)
    # What repeats and still says something new is worth more than the question with words added.
    held = Stems(content(" ".join(chosen), language))
    fresh = [one for one in repeats if any(word not in held for word in content(one, language))]
    chosen += fresh[: 1 + wanted - len(chosen)]
    by_model = len(chosen) - (not verdict.is_accepted)
    if (missing := 1 + wanted - len(chosen)) > 0:
        passages: list[Passage] = []
        try:
            if allowed is not None:
                options = search_options(context.settings.search, k=context.settings.answer.k)
                hits = await asyncio.to_thread(context.shelf.find, chosen[0], options, allowed)
                passages = [hit.passage for hit in hits[:_DEPTH]]
        except Exception as error:  # noqa: BLE001 - the search that follows will tell
            consequence = "alternative queries were made of the question's words alone"
            warnings.append(trouble(QUERIES, error, consequence))
        chosen += expansions(plain, passages, chosen, most=missing, language=language)
    told_numbers: dict[str, Scalar] = {
        "wordings": len(chosen),
        "by_model": by_model,
        "primary_refused": verdict.reason if given else None,
        "repeats": len(repeats),
        "drifters": drifters,
    }
    return Worded(chosen, told_numbers, warnings)


def _primary(
    given: Sequence[str], question: str, known: str, language: str, prompt: str
) -> Verdict:
    if not given:
        return Verdict(None, "empty")
    if is_example(given[0], prompt):
        return Verdict(None, "drift", word_count(given[0]))
    verdict = accepted(given[0], question, (), known=known, language=language)
    held = Stems(content(question, language))
    # The question with words left out: then the question says it better.
    if verdict.query and all(stem in held for stem in content(verdict.query, language)):
        return Verdict(None, "repeat", verdict.words, verdict.kept)
    return verdict


def _is_sound(said: str, question: str, known: str, language: str, prompt: str) -> bool:
    """Whether it is a query at all: not too long, marked, an order, a statement, an example."""
    text = bare(said)
    if word_count(text) > MOST_WORDS_OF_QUERY or is_example(text, prompt):
        return False
    verdict = accepted(said, question, (), known=known, language=language)
    return bool(text) and (verdict.is_accepted or verdict.reason in _OF_NO_MATTER)
