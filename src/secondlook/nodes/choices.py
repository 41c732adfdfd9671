"""Sets the choices apart from the question: planning, searching and writing never see them."""

import json
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from langgraph.runtime import Runtime

from secondlook.nodes.context import Context
from secondlook.nodes.state import Choices, Question, Trace, step

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
    stem: str  # What is asked, without the choices
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


_Apart = tuple[str, list[str]]  # The question, and the texts of its choices


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
_ENDED = re.compile(r"(?:[?:.!\u2026]|_{2,}|\.\.)[\"'\u201d)]*\s*\Z")
_OPENED = re.compile(r"\?|(?:[:\u2026\u2014-]|_{2,}|\.{3})\s*\Z")
_JOINED = re.compile(r"[\s,;]+(?:or|and|nor)\s*\Z", re.IGNORECASE)
_ONLY_JOINS = re.compile(r"[\s,;.]*(?:and|or|nor|but|to|of)?[\s,;.]*", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?][\"'\u201d)]*\s+(?=\S)")
_BLANK = re.compile(r"\s*")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_TRIES: Final = 20
"""Letters A, from the end, that may begin the list: a text full of them must not take forever."""
_LEAST_UNASKED: Final = 3
"""Choices in running text that nothing announces: two are a list of facts as easily."""


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
            before = text[: marks[at].start()].rstrip()
            on_lines = form is _LINE_MARK
            raw = _run(text, marks[at:], on_lines=on_lines)
            if raw and stem is not None:
                return None if before else _apart(stem, raw, on_lines=on_lines)
            if raw and _are_choices(before, marks[at], raw, on_lines=on_lines):
                return _apart(before, raw, on_lines=on_lines)
            if raw:
                break
    return None


def _run(text: str, marks: Sequence[re.Match[str]], *, on_lines: bool) -> list[str]:
    """What stands between marks from A on, one letter after the other. On lines every later mark
    must belong to them; in running text another letter is a reference: "both (A) and (B)"."""
    shape = _shape(marks[0])
    chosen: list[re.Match[str]] = []
    for mark in marks:
        if _shape(mark) == shape:
            if ord(mark["letter"].upper()) - ord("A") == len(chosen):
                chosen.append(mark)
            elif on_lines:
                return []
    ends = [*(mark.start() for mark in chosen[1:]), len(text)]
    raw = [text[mark.end() : end] for mark, end in zip(chosen, ends, strict=True)]
    nothing = _BLANK if on_lines else _ONLY_JOINS
    if len(chosen) < 2 or any(map(nothing.fullmatch, raw)):  # noqa: PLR2004
        return []
    starts = [text.rfind("\n", 0, mark.start()) + 1 for mark in chosen]
    lines = zip(starts, chosen, strict=True)
    if not on_lines and not any(text[start : mark.start()].strip() for start, mark in lines):
        return []  # refused as a list of lines already
    return raw


def _are_choices(before: str, first: re.Match[str], raw: list[str], *, on_lines: bool) -> bool:
    around, capital = _shape(first)
    # "Vitamin A. is": only after the end of a sentence.
    within = not on_lines and around == "." and not (capital and _ENDED.search(before))
    if within or not re.search(r"\w", before):
        return False
    texts = [each.strip() for each in raw]
    *others, last = texts
    # The question comes after the list, which then tells of facts.
    late = "?" in last and not any("?" in each for each in others)
    late = late and (_SENTENCE_END.search(last) is not None or "\n" in last)
    several = "?" not in before and all(each.endswith("?") for each in texts)
    if late or several:
        return False
    if on_lines:
        return True
    # The text goes on after the list: its last item is longer than the others by sentences.
    *fewer, most = (len(_SENTENCE_END.findall(each)) for each in texts)
    if most > max(fewer) + 1:
        return False
    opened = _OPENED.search(before) is not None
    if opened or not capital or len(texts) < _LEAST_UNASKED:
        return opened
    return not any(_JOINED.search(each) for each in raw)


def _apart(stem: str, raw: list[str], *, on_lines: bool) -> _Apart:
    """What is said after all choices and an empty line goes to the question."""
    *others, last = raw
    last, rest = last.strip(), ""
    if on_lines and not any(_BLANK_LINE.search(each.strip()) for each in others):
        last, *more = _BLANK_LINE.split(last, maxsplit=1)
        rest = more[0].strip() if more else ""
    texts = [*others, last]
    if not on_lines and all(
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
