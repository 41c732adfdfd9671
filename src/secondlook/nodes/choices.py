"""Sets the choices apart from the question: planning, searching and writing never see them."""

from __future__ import annotations

import json
import re
import string
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from langgraph.runtime import Runtime  # noqa: TC002

from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.state import Choices, Question, Trace, step

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MOST_CHOICES: Final = len(string.ascii_uppercase)
HEADING: Final = "Answer choices:"
_WORDED: Final = (
    r"(?:\*\*|#+ )?(?:(?:possible )?answer (?:choices|options)|options|choices|possible answers)"
    r"(?:\*\*)?:(?:\*\*)?(?=\s|\Z)"
)
_HEADINGS: Final = (
    re.compile(rf"^[ \t]*{_WORDED}", re.IGNORECASE | re.MULTILINE),
    re.compile(rf"(?<=\?)[ \t]+{_WORDED}", re.IGNORECASE),
)
_CUE = re.compile(r"\n\s*(?:(?:your |the )?(?:correct |best )?answer(?: is)?):\s*\Z", re.IGNORECASE)
"""What exam papers end in; it asks for nothing."""


class Separated(Choices, Trace):
    question: str


async def separate(state: Question, runtime: Runtime[Context]) -> Separated:
    _ = runtime  # every node is called alike; this one needs no service
    apart = parsed(state["question"])
    count = len(apart.choices)
    said = f"{count} choices set apart." if count else "There are no choices."
    return {
        "question": apart.stem,
        "choices": apart.choices,
        "steps": [step("separate", said, choices=count)],
        "warnings": [],
    }


@dataclass(frozen=True, slots=True)
class Parsed:
    stem: str
    """What is asked, without the choices."""
    choices: dict[str, str] = field(default_factory=dict)
    """By letter from A on; empty where there are none."""


def parsed(text: str) -> Parsed:
    """The question and its choices. Without a list of choices that ends it, the text is whole."""
    tidy = _CUE.sub("", text.replace("\r\n", "\n").strip())
    made = _from_object(tidy) if tidy.startswith("{") else None
    made = made or _under_heading(tidy) or _lettered(tidy)
    if made is None or not 1 < len(made[1]) <= MOST_CHOICES:
        return Parsed(text.strip())
    return Parsed(made[0], by_letter([" ".join(each.split()) for each in made[1]]))


def rendered(stem: str, choices: Mapping[str, str]) -> str:
    """The whole in one text, as `parsed` reads it."""
    if not choices:
        return stem
    lines = [f"({letter}) {' '.join(text.split())}" for letter, text in choices.items()]
    return "\n".join([stem.rstrip(), "", HEADING, *lines])


def by_letter(texts: Sequence[str]) -> dict[str, str]:
    return dict(zip(string.ascii_uppercase, texts, strict=False))


_Apart = tuple[str, list[str]]
"""The question, and the texts of its choices."""


def _under_heading(text: str) -> _Apart | None:
    """What stands under the last "Answer choices:", where all of it is a list."""
    for heading in _HEADINGS:
        for found in reversed(list(heading.finditer(text))):
            stem, under = text[: found.start()].rstrip(), text[found.end() :]
            if stem and (made := _lettered(under, stem=stem)):
                return made
            texts = _listed(under) if stem else []
            if len(texts) > 1 and all(each.strip() for each in texts):
                return stem, texts
    return None


# Choices by letter: "(A) red (B) blue", "A. red", "a) red", each on a line or in one.

_LINE_MARK = re.compile(
    r"^[ \t>]*(?:[-*\u2022][ \t]+)?(?:\*\*|__)?(?P<open>[(\[]?)(?P<letter>[A-Za-z])"
    r"(?P<close>[)\].:]|[ \t]+[-\u2013\u2014](?=[ \t]))(?:\*\*|__)?(?=\s|(?<=[)\]])\S|\Z)",
    re.MULTILINE,
)
_INLINE_MARK = re.compile(
    r"(?:(?<!\S)|(?<=[^\s\w(])(?=[(\[]))(?:\*\*)?(?P<open>[(\[]?)(?P<letter>[A-Za-z])"
    r"(?P<close>[)\].])(?:\*\*)?(?=\s|(?<=[)\]])\S|\Z)"
)
_PAIRS: Final = frozenset({"()", "[]", ")", ".", ":", "-"})
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
class _Run:
    """Marks from A on, one letter after the other, and the text that they part."""

    shape: tuple[str, bool]
    marks: list[re.Match[str]]
    before: str
    raw: list[str]
    on_lines: bool


def _shape(mark: re.Match[str]) -> tuple[str, bool]:
    """What stands around the letter, and whether it is a capital."""
    close = mark["close"].strip()
    around = mark["open"] + ("-" if close in "-\u2013\u2014" else close)
    return around, mark["letter"].isupper()


def _lettered(text: str, *, stem: str | None = None) -> _Apart | None:
    """The choices that end the text. With a `stem` it is what stands under a heading."""
    for form in (_LINE_MARK, _INLINE_MARK):
        marks = [mark for mark in form.finditer(text) if _shape(mark)[0] in _PAIRS]
        begins = [at for at, mark in enumerate(marks) if mark["letter"] in "Aa"]
        for at in reversed(begins[:1] if stem is not None else begins[-_TRIES:]):
            if stem is not None and text[: marks[at].start()].strip():
                break
            run = _run(text, marks[at:], on_lines=form is _LINE_MARK)
            if run and stem is not None:
                return _apart(run, stem)
            if run and _may_begin(run) and not _follows_another(run, marks[:at]):
                if _are_choices(run):
                    return _apart(run, run.before)
                break
    return None


def _run(text: str, marks: Sequence[re.Match[str]], *, on_lines: bool) -> _Run | None:
    """The run that begins with the first mark. On lines every later mark must belong to it; in
    running text a letter out of order is a reference, such as "both (A) and (B)"."""
    shape = _shape(marks[0])
    chosen: list[re.Match[str]] = []
    for mark in marks:
        if _shape(mark) != shape:
            continue
        place = ord(mark["letter"].upper()) - ord("A")
        near = text[max(0, mark.start() - _NEAR) : mark.start()]
        if place == len(chosen):
            chosen.append(mark)
        elif on_lines or (not place and not _POINTING.search(near)):
            return None
    ends = [*(mark.start() for mark in chosen[1:]), len(text)]
    raw = [text[mark.end() : end] for mark, end in zip(chosen, ends, strict=True)]
    nothing = _BLANK if on_lines else _ONLY_JOINS
    if len(chosen) < 2 or any(nothing.fullmatch(each) for each in raw):  # noqa: PLR2004
        return None
    starts = [text.rfind("\n", 0, mark.start()) + 1 for mark in chosen]
    lines = zip(starts, chosen, strict=True)
    if not on_lines and not any(text[start : mark.start()].strip() for start, mark in lines):
        return None  # refused as a list of lines already
    return _Run(shape, chosen, text[: chosen[0].start()].rstrip(), raw, on_lines)


def _may_begin(run: _Run) -> bool:
    if run.on_lines or not re.search(r"\w", run.before):
        return re.search(r"\w", run.before) is not None
    if run.shape[0] == ".":  # "Vitamin A. is": only after the end of a sentence
        return run.shape[1] and _ENDED.search(run.before[-_NEAR:]) is not None
    return _REFERRING.search(run.before[-_NEAR:]) is None


def _follows_another(run: _Run, earlier: Sequence[re.Match[str]]) -> bool:
    """A list goes on directly before it: letters were used twice, and nobody can tell which."""
    if not earlier or _shape(earlier[-1]) != run.shape:
        return False
    between = run.before[earlier[-1].end() :]
    return "\n" not in between if run.on_lines else _ENDS.search(between) is None


def _are_choices(run: _Run) -> bool:
    texts = [each.strip() for each in run.raw]
    *others, last = texts
    # The question comes after the list, which then tells of facts.
    late = "?" in last and not any("?" in each for each in others)
    if late and (_SENTENCE_END.search(last) or "\n" in last):
        return False
    # Several questions at once; "Describe the rights of (a) tenants (b) landlords" wants both.
    request = _REQUEST.match(_SENTENCE_END.split(run.before)[-1])
    if "?" not in run.before and (request or all(each.endswith("?") for each in texts)):
        return False
    if run.on_lines:
        return True
    # The text goes on after the list: its last item is longer than the others by sentences.
    *fewer, most = (len(_SENTENCE_END.findall(each)) for each in texts)
    if most > max(fewer) + 1:
        return False
    opened = _OPENED.search(run.before) is not None
    if opened or not run.shape[1] or len(texts) < _LEAST_UNASKED:
        return opened
    return not any(_JOINED.search(each) for each in run.raw)


def _apart(run: _Run, stem: str) -> _Apart:
    """What is said after all choices, such as "Explain your answer.", goes to the question."""
    *others, last = run.raw
    last, rest = last.strip(), ""
    if run.on_lines:
        first, *more = _BLANK_LINE.split(last, maxsplit=1)
        head, _, tail = last.rpartition("\n")
        if more and not any(_BLANK_LINE.search(each.strip()) for each in others):
            last, rest = first, more[0].strip()
        elif head.strip() and _INSTRUCTION.match(tail.strip()):
            last, rest = head, tail.strip()
    texts = [*others, last]
    if not run.on_lines and all(
        _JOINED.search(f" {each}") or each.rstrip().endswith((",", ";")) for each in others
    ):
        texts = [_JOINED.sub("", f" {each}").rstrip(" ,;\t\n") for each in texts]
        texts[-1] = texts[-1].rstrip("?") if "?" not in stem else texts[-1]
    return (f"{stem.rstrip()}\n{rest}" if rest else stem.rstrip()), texts


# Choices without letters, under a heading: any text may hold such a list.

_NUMBERED_LINE = re.compile(r"^[ \t]*\(?(\d{1,2})[.):][ \t]+", re.MULTILINE)
_NUMBERED = re.compile(r"(?<!\S)\(?(\d{1,2})[.)]\s+")
_BULLET = re.compile(r"^[ \t]*[-*+\u2022\u2013\u25e6][ \t]+", re.MULTILINE)


def _listed(text: str) -> list[str]:
    """All of the text as a list by numbers, bullets or lines; empty where it is none."""
    for form in (_NUMBERED_LINE, _NUMBERED, _BULLET):
        found = list(form.finditer(text))
        counted = form is _BULLET or [int(one[1]) for one in found] == [*range(1, len(found) + 1)]
        if len(found) > 1 and counted and not text[: found[0].start()].strip():
            ends = [*(one.start() for one in found[1:]), len(text)]
            return [text[one.end() : end] for one, end in zip(found, ends, strict=True)]
    marked = any(form.search(text) for form in (_LINE_MARK, _NUMBERED_LINE, _BULLET))
    return [] if marked else text.strip().split("\n")


# Choices in a JSON object: {"question": "...", "choices": {...} or [...]}.

_KNOWN: Final = frozenset({"question", "choices", "context", "id", "answer"})
"""Of these, the context is put before the question; the research is not told the answer."""


def _from_object(text: str) -> _Apart | None:
    """The question of an object whose every field is known; None for anything else."""
    try:
        fields = {name.casefold(): each for name, each in json.loads(text).items()}
    except (ValueError, RecursionError):
        return None
    choices = fields.get("choices")
    choices = in_order(choices) if isinstance(choices, dict) else choices
    if set(fields) - _KNOWN or not isinstance(choices, list):
        return None
    told = [*([fields["context"]] if fields.get("context") else []), fields.get("question")]
    if not all(isinstance(each, str) and each.strip() for each in [*choices, *told]):
        return None
    return "\n".join(each.strip() for each in told), choices


def in_order(choices: Mapping[str, Any]) -> list[Any] | None:
    """The texts in the order of their letters or numbers; None where the names are neither."""
    names = [str(name).strip().strip("().").upper() for name in choices]
    by_name = dict(zip(names, choices.values(), strict=True))
    letters = list(string.ascii_uppercase[: len(names)])
    numbers = [str(number) for number in range(1, len(names) + 1)]
    for wanted in (letters, numbers):
        if sorted(names) == sorted(wanted):
            return [by_name[name] for name in wanted]
    return None
