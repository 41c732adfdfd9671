"""Asks again in other words: a model's, where they may be searched for, else the passages' own. A
rewrite serves the search alone: grading, answering and checking see the user's question.
`condense` makes a follow-up question stand alone."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.answer import Step, Trouble, Usage
from secondlook.errors import BudgetExceeded, ModelError, UnusableReply
from secondlook.nodes import ranking
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.retrieve import Again  # noqa: TC001
from secondlook.nodes.state import RELEVANT, Found, Trace, step, trouble
from secondlook.retrieval.terms import query_terms, terms
from secondlook.roles import rewrite as rules
from secondlook.roles.ambiguity import in_full, reading, unresolved
from secondlook.roles.follow_up import StandAlone, Turn, leans
from secondlook.roles.prompts import load
from secondlook.roles.prompts.marks import CONTROL_MARK, EVIDENCE_MARK
from secondlook.roles.wants import is_talk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.models.calls import Asker

_BEST = 5  # passages whose titles a model is told, and whose terms a query by code is made of
_BACKGROUND = 20  # passages by which common terms are told from telling ones
_LONGEST = 300  # characters of a title, query or earlier answer that a model is shown
_TOKENS_PER_WORD = 4
_TOPICAL = 4.0
"""Points of relevance below `calibration.min_about` down to which a passage is on the topic."""
_GRADE_WEIGHT = {"answers": 1.0, "about": 1.0, "not graded": 0.5, "irrelevant": 0.25}


class Rewritten(Trace):
    queries: list[str]  # the new query; empty where there is none
    stuck: bool
    route: str


async def rewrite(state: Again, runtime: Runtime[Context]) -> Rewritten:
    """One more query where one can be had that is worth a search, else none."""
    context, language = runtime.context, runtime.context.settings.library.language
    if context.ledger.must_end("rewrite"):
        said = "The budget or the time ran out: what was found has to do."
        route = ("none", "nothing more may be asked")
        told = step("rewrite", said, route=route, attempt=len(state["queries"]))
        return {"queries": [], "stuck": True, "route": "none", "steps": [told], "warnings": []}
    verdict = None
    warnings: list[dict[str, Any]] = []
    if context.models.serves("rewrite"):
        try:
            verdict = await _by_model(context, state)
        except (ModelError, BudgetExceeded) as error:
            consequence = "the query was made of the passages' own words"
            warnings.append(trouble("rewrite", error, consequence))
    query, by = verdict.query if verdict else None, "a model"
    if query is None:
        by = "code"
        try:
            query = await _by_code(context, state)
        except Exception as error:  # noqa: BLE001 - a library that is gone costs this query, no more
            warnings.append(trouble("rewrite", error, "no other query was made"))
    refused = verdict.reason if verdict else None
    way, said = "none", "There was no other way to ask."
    why = "no query was made that is new and keeps the question"
    if query:
        way, said, why = "search_again", f"Asked again as: {query}", f"a query by {by}"
    if refused:
        why += f"; the model's was refused ({refused})"
    subject = rules.subject(state["question"], language)
    told = step(
        "rewrite",
        said,
        route=(way, why),
        attempt=len(state["queries"]),
        by=by,
        accepted=query is not None,
        rejected=refused,
        words=rules.word_count(query or ""),
        kept=subject.kept_by(query, language) if query else None,
    )
    return {
        "queries": [query] if query else [],
        "stuck": query is None,
        "route": way,
        "steps": [told],
        "warnings": warnings,
    }


def _earlier(state: Again) -> list[str]:
    """Every query so far, those of the searches included."""
    searched = [search["query"] for search in state.get("searches") or []]
    return list(dict.fromkeys([*state["queries"], *searched]))


def _best(found: Sequence[Found]) -> list[Found]:
    """Those that a grader let pass first, else in the order of the search."""
    return sorted(found, key=lambda item: item["grade"] == "irrelevant")[:_BEST]


async def _by_model(context: Context, state: Again) -> rules.Verdict:
    """What becomes of a model's query. Raises ModelError or BudgetExceeded."""
    found, searches, question = state["found"], state.get("searches") or [], state["question"]
    about = sum(item["grade"] in RELEVANT for item in found)
    titles = list(dict.fromkeys(_flat(item["title"]) for item in _best(found) if item["title"]))
    messages = load("rewrite").render(
        found=str(len(found)),
        relevant=str(max(about, searches[-1]["relevant"] if searches else 0)),
        titles="; ".join(titles) or "nothing",
        tried="; ".join(map(_flat, _earlier(state))),
        question=" ".join(question.split()),
    )
    longest = max(load("rewrite").max_tokens, _TOKENS_PER_WORD * rules.most_words(question))
    said = await context.models.ask("rewrite", messages, node="rewrite", max_tokens=longest)
    if said.finish == "length":
        return rules.Verdict(None, "too long", rules.word_count(said.text))
    return rules.accepted(
        said.text,
        question,
        _earlier(state),
        known=" ".join([context.question, *titles]),
        language=context.settings.library.language,
    )


async def _by_code(context: Context, state: Again) -> str | None:
    """Of the words of the best passages. Those of a passage on something else lead away."""
    near = [
        item
        for item in _best(state["found"])
        if item["grade"] in RELEVANT
        or item["relevance"] is None
        or item["relevance"] > context.calibration.min_about - _TOPICAL
    ]
    if not near:
        return None
    chosen = {item["id"] for item in near}
    others = [item for item in state["found"][:_BACKGROUND] if item["id"] not in chosen]
    held = await ranking.texts(context, [item["id"] for item in (*near, *others)])
    there = [item for item in near if item["id"] in held]
    return rules.expanded(
        state["question"],
        [held[item["id"]].text for item in there],
        [_GRADE_WEIGHT[item["grade"]] / rank for rank, item in enumerate(there, 1)],
        earlier=_earlier(state),
        others=[held[item["id"]].text for item in others if item["id"] in held],
        language=context.settings.library.language,
    )


def _flat(text: str) -> str:
    return " ".join(text.split())[:_LONGEST]


# A follow-up question made stand-alone: by a model where there is one, else by the understander.

REMEMBERED = 6  # turns that a model is shown
_LONGEST_ADDITION = 240  # characters by which a question may grow
_LABEL = re.compile(
    r"\A(?:the )?(?:rewritten|stand-?alone|last|final|new|condensed)?\s*question\s*(?:is\s*)?:\s*",
    re.IGNORECASE,
)
_QUOTES = "\"'“”‘’`"  # noqa: RUF001
_SECOND_SENTENCE = re.compile(r"[.!?][\"'”’)]*\s+[^\W\d_a-z]")  # noqa: RUF001


async def condense(models: Asker, question: str, turns: Sequence[Turn]) -> StandAlone:
    """The question as it reads without the turns before it. A model that fails costs nothing but
    the time that the run may take."""
    warnings: tuple[Trouble, ...] = ()
    usage = Usage()
    turns = [turn for turn in turns if not is_talk(turn.asked)]  # nothing leans on thanks
    if not turns or await asyncio.to_thread(is_talk, question):
        return StandAlone(question)
    # What was asked back for is certain.
    asked, by = reading(question, turns[-1]) or "", "the reply"
    if not asked:
        asked, by = question, "nobody"
        try:
            leaning = await asyncio.to_thread(leans, question, turns)
            if not leaning and await asyncio.to_thread(unresolved, question) is None:
                return StandAlone(question)
            asked, by = await asyncio.to_thread(in_full, question, turns), "the understander"
            if models.serves("condense"):
                async with asyncio.timeout(models.ledger.remaining_seconds(final=False)):
                    asked, by = await _by_a_model(models, question, turns), "a model"
        except (ModelError, BudgetExceeded, TimeoutError) as error:
            told = trouble("condense", error, "the question was made stand-alone without it")
            warnings = (Trouble.model_validate(told),)
        usage = models.ledger.usage()
    changed = asked != question
    said = f"Took it as: {asked}" if changed else "The question was left as it is."
    taken = Step(node="condense", said=said, numbers={"by": by, "changed": changed})
    return StandAlone(asked, (taken,), warnings, usage)


async def _by_a_model(models: Asker, question: str, turns: Sequence[Turn]) -> str:
    prompt = load("condense")
    history = []
    for turn in turns[-REMEMBERED:]:
        text = " ".join(turn.text.split())
        text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
        short = turn.short if turn.short and turn.short in turn.text else ""
        history.append(f"Q: {' '.join(turn.asked.split())}\nA: {short or text or '(no answer)'}")
    reply = await models.ask(
        "condense",
        prompt.render(history="\n".join(history), question=" ".join(question.split())),
        node="condense",
        max_tokens=prompt.max_tokens,
    )
    asked = usable(reply.text, question, turns)
    if asked is None or reply.finish == "length":
        raise UnusableReply(f"{models.name('condense')} gave no question: {reply.text[:80]!r}")
    return asked


def usable(reply: str, question: str, turns: Sequence[Turn]) -> str | None:
    """The reply as a question to work on; None where it is not one, or says what nobody asked."""
    lines = [line.strip() for line in reply.strip().splitlines() if line.strip()]
    if len(lines) != 1 or CONTROL_MARK.search(reply) or EVIDENCE_MARK.search(reply):
        return None
    asked = _LABEL.sub("", lines[0]).strip(_QUOTES + " ")
    # An answer or an apology is no question.
    statement = question.rstrip().endswith("?") and not asked.endswith("?")
    if not asked or statement or len(asked) > len(question) + _LONGEST_ADDITION:
        return None
    if _SECOND_SENTENCE.search(asked) and not _SECOND_SENTENCE.search(question):
        return None
    # A rewrite fills in; it neither brings new words nor loses the question's own. A word or two
    # may be inflected anew or make the grammar whole.
    own, told = set(query_terms(question)), set(query_terms(asked))
    said = " ".join(
        f"{turn.asked} {turn.short} {turn.text} {' '.join(turn.titles)}" for turn in turns
    )
    new = len(told - own - set(terms(question)) - set(terms(said)))
    kept = len(own & set(terms(asked)))
    return asked if new <= 1 + len(told) // 6 and 2 * kept >= len(own) else None
