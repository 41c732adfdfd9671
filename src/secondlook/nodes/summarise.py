"""A summary in a model's words: each part by itself, then all of them together; every sentence is
checked against the passages, whoever wrote it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from langgraph.runtime import Runtime  # noqa: TC002  # langgraph reads a node's annotations

from secondlook.context import Context  # noqa: TC001
from secondlook.errors import BudgetExceeded, ModelError, UnusableReply
from secondlook.nodes import ranking
from secondlook.nodes.claims import Checker
from secondlook.nodes.extract import withheld
from secondlook.nodes.quarantine import without_orders
from secondlook.nodes.revalidating import guard_of
from secondlook.nodes.sentences import Sentence, Sentences
from secondlook.nodes.summarise_check import check
from secondlook.nodes.summarise_choose import whole_document
from secondlook.nodes.summarise_outline import Layout, Overview
from secondlook.nodes.summarise_parts import (
    PART,
    ROLE,
    WHOLE,
    Parts,
    in_parts,
    part_tokens,
    shown,
)
from secondlook.prompts import evidence_marks, load
from secondlook.retrieval.analyse import terms
from secondlook.state import Draft, DraftData, Evidence, Trace, step, trouble, unread
from secondlook.state import Sentence as Claimed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.passage import Passage
    from secondlook.state import Found

NODE = "summarise"
AT_ONCE = 4
"""Calls to a hosted model at a time; a local one works on one."""
_MUCH_ALIKE = 0.8
"""Share of the words of two sentences that both have: they say the same."""
_FEWEST = 2
"""A whole of fewer sentences says less than its parts, and where most of what a model wrote had to
be cut, less than an outline."""
_NOTES_OF_A_PART = 2
"""Sentences of each part that are given where the whole could not be written."""


class Summarised(Draft, Evidence, Layout, Trace):
    pass


@dataclass(slots=True)
class _Work:
    """One summary on its way."""

    context: Context
    question: str
    emit: Callable[[Any], None]
    warnings: list[dict[str, Any]] = field(default_factory=list)
    cut: int = 0
    refused: int = 0
    """Parts in which the model found nothing."""
    failed: int = 0


async def summarise(state: Overview, runtime: Runtime[Context]) -> Summarised:
    work = _Work(runtime.context, state["question"], runtime.stream_writer)
    texts = _screened(work, await _texts(state, work.context))
    parts = in_parts(texts, await part_tokens(work.context, work.question))
    notes = await _noted(work, parts)
    if not any(notes):
        return _nothing(state, work, parts)
    if sum(map(len, notes)) < min(_FEWEST, work.cut):
        return _nothing(state, work, parts)
    sentences, joined = await _joined(work, parts, [note for note in notes if note])
    draft = DraftData(
        method="summary",
        model=work.context.models.name(ROLE),
        sentences=sentences,
        short=None,
        stop="answered",
        confidence=None,
        reasons=_reasons(sentences, parts),
        note=_note(work, parts, joined=joined),
    )
    said = (
        f"{draft['model']} read {len(parts.chosen)} parts and wrote {len(sentences)} sentences "
        "that stand."
    )
    return _result(work, parts, draft, _found(state["found"], parts), said)


def outcome(state: Draft) -> Literal["finish", "outline"]:
    """An outline takes the place of a summary that came to nothing."""
    draft = state["draft"]
    return "finish" if draft["sentences"] or draft["stop"] == "no_evidence" else "outline"


# Part by part


async def _texts(state: Overview, context: Context) -> list[list[Passage]]:
    if state["extent"] == "documents":
        return [await whole_document(context, document) for document in state["documents"]]
    ids = [item["id"] for item in ranking.kept(state["found"])]
    held = await ranking.texts(context, ids)
    return [[held[name] for name in ids if name in held]]


def _screened(work: _Work, texts: list[list[Passage]]) -> list[list[Passage]]:
    """Without passages that give a model orders; which those are is told."""
    kept, warnings = [], []
    for passages in texts:
        clean, told = without_orders(work.context, passages)
        kept.append(clean)
        warnings += told
    work.warnings += warnings
    return kept


async def _noted(work: _Work, parts: Parts) -> list[list[Claimed]]:
    """For each part the sentences that stand."""
    limit = asyncio.Semaphore(1 if work.context.models.local(ROLE) else AT_ONCE)

    async def one(passages: Sequence[Passage]) -> list[Claimed]:
        async with limit:
            try:
                return await _part(work, passages, alone=len(parts.chosen) == 1)
            except (ModelError, BudgetExceeded) as error:
                work.failed += 1
                if work.failed == 1:  # the others fail alike
                    work.warnings.append(trouble(NODE, error, "part of the text was left out"))
                return []

    return list(await asyncio.gather(*(one(passages) for passages in parts.chosen)))


async def _part(work: _Work, passages: Sequence[Passage], *, alone: bool) -> list[Claimed]:
    """The only one is the summary: nothing follows that something had to be kept for."""
    prompt = load(PART)
    evidence = evidence_marks(work.context.run).wrap([shown(passage) for passage in passages])
    reply = await work.context.models.ask(
        ROLE,
        prompt.render(question=work.question, evidence=evidence),
        node=NODE,
        max_tokens=prompt.max_tokens,
        final=alone,
    )
    heard = Sentences(
        len(passages), own_words=prompt.own_words, question=work.question, evidence=evidence
    )
    said = [*heard.feed(reply.text), *heard.finish(cut_short=reply.finish == "length")]
    if not said and heard.not_found:
        work.refused += 1
        return []
    if not said:
        raise UnusableReply(f"the model wrote nothing that can be used: {reply.text[:80]!r}")
    checker = _checker(work.context, work.question, passages)
    return _standing(work, [check(checker, sentence) for sentence in said])


def _standing(work: _Work, checked: Sequence[Claimed]) -> list[Claimed]:
    """What the text carries, each thing said once."""
    carried = [claim for claim in checked if claim["supported"] is not False and claim["cited"]]
    work.cut += len(checked) - len(carried)
    kept: list[Claimed] = []
    for claim in carried:
        if not any(_alike(claim["text"], other["text"]) for other in kept):
            kept.append(claim)
    return kept


def _alike(one: str, other: str) -> bool:
    mine, theirs = set(terms(one)), set(terms(other))
    return len(mine & theirs) >= _MUCH_ALIKE * len(mine | theirs)


def _checker(context: Context, question: str, passages: Sequence[Passage]) -> Checker:
    chosen = context.settings.answer
    return Checker(
        passages=passages,
        support=context.support,
        min_support=chosen.min_support,
        enabled=chosen.enable_sentence_check,
        guard=guard_of(context, question, sums_up=True),
    )


# All together


async def _joined(
    work: _Work, parts: Parts, notes: list[list[Claimed]]
) -> tuple[list[Claimed], bool]:
    """The summary of the parts' summaries, and whether the model wrote one."""
    if len(notes) == 1:
        _tell(work, notes[0])
        return notes[0], True
    try:
        return await _whole(work, parts, [claim for note in notes for claim in note]), True
    except (ModelError, BudgetExceeded) as error:
        work.warnings.append(trouble(NODE, error, "the parts were given one after the other"))
        kept = [claim for note in notes for claim in note[:_NOTES_OF_A_PART]]
        _tell(work, kept)
        return kept, False


async def _whole(work: _Work, parts: Parts, notes: Sequence[Claimed]) -> list[Claimed]:
    prompt = load(WHOLE)
    evidence = evidence_marks(work.context.run).wrap([note["text"] for note in notes])
    reply = await work.context.models.ask(
        ROLE,
        prompt.render(question=work.question, evidence=evidence),
        node=NODE,
        max_tokens=prompt.max_tokens,
        final=True,
    )
    heard = Sentences(
        len(notes), own_words=prompt.own_words, question=work.question, evidence=evidence
    )
    said = [*heard.feed(reply.text), *heard.finish(cut_short=reply.finish == "length")]
    passages = [passage for part in parts.chosen for passage in part]
    checker = _checker(work.context, work.question, passages)
    checked = [check(checker, _behind(sentence, notes, passages)) for sentence in said]
    standing = _standing(work, checked)
    if len(standing) < min(_FEWEST, len(notes)):
        raise UnusableReply(f"too little of the whole stands: {reply.text[:80]!r}")
    _tell(work, standing)
    return standing


def _behind(sentence: Sentence, notes: Sequence[Claimed], passages: Sequence[Passage]) -> Sentence:
    """The sentence with the numbers of the passages that stand behind the notes it cites."""
    numbers = {passage.id: at for at, passage in enumerate(passages, 1)}
    cited = [
        numbers[place["passage"]]
        for number in sentence.citations
        for place in notes[number - 1]["cited"]
    ]
    return Sentence(sentence.text, tuple(dict.fromkeys(cited)))


def _tell(work: _Work, claims: Sequence[Claimed]) -> None:
    for claim in claims:
        work.emit({"token": f"{claim['text']} "})


# What is said about it


def _nothing(state: Overview, work: _Work, parts: Parts) -> Summarised:
    refused = work.refused == len(parts.chosen) > 0 and state["extent"] == "places"
    stop: Literal["no_evidence", "cannot_proceed"] = "no_evidence" if refused else "cannot_proceed"
    reason = (
        "the model found nothing on it in the passages"
        if refused
        else "too little of what the model wrote stands"
    )
    draft = withheld(stop, reasons=[reason], model=work.context.models.name(ROLE))
    return _result(work, parts, draft, state["found"], f"No summary: {reason}.")


def _result(
    work: _Work, parts: Parts, draft: DraftData, found: list[Found], said: str
) -> Summarised:
    told = step(
        NODE,
        said,
        parts=len(parts.chosen),
        parts_of_all=parts.of,
        parts_failed=work.failed,
        sentences=len(draft["sentences"]),
        cut=work.cut,
    )
    return {
        "draft": draft,
        "found": found,
        "opening": "",
        "labels": [],
        "steps": [told],
        "warnings": work.warnings,
    }


def _found(found: list[Found], parts: Parts) -> list[Found]:
    known = {item["id"] for item in found}
    read = [passage for part in parts.chosen for passage in part if passage.id not in known]
    return [*found, *map(_read, read)]


def _read(passage: Passage) -> Found:
    return {**unread(passage), "kept": True, "why": "was read"}


def _reasons(sentences: Sequence[Claimed], parts: Parts) -> list[str]:
    supports = [claim["support"] for claim in sentences if claim["support"] is not None]
    read = f"{len(parts.chosen)} of {parts.of} parts were read"
    if not supports:
        return [read, "the sentences were not checked"]
    return [f"the text covers {sum(supports) / len(supports):.0%} of what is said", read]


def _note(work: _Work, parts: Parts, *, joined: bool) -> str | None:
    said = []
    if parts.of > len(parts.chosen):
        said.append(
            f"It is long: {len(parts.chosen)} of {parts.of} parts were read, evenly spread."
        )
    if work.failed:
        said.append(f"{work.failed} of {len(parts.chosen)} parts could not be summarised.")
    if not joined:
        said.append("The parts are given one after the other.")
    if work.cut:
        word = "sentence was" if work.cut == 1 else "sentences were"
        said.append(f"{work.cut} {word} cut, which the text did not support.")
    return f"({' '.join(said)})" if said else None
