"""Follow-up questions made stand-alone by the embedded understander: "and in March?" is said in
full from the turns before it. Nothing of the question may get lost, and what is added must have
been said: otherwise it stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from secondlook.answer import Step, Trouble, Usage
from secondlook.events import Event, NodeFinished, Warned
from secondlook.reading.languages import ENGLISH, other_language
from secondlook.reading.understander import Written, understander
from secondlook.retrieval.terms import STOP_WORDS

LONGEST: Final = 400
TURNS: Final = 3  # Questions and answers before this one that a follow-up is read with
ANSWER_WORDS: Final = 40
MOST_WORDS: Final = 150  # Of those turns together, so that the question is never cut off
LIKELY: Final = 0.3  # A text that the understander holds for less likely is no reading
KEPT: Final = 0.6
"""Share of the question's telling words that must still be there: a name may stand for others."""
ALIKE: Final = 5  # Letters by which words are told apart
_LONGEST_NAME = 8
_WORD = re.compile(r"[^\W_]+(?:[-'’.&][^\W_]+)*")  # noqa: RUF001
_MARK = re.compile(r"\s*\[\d+\]|^Most likely: ")
_SMALL = frozenset(STOP_WORDS["english"]) | frozenset(
    """i'm it's what's who's that's there's he's she's they're also else ever many much yes no ok
    tell give show list name explain describe find please besides aside addition any anything
    january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday""".split()  # noqa: SIM905
)
WORDS = " ".join(sorted(_SMALL | {"other", "another", "than", "apart", "along", "including"}))
"""What is written of a follow-up besides words that were said."""
_JOINING = frozenset({"of", "the", "and", "de", "von", "van", "la", "le", "du", "for", "in", "&"})


def leans(question: str, turns: Sequence[Turn]) -> bool:
    """Whether it may need the turns before it: said in full it would be another question, or
    it is in a language that the understander does not know."""
    if len(question) > LONGEST:
        return False
    foreign = other_language(question, ENGLISH) is not None
    return foreign or _bare(_written(question, turns).text) != _bare(question)


def stand_alone(question: str, turns: Sequence[Turn]) -> str:
    """The question said in full; unchanged where it stands alone, or nothing safe can be said."""
    if not turns or len(question) > LONGEST or other_language(question, ENGLISH):
        return question
    written = _written(question, turns)
    said = [text for turn in turns[-TURNS:] for text in (*turn.titles, turn.asked, turn.text)]
    same = _bare(written.text) in {_bare(question), _bare(turns[-1].asked)}
    if same or written.likelihood < LIKELY or not _is_safe(written.text, question, said):
        return question
    alike = written.text[:1].casefold() == question[:1].casefold()
    full = question[:1] + written.text[1:] if alike else written.text
    return f"{full}?" if question.endswith("?") and not full.endswith("?") else full


def _written(question: str, turns: Sequence[Turn]) -> Written:
    said = [text for turn in turns for text in (turn.asked, turn.short or _plain(turn.text))]
    about = next(iter(turns[-1].titles), "")
    return understander().write(conversation(about, said, question), WORDS)


def conversation(about: str, said: Sequence[str], question: str) -> str:
    """A follow-up as the understander sees it: `about` is the title of what the last answer was
    from, and `said` alternates questions and answers. Old turns give way to long ones."""
    short = [" ".join(one.split()[:ANSWER_WORDS]) for one in said[-2 * TURNS :]]
    while short[2:] and sum(len(one.split()) for one in short) > MOST_WORDS:
        short = short[2:]
    return f"alone: {' | '.join([f'[{about}]', *short, ' '.join(question.split())])}"


def _bare(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def _plain(text: str) -> str:
    """An answer without its marks."""
    return _MARK.sub("", text)


def _is_safe(new: str, question: str, said: Sequence[str]) -> bool:
    """Nothing that tells is lost, and nothing is added that nobody said: words are compared by
    their beginnings, for endings may change."""
    wanted, made = _telling(question), _telling(new)
    known = wanted | {word for text in said for word in _telling(text)}
    return len(wanted - made) <= (1 - KEPT) * len(wanted) and made <= known


def _telling(text: str) -> set[str]:
    words = (word.casefold().removesuffix("'s") for word in _WORD.findall(text))
    return {word[:ALIKE] for word in words if word not in _SMALL}


def names(text: str) -> Iterator[str]:
    """Runs of capitalised words, as names are written: "Zappa and the Mothers of Invention"."""
    held: list[re.Match[str]] = []
    for word in [*_WORD.finditer(text), None]:
        small = word[0].casefold() if word else ""
        gap = bool(word and held and text[held[-1].end() : word.start()].strip(" "))
        begins = word is not None and _is_capital(word[0]) and small not in _SMALL
        goes_on = word is not None and (_is_capital(word[0]) or small in _JOINING)
        if held and not gap and word and goes_on:
            held.append(word)
            continue
        while held and (held[-1][0].casefold() in _JOINING or not _is_capital(held[-1][0])):
            held.pop()
        if 0 < len(held) <= _LONGEST_NAME and held[-1].end() - held[0].start() > 1:
            yield re.sub(r"['’]s\Z", "", text[held[0].start() : held[-1].end()])  # noqa: RUF001
        held = [word] if word and begins else []


def _is_capital(word: str) -> bool:
    return word[:1].isupper() or (word[:1].isdigit() and len(word) < len("1234"))


# The turns of a conversation, and a question made stand-alone from them: data only.


@dataclass(frozen=True, slots=True)
class Turn:
    asked: str  # Stand-alone, as it was worked on
    short: str | None = None
    text: str = ""
    titles: tuple[str, ...] = ()
    asks_back: str | None = None
    """What was asked in return, where the question had several readings."""


@dataclass(frozen=True, slots=True)
class StandAlone:
    """A question as it is worked on, how it became so, and what that took."""

    asked: str
    steps: tuple[Step, ...] = ()
    warnings: tuple[Trouble, ...] = ()
    usage: Usage = field(default_factory=Usage)

    def events(self, run: str) -> Iterator[Event]:
        for trouble in self.warnings:
            yield Warned(run=run, trouble=trouble)
        for step in self.steps:
            yield NodeFinished(
                run=run,
                node=step.node,
                said=step.said,
                numbers=step.numbers,
                seconds=self.usage.seconds,
            )
