"""The options of a question: what a model's reply says of each, the letter that follows from it by
code, and how an answer tells of the choice."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from secondlook.answer import Choice, Citation, Met
from secondlook.models.replies import objects
from secondlook.nodes.state import ChoiceData, Cited, ElementData, OptionData, Sentence, VerdictData


@dataclass(frozen=True, slots=True)
class Task:
    stem: str  # The question without its options
    options: Mapping[str, str]
    research: Sequence[Sentence]  # What was found, in sentences that stand on their evidence
    confidence: float | None  # How sure the research is


@dataclass(frozen=True, slots=True)
class Weighing:
    """The elements that decide the question, and for each option whether they are met."""

    elements: list[ElementData]
    options: list[OptionData]  # Every option, in the order of the question
    named: str | None = None  # The letter that the model would choose
    facts_dropped: int = 0  # Quotes that are not in the question
    sources_dropped: int = 0  # Sources that do not exist


@dataclass(frozen=True, slots=True)
class Derived:
    """What the verdicts amount to."""

    letters: tuple[str, ...]
    """The best; several where nothing tells them apart, none where nothing speaks for any."""
    decisive: float  # From 0.5, two are alike, to 1: all speaks for one and all against the others
    contradiction: str  # Why this cannot be all; empty where it can
    complete: tuple[str, ...]  # Options whose every element is met


def derived(weighing: Weighing) -> Derived:
    """The option whose elements are all met; else the one with most met and fewest not met."""
    ranks: dict[str, tuple[float, int]] = {}
    complete: tuple[str, ...] = ()
    for option in weighing.options:
        verdicts = [one["met"] for one in option["verdicts"]]
        met, unmet = verdicts.count("met"), verdicts.count("not met")
        ranks[option["letter"]] = ((met - unmet) / max(1, len(verdicts)), -unmet)
        if verdicts and met == len(verdicts):
            complete = (*complete, option["letter"])
    best = max(ranks.values())
    letters = tuple(letter for letter, rank in ranks.items() if rank == best)
    if len(letters) == len(ranks):  # all are alike: nothing was said
        letters = complete = ()
    scores = sorted((rank[0] for rank in ranks.values()), reverse=True)
    margin = scores[0] - scores[1] if len(scores) > 1 else 0.0
    contradiction = ""
    if not letters:
        contradiction = "All options were judged alike."
    elif len(complete) > 1:
        both = " and ".join(complete)
        contradiction = f"{both} were judged to have everything met, and one is right."
    elif not complete:
        contradiction = "No option was judged to have everything met, and one is right."
    elif weighing.named and weighing.named not in letters:
        contradiction = (
            f"{weighing.named} was named as the answer, but by what is met it is {letters[0]}."
        )
    return Derived(letters, 0.5 + margin / 4, contradiction, complete)


# A choice as an answer tells of it, and the words with which it ends the answer's text.

UNGROUNDED = "Ungrounded: from the model's own knowledge, without a source."


def choice_of(choice: ChoiceData, citations: Sequence[Citation]) -> Choice:
    """With the numbers of the answer's citations; a place that it does not cite is left out."""
    numbers = {(one.passage, one.start, one.end): one.number for one in citations}
    elements = []
    for element in choice["elements"]:
        keys = [(place["passage"], place["start"], place["end"]) for place in element["cited"]]
        cited = list(dict.fromkeys(numbers[key] for key in keys if key in numbers))
        elements.append({"text": element["text"], "citations": cited})
    texts = {one["letter"]: one["text"] for one in choice["options"]}
    text = texts.get(choice["letter"] or "")
    return Choice.model_validate({**choice, "elements": elements, "text": text})


def choice_text(choice: Choice) -> str:
    """`Answer: (C) its words`, and under a guess that it is one; empty where none was chosen."""
    if choice.letter is None:
        return ""
    said = f"Answer: ({choice.letter}) {' '.join((choice.text or '').split())}".rstrip()
    return said if choice.grounded else f"{said}\n{UNGROUNDED}"


def step_heading(number: int, phase: str) -> str:
    """The line above the findings of a step of research, where there are several."""
    return f"### Step {number}: {' '.join(phase.split())}"


# A model's reply, in JSON: the elements with their sources, and for each option and element a
# verdict with the fact that decides it. Read tolerantly: what cannot be used is left out.

_MOST_ELEMENTS = 8
_LONGEST = 600
_UNMET: Final = re.compile(r"\b(?:not[ _-]*met|unmet|no|false|fails?|does not fit)\b")
_MET: Final = re.compile(r"\b(?:met|yes|true|holds|fits)\b")
_UNKNOWN: Final = re.compile(r"\b(?:unknown|unclear|not (?:stated|known|clear))\b")
_LEADING = re.compile(
    r"\W*(?:(?:the )?(?:correct )?(?:answer|option|choice)(?: is)?\W*)?([a-z])(?:[).:\]]|\W*$)",
    re.IGNORECASE,
)
_CAPITAL = re.compile(r"\b([A-Z])\b")
_WORD = re.compile(r"\w+(?:[.,'\u2019-]\w+)*")
_FEWEST_LETTERS = 4  # Less than this stands in any text


def read_reply(text: str, task: Task) -> Weighing | None:
    """What the first object in the text says that judges an option; None where none does."""
    return next((made for found in objects(text) if (made := _weighing(found, task))), None)


def _weighing(reply: Mapping[str, Any], task: Task) -> Weighing | None:
    elements: list[ElementData] = []
    sources_dropped = 0
    for one in _objects(reply.get("elements")):
        if (text := _line(one.get("element"))) and len(elements) < _MOST_ELEMENTS:
            # `2`, `"[2]"`, `[1, "2"]`: however sources are written.
            numbers = re.findall(r"(?<!\d)\d{1,3}(?!\d)", str(one.get("sources", "")))
            known = [int(number) for number in numbers if 1 <= int(number) <= len(task.research)]
            sources_dropped += len(numbers) - len(known)
            elements.append(ElementData(text=text, cited=cited_by(known, task)))
    given = reply.get("options")
    if isinstance(given, dict):  # `{"A": {...}}`, for models that write it so
        given = [{"letter": key, **one} for key, one in given.items() if isinstance(one, dict)]
    said: dict[str, dict[str, Any]] = {}
    for one in _objects(given):
        if (letter := letter_of(one.get("letter"), task.options)) is not None:
            said.setdefault(letter, one)
    options: list[OptionData] = []
    quoted = judged = 0
    for letter, text in task.options.items():
        option = said.get(letter, {})
        verdicts = _verdicts(option.get("verdicts"), len(elements))
        judged += len(verdicts)
        quoted += sum(bool(fact) for _, fact in verdicts.values())
        made: list[VerdictData] = []
        for at in range(1, len(elements) + 1):
            met, fact = verdicts.get(at, ("unknown", ""))
            made.append(VerdictData(element=at, met=met, fact=fact_in(fact, (task.stem, text))))
        reason = _line(option.get("reason"))
        options.append(OptionData(letter=letter, text=text, verdicts=made, reason=reason))
    kept = sum(one["fact"] is not None for option in options for one in option["verdicts"])
    named = letter_of(_line(reply.get("answer")), task.options)
    return Weighing(elements, options, named, quoted - kept, sources_dropped) if judged else None


def _objects(values: Any) -> list[dict[str, Any]]:
    return [one for one in values if isinstance(one, dict)] if isinstance(values, list) else []


def _verdicts(values: Any, count: int) -> dict[int, tuple[Met, str]]:
    """Verdict and fact by element; `["met", "not met"]` are verdicts in their order."""
    judged: dict[int, tuple[Met, str]] = {}
    for at, one in enumerate(values if isinstance(values, list) else (), 1):
        verdict = {"element": at, "met": one} if isinstance(one, str) else one
        element = str(verdict.get("element")) if isinstance(verdict, dict) else ""
        if element.isdecimal() and 1 <= int(element) <= count and "met" in verdict:
            judged.setdefault(int(element), (_met(verdict["met"]), _line(verdict.get("fact"))))
    return judged


def _met(value: Any) -> Met:
    """`Met`, `not_met`, `no`, `true`; unknown is what cannot be read."""
    said = str(value).strip().casefold().replace("_", " ")
    if _UNKNOWN.search(said):
        return "unknown"
    if _UNMET.search(said):
        return "not met"
    return "met" if _MET.search(said) else "unknown"


def _line(value: Any) -> str:
    """A line of text, whatever stands there."""
    return " ".join(str(value).split())[:_LONGEST] if isinstance(value, str | int | float) else ""


def letter_of(value: Any, letters: Collection[str]) -> str | None:
    """`C`, `(c)`, `Option C`, `C. No, if ...`, `It is C`; None where it names none, or several."""
    said = str(value).strip()
    known = {one.upper(): one for one in letters}
    if leading := _LEADING.match(said):
        return known.get(leading[1].upper())
    named = {known[letter] for letter in _CAPITAL.findall(said) if letter in known}
    return named.pop() if len(named) == 1 else None


def cited_by(numbers: Sequence[int], task: Task) -> list[Cited]:
    """The places behind these sentences of the research, each once."""
    places = [place for number in numbers for place in task.research[number - 1]["cited"]]
    unlike = {(place["passage"], place["start"], place["end"]): place for place in places}
    return list(unlike.values())


def fact_in(said: str, sources: Sequence[str]) -> str | None:
    """The words as the first source that has them in a row writes them; None where none has."""
    wanted = [word.casefold() for word in _WORD.findall(said)]
    if sum(map(len, wanted)) < _FEWEST_LETTERS:
        return None
    for source in sources:
        words = list(_WORD.finditer(source))
        plain = [word[0].casefold() for word in words]
        for at in range(len(plain) - len(wanted) + 1):
            if plain[at : at + len(wanted)] == wanted:
                return source[words[at].start() : words[at + len(wanted) - 1].end()]
    return None
