"""A summary in a model's words: each part by itself, then all of them together; every sentence is
checked against the passages, whoever wrote it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.errors import BudgetExceeded, ModelError, UnusableReply
from secondlook.models.chat import approximate_prompt, approximate_tokens
from secondlook.nodes import ranking
from secondlook.nodes.cite import Checker
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.extract import withheld
from secondlook.nodes.outline import Layout, Overview, whole_document
from secondlook.nodes.revalidate import guard_of
from secondlook.nodes.screen import without_orders
from secondlook.nodes.state import Draft, DraftData, Evidence, Trace, step, trouble, unread
from secondlook.nodes.state import Sentence as Claimed
from secondlook.reading.support import DEFAULT_MIN_SUPPORT, joined_evidence, sieve_of
from secondlook.retrieval.terms import terms
from secondlook.roles.prompts import load
from secondlook.roles.prompts.marks import evidence_marks
from secondlook.roles.sentences import Sentence, Sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.nodes.state import Cited, Found
    from secondlook.passage import Passage

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
    found = state["found"]
    known = {item["id"] for item in found}
    read = [passage for part in parts.chosen for passage in part if passage.id not in known]
    return _result(work, parts, draft, [*found, *map(_read, read)], said)


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
                # The only one is the summary: nothing follows that something had
                # to be kept for.
                prompt = load(PART)
                evidence = evidence_marks(work.context.run).wrap(
                    [shown(passage) for passage in passages]
                )
                reply = await work.context.models.ask(
                    ROLE,
                    prompt.render(question=work.question, evidence=evidence),
                    node=NODE,
                    max_tokens=prompt.max_tokens,
                    final=(len(parts.chosen) == 1),
                )
                heard = Sentences(
                    len(passages),
                    own_words=prompt.own_words,
                    question=work.question,
                    evidence=evidence,
                )
                said = [*heard.feed(reply.text), *heard.finish(cut_short=reply.finish == "length")]
                if not said and heard.not_found:
                    work.refused += 1
                    return []
                if not said:
                    raise UnusableReply(
                        f"the model wrote nothing that can be used: {reply.text[:80]!r}"
                    )
                checker = _checker(work.context, work.question, passages)
                return _standing(work, [check(checker, sentence) for sentence in said])
            except (ModelError, BudgetExceeded) as error:
                work.failed += 1
                if work.failed == 1:  # the others fail alike
                    work.warnings.append(trouble(NODE, error, "part of the text was left out"))
                return []

    return list(await asyncio.gather(*(one(passages) for passages in parts.chosen)))


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
        min_support=DEFAULT_MIN_SUPPORT,
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


# Checks a sentence that sums up: it may rest on many places, and a model names one or none.

MOST_CITED = 6
"""Places that one sentence may rest on."""
_WORTH_IT = 0.02
"""A further place must carry the sentence by so much more."""


@dataclass(frozen=True, slots=True)
class _Place:
    cited: Cited
    title: str
    text: str


def check(checker: Checker, sentence: Sentence) -> Claimed:
    """By what the sentence cites, or by the passage that carries it, or by several together."""
    claim = checker.check(sentence)
    if claim["supported"] is not False or "objection" in claim:
        return claim
    together = _together(checker, sentence.text)
    return claim if together is None else checker.revalidated(together)


def _together(checker: Checker, text: str) -> Claimed | None:
    sieve = _sieve(checker)
    places = _places(sieve, text)
    chosen = _gathered(sieve, text, places)
    best = _supports(checker, text, places, [chosen])[0]
    if best < checker.min_support:
        return None
    for at in list(chosen):  # what was needed on the way may not be in the end
        rest = [other for other in chosen if other != at]
        value = _supports(checker, text, places, [rest])[0]
        if rest and value > best - _WORTH_IT and value >= checker.min_support:
            best, chosen = value, rest
    cited = [places[at].cited for at in chosen]
    return Claimed(text=text, cited=cited, support=round(best, 4), supported=True)


def _sieve(checker: Checker) -> Checker:
    """Who gathers places: a judge that costs more than counting words is asked only about what was
    gathered."""
    sieve = sieve_of(checker.support)
    if sieve is checker.support:
        return checker
    return replace(checker, support=sieve, min_support=DEFAULT_MIN_SUPPORT)


def _gathered(checker: Checker, text: str, places: Sequence[_Place]) -> list[int]:
    """Place after place, the one that helps most first. That none helps by itself is no end: of
    three numbers, two are not enough."""
    chosen: list[int] = []
    best = 0.0
    while len(chosen) < min(MOST_CITED, len(places)):
        left = [at for at in range(len(places)) if at not in chosen]
        values = _supports(checker, text, places, [sorted([*chosen, at]) for at in left])
        value, at = max(zip(values, left, strict=True), key=lambda pair: pair[0])
        if value < best + _WORTH_IT and best >= checker.min_support:
            break
        best, chosen = max(best, value), sorted([*chosen, at])
    return chosen


def _supports(
    checker: Checker, text: str, places: Sequence[_Place], groups: Sequence[Sequence[int]]
) -> list[float]:
    def evidence(group: Sequence[int]) -> str:
        return joined_evidence((places[at].title, places[at].text) for at in group)

    return checker.support.support([(text, evidence(group)) for group in groups])


def _places(checker: Checker, text: str) -> list[_Place]:
    """Of each passage what carries most of the sentence."""
    plain = replace(checker, enabled=False, guard=None)
    made = []
    for number, passage in enumerate(checker.passages, 1):
        for cited in plain.check(Sentence(text, (number,)))["cited"]:
            quote = passage.text[cited["start"] - passage.start : cited["end"] - passage.start]
            made.append(_Place(cited, passage.title, quote))
    return made


# A long text in parts that a model can see: as many as may be asked about, evenly spread.

ROLE: Final = "summarise"
PART = "summarise_part"
WHOLE = "summarise_whole"
MOST_PARTS = 8
PART_TOKENS = 3000
LOCAL_PART_TOKENS = 900
"""A local model's prefill is what a person waits for."""
SMALLEST_PART = 64


@dataclass(frozen=True, slots=True)
class Parts:
    chosen: tuple[tuple[Passage, ...], ...]
    of: int
    """How many there would have been."""


async def part_tokens(context: Context, question: str) -> int:
    """Tokens of evidence that one call may have."""
    wanted = LOCAL_PART_TOKENS if context.models.local(ROLE) else PART_TOKENS
    chosen = context.settings.answer.evidence_tokens or wanted
    prompt = load(PART)
    room = await context.models.room(ROLE, max_tokens=prompt.max_tokens)
    if room is None:
        return chosen
    # Marks and numbers of the passages take some of it.
    bare = approximate_prompt(prompt.render(question=question, evidence=_NO_EVIDENCE))
    return max(SMALLEST_PART, min(chosen, (room - bare) * 3 // 4))


def in_parts(texts: Sequence[Sequence[Passage]], tokens: int) -> Parts:
    """Passages in a row, packed until a part is full. A part is of one text."""
    made: list[tuple[Passage, ...]] = []
    for passages in texts:
        held: list[Passage] = []
        size = 0
        for passage in passages:
            cost = approximate_tokens(shown(passage))
            if held and size + cost > tokens:
                made.append(tuple(held))
                held, size = [], 0
            held.append(passage)
            size += cost
        if held:
            made.append(tuple(held))
    return Parts(tuple(_evenly(made)), of=len(made))


def _evenly(parts: Sequence[tuple[Passage, ...]]) -> list[tuple[Passage, ...]]:
    if len(parts) <= MOST_PARTS:
        return list(parts)
    step = (len(parts) - 1) / (MOST_PARTS - 1)
    return [parts[round(at * step)] for at in range(MOST_PARTS)]


def shown(passage: Passage) -> str:
    """A passage as a model sees it: under its headings."""
    heading = " / ".join((passage.title, *passage.heading))
    return f"({heading}) {passage.text}"


_NO_EVIDENCE = "<<evidence-00000000 1>> \n<<end-00000000>>"
