"""Choices by letter: "(A) red (B) blue", "A. red", "a) red", each on a line or in one.

A list of facts looks the same. It is told from choices by what comes after it, which is nothing
after choices, and by what comes before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LINE_MARK = re.compile(
    r"^[ \t>]*(?:[-*\u2022][ \t]+)?(?:\*\*|__)?(?P<open>[(\[]?)(?P<letter>[A-Za-z])"
    r"(?P<close>[)\].:]|[ \t]+[-\u2013\u2014](?=[ \t]))(?:\*\*|__)?(?=\s|(?<=[)\]])\S|\Z)",
    re.MULTILINE,
)
_INLINE_MARK = re.compile(
    r"(?:(?<!\S)|(?<=[^\s\w(])(?=[(\[]))(?:\*\*)?(?P<open>[(\[]?)(?P<letter>[A-Za-z])"
    r"(?P<close>[)\].])(?:\*\*)?(?=\s|(?<=[)\]])\S|\Z)"
)
_PAIRS: Final = frozenset({("(", ")"), ("[", "]"), ("", ")"), ("", "."), ("", ":"), ("", "-")})
_REFERRING = re.compile(
    r"\b(?:both|neither|either|choices?|options?|answers?|sections?|paragraphs?|parts?|clauses?|"
    r"subsections?|items?|articles?|only|see|and|or)\s*\Z",
    re.IGNORECASE,
)
"""Before a letter that points to a choice or a clause, and begins none."""
_POINTING = re.compile(
    rf"{_REFERRING.pattern}|\b(?:of|in|to|with|than|by|for|under|from|but|not|if)\s*\Z",
    re.IGNORECASE,
)
_ENDED = re.compile(r"(?:[?:.!\u2026]|_{2,}|\.\.)[\"'\u201d)]*\s*\Z")
_OPENED = re.compile(r"\?|(?:[:\u2026\u2014-]|_{2,}|\.{3})\s*\Z")
_JOINED = re.compile(r"[\s,;]+(?:or|and|nor)\s*\Z", re.IGNORECASE)
_ONLY_JOINS = re.compile(r"[\s,;.]*(?:and|or|nor|but|to|of)?[\s,;.]*", re.IGNORECASE)
_BLANK = re.compile(r"\s*")
_SENTENCE_END = re.compile(r"[.!?][\"'\u201d)]*\s+(?=\S)")
_ENDS = re.compile(r"[.!?:]")
_REQUEST = re.compile(
    r"(?:please )?(?:answer|compare|define|describe|discuss|explain|give|list|outline|summari[sz]e|"
    r"tell|write)\b",
    re.IGNORECASE,
)
_INSTRUCTION = re.compile(
    r"(?:please )?(?:answer|choose|explain|give|justify|pick|reply|respond|select|think|state)\b",
    re.IGNORECASE,
)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_NEAR: Final = 24
"""Characters before a letter that tell what it is."""
_TRIES: Final = 20
"""Letters A, from the end, that may begin the list: a text full of them must not take forever."""
_LEAST_UNASKED: Final = 3
"""Choices in running text that nothing announces: two are a list of facts as easily."""


@dataclass(frozen=True, slots=True)
class Apart:
    stem: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Mark:
    shape: tuple[str, str, bool]
    """What stands before and after the letter, and whether it is a capital."""
    place: int
    """0 for A."""
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Run:
    """Marks from A on, one letter after the other, and the text they part."""

    marks: tuple[_Mark, ...]
    before: str
    raw: tuple[str, ...]
    on_lines: bool

    @property
    def capital(self) -> bool:
        return self.marks[0].shape[2]


def lettered(text: str, *, stem: str | None = None) -> Apart | None:
    """The choices that end the text; None where there are none. With a `stem` the text is all
    that stands under a heading for choices, and must begin with them."""
    for on_lines in (True, False):
        run = _last_run(text, on_lines=on_lines, headed=stem is not None)
        if run and stem is not None:
            return _apart(run, stem)
        if run and _are_choices(run):
            return _apart(run, run.before)
    return None


def _last_run(text: str, *, on_lines: bool, headed: bool) -> _Run | None:
    marks = list(_marks(text, on_lines=on_lines))
    begins = [at for at, mark in enumerate(marks) if not mark.place]
    for at in reversed(begins[:1] if headed else begins[-_TRIES:]):
        if headed and text[: marks[at].start].strip():
            return None
        run = _run(text, marks[at:], on_lines=on_lines)
        if run and not on_lines and all(_begins_line(text, mark) for mark in run.marks):
            continue  # refused as a list of lines already
        if run and (headed or _may_begin(run)) and not _follows_another(run, marks[:at]):
            return run
    return None


def _marks(text: str, *, on_lines: bool) -> Iterator[_Mark]:
    for found in (LINE_MARK if on_lines else _INLINE_MARK).finditer(text):
        close = found["close"].strip()
        close = "-" if close in "-\u2013\u2014" else close
        if (found["open"], close) not in _PAIRS:
            continue
        letter = found["letter"]
        shape = (found["open"], close, letter.isupper())
        yield _Mark(shape, ord(letter.upper()) - ord("A"), found.start(), found.end())


def _begins_line(text: str, mark: _Mark) -> bool:
    return not text[text.rfind("\n", 0, mark.start) + 1 : mark.start].strip()


def _run(text: str, marks: Sequence[_Mark], *, on_lines: bool) -> _Run | None:
    """The run that begins with the first mark. On lines every later mark must belong to it; in
    running text a letter out of order is a reference, such as "both (A) and (B)"."""
    alike = [mark for mark in marks if mark.shape == marks[0].shape]
    chosen: list[_Mark] = []
    for mark in alike:
        if mark.place == len(chosen):
            chosen.append(mark)
        elif on_lines or (not mark.place and not _points(text, mark)):
            return None
    ends = [*(mark.start for mark in chosen[1:]), len(text)]
    raw = tuple(text[mark.end : end] for mark, end in zip(chosen, ends, strict=True))
    nothing = _BLANK if on_lines else _ONLY_JOINS
    if len(chosen) < 2 or any(nothing.fullmatch(each) for each in raw):  # noqa: PLR2004
        return None
    return _Run(tuple(chosen), text[: chosen[0].start].rstrip(), raw, on_lines)


def _points(text: str, mark: _Mark) -> bool:
    return _POINTING.search(text[max(0, mark.start - _NEAR) : mark.start]) is not None


def _may_begin(run: _Run) -> bool:
    if not re.search(r"\w", run.before):
        return False
    if run.on_lines:
        return True
    if run.marks[0].shape[:2] == ("", "."):  # "Vitamin A. is": only after the end of a sentence
        return run.capital and _ENDED.search(run.before[-_NEAR:]) is not None
    return _REFERRING.search(run.before[-_NEAR:]) is None


def _follows_another(run: _Run, earlier: Sequence[_Mark]) -> bool:
    """A list goes on directly before it: letters were used twice, and nobody can tell which."""
    if not earlier or earlier[-1].shape != run.marks[0].shape:
        return False
    between = run.before[earlier[-1].end :]
    return "\n" not in between if run.on_lines else _ENDS.search(between) is None


def _are_choices(run: _Run) -> bool:
    opened = _OPENED.search(run.before) is not None
    if _asks_after(run) or _are_questions(run) or _is_request(run.before):
        return False
    if run.on_lines or _reads_on(run):
        return run.on_lines
    if opened or not run.capital or len(run.raw) < _LEAST_UNASKED:
        return opened
    return not any(_JOINED.search(each) for each in run.raw)


def _asks_after(run: _Run) -> bool:
    """The question comes after the list, which then tells of facts."""
    *others, last = (each.strip() for each in run.raw)
    if "?" not in last or any("?" in each for each in others):
        return False
    return _SENTENCE_END.search(last) is not None or "\n" in last


def _are_questions(run: _Run) -> bool:
    """Several questions at once, where nothing asks to choose among them."""
    return "?" not in run.before and all(each.rstrip().endswith("?") for each in run.raw)


def _is_request(before: str) -> bool:
    """ "Describe the rights of (a) tenants (b) landlords" wants both."""
    last = _SENTENCE_END.split(before)[-1]
    return "?" not in before and _REQUEST.match(last) is not None


def _reads_on(run: _Run) -> bool:
    """The text goes on after the list: its last item is longer than the others by sentences."""
    *others, last = (len(_SENTENCE_END.findall(each.strip())) for each in run.raw)
    return last > max(others) + 1


def _apart(run: _Run, stem: str) -> Apart:
    last, rest = _without_rest(run)
    texts = [*run.raw[:-1], last]
    if not run.on_lines and all(_JOINED.search(f" {each}") or _comma(each) for each in texts[:-1]):
        texts = [_JOINED.sub("", f" {each}").rstrip(" ,;\t\n") for each in texts]
        texts[-1] = texts[-1].rstrip("?") if "?" not in stem else texts[-1]
    whole = f"{stem.rstrip()}\n{rest}" if rest else stem.rstrip()
    return Apart(whole, tuple(" ".join(each.split()) for each in texts))


def _comma(text: str) -> bool:
    return text.rstrip().endswith((",", ";"))


def _without_rest(run: _Run) -> tuple[str, str]:
    """The last choice, and what is said after all of them, such as "Explain your answer."."""
    last = run.raw[-1].strip()
    if not run.on_lines:
        return last, ""
    if not any(_BLANK_LINE.search(each.strip()) for each in run.raw[:-1]):
        parts = _BLANK_LINE.split(last, maxsplit=1)
        if len(parts) > 1:
            return parts[0], parts[1].strip()
    head, broken, tail = last.rpartition("\n")
    if broken and head.strip() and _INSTRUCTION.match(tail.strip()):
        return head, tail.strip()
    return last, ""
