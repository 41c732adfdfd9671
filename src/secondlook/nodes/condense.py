"""Makes a follow-up question stand-alone: by a model where there is one, else by rules."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from secondlook.answer import Step, Trouble
from secondlook.errors import BudgetExceeded, ModelError, UnusableReply
from secondlook.nodes.follow_up import leans, stand_alone
from secondlook.nodes.meaning.reply import reading
from secondlook.nodes.stand_alone import StandAlone, Turn
from secondlook.prompts import CONTROL_MARK, EVIDENCE_MARK, load
from secondlook.retrieval.analyse import query_terms, terms
from secondlook.state import trouble

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.models import Asker

NODE = "condense"
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
        return StandAlone(asked, (_told(question, asked, "the reply"),))
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
        told = trouble(NODE, error, "the question was made stand-alone by rules")
        asked, warnings = stand_alone(question, turns), (Trouble.model_validate(told),)
    return StandAlone(asked, (_told(question, asked, by),), warnings, models.ledger.usage())


def _told(question: str, asked: str, by: str) -> Step:
    changed = asked != question
    said = f"Took it as: {asked}" if changed else "The question was left as it is."
    return Step(node=NODE, said=said, numbers={"by": by, "changed": changed})


async def _rewritten(models: Asker, question: str, turns: Sequence[Turn]) -> str:
    prompt = load(NODE)
    history = "\n".join(_shown(turn) for turn in turns[-REMEMBERED:])
    reply = await models.ask(
        "condense",
        prompt.render(history=history, question=_flat(question)),
        node=NODE,
        max_tokens=prompt.max_tokens,
    )
    asked = usable(reply.text, question, turns)
    if asked is None or reply.finish == "length":
        raise UnusableReply(f"{models.name('condense')} gave no question: {reply.text[:80]!r}")
    return asked


def _shown(turn: Turn) -> str:
    said = turn.short if turn.short and turn.short in turn.text else ""
    text = _flat(turn.text)
    cut = text if len(text) <= _LONGEST_ANSWER else f"{text[:_LONGEST_ANSWER]}..."
    return f"Q: {_flat(turn.asked)}\nA: {said or cut or '(no answer)'}"


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
    return asked if _adds_only_what_was_said(asked, question, turns) else None


def _adds_only_what_was_said(asked: str, question: str, turns: Sequence[Turn]) -> bool:
    """A rewrite fills in; it neither brings new words nor loses the question's own."""
    own = set(query_terms(question))
    said = " ".join(
        f"{turn.asked} {turn.short} {turn.text} {' '.join(turn.titles)}" for turn in turns
    )
    known = own | set(terms(question)) | set(terms(said))
    told = set(query_terms(asked))
    # A word or two may be inflected anew or make the grammar whole.
    new = len(told - known)
    kept = len(own & set(terms(asked)))
    return new <= 1 + len(told) // 6 and 2 * kept >= len(own)


def _flat(text: str) -> str:
    return " ".join(text.split())
