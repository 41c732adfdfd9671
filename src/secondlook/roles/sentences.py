"""Reads what a model writes, sentence by sentence, while it is being written. Each sentence comes
without its citation marks and with the numbers they held. What must not reach a person is cut on
the way and counted: numbers of evidence that does not exist, our own prompt, marks of chat
templates, sentences said before. However the text is cut into pieces by the stream, the sentences
are the same."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from secondlook.retrieval.outline import sentence_starts
from secondlook.roles.prompts import NOT_FOUND
from secondlook.roles.prompts.marks import CONTROL_MARK, EVIDENCE_MARK

LONGEST_SENTENCE = 2000  # Characters; what goes on for longer without an end is no sentence
MOST_SENTENCES = 200
REPEATS_OF_A_LOOP = 3
"""So many sentences in a row that were said before, and nothing new is to be expected."""
GRAM = 6  # Words in a row that a sentence must share with the prompt to be taken for a copy of it

OPENING = 3
"""A small model also begins as a sentence of the prompt does, and goes on in its own words."""

_STOPS = ".!?…"
_CLOSERS = "\"'”’»)"  # noqa: RUF001
_STOPS_WITHOUT_SPACE = "。！？｡।॥؟۔።։」』）】》"  # noqa: RUF001
# Characters after a possible end that decide whether it is one.
_LOOKAHEAD = 4
# Characters before it that do: an abbreviation, a row of marks, the start of the line.
_LOOKBACK = 160
# At the end of what has come so far, a mark that is being written and what it would decide.
_UNDECIDED = 64

_NAMED = r"(?:evidence|source|passage|document)s?"
_NUMBERS = rf"\d{{1,3}}(?:\s*(?:[,;&–-]|and)\s*(?:{_NAMED}\s*)?\d{{1,3}})*"  # noqa: RUF001
_CITATION = re.compile(
    rf"\s*(?:[\[【]\s*(?:{_NAMED}\s*)?(?P<numbers>{_NUMBERS})\s*[\]】]|{EVIDENCE_MARK.pattern})",
    re.IGNORECASE,
)
# As many in a row as are worth looking at: a text of nothing else must not cost its square.
_CITED = re.compile(
    rf"(?:{re.sub(r'[?]P<[a-z]+>', '?:', _CITATION.pattern)}){{1,8}}+", re.IGNORECASE
)
_LONGEST_MARK = 48
_CITED_LAST = re.compile(rf"{_CITED.pattern}\s*\Z", re.IGNORECASE)
_CITED_END = re.compile(
    rf"(?:(?<=[{_STOPS}])|(?<=[{_STOPS}][{_CLOSERS}])){_CITED.pattern}\s*(?=\w)"
    rf"|{_CITED.pattern}[{_STOPS}]+[{_CLOSERS}]*\s+(?=\S)",
    re.IGNORECASE,
)
_CITED_HERE = re.compile(rf"{_CITED.pattern}(?:\s+(?=[.,;:!?]))?", re.IGNORECASE)
_RANGE = re.compile(rf"(\d+)\s*[–-]\s*(?:{_NAMED}\s*)?(\d+)|(\d+)", re.IGNORECASE)  # noqa: RUF001
# A mark that may still be being written: nothing is decided about it yet.
_UNFINISHED_MARK = re.compile(r"(?:[\[【][^\[\]【】\n]{0,40}|<{1,2}[^<>\n]{0,40}>?)\Z")

_LINE_END = re.compile(r"\n\s*(?=\S)")
_LIST_ITEM = re.compile(r"(?:[-*•–+#>]+|\d{1,2}[.)])\s+")  # noqa: RUF001
_LABEL = re.compile(r"(?:(?:final |short )?answer|response)\s*:\s*", re.IGNORECASE)
_TURN = re.compile(
    r"\s*(?:#+\s*)?(?:(?:assistant|user|human)\s*(?::|\Z)|(?:system|instruction|response)s?:?\s*\Z)",
    re.IGNORECASE,
)
_SPACE = re.compile(r"\s+")
_NO_LINE_END = re.compile(r"[^\n]")
_MAY_END = re.compile(rf"[\n<\[【{_STOPS}{_STOPS_WITHOUT_SPACE}]")
_WORD = re.compile(r"\w+")

_NOT_FOUND_SAID = re.compile(
    r"\bnot (?:\w+ )?in (?:the|this|any) (?:\w+ )?evidence(?: (?:given|provided|above|below))?"
    r"\s*(?:[^\w\s]|\Z)",
    re.IGNORECASE,
)
_NOTHING_SAID = re.compile(
    r"\b(?:evidence|passages?|context|excerpts?|notes|text provided|provided text)\b.{0,40}"
    r"\b(?:(?:does|do|did)(?: not|n['’]t)|cannot|fails? to) "  # noqa: RUF001
    r"(?:\w+ )?(?:hold|contain|mention|provide|say|state|include|specify|give|answer|tell)\b",
    re.IGNORECASE,
)
# A sentence that also says and cites this many other words is an answer with a reservation.
_WORDS_OF_A_REFUSAL = 8
_LONG_LOOP = 40
_LOOP_VARIETY = 0.2


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    citations: tuple[int, ...] = ()
    """Numbers of evidence that exists, each once, in the order written."""


class Sentences:
    """Give it the text as it comes; it gives back the sentences that are complete and may stay."""

    def __init__(
        self, numbers: int, *, own_words: str = "", question: str = "", evidence: str = ""
    ) -> None:
        """`numbers`: how many pieces of evidence there are, counted from 1. `own_words`: what the
        prompt says itself (`Prompt.own_words`); what `evidence` says too may be repeated."""
        self.dropped: Counter[str] = Counter()
        """What was cut, by reason: citation, prompt, question, control, repeated, not_found,
        endless, unfinished, surplus."""
        self.begun = False
        """It was given some of the text: nobody need give it all of it again."""
        self.stopped = False
        self._numbers = numbers
        self._own = _grams(own_words) - _grams(evidence)
        lines = map(_words, own_words.splitlines())
        self._own_lines = {line for line in lines if len(line) < GRAM}
        self._own_openings = _openings(own_words) - _grams(evidence, OPENING)
        self._question = _words(question)
        self._pending = ""
        self._scanned = 0
        self._seen: set[tuple[str, ...]] = set()
        self._repeats = 0
        self._inside_endless = False
        self._marks_lead: bool | None = None
        self._cited = False

    @property
    def not_found(self) -> bool:
        """The model said that the evidence holds no answer, and cited nothing."""
        return self.dropped["not_found"] > 0 and not self._cited

    def feed(self, text: str) -> list[Sentence]:
        self.begun = True
        # Of white space it matters whether there is some, a new line or an empty one.
        stem = self._pending.rstrip()
        self._pending = stem + _SPACE.sub(
            lambda found: "\n" * min(found[0].count("\n"), 2) or " ",
            self._pending[len(stem) :] + text,
        )
        if not _MAY_END.search(self._pending) and len(self._pending) <= LONGEST_SENTENCE:
            return []
        return self._kept(self._complete(final=False))

    def finish(self, *, cut_short: bool = False) -> list[Sentence]:
        """The rest. `cut_short`: the model was stopped, so a last sentence without an end is left
        out unless it is all there is."""
        kept = self._kept(self._complete(final=True))
        last, self._pending = self._pending, ""
        if cut_short and self._seen and not _is_ended(last):
            if last.strip():
                self.dropped["unfinished"] += 1
            return kept
        return kept + self._kept(iter([last]))

    def _complete(self, *, final: bool) -> Iterator[str]:
        while not self.stopped:
            window = self._pending[: LONGEST_SENTENCE + 1]
            lead = bool(_CITATION.match(window)) if self._marks_lead is None else self._marks_lead
            # Where the second sentence of the text begins; None where that is not to
            # be known yet. It does not begin before `scanned`.
            base = max(0, self._scanned - _LOOKBACK)
            text = window[base:]
            if not final and (unfinished := _UNFINISHED_MARK.search(text)):
                text = text[: unfinished.start()]
            # White space in place of marks: the rules for sentences then need not know of them.
            view = _CITED.sub(lambda found: _NO_LINE_END.sub(" ", found[0]), text)
            known = len(view) if final else len(view) - _LOOKAHEAD
            first = len(view) - len(view.lstrip())
            ends = [
                at
                for at in _ends(text, view, since=max(first, self._scanned - base))
                if at <= known and not view[at].isspace()
            ]
            end = base + _before_leading_marks(text, view, min(ends), lead=lead) if ends else None
            if end is None and len(self._pending) <= LONGEST_SENTENCE:
                self._scanned = max(0, len(window) - _UNDECIDED)
                return
            self._scanned = 0
            endless = end is None
            end = end or LONGEST_SENTENCE
            raw, self._pending = self._pending[:end], self._pending[end:]
            self._marks_lead = lead
            if endless or self._inside_endless:
                if not self._inside_endless:
                    self.dropped["endless"] += 1
                self._inside_endless = endless
                continue
            yield raw

    def _kept(self, pieces: Iterator[str]) -> list[Sentence]:
        made = (None if self._inside_endless else self._sentence(raw) for raw in pieces)
        kept = [sentence for sentence in made if sentence is not None]
        if self.stopped:
            self._pending = ""
        return kept

    def _sentence(self, raw: str) -> Sentence | None:
        if self.stopped:
            return None
        found = dict.fromkeys(_cited_numbers(raw))
        real = tuple(number for number in found if 1 <= number <= self._numbers)
        if len(found) > len(real):
            self.dropped["citation"] += len(found) - len(real)
        text = _bare(raw)
        words = _words(text)
        if not words:
            return None
        reason = self._reason_to_cut(raw, text, words, real)
        if reason is not None:
            self.dropped[reason] += 1
            self._repeats = self._repeats + 1 if reason == "repeated" else 0
            turned = reason == "control" and bool(self._seen)
            self.stopped = turned or reason == "surplus" or self._repeats >= REPEATS_OF_A_LOOP
            return None
        self._seen.add(words)
        self._repeats = 0
        self._cited = self._cited or bool(real)
        return Sentence(text, real)

    def _reason_to_cut(
        self, raw: str, text: str, words: tuple[str, ...], citations: tuple[int, ...]
    ) -> str | None:
        if CONTROL_MARK.search(raw) or _TURN.match(raw):
            return "control"
        if _says_not_found(text, words, citations):
            return "not_found"
        if (
            words in self._own_lines
            or words[:OPENING] in self._own_openings
            or not self._own.isdisjoint(_grams(text))
        ):
            return "prompt"
        if words == self._question:
            return "question"
        if words in self._seen or (
            len(words) >= _LONG_LOOP and len(set(words)) < _LOOP_VARIETY * len(words)
        ):
            return "repeated"
        return "surplus" if len(self._seen) >= MOST_SENTENCES else None


@dataclass(frozen=True, slots=True)
class Reviewed:
    sentences: tuple[Sentence, ...]
    dropped: Counter[str]
    not_found: bool


def review(
    text: str, numbers: int, *, own_words: str = "", question: str = "", evidence: str = ""
) -> Reviewed:
    reading = Sentences(numbers, own_words=own_words, question=question, evidence=evidence)
    sentences = (*reading.feed(text), *reading.finish())
    return Reviewed(sentences, reading.dropped, reading.not_found)


def _ends(text: str, view: str, *, since: int) -> Iterator[int]:
    for at in sentence_starts(view):
        if at > since and (
            view[:at].rstrip()[-1:] in _STOPS_WITHOUT_SPACE or not _goes_on(view, at)
        ):
            yield at
    for found in _CITED_END.finditer(text):
        if found.end() > since:
            yield found.end()
    for found in _LINE_END.finditer(view):
        # A line that stops without a full stop goes on in the next if that begins in lower case.
        end, start = found.span()
        if start > since and (
            view.count("\n", end, start) > 1
            or _LIST_ITEM.match(view, start)
            or _is_ended(text[:end])
            or not _goes_on(view, start)
        ):
            yield start
    for found in CONTROL_MARK.finditer(view):
        if found.start() > since and _is_ended(text[: found.start()]):
            yield found.start()


def _goes_on(view: str, at: int) -> bool:
    """Whether what follows begins with a small letter, as the middle of a sentence does."""
    return next((char for char in view[at : at + _LOOKAHEAD] if char.isalnum()), "").islower()


def _before_leading_marks(text: str, view: str, at: int, *, lead: bool) -> int:
    """Marks between two sentences belong to the first, unless they begin the second's line or it
    is the habit of this text to put them first."""
    gap = len(view[:at].rstrip())
    line = text.rfind("\n", gap, at)
    after = line if line >= 0 else gap
    found = _CITATION.search(text, after, at) if line >= 0 or lead else None
    return found.start() if found else at


def _is_ended(text: str) -> bool:
    """Whether the text stops where a sentence does: at a full stop or at a citation mark."""
    if _CITED_LAST.search(text, max(0, len(text) - _LONGEST_MARK)):
        return True
    last = text.rstrip().rstrip(_CLOSERS)[-1:]
    return last != "" and last in _STOPS + _STOPS_WITHOUT_SPACE


def _cited_numbers(raw: str) -> Iterator[int]:
    for found in _CITATION.finditer(raw):
        for first, last, single in _RANGE.findall(found["numbers"] or found["number"] or ""):
            if single:
                yield int(single)
            else:
                yield from range(int(first), int(last) + 1)


def _bare(raw: str) -> str:
    """The sentence as a person reads it: no marks, list signs or labels, single spaces."""
    text = " ".join(_CITED_HERE.sub("", raw).replace("**", "").split())
    for sign in (_LIST_ITEM, _LABEL):
        if found := sign.match(text):
            text = text[found.end() :]
    return text.lstrip(",;: ")


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.casefold()))


def _grams(text: str, size: int = GRAM) -> set[tuple[str, ...]]:
    words = _words(text)
    return {words[at : at + size] for at in range(len(words) - size + 1)}


def _openings(text: str) -> set[tuple[str, ...]]:
    lines = (line for line in text.splitlines() if line.strip())
    starts = ((line, [0, *sentence_starts(line)]) for line in lines)
    opening = {_words(line[at:])[:OPENING] for line, found in starts for at in found}
    return {words for words in opening if len(words) == OPENING}


def _says_not_found(text: str, words: tuple[str, ...], citations: tuple[int, ...]) -> bool:
    if NOT_FOUND in text:
        return True
    if _NOT_FOUND_SAID.search(text):
        spare = len(words) - len(_words(NOT_FOUND))
        return not citations or spare <= _WORDS_OF_A_REFUSAL
    return _NOTHING_SAID.search(text) is not None and not citations


# Where the sentences of a passage lie, and its lines where it is a table or a list.

Kind = Literal["text", "heading", "item", "record", "cells", "field"]
PARAGRAPH = re.compile(r"\n\s*\n\s*")
LONGEST_SHOWN = 600
_NUMBER = re.compile(r"\d+(?:[.,:\u2009]\d+)*")
_REACH = 30
_LINE = re.compile(r"[^\n]+")
_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("heading", re.compile(r"\s{0,3}#{1,6}\s+\S")),
    ("item", re.compile(r"\s*(?:[-*+\u2022\u25e6\u25aa\u2013]|\d{1,3}[.)])\s+\S")),
    ("record", re.compile(r"\s*[^:;]{1,80}: [^;]*; [^:;]{1,80}: ")),
    ("cells", re.compile(r".*? \| |[^;]*; [^;]*; ")),
    ("field", re.compile(r"\s*[^\W\d_][\w -]{0,30}: \S")),
)


@dataclass(frozen=True, slots=True)
class Line:
    start: int
    end: int
    kind: Kind


def lines_of(text: str) -> list[Line]:
    found = [
        Line(*line.span(), next((kind for kind, form in _KINDS if form.match(line[0])), "text"))
        for line in _LINE.finditer(text)
    ]
    items = sum(line.kind == "item" for line in found)
    padded = [None, *found, None]
    near = zip(padded[:-2], found, padded[2:], strict=True)
    return [
        line if _stands_alone(line, before, after, items) else replace(line, kind="text")
        for before, line, after in near
    ]


def _stands_alone(line: Line, before: Line | None, after: Line | None, items: int) -> bool:
    """One line that looks like a cell, an item or a field may be prose that was wrapped there."""
    if line.kind == "item":
        return items > 1
    above = before is not None and before.end + 1 == line.start and before.kind
    below = after is not None and line.end + 1 == after.start and after.kind
    needy = line.kind in {"cells", "field"}
    return not needy or not {above, below}.isdisjoint({line.kind, "record"})


def sentence_around(text: str, start: int, end: int) -> tuple[int, int]:
    """The sentence or sentences of `text` that hold [start, end), without outer white space."""
    bounds = [0, *_starts(text), len(text)]
    first = max((at for at in bounds if at <= start), default=0)
    last = min((at for at in bounds if at >= max(end, start + 1)), default=len(text))
    if last - first > LONGEST_SHOWN:
        first, last = _lines_around(text, start, end, within=(first, last))
    piece = text[first:last]
    left = first + len(piece) - len(piece.lstrip())
    return left, max(left, first + len(piece.rstrip()))


def _starts(text: str) -> list[int]:
    """Where sentences begin; a heading above a paragraph is none of its first sentence, and each
    row and each item is one of its own."""
    alone = [line for line in lines_of(text) if line.kind != "text"]
    breaks = {found.end() for found in PARAGRAPH.finditer(text)}
    breaks |= {line.start for line in alone} | {line.end for line in alone if line.kind != "item"}
    return sorted({*sentence_starts(text), *(at for at in breaks if 0 < at < len(text))})


def _lines_around(text: str, start: int, end: int, within: tuple[int, int]) -> tuple[int, int]:
    first = max(within[0], text.rfind("\n", within[0], start) + 1)
    at = text.find("\n", end, within[1])
    last = within[1] if at < 0 else at
    if last - first <= LONGEST_SHOWN:
        return first, last
    room = max(0, (LONGEST_SHOWN - (end - start)) // 2)
    return _word_start(text, max(first, start - room)), _word_end(text, min(last, end + room))


def _word_start(text: str, at: int) -> int:
    space = text.find(" ", at, at + 40)
    return space + 1 if at and space >= 0 else at


def _word_end(text: str, at: int) -> int:
    space = text.rfind(" ", max(0, at - 40), at)
    return space if at < len(text) and space >= 0 else at


def sentence_bounds(text: str) -> list[tuple[int, int]]:
    """Where each sentence of `text` lies, without outer white space; what goes on for too long
    without an end is cut between words."""
    found = []
    for start, end in pairwise([0, *_starts(text), len(text)]):
        while start < end:
            stop = end if end - start <= LONGEST_SHOWN else start + LONGEST_SHOWN
            stop = max(_word_end(text, stop), start + 1) if stop < end else stop
            piece = text[start:stop]
            if piece.strip():
                left = start + len(piece) - len(piece.lstrip())
                found.append((left, start + len(piece.rstrip())))
            start = stop  # noqa: PLW2901
    return found


def whole_numbers(text: str, start: int, end: int) -> tuple[int, int]:
    """The span with the numbers that it cuts: half a number is another number."""
    for found in _NUMBER.finditer(text, max(0, start - _REACH), end + _REACH):
        if found.start() < start < found.end():
            start = found.start()
        if found.start() < end < found.end():
            end = found.end()
    return start, end
