"""A summary in a model's words: each part by itself, then all of them together; every sentence is
checked against the passages."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.errors import BudgetExceeded, ModelError, UnusableReply
from secondlook.models.chat import approximate_prompt, approximate_tokens
from secondlook.nodes import ranking
from secondlook.nodes.cite import Checker, sentences_were
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.extract import withheld
from secondlook.nodes.outline import Overview, evenly, taken, whole_document
from secondlook.nodes.revalidate import guard_of
from secondlook.nodes.screen import clean_passages
from secondlook.nodes.state import Cited, Draft, Evidence, Trace, step, trouble
from secondlook.nodes.state import Sentence as Claimed
from secondlook.reading.support import DEFAULT_MIN_SUPPORT, joined_evidence, sieve_of
from secondlook.retrieval.terms import terms
from secondlook.roles.prompts import load
from secondlook.roles.prompts.marks import evidence_marks
from secondlook.roles.sentences import Sentence, Sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.answer import StopReason
    from secondlook.passage import Passage

NODE: Final = "summarise"
ROLE: Final = "summarise"
PART = "summarise_part"
WHOLE = "summarise_whole"
MOST_PARTS = 8
PART_TOKENS = 3000
LOCAL_PART_TOKENS = 900  # A local model's prefill is what a person waits for
SMALLEST_PART = 64
AT_ONCE = 4  # Calls to a hosted model at a time; a local one works on one
_MUCH_ALIKE = 0.8  # Share of the words of two sentences that both have: they say the same
_FEWEST = 2  # A whole of fewer sentences says less than its parts, or than an outline
_NOTES_OF_A_PART = 2  # Sentences of each part that are given where the whole could not be written
_NO_EVIDENCE = "<<evidence-00000000 1>> \n<<end-00000000>>"


class Summarised(Draft, Evidence, Trace):
    pass


@dataclass(slots=True)
class _Work:
    """One summary on its way."""

    context: Context
    question: str
    emit: Callable[[Any], None]
    parts: list[list[Passage]]
    warnings: list[dict[str, Any]] = field(default_factory=list)
    cut: int = 0
    refused: int = 0  # Parts in which the model found nothing
    failed: int = 0


async def summarise(state: Overview, runtime: Runtime[Context]) -> Summarised:
    context, found = runtime.context, state["found"]
    texts, warnings = await _texts(state, context)
    every = in_parts(texts, await part_tokens(context, state["question"]))
    parts = evenly(every, MOST_PARTS)
    work = _Work(context, state["question"], runtime.stream_writer, parts, warnings)
    limit = asyncio.Semaphore(1 if context.models.local(ROLE) else AT_ONCE)
    notes = await asyncio.gather(*(_noted(work, passages, limit) for passages in parts))
    model = context.models.name(ROLE)
    if not any(notes) or sum(map(len, notes)) < min(_FEWEST, work.cut):
        refused = work.refused == len(parts) > 0 and state["extent"] == "places"
        stop: StopReason = "no_evidence" if refused else "cannot_proceed"
        reason = "too little of what the model wrote stands"
        if refused:
            reason = "the model found nothing on it in the passages"
        draft, said = withheld(stop, reasons=[reason], model=model), f"No summary: {reason}."
    else:
        sentences, joined = await _joined(work, [note for note in notes if note])
        supports = [claim["support"] for claim in sentences if claim["support"] is not None]
        read = f"{len(parts)} of {len(every)} parts were read"
        reasons = [read, "the sentences were not checked"]
        if supports:
            covered = sum(supports) / len(supports)
            reasons = [f"the text covers {covered:.0%} of what is said", read]
        draft = {
            **withheld("answered", reasons=reasons, model=model),
            "method": "summary",
            "sentences": sentences,
            "note": _note(work, len(every), joined=joined),
        }
        said = f"{model} read {len(parts)} parts and wrote {len(sentences)} sentences that stand."
        known = {item["id"] for item in found}
        more = [passage for part in parts for passage in part if passage.id not in known]
        found = [*found, *(taken(passage, "was read") for passage in more)]
    numbers = {"parts": len(parts), "parts_of_all": len(every), "parts_failed": work.failed}
    told = step(NODE, said, numbers, sentences=len(draft["sentences"]), cut=work.cut)
    return {"draft": draft, "found": found, "steps": [told], "warnings": work.warnings}


def outcome(state: Draft) -> Literal["finish", "outline"]:
    """An outline takes the place of a summary that came to nothing."""
    draft = state["draft"]
    return "finish" if draft["sentences"] or draft["stop"] == "no_evidence" else "outline"


async def _texts(
    state: Overview, context: Context
) -> tuple[list[list[Passage]], list[dict[str, Any]]]:
    """What is to be summed up, without passages that give a model orders."""
    if state["extent"] == "documents":
        texts = [await whole_document(context, document) for document in state["documents"]]
    else:
        ids = [item["id"] for item in ranking.kept(state["found"])]
        held = await ranking.texts(context, ids)
        texts = [[held[name] for name in ids if name in held]]
    screened = [clean_passages(context, passages) for passages in texts]
    return [clean for clean, _ in screened], [one for _, told in screened for one in told]


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


def in_parts(texts: Sequence[Sequence[Passage]], tokens: int) -> list[list[Passage]]:
    """Passages in a row, packed until a part is full. A part is of one text."""
    made: list[list[Passage]] = []
    for passages in texts:
        size = tokens
        for at, passage in enumerate(passages):
            cost = approximate_tokens(_shown(passage))
            if at == 0 or size + cost > tokens:
                made.append([])
                size = 0
            made[-1].append(passage)
            size += cost
    return made


def _shown(passage: Passage) -> str:
    """A passage as a model sees it: under its headings."""
    return f"({' / '.join((passage.title, *passage.heading))}) {passage.text}"


async def _noted(
    work: _Work, passages: Sequence[Passage], limit: asyncio.Semaphore
) -> list[Claimed]:
    """The sentences on one part that stand."""
    async with limit:
        try:
            # The only part is the summary: nothing follows that something had to be kept for.
            shown = [_shown(passage) for passage in passages]
            said, reply, empty = await _asked(work, PART, shown, final=len(work.parts) == 1)
            if not said and empty:
                work.refused += 1
                return []
            if not said:
                raise UnusableReply(f"the model wrote nothing that can be used: {reply[:80]!r}")
            return _standing(work, said, passages)
        except (ModelError, BudgetExceeded) as error:
            work.failed += 1
            if work.failed == 1:  # the others fail alike
                work.warnings.append(trouble(NODE, error, "part of the text was left out"))
            return []


async def _asked(
    work: _Work, name: str, blocks: Sequence[str], *, final: bool
) -> tuple[list[Sentence], str, bool]:
    """The sentences of a reply, all of it, and whether it says that there is nothing."""
    prompt = load(name)
    evidence = evidence_marks(work.context.run).wrap(blocks)
    reply = await work.context.models.ask(
        ROLE,
        prompt.render(question=work.question, evidence=evidence),
        node=NODE,
        max_tokens=prompt.max_tokens,
        final=final,
    )
    heard = Sentences(
        len(blocks), own_words=prompt.own_words, question=work.question, evidence=evidence
    )
    said = [*heard.feed(reply.text), *heard.finish(cut_short=reply.finish == "length")]
    return said, reply.text, heard.not_found


def _standing(work: _Work, said: Sequence[Sentence], passages: Sequence[Passage]) -> list[Claimed]:
    """What the text carries, each thing said once."""
    checker = Checker(
        passages=passages,
        support=work.context.support,
        min_support=DEFAULT_MIN_SUPPORT,
        enabled=work.context.settings.answer.enable_sentence_check,
        guard=guard_of(work.context, work.question, sums_up=True),
    )
    kept: list[Claimed] = []
    for claim in [_checked(checker, sentence) for sentence in said]:
        if claim["supported"] is False or not claim["cited"]:
            work.cut += 1
            continue
        said_now = set(terms(claim["text"]))
        before = [set(terms(other["text"])) for other in kept]
        if not any(len(said_now & one) >= _MUCH_ALIKE * len(said_now | one) for one in before):
            kept.append(claim)
    return kept


async def _joined(work: _Work, notes: list[list[Claimed]]) -> tuple[list[Claimed], bool]:
    """The summary of the parts' summaries, and whether the model wrote one."""
    claims, whole = notes[0], True
    if len(notes) > 1:
        try:
            claims = await _whole(work, [claim for note in notes for claim in note])
        except (ModelError, BudgetExceeded) as error:
            work.warnings.append(trouble(NODE, error, "the parts were given one after the other"))
            claims = [claim for note in notes for claim in note[:_NOTES_OF_A_PART]]
            whole = False
    for claim in claims:
        work.emit({"token": f"{claim['text']} "})
    return claims, whole


async def _whole(work: _Work, notes: Sequence[Claimed]) -> list[Claimed]:
    said, reply, _ = await _asked(work, WHOLE, [note["text"] for note in notes], final=True)
    passages = [passage for part in work.parts for passage in part]
    numbers = {passage.id: at for at, passage in enumerate(passages, 1)}
    behind = []
    for sentence in said:  # by the passages that stand behind the notes it cites
        places = [place for number in sentence.citations for place in notes[number - 1]["cited"]]
        cited = dict.fromkeys(numbers[place["passage"]] for place in places)
        behind.append(Sentence(sentence.text, tuple(cited)))
    standing = _standing(work, behind, passages)
    if len(standing) < min(_FEWEST, len(notes)):
        raise UnusableReply(f"too little of the whole stands: {reply[:80]!r}")
    return standing


def _note(work: _Work, parts_of_all: int, *, joined: bool) -> str | None:
    said, parts = [], len(work.parts)
    if parts_of_all > parts:
        said.append(f"It is long: {parts} of {parts_of_all} parts were read, evenly spread.")
    if work.failed:
        said.append(f"{work.failed} of {parts} parts could not be summarised.")
    if not joined:
        said.append("The parts are given one after the other.")
    if work.cut:
        said.append(f"{work.cut} {sentences_were(work.cut)} cut, which the text did not support.")
    return f"({' '.join(said)})" if said else None


# Checks a sentence that sums up: it may rest on many places, and a model names one or none.

MOST_CITED = 6  # Places that one sentence may rest on
_WORTH_IT = 0.02  # A further place must carry the sentence by so much more


class _Place(NamedTuple):
    cited: Cited
    title: str
    text: str


def _checked(checker: Checker, sentence: Sentence) -> Claimed:
    """By what the sentence cites, or by the passage that carries it, or by several together."""
    claim = checker.check(sentence)
    if claim["supported"] is not False or "objection" in claim:
        return claim
    text = sentence.text
    # A judge that costs more than counting words is asked only about what was gathered.
    sieve = sieve_of(checker.support)
    gatherer = replace(checker, support=sieve, min_support=DEFAULT_MIN_SUPPORT)
    places = _places(gatherer, text)
    chosen = _gathered(gatherer, text, places)
    (best,) = _supports(checker, text, places, [chosen])
    if best < checker.min_support:
        return claim
    cited = [places[at].cited for at in chosen]
    together = Claimed(text=text, cited=cited, support=round(best, 4), supported=True)
    return checker.revalidated(together)


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
    evidence = [
        joined_evidence((places[at].title, places[at].text) for at in group) for group in groups
    ]
    return checker.support.support([(text, one) for one in evidence])


def _places(checker: Checker, text: str) -> list[_Place]:
    """Of each passage what carries most of the sentence."""
    plain = replace(checker, enabled=False, guard=None)
    made = []
    for number, passage in enumerate(checker.passages, 1):
        for cited in plain.check(Sentence(text, (number,)))["cited"]:
            quote = passage.text[cited["start"] - passage.start : cited["end"] - passage.start]
            made.append(_Place(cited, passage.title, quote))
    return made
