"""What there is to choose from, and on what."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from secondlook.answer import (
    Choice,
    ChoiceElement,
    ChoiceOption,
    ChoiceVerdict,
    Met,
)
from secondlook.models.replies import objects
from secondlook.nodes.cite import standing
from secondlook.nodes.research import standing as steps_standing
from secondlook.nodes.state import Cited, ElementData, OptionData, VerdictData

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from secondlook.answer import Citation, Scalar
    from secondlook.nodes.state import ChoiceData, DraftData, Sentence, StepData

NODE = "choose"


@dataclass(frozen=True, slots=True)
class Task:
    stem: str
    """The question without its options."""
    options: dict[str, str]
    research: tuple[Sentence, ...]
    """What was found, in sentences that stand on their evidence."""
    confidence: float | None
    """How sure the research is."""


@dataclass(frozen=True, slots=True)
class Choosing:
    """A choice, and what is told of how it came about."""

    choice: ChoiceData
    numbers: dict[str, Scalar] = field(default_factory=dict)
    warnings: list[dict[str, Any]] = field(default_factory=list)


def task_of(
    stem: str, options: dict[str, str], draft: DraftData | None, plan: Sequence[StepData]
) -> Task:
    """Where every step failed there is nothing to choose on, whatever a draft says."""
    done = steps_standing(plan)
    sentences = standing(draft["sentences"]) if draft else []
    return Task(
        stem=stem,
        options=dict(options),
        research=tuple(sentences) if done or not plan else (),
        confidence=_mean([one["confidence"] for one in done])
        if done
        else (draft["confidence"] if draft else None),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


# What the options were judged by: the elements of the rule, and for each option whether they
# are met. The letter follows from it, by code.

_DOUBTED: Final = 0.5
"""What is left of a confidence where the verdicts contradict themselves to the end, or where
another order of the options led elsewhere."""


@dataclass(frozen=True, slots=True)
class Weighing:
    elements: list[ElementData]
    options: list[OptionData]
    """Every option, in the order of the question."""
    named: str | None = None
    """The letter that whoever judged would choose."""
    facts_dropped: int = 0
    """Quotes that are not in the question."""
    sources_dropped: int = 0
    """Sources that do not exist."""


@dataclass(frozen=True, slots=True)
class Derived:
    """What the verdicts amount to."""

    letters: tuple[str, ...]
    """The best; several where nothing tells them apart, none where nothing speaks for any."""
    decisive: float
    """From 0.5, two are alike, to 1: all speaks for one and all against the others."""
    contradiction: str = ""
    """Why this cannot be all; empty where it can."""
    complete: tuple[str, ...] = field(default=())
    """Options whose every element is met."""


def derived(weighing: Weighing) -> Derived:
    """The option whose elements are all met; else the one with most met and fewest not met."""
    ranks = {one["letter"]: _rank(one) for one in weighing.options}
    best = max(ranks.values())
    letters = tuple(letter for letter, rank in ranks.items() if rank == best)
    complete = tuple(one["letter"] for one in weighing.options if _is_complete(one))
    if len(letters) == len(ranks):  # all are alike: nothing was said
        letters = complete = ()
    scores = sorted((rank[0] for rank in ranks.values()), reverse=True)
    margin = scores[0] - scores[1] if len(scores) > 1 else 0.0
    return Derived(
        letters=letters,
        decisive=(0.5 + margin / 4),
        contradiction=_contradiction(weighing, letters, complete),
        complete=complete,
    )


def settled(found: Derived, weighing: Weighing) -> tuple[str | None, str]:
    """The letter, contradiction or not, and why it is that one."""
    if len(found.letters) == 1:
        letter = found.letters[0]
        if letter in found.complete:
            return letter, f"all that must hold is met for {letter} alone"
        return letter, f"most is met, and least is not met, for {letter}"
    if weighing.named in _rivals(found, weighing):
        return weighing.named, f"{alike(found, weighing)}; {weighing.named} was named"
    return None, f"{alike(found, weighing)}, and none was named"


def alike(found: Derived, weighing: Weighing) -> str:
    return f"{', '.join(_rivals(found, weighing))} are alike by what is met"


def _rivals(found: Derived, weighing: Weighing) -> tuple[str, ...]:
    return found.letters or tuple(one["letter"] for one in weighing.options)


def confidence(research: float | None, decisive: float, *doubts: bool) -> float | None:
    """Of the research, times how decisive the verdicts were, and half of it for each doubt. It was
    not fitted to right and wrong choices: provisional."""
    if research is None:
        return None
    value = max(0.0, min(1.0, research)) * decisive
    for doubted in doubts:
        value *= _DOUBTED if doubted else 1.0
    return round(value, 4)


def _rank(option: OptionData) -> tuple[float, int]:
    met = sum(one["met"] == "met" for one in option["verdicts"])
    unmet = sum(one["met"] == "not met" for one in option["verdicts"])
    return (met - unmet) / max(1, len(option["verdicts"])), -unmet


def _is_complete(option: OptionData) -> bool:
    return bool(option["verdicts"]) and all(one["met"] == "met" for one in option["verdicts"])


def _contradiction(weighing: Weighing, letters: tuple[str, ...], complete: tuple[str, ...]) -> str:
    if not letters:
        return "All options were judged alike."
    if len(complete) > 1:
        return f"{' and '.join(complete)} were judged to have everything met, and one is right."
    if not complete:
        return "No option was judged to have everything met, and one is right."
    if weighing.named and weighing.named not in letters:
        best = letters[0]
        return f"{weighing.named} was named as the answer, but by what is met it is {best}."
    return ""


# A choice as an answer tells of it, and the words with which it ends the answer's text.

UNGROUNDED = "Ungrounded: from the model's own knowledge, without a source."
Numbers = dict[tuple[str, int, int], int]


def choice_of(choice: ChoiceData, citations: Sequence[Citation]) -> Choice:
    """With the numbers that the answer's citations have; a place that it does not cite is left
    out."""
    numbers = {(one.passage, one.start, one.end): one.number for one in citations}
    texts = {one["letter"]: one["text"] for one in choice["options"]}
    return Choice(
        letter=choice["letter"],
        text=texts.get(choice["letter"] or ""),
        options=tuple(map(_option, choice["options"])),
        elements=tuple(_element(one, numbers) for one in choice["elements"]),
        model=choice["model"],
        grounded=choice["grounded"],
        agreed=choice["agreed"],
        confidence=choice["confidence"],
        why=choice["why"],
    )


def choice_text(choice: Choice) -> str:
    """`Answer: (C) its words`, and under a guess that it is one; empty where none was chosen."""
    if choice.letter is None:
        return ""
    said = f"Answer: ({choice.letter}) {' '.join((choice.text or '').split())}".rstrip()
    return said if choice.grounded else f"{said}\n{UNGROUNDED}"


def step_heading(number: int, phase: str) -> str:
    """The line above the findings of a step of research, where there are several."""
    return f"### Step {number}: {' '.join(phase.split())}"


def _option(option: OptionData) -> ChoiceOption:
    return ChoiceOption(
        letter=option["letter"],
        text=option["text"],
        verdicts=tuple(
            ChoiceVerdict(element=one["element"], met=one["met"], fact=one["fact"])
            for one in option["verdicts"]
        ),
        reason=option["reason"],
    )


def _element(element: ElementData, numbers: Numbers) -> ChoiceElement:
    keys = [(place["passage"], place["start"], place["end"]) for place in element["cited"]]
    cited = tuple(dict.fromkeys(numbers[key] for key in keys if key in numbers))
    return ChoiceElement(text=element["text"], citations=cited)


# The full form of a reply, in JSON: the elements of the rule with their sources, and for each
# option and element a verdict with the fact that decides it. Read tolerantly: what cannot be
# used is left out.

_MOST_ELEMENTS = 8
_Model = TypeVar("_Model", bound=BaseModel)


def _numbers(value: Any) -> list[int]:
    """`2`, `"[2]"`, `[1, "2"]`: however sources are written."""
    return [int(number) for number in re.findall(r"(?<!\d)\d{1,3}(?!\d)", str(value))]


def _each(kind: type[_Model]) -> Callable[[Any], list[_Model]]:
    """The entries that have the form; the others are left out."""

    def usable(values: Any) -> list[_Model]:
        found = []
        for value in values if isinstance(values, list) else []:
            try:
                found.append(kind.model_validate(value))
            except ValidationError:
                continue
        return found

    return usable


def _by_letter(value: Any) -> Any:
    """`{"A": {...}}` as a list, for models that write it so."""
    if not isinstance(value, dict):
        return value
    return [{"letter": key, **one} for key, one in value.items() if isinstance(one, dict)]


def _in_order(value: Any) -> Any:
    """`["met", "not met"]` as verdicts on the elements in their order."""
    if not isinstance(value, list):
        return value
    return [
        {"element": at, "met": one} if isinstance(one, str) else one
        for at, one in enumerate(value, 1)
    ]


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Element(_Lenient):
    element: Annotated[str, BeforeValidator(said_of)] = Field(min_length=1)
    sources: Annotated[list[int], BeforeValidator(_numbers)] = Field(default_factory=list)


class _Verdict(_Lenient):
    element: int
    met: Annotated[Met, BeforeValidator(met_of)]
    fact: Annotated[str, BeforeValidator(said_of)] = ""


class _Option(_Lenient):
    letter: str
    verdicts: Annotated[
        list[_Verdict], BeforeValidator(_each(_Verdict)), BeforeValidator(_in_order)
    ] = Field(default_factory=list)
    reason: Annotated[str, BeforeValidator(said_of)] = ""


class _Reply(_Lenient):
    elements: Annotated[list[_Element], BeforeValidator(_each(_Element))]
    options: Annotated[list[_Option], BeforeValidator(_each(_Option)), BeforeValidator(_by_letter)]
    answer: Annotated[str, BeforeValidator(said_of)] = ""


def read_full(text: str, task: Task) -> Weighing | None:
    """What the first object in the text says that judges an option; None where none does."""
    for found in objects(text):
        try:
            reply = _Reply.model_validate(found)
        except ValidationError:
            continue
        if weighing := _weighing(reply, task):
            return weighing
    return None


def _weighing(reply: _Reply, task: Task) -> Weighing | None:
    count = min(len(reply.elements), _MOST_ELEMENTS)
    by_letter: dict[str, _Option] = {}
    for option in reply.options:
        letter = letter_of(option.letter, task.options)
        if letter is not None:
            by_letter.setdefault(letter, option)
    judged = {
        letter: _first_of_each([one for one in option.verdicts if 1 <= one.element <= count])
        for letter, option in by_letter.items()
    }
    if not any(judged.values()):
        return None
    options = [
        _full_form_option(letter, task, judged.get(letter, []), by_letter.get(letter), count)
        for letter in task.options
    ]
    quoted = sum(bool(one.fact) for verdicts in judged.values() for one in verdicts)
    kept = sum(one["fact"] is not None for option in options for one in option["verdicts"])
    elements, unknown = _elements(reply.elements[:count], task)
    return Weighing(
        elements=elements,
        options=options,
        named=letter_of(reply.answer, task.options),
        facts_dropped=quoted - kept,
        sources_dropped=unknown,
    )


def _first_of_each(verdicts: list[_Verdict]) -> list[_Verdict]:
    """One verdict for each element: a second on the same one is not counted."""
    kept: dict[int, _Verdict] = {}
    for one in verdicts:
        kept.setdefault(one.element, one)
    return list(kept.values())


def _full_form_option(
    letter: str, task: Task, verdicts: list[_Verdict], said: _Option | None, count: int
) -> OptionData:
    """With a verdict on every element: what was not said is unknown."""
    known = {one.element: one for one in verdicts}
    return OptionData(
        letter=letter,
        text=task.options[letter],
        verdicts=[_verdict(at, known.get(at), letter, task) for at in range(1, count + 1)],
        reason=said.reason if said else "",
    )


def _verdict(at: int, said: _Verdict | None, letter: str, task: Task) -> VerdictData:
    if said is None:
        return VerdictData(element=at, met="unknown", fact=None)
    fact = fact_in(said.fact, (task.stem, task.options[letter])) if said.fact else None
    return VerdictData(element=at, met=said.met, fact=fact)


def _elements(said: list[_Element], task: Task) -> tuple[list[ElementData], int]:
    """With the places that their sources cite, and how many sources there are not."""
    made: list[ElementData] = []
    unknown = 0
    for one in said:
        numbers = [number for number in one.sources if 1 <= number <= len(task.research)]
        unknown += len(one.sources) - len(numbers)
        made.append(ElementData(text=one.element, cited=cited_by(numbers, task)))
    return made, unknown


def cited_by(numbers: list[int], task: Task) -> list[Cited]:
    """The places behind these sentences of the research, each once."""
    places = [place for number in numbers for place in task.research[number - 1]["cited"]]
    unlike = {(place["passage"], place["start"], place["end"]): place for place in places}
    return list(unlike.values())


# The small form of a reply, for small models: a line for each option, `B: met | reason`, and
# one that names the answer, by its letter or its words. There is one element: that the research
# leads to the option.

ELEMENT = "The research, with the facts of the question, leads to this option."
_MOST_CITED = 5
_LINE = re.compile(r"^\W*(?:option\s+)?\(?([A-Za-z])\s*[).:=-]+\s*(.+)$", re.IGNORECASE)
_ANSWER = re.compile(
    r"^\W*(?:the\s+)?(?:final\s+|correct\s+|right\s+)?(?:answer|choice)\b(?:\s+is\b)?\W*(.*)$",
    re.IGNORECASE,
)
_BECAUSE = re.compile(r"^\W*(?:because|reason)\b\W*(.*)$", re.IGNORECASE)
_VERDICT = re.compile(r"\W*(not[ _-]*met|unmet|met|unknown|unclear)\b[^\w\"\[]*", re.IGNORECASE)
"""Not "yes" or "no": small models repeat an option, and many begin so."""
_SOURCE = re.compile(r"\[(\d{1,3})\]")


@dataclass(slots=True)
class _Lines:
    judged: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Verdict and reason by letter."""
    named: str | None = None
    because: str = ""


def read_lines(text: str, task: Task) -> Weighing | None:
    """What the lines say; None where they judge no option and name none."""
    lines = _Lines()
    for line in text.splitlines():
        if because := _BECAUSE.match(line):
            lines.because = lines.because or because[1]
        elif answer := _ANSWER.match(line):
            lines.named = option_of(answer[1], task.options) or lines.named
        elif judged := _judged(line, task):
            lines.judged.setdefault(judged[0], judged[1:])
    if not lines.judged and lines.named is None:
        return None
    # An option of which nothing was said is unknown, but for the one that was named.
    said = dict(lines.judged)
    if lines.named is not None:
        verdict, reason = said.get(lines.named, ("unknown" if said else "met", ""))
        said[lines.named] = (verdict, reason or lines.because)
    options = [_lines_form_option(letter, said.get(letter), task) for letter in task.options]
    reasons = [reason for _, reason in said.values()]
    numbers = [int(number) for reason in reasons for number in _SOURCE.findall(reason)]
    known = list(dict.fromkeys(one for one in numbers if 1 <= one <= len(task.research)))
    shown = known or list(range(1, len(task.research) + 1))
    quoted = sum(bool(quoted_in(reason)) for reason in reasons)
    kept = sum(option["verdicts"][0]["fact"] is not None for option in options)
    return Weighing(
        elements=[ElementData(text=ELEMENT, cited=cited_by(shown[:_MOST_CITED], task))],
        options=options,
        named=lines.named,
        facts_dropped=max(0, quoted - kept),
        sources_dropped=sum(not 1 <= one <= len(task.research) for one in numbers),
    )


def _judged(line: str, task: Task) -> tuple[str, str, str] | None:
    """Letter, verdict and reason; None where the line is something else."""
    found = _LINE.match(line)
    letter = letter_of(found[1], task.options) if found else None
    verdict = _VERDICT.match(found[2]) if found else None
    if found is None or letter is None or verdict is None:
        return None
    return letter, verdict[1], found[2][verdict.end() :]


def _lines_form_option(letter: str, said: tuple[str, str] | None, task: Task) -> OptionData:
    verdict, reason = said or ("unknown", "")
    sources = (task.stem, task.options[letter])
    facts = [fact for quote in quoted_in(reason) if (fact := fact_in(quote, sources))]
    return OptionData(
        letter=letter,
        text=task.options[letter],
        verdicts=[VerdictData(element=1, met=met_of(verdict), fact=facts[0] if facts else None)],
        reason=said_of(_SOURCE.sub("", reason)).strip(" |"),
    )


# What models write where a verdict, a letter or a few words are wanted.

_LONGEST = 600
_UNMET: Final = re.compile(r"\b(?:not[ _-]*met|unmet|no|false|fails?|does not fit)\b")
_MET: Final = re.compile(r"\b(?:met|yes|true|holds|fits)\b")
_UNKNOWN: Final = re.compile(r"\b(?:unknown|unclear|not (?:stated|known|clear))\b")
_LEADING = re.compile(
    r"\W*(?:(?:the )?(?:correct )?(?:answer|option|choice)(?: is)?\W*)?([a-z])(?:[).:\]]|\W*$)",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
_COPIED: Final = 0.5
"""Share of words from which on an option was copied."""
_CAPITAL = re.compile(r"\b([A-Z])\b")


def met_of(value: Any) -> Met:
    """`Met`, `not_met`, `no`, `true`; unknown is what cannot be read."""
    said = str(value).strip().casefold().replace("_", " ")
    if _UNKNOWN.search(said):
        return "unknown"
    if _UNMET.search(said):
        return "not met"
    return "met" if _MET.search(said) else "unknown"


def letter_of(value: Any, letters: Collection[str]) -> str | None:
    """`C`, `(c)`, `Option C`, `C. No, if ...`, `It is C`; None where it names none of the letters,
    or several."""
    said = str(value).strip()
    known = {one.upper(): one for one in letters}
    if leading := _LEADING.match(said):
        return known.get(leading[1].upper())
    named = {known[letter] for letter in _CAPITAL.findall(said) if letter in known}
    return named.pop() if len(named) == 1 else None


def option_of(said: str, options: Mapping[str, str]) -> str | None:
    """The letter of the option that is named, or whose words are copied; None where none is, or
    several."""
    if _LEADING.match(said):
        return letter_of(said, options)
    likes = {letter: shared_words(said, text) for letter, text in options.items()}
    best = max(likes.values(), default=0.0)
    alike = [letter for letter, like in likes.items() if like == best]
    if best >= _COPIED and len(alike) == 1:
        return alike[0]
    return letter_of(said, options)


def shared_words(one: str, other: str) -> float:
    """How far two texts have the same words, from 0 to 1 (F1)."""
    first, second = set(_WORD.findall(one.casefold())), set(_WORD.findall(other.casefold()))
    return 2 * len(first & second) / (len(first) + len(second)) if first and second else 0.0


def said_of(value: Any) -> str:
    """A line of text, whatever stands there."""
    return " ".join(str(value).split())[:_LONGEST] if isinstance(value, str | int | float) else ""


# Words of the question that a reply quotes: as they stand there, or not at all.

_FACTS_WORD = re.compile(r"\w+(?:[.,'\u2019-]\w+)*")
_FEWEST_LETTERS = 4
"""Less than this stands in any text."""
_QUOTED = re.compile(
    r"[\"\u201c\u201e\u00ab]([^\"\u201c\u201d\u201e\u00ab\u00bb]{2,300})[\"\u201d\u201c\u00bb]"
)


def fact_in(said: str, sources: Sequence[str]) -> str | None:
    """The words as the first source that has them in a row writes them; None where none has.
    Case, spaces and signs around words do not count."""
    wanted = [word.casefold() for word in _FACTS_WORD.findall(said)]
    if sum(map(len, wanted)) < _FEWEST_LETTERS:
        return None
    for source in sources:
        words = list(_FACTS_WORD.finditer(source))
        plain = [word[0].casefold() for word in words]
        for at in range(len(plain) - len(wanted) + 1):
            if plain[at : at + len(wanted)] == wanted:
                return source[words[at].start() : words[at + len(wanted) - 1].end()]
    return None


def quoted_in(text: str) -> list[str]:
    """What stands between quotation marks."""
    return _QUOTED.findall(text)
