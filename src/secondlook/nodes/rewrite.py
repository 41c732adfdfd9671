"""Asks again in other words: a model's, where they may be searched for, else the passages' own.

A rewrite serves the search alone. Who grades, answers and checks sees the user's question.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.answer import Step, Trouble
from secondlook.errors import BudgetExceeded, ModelError, UnusableReply
from secondlook.nodes import ranking
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.state import RELEVANT, Asked, Found, Searches, Trace, step, trouble
from secondlook.retrieval.terms import query_terms, terms
from secondlook.roles.ambiguity import reading
from secondlook.roles.follow_up import StandAlone, Turn, leans, stand_alone
from secondlook.roles.prompts import load
from secondlook.roles.prompts.marks import CONTROL_MARK, EVIDENCE_MARK
from secondlook.roles.rewrite import (
    Said,
    Verdict,
    accepted,
    expanded,
    key_of,
    most_words,
    rewrites_of,
    subject,
    word_count,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.models.calls import Asker
    from secondlook.models.chat import Message

REWRITE = "rewrite"
AGAIN = "search_again"
NOTHING = "none"
"""Where it leads: to a search, or on without one."""
_BEST = 5
"""Passages whose titles a model is told, and whose terms a query by code is made of."""
_BACKGROUND = 20
"""Passages by which common terms are told from telling ones."""
_LONGEST = 300
"""Characters of a title or query that a model is shown."""
_TOKENS_PER_WORD = 4
_TOPICAL = 4.0
"""Points of relevance below `calibration.min_about` down to which a passage is on the topic."""
_GRADE_WEIGHT = {"answers": 1.0, "about": 1.0, "not graded": 0.5, "irrelevant": 0.25}


class Retried(Asked, Searches):
    """What is asked, what was found, and the searches so far."""


class Rewritten(Trace):
    queries: list[str]
    """The new query; empty where there is none."""
    stuck: bool
    route: str


@dataclass(frozen=True, slots=True)
class _Tried:
    """What became of asking a model."""

    verdict: Verdict | None = None
    """None where none was asked, or it did not reply."""
    is_cached: bool = False
    warnings: tuple[dict[str, Any], ...] = ()


async def rewrite(state: Retried, runtime: Runtime[Context]) -> Rewritten:
    """One more query where one can be had that is worth a search, else none."""
    context = runtime.context
    if context.ledger.must_end(REWRITE):
        return _ended(state)
    tried = await _by_model(context, state) if context.models.serves("rewrite") else _Tried()
    query = tried.verdict.query if tried.verdict else None
    by = "a model" if query else "code"
    warnings = list(tried.warnings)
    if query is None:
        query, lost = await _by_code(context, state)
        warnings += lost
    refused = tried.verdict.reason if tried.verdict else None
    language = context.settings.library.language
    said = f"Asked again as: {query}" if query else "There was no other way to ask."
    why = f"a query by {by}" if query else "no query was made that is new and keeps the question"
    if refused:
        why += f"; the model's was refused ({refused})"
    told = step(
        REWRITE,
        said,
        route=(AGAIN if query else NOTHING, why),
        attempt=len(state["queries"]),
        by=by,
        accepted=query is not None,
        rejected=refused,
        words=word_count(query or ""),
        kept=subject(state["question"], language).kept_by(query, language) if query else None,
        cached=tried.is_cached,
    )
    return {
        "queries": [query] if query else [],
        "stuck": query is None,
        "route": AGAIN if query else NOTHING,
        "steps": [told],
        "warnings": warnings,
    }


def _ended(state: Retried) -> Rewritten:
    """There is no budget or no time for another search: on with what is there."""
    told = step(
        REWRITE,
        "The budget or the time ran out: what was found has to do.",
        route=(NOTHING, "nothing more may be asked"),
        attempt=len(state["queries"]),
    )
    return {"queries": [], "stuck": True, "route": NOTHING, "steps": [told], "warnings": []}


# By a model


async def _by_model(context: Context, state: Retried) -> _Tried:
    try:
        # What a model is told: the question, what came of the searches, and what was
        # searched with.
        found, relevant = _counted(state)
        said, is_cached = await _said(
            context,
            load(REWRITE).render(
                found=str(found),
                relevant=str(relevant),
                titles="; ".join(_titles(state["found"])) or "nothing",
                tried="; ".join(map(_flat, _earlier(state))),
                question=" ".join(state["question"].split()),
            ),
            most_words(state["question"]),
        )
    except (ModelError, BudgetExceeded) as error:
        told = trouble(REWRITE, error, "the query was made of the passages' own words")
        return _Tried(warnings=(told,))
    if said.finish == "length":
        return _Tried(Verdict(None, "too long", word_count(said.text)), is_cached)
    verdict = accepted(
        said.text,
        state["question"],
        _earlier(state),
        known=" ".join([context.question, *_titles(state["found"])]),
        language=context.settings.library.language,
    )
    return _Tried(verdict, is_cached)


async def _said(context: Context, messages: Sequence[Message], words: int) -> tuple[Said, bool]:
    """What the model replies, and whether that was known already."""
    models, longest = context.models, max(load(REWRITE).max_tokens, _TOKENS_PER_WORD * words)
    known = rewrites_of(models.models)
    key = key_of(models, "rewrite", messages, max_tokens=longest)
    if (said := known.get(key)) is not None:
        return said, True
    reply = await models.ask("rewrite", messages, node=REWRITE, max_tokens=longest)
    said = Said(reply.text, reply.finish)
    known.put(key, said)
    return said, False


def _counted(state: Retried) -> tuple[int, int]:
    """Passages found so far, and how many of them are about the question."""
    about = sum(item["grade"] in RELEVANT for item in state["found"])
    searches = state.get("searches") or []
    return len(state["found"]), max(about, searches[-1]["relevant"] if searches else 0)


def _earlier(state: Retried) -> list[str]:
    """Every query so far, those of the searches included."""
    searched = [search["query"] for search in state.get("searches") or []]
    return list(dict.fromkeys([*state["queries"], *searched]))


def _titles(found: Sequence[Found]) -> list[str]:
    return list(dict.fromkeys(_flat(item["title"]) for item in _best(found) if item["title"]))


def _flat(text: str) -> str:
    return " ".join(text.split())[:_LONGEST]


# By code


async def _by_code(context: Context, state: Retried) -> tuple[str | None, list[dict[str, Any]]]:
    best = [item for item in _best(state["found"]) if _is_near(item, context)]
    if not best:
        return None, []
    chosen = {item["id"] for item in best}
    others = [item for item in state["found"][:_BACKGROUND] if item["id"] not in chosen]
    try:
        held = await ranking.texts(context, [item["id"] for item in (*best, *others)])
    except Exception as error:  # noqa: BLE001 - a library that is gone costs this query, no more
        return None, [trouble(REWRITE, error, "no other query was made")]
    there = [item for item in best if item["id"] in held]
    query = expanded(
        state["question"],
        [held[item["id"]].text for item in there],
        [_GRADE_WEIGHT[item["grade"]] / rank for rank, item in enumerate(there, 1)],
        earlier=_earlier(state),
        others=[held[item["id"]].text for item in others if item["id"] in held],
        language=context.settings.library.language,
    )
    return query, []


def _is_near(item: Found, context: Context) -> bool:
    """Whether its words may help: those of a passage on something else lead away."""
    if item["grade"] in RELEVANT or item["relevance"] is None:
        return True
    return item["relevance"] > context.calibration.min_about - _TOPICAL


def _best(found: Sequence[Found]) -> list[Found]:
    """Those that a grader let pass first, else in the order of the search."""
    ranked = sorted(found, key=lambda item: item["grade"] == "irrelevant")
    return ranked[:_BEST]


# What is told


# Makes a follow-up question stand-alone: by a model where there is one, else by rules.

CONDENSE = "condense"
REMEMBERED = 6
"""Turns that a model is shown."""
_LONGEST_ANSWER = 300
"""Characters of an earlier answer that a model is shown."""
_LONGEST_ADDITION = 240
"""Characters by which a question may grow."""
_LABEL = re.compile(
    r"\A(?:the )?(?:rewritten|stand-?alone|last|final|new|condensed)?\s*question\s*(?:is\s*)?:\s*",
    re.IGNORECASE,
)
_QUOTES = "\"'“”‘’`"  # noqa: RUF001
_SECOND_SENTENCE = re.compile(r"[.!?][\"'”’)]*\s+[^\W\d_a-z]")  # noqa: RUF001


async def condense(models: Asker, question: str, turns: Sequence[Turn]) -> StandAlone:
    """The question as it reads without the turns before it. A model that fails costs nothing but
    the time that the run may take."""
    if turns and (asked := reading(question, turns[-1])):  # what was asked back for is certain
        return StandAlone(asked, (_condense_told(question, asked, "the reply"),))
    if not turns or not leans(question):
        return StandAlone(question)
    warnings: tuple[Trouble, ...] = ()
    by = "rules"
    try:
        if models.serves("condense"):
            async with asyncio.timeout(models.ledger.remaining_seconds(final=False)):
                asked, by = await _rewritten(models, question, turns), "a model"
        else:
            asked = stand_alone(question, turns)
    except (ModelError, BudgetExceeded, TimeoutError) as error:
        told = trouble(CONDENSE, error, "the question was made stand-alone by rules")
        asked, warnings = stand_alone(question, turns), (Trouble.model_validate(told),)
    return StandAlone(
        asked, (_condense_told(question, asked, by),), warnings, models.ledger.usage()
    )


def _condense_told(question: str, asked: str, by: str) -> Step:
    changed = asked != question
    said = f"Took it as: {asked}" if changed else "The question was left as it is."
    return Step(node=CONDENSE, said=said, numbers={"by": by, "changed": changed})


async def _rewritten(models: Asker, question: str, turns: Sequence[Turn]) -> str:
    prompt = load(CONDENSE)
    history = "\n".join(_shown(turn) for turn in turns[-REMEMBERED:])
    reply = await models.ask(
        "condense",
        prompt.render(history=history, question=_condense_flat(question)),
        node=CONDENSE,
        max_tokens=prompt.max_tokens,
    )
    asked = usable(reply.text, question, turns)
    if asked is None or reply.finish == "length":
        raise UnusableReply(f"{models.name('condense')} gave no question: {reply.text[:80]!r}")
    return asked


def _shown(turn: Turn) -> str:
    said = turn.short if turn.short and turn.short in turn.text else ""
    text = _condense_flat(turn.text)
    cut = text if len(text) <= _LONGEST_ANSWER else f"{text[:_LONGEST_ANSWER]}..."
    return f"Q: {_condense_flat(turn.asked)}\nA: {said or cut or '(no answer)'}"


def usable(reply: str, question: str, turns: Sequence[Turn]) -> str | None:
    """The reply as a question to work on; None where it is not one, or says what nobody asked."""
    lines = [line.strip() for line in reply.strip().splitlines() if line.strip()]
    if len(lines) != 1 or CONTROL_MARK.search(reply) or EVIDENCE_MARK.search(reply):
        return None
    asked = _LABEL.sub("", lines[0]).strip(_QUOTES + " ")
    if not asked or len(asked) > len(question) + _LONGEST_ADDITION:
        return None
    if question.rstrip().endswith("?") and not asked.endswith("?"):
        return None  # an answer, or an apology
    if _SECOND_SENTENCE.search(asked) and not _SECOND_SENTENCE.search(question):
        return None
    # A rewrite fills in; it neither brings new words nor loses the question's own.
    own = set(query_terms(question))
    said = " ".join(
        f"{turn.asked} {turn.short} {turn.text} {' '.join(turn.titles)}" for turn in turns
    )
    known = own | set(terms(question)) | set(terms(said))
    told = set(query_terms(asked))
    # A word or two may be inflected anew or make the grammar whole.
    new = len(told - known)
    kept = len(own & set(terms(asked)))
    return asked if (new <= 1 + len(told) // 6 and 2 * kept >= len(own)) else None


def _condense_flat(text: str) -> str:
    return " ".join(text.split())
