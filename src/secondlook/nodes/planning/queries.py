"""What is searched for in a step: a primary query and two alternatives in other words.

The primary one keeps to the step's question, by the drift guard of the corrective workflow; where
it does not, the question itself is searched for. An alternative has other words than the queries
before it and stays near them in meaning (`diversity`). Whatever fails is replaced by code: the
question's words with terms of the best passages that the primary query finds, or where there are
none the question's telling words alone.
"""

from __future__ import annotations

import asyncio
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from secondlook.errors import BudgetExceeded, ModelError
from secondlook.library.shelf import search_options
from secondlook.nodes.planning.by_model import QUERIES, queries_said
from secondlook.nodes.planning.diversity import fault_of, likeness
from secondlook.nodes.planning.questions import is_example, leans
from secondlook.nodes.planning.variants import expansions
from secondlook.nodes.rewriting.guard import Verdict, accepted, bare
from secondlook.nodes.rewriting.wording import Stems, content, word_count
from secondlook.state import trouble

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Scalar
    from secondlook.context import Context
    from secondlook.nodes.planning.diversity import Fault
    from secondlook.passage import Passage
    from secondlook.retrieval.index.port import Filter
    from secondlook.state import StepData

ALTERNATIVES: Final = 2
MOST_WORDS: Final = 30
"""Of a query by a model. It is asked for at least ten; a question of four words has no ten."""
_DEPTH: Final = 20
"""Passages of the primary query by which telling terms are known."""
_OF_NO_MATTER = frozenset({"drift", "new words"})
"""Faults of a rewrite that an alternative may have: meaning and words are weighed otherwise."""
_FILLER = re.compile(
    r"\A(?:(?:hi|hello|hey|ok|okay|so|well|please)\b[\s,!.]*)*"
    r"(?:(?:can|could|would|will)\s+you\s+(?:please\s+)?(?:tell|explain|show|say|find)"
    r"(?:\s+(?:out|to))?(?:\s+me)?\s*"
    r"|(?:i\s+(?:want|would\s+like|need|am\s+trying)|i['’]d\s+like)\s+to\s+"  # noqa: RUF001
    r"(?:know|find\s+out|understand)\s*"
    r"|(?:please\s+)?(?:tell\s+me|explain(?:\s+to\s+me)?)\s+|do\s+you\s+know\s+)?",
    re.IGNORECASE,
)
_PLEASE = re.compile(r"[\s,]*\bplease\b(?=\s*[?.!]*\Z)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Worded:
    """The queries of a step, the primary first, and how they came about."""

    queries: list[str]
    numbers: dict[str, Scalar] = field(default_factory=dict)
    warnings: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class _Sieve:
    """Alternatives that passed, and what became of the others."""

    chosen: list[str]
    faults: dict[Fault, int] = field(default_factory=lambda: {"repeat": 0, "drift": 0})
    warnings: list[dict[str, Any]] = field(default_factory=list)


async def queries_for(
    context: Context, question: str, step: StepData, *, allowed: Filter | None = None
) -> Worded:
    """The wordings of a step, from a model where one serves. `question` is the whole one, without
    its choices; `allowed` is where to look for terms: without it none are taken from passages."""
    if step["queries"]:
        return Worded(list(step["queries"]))
    given: list[str] = []
    warnings: list[dict[str, Any]] = []
    if context.models.serves("rewrite"):
        try:
            given = await queries_said(context, step["question"])
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
    """What may be searched for of the queries that a model gave for a step's `question`.

    Names and numbers may come from `known`. `prompt` is the one that the model was told.
    """
    told = f"{known} {context.settings.research.vocabulary}"
    verdict = _primary(context, question, given, told, prompt)
    sieve = _Sieve([verdict.query or without_filler(question)])
    if context.settings.research.enable_multi_query:
        rich = given[:1] if verdict.reason == "new words" else ()
        await _sift(context, question, rich, given[1:], sieve, told=told, prompt=prompt)
    by_model = len(sieve.chosen) - (not verdict.is_accepted)
    await _fill_up(context, question, sieve, allowed)
    numbers: dict[str, Scalar] = {
        "wordings": len(sieve.chosen),
        "by_model": by_model,
        "primary_refused": verdict.reason if given else None,
        "repeats": sieve.faults["repeat"],
        "drifters": sieve.faults["drift"],
    }
    return Worded(sieve.chosen, numbers, sieve.warnings)


def without_filler(question: str) -> str:
    """The question without what only people say to each other."""
    text = _PLEASE.sub("", " ".join(question.split()))
    rest = _FILLER.sub("", text, count=1).strip()
    return rest if word_count(rest) else text


def _primary(
    context: Context, question: str, given: Sequence[str], known: str, prompt: str
) -> Verdict:
    if not given:
        return Verdict(None, "empty")
    if is_example(given[0], prompt):
        return Verdict(None, "drift", word_count(given[0]))
    language = context.settings.library.language
    verdict = accepted(given[0], question, (), known=known, language=language)
    if verdict.query and _says_less(verdict.query, question, language):
        return Verdict(None, "repeat", verdict.words, verdict.kept)
    return verdict


def _says_less(query: str, question: str, language: str) -> bool:
    """Whether it is the question with words left out: then the question says it better."""
    held = Stems(content(question, language))
    return leans(query) or all(stem in held for stem in content(query, language))


async def _sift(
    context: Context,
    question: str,
    rich: Sequence[str],
    given: Sequence[str],
    sieve: _Sieve,
    *,
    told: str,
    prompt: str,
) -> None:
    """Takes alternatives over that pass. `rich` has most words of its own, too many for a primary
    query and just what an alternative is for, though it shares what the question is about."""
    language = context.settings.library.language
    primary = sieve.chosen[0]
    texts = [
        text
        for one in (*rich, *given)
        if (text := _sound(one, f"{question} {primary}", told, language, prompt))
    ]
    for text, like in zip(texts, await _likeness(context, primary, texts, sieve), strict=True):
        before = () if text in map(bare, rich) else sieve.chosen
        wrong = fault_of(text, before, like, question=question, language=language)
        if wrong:
            sieve.faults[wrong] += 1
        elif len(sieve.chosen) <= ALTERNATIVES:
            sieve.chosen.append(text)


def _sound(said: str, question: str, known: str, language: str, prompt: str) -> str | None:
    """The query, unless it is none: too long, marked, an order, a statement, an example."""
    text = bare(said)
    if word_count(text) > MOST_WORDS or is_example(text, prompt):
        return None
    verdict = accepted(said, question, (), known=known, language=language)
    return text if verdict.is_accepted or verdict.reason in _OF_NO_MATTER else None


async def _likeness(
    context: Context, primary: str, texts: Sequence[str], sieve: _Sieve
) -> list[float]:
    try:
        return await likeness(context, primary, texts)
    except Exception as error:  # noqa: BLE001 - whatever an embedder does, the search goes on
        consequence = "alternative queries were judged by their words alone"
        sieve.warnings.append(trouble(QUERIES, error, consequence))
        return [math.nan] * len(texts)


async def _fill_up(context: Context, question: str, sieve: _Sieve, allowed: Filter | None) -> None:
    """By code, up to as many as are searched for."""
    wanted = ALTERNATIVES if context.settings.research.enable_multi_query else 0
    missing = 1 + wanted - len(sieve.chosen)
    if missing <= 0:
        return
    passages = await _found(context, sieve, allowed)
    language = context.settings.library.language
    sieve.chosen += expansions(
        without_filler(question), passages, sieve.chosen, most=missing, language=language
    )


async def _found(context: Context, sieve: _Sieve, allowed: Filter | None) -> list[Passage]:
    if allowed is None:
        return []
    settings = context.settings
    options = search_options(settings.search, k=settings.answer.k)
    try:
        hits = await asyncio.to_thread(context.shelf.find, sieve.chosen[0], options, allowed)
    except Exception as error:  # noqa: BLE001 - the search that follows will tell
        consequence = "alternative queries were made of the question's words alone"
        sieve.warnings.append(trouble(QUERIES, error, consequence))
        return []
    return [hit.passage for hit in hits[:_DEPTH]]
