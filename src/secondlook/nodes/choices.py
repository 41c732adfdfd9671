"""Sets the choices apart from the question. Whoever plans, searches and writes works on what is
left, and so cannot look for what it is offered."""

from __future__ import annotations

import hashlib
import json
import re
import string
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from langgraph.runtime import Runtime  # noqa: TC002
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from secondlook.errors import BudgetExceeded, ModelError, UnusableReply
from secondlook.nodes.context import Context  # noqa: TC001
from secondlook.nodes.state import Choices, Question, Trace, step, trouble
from secondlook.retrieval.terms import STOP_WORDS, query_terms, terms
from secondlook.roles.follow_up import names
from secondlook.roles.prompts import load
from secondlook.roles.prompts.marks import CONTROL_MARK, EVIDENCE_MARK, evidence_marks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


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


# Turns the choices into neutral matters to look into, where the question alone names no facts.


class Issues(TypedDict):
    issues: list[str]
    """Neutral matters in alphabetical order; empty where the question says enough."""


class Offered(Question, Choices):
    """What is asked, and what there is to choose from."""


class Raised(Issues, Trace):
    pass


async def issues(state: Offered, runtime: Runtime[Context]) -> Raised:
    context = runtime.context
    found, why, warnings = await _found(context, state["question"], state.get("choices", {}))
    said = f"{len(found)} matters to look into: {'; '.join(found)}." if found else f"None: {why}."
    told = step("issues", said, issues=len(found))
    return {"issues": found, "steps": [told], "warnings": warnings}


async def _found(
    context: Context, stem: str, choices: Mapping[str, str]
) -> tuple[list[str], str, list[dict[str, Any]]]:
    """The matters, or why there are none."""
    if not choices:
        return [], "there are no choices", []
    if not context.models.serves("plan"):
        return [], "there is no model to name them", []

    if not names_no_facts(stem):
        return [], "the question itself says what to look for", []
    try:
        return await issues_of(context, stem, choices.values()), "", []
    except (ModelError, BudgetExceeded) as error:
        consequence = "the plan was made from the question alone"
        return [], "no usable ones were named", [trouble("issues", error, consequence)]


# A question as it is typed, parted into what is asked and what there is to choose from.

MOST_CHOICES: Final = len(string.ascii_uppercase)
"""Choices of one question: there are no more letters."""
HEADING: Final = "Answer choices:"
_WORDED: Final = (
    r"(?:\*\*|#+ )?(?:(?:possible )?answer (?:choices|options)|options|choices|possible answers)"
    r"(?:\*\*)?:(?:\*\*)?(?=\s|\Z)"
)
_HEADINGS: Final = (
    re.compile(rf"^[ \t]*{_WORDED}", re.IGNORECASE | re.MULTILINE),
    re.compile(rf"(?<=\?)[ \t]+{_WORDED}", re.IGNORECASE),
)
"""On a line of its own, or after the question."""
_CUE = re.compile(r"\n\s*(?:(?:your |the )?(?:correct |best )?answer(?: is)?):\s*\Z", re.IGNORECASE)
"""What exam papers end in; it asks for nothing."""


@dataclass(frozen=True, slots=True)
class Parsed:
    stem: str
    """What is asked, without the choices."""
    choices: dict[str, str] = field(default_factory=dict)
    """By letter from A on, in their order; empty where there are none."""


def parsed(text: str) -> Parsed:
    """The question and its choices. Without a list of choices that ends it, the text is whole."""
    tidy = _CUE.sub("", text.replace("\r\n", "\n").strip())
    apart = from_object(tidy) or _under_heading(tidy) or lettered(tidy)
    if apart is None or not 1 < len(apart.texts) <= MOST_CHOICES:
        return Parsed(text.strip())
    return Parsed(apart.stem, by_letter(apart.texts))


def rendered(stem: str, choices: Mapping[str, str]) -> str:
    """The whole in one text, as `parsed` reads it."""
    if not choices:
        return stem
    lines = [f"({letter}) {' '.join(text.split())}" for letter, text in choices.items()]
    return "\n".join([stem.rstrip(), "", HEADING, *lines])


def by_letter(texts: Sequence[str]) -> dict[str, str]:
    return dict(zip(string.ascii_uppercase, texts, strict=False))


def _under_heading(text: str) -> Apart | None:
    """What stands under the last "Answer choices:", where all of it is a list."""
    for heading in _HEADINGS:
        for found in reversed(list(heading.finditer(text))):
            stem, under = text[: found.start()].rstrip(), text[found.end() :]
            apart = stem and (lettered(under, stem=stem) or listed(under, stem=stem))
            if apart:
                return apart
    return None


# Choices by letter: "(A) red (B) blue", "A. red", "a) red", each on a line or in one.

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
        if (
            run
            and not on_lines
            and all(
                (not text[text.rfind("\n", 0, mark.start) + 1 : mark.start].strip())
                for mark in run.marks
            )
        ):
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


def _run(text: str, marks: Sequence[_Mark], *, on_lines: bool) -> _Run | None:
    """The run that begins with the first mark. On lines every later mark must belong to it; in
    running text a letter out of order is a reference, such as "both (A) and (B)"."""
    alike = [mark for mark in marks if mark.shape == marks[0].shape]
    chosen: list[_Mark] = []
    for mark in alike:
        if mark.place == len(chosen):
            chosen.append(mark)
        elif on_lines or (
            not mark.place
            and not (_POINTING.search(text[max(0, mark.start - _NEAR) : mark.start]) is not None)
        ):
            return None
    ends = [*(mark.start for mark in chosen[1:]), len(text)]
    raw = tuple(text[mark.end : end] for mark, end in zip(chosen, ends, strict=True))
    nothing = _BLANK if on_lines else _ONLY_JOINS
    if len(chosen) < 2 or any(nothing.fullmatch(each) for each in raw):  # noqa: PLR2004
        return None
    return _Run(tuple(chosen), text[: chosen[0].start].rstrip(), raw, on_lines)


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
    if not run.on_lines and all(
        _JOINED.search(f" {each}") or each.rstrip().endswith((",", ";")) for each in texts[:-1]
    ):
        texts = [_JOINED.sub("", f" {each}").rstrip(" ,;\t\n") for each in texts]
        texts[-1] = texts[-1].rstrip("?") if "?" not in stem else texts[-1]
    whole = f"{stem.rstrip()}\n{rest}" if rest else stem.rstrip()
    return Apart(whole, tuple(" ".join(each.split()) for each in texts))


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


# Choices without letters: numbers, bullets or plain lines. Only where a heading announces them,
# for any text may hold such a list.

_NUMBERED_LINE = re.compile(r"^[ \t]*\(?(?P<number>\d{1,2})[.):][ \t]+", re.MULTILINE)
_NUMBERED = re.compile(r"(?<!\S)\(?(?P<number>\d{1,2})[.)]\s+")
_BULLET = re.compile(r"^[ \t]*[-*+\u2022\u2013\u25e6][ \t]+", re.MULTILINE)


def listed(text: str, *, stem: str) -> Apart | None:
    """All of the text as a list; None where some of it is outside of one."""
    texts = (
        _numbered(text, _NUMBERED_LINE)
        or _numbered(text, _NUMBERED)
        or _bulleted(text)
        or _on_lines(text)
    )
    tidy = tuple(" ".join(each.split()) for each in texts or ())
    return Apart(stem, tidy) if len(tidy) > 1 and all(tidy) else None


def _numbered(text: str, form: re.Pattern[str]) -> list[str] | None:
    found = list(form.finditer(text))
    numbers = [int(one["number"]) for one in found]
    if len(numbers) < 2 or numbers != list(range(1, len(numbers) + 1)):  # noqa: PLR2004
        return None
    return _between(text, found)


def _bulleted(text: str) -> list[str] | None:
    found = list(_BULLET.finditer(text))
    return _between(text, found) if found else None


def _between(text: str, found: Sequence[re.Match[str]]) -> list[str] | None:
    if text[: found[0].start()].strip():
        return None
    ends = [*(one.start() for one in found), len(text)]
    return [text[one.end() : end] for one, (_, end) in zip(found, pairwise(ends), strict=True)]


def _on_lines(text: str) -> list[str] | None:
    """Each line a choice, where they follow on the heading without a gap."""
    lines = text.strip().split("\n")
    marked = any(form.search(text) for form in (LINE_MARK, _NUMBERED_LINE, _BULLET))
    return lines if not marked and all(line.strip() for line in lines) else None


# Choices in a JSON object: {"question": "...", "choices": {...} or [...]}.

_ASKING: Final = ("question", "stem")
_CHOOSING: Final = ("choices", "options", "answer_choices")
_BEFORE: Final = ("context", "background", "facts", "passage", "prompt")
"""What the question builds on, put before it."""
_ABOUT: Final = frozenset({"id", "answer", "answer_index", "label", "subject", "topic", "source"})
"""What is told about a question and is no part of it. Who researches is not told the answer."""


def from_object(text: str) -> Apart | None:
    """The question of an object whose every field is known; None for anything else."""
    fields = _fields(text)
    if fields is None:
        return None
    stem, texts = _one_of(fields, _ASKING), _texts(_one_of(fields, _CHOOSING))
    before = [fields[name] for name in _BEFORE if fields.get(name)]
    unknown = set(fields).difference(_ASKING, _CHOOSING, _BEFORE, _ABOUT)
    told = [*before, stem]
    if unknown or texts is None or not all(isinstance(each, str) for each in told):
        return None
    return Apart("\n".join(each.strip() for each in told), texts) if stem.strip() else None


def in_order(choices: Mapping[str, Any]) -> list[Any] | None:
    """The texts in the order of their letters or numbers; None where the names are neither."""
    names = [str(name).strip().strip("().").upper() for name in choices]
    letters = [chr(ord("A") + place) for place in range(len(names))]
    numbers = [str(number) for number in range(1, len(names) + 1)]
    for wanted in (letters, numbers):
        if sorted(names) == sorted(wanted):
            by_name = dict(zip(names, choices.values(), strict=True))
            return [by_name[name] for name in wanted]
    return None


def _fields(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return {name.casefold(): each for name, each in value.items()}


def _one_of(fields: dict[str, Any], names: tuple[str, ...]) -> Any:
    given = [fields[name] for name in names if name in fields]
    return given[0] if len(given) == 1 else None


def _texts(choices: Any) -> tuple[str, ...] | None:
    given = in_order(choices) if isinstance(choices, dict) else choices
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        return None
    tidy = tuple(" ".join(each.split()) for each in given)
    return tidy if all(tidy) else None


# What there is to choose from, as neutral matters to look into: told by a model, cut by code.

NODE: Final = "issues"
MOST_ISSUES: Final = 6
"""Matters that a plan is given: it has three steps."""
_LONGEST: Final = 12
_FEW: Final = 8
"""Words that say something, in a question that names no facts."""
_ALIKE: Final = 0.7
_STOP_WORDS: Final = frozenset(STOP_WORDS["english"])
_ASKS = re.compile(
    r"(?:(?:in|at|on|by|for|to|under|of) )?(?:which|what)\b|.*\bwhich of (?:the following|these)\b",
    re.IGNORECASE,
)
_OFFICE = re.compile(r"\b(?:the|an?) [A-Z][a-z]+(?! [A-Z])")
"""The Senate, a State: a capital that names no one."""
_TWO_SENTENCES = re.compile(r"[.!?][\"'\u201d)]*\s+\S")
_POINTS = re.compile(r"\A\W*[A-H1-9][.):]|\b(?i:option|choice|answer|statement)s? (?:[A-H]|\d)\b")


class IssueList(BaseModel):
    """What a model is asked for."""

    model_config = ConfigDict(extra="ignore")

    issues: list[str] = Field(description="Neutral matters to look into, as short noun phrases.")


def names_no_facts(stem: str) -> bool:
    """Whether the question alone gives nothing to search for: "Which act would be improper?"."""
    text = " ".join(stem.split())
    plain = _OFFICE.sub("the office", text[:1].lower() + text[1:])
    if not _ASKS.match(text) or _TWO_SENTENCES.search(text) or re.search(r"\d", text):
        return False
    return next(names(plain), None) is None and len(set(query_terms(text))) <= _FEW


def shuffled(texts: Iterable[str]) -> list[str]:
    """In an order that comes from each text alone: whatever order and letters they had."""
    return sorted(texts, key=lambda text: hashlib.sha256(text.encode()).hexdigest())


async def issues_of(context: Context, stem: str, texts: Iterable[str]) -> list[str]:
    """In one call. Raises ModelError or BudgetExceeded, also where nothing of it is usable."""
    prompt, options = load(NODE), shuffled(" ".join(text.split()) for text in texts)
    evidence = evidence_marks(context.run).wrap(options)
    reply = await context.models.ask(
        "plan",
        prompt.render(question=" ".join(stem.split()), evidence=evidence),
        IssueList,
        node=NODE,
        max_tokens=prompt.max_tokens,
    )
    made = neutral(reply.value.issues if reply.value else [], options)
    if not made:
        raise UnusableReply(f"{context.models.name('plan')} named no neutral matter")
    return made


def neutral(said: Iterable[str], options: Iterable[str]) -> list[str]:
    """Of what a model named: what copies no option and points to none, once each and sorted."""
    offered = [" ".join(text.split()) for text in options]
    tidy = (" ".join(issue.split()).strip("-*\u2022 .;\"'") for issue in said)
    once = {issue.casefold(): issue for issue in tidy if _is_usable(issue, offered)}
    return [once[name] for name in sorted(once)][:MOST_ISSUES]


def _is_usable(issue: str, options: list[str]) -> bool:
    if (
        not issue
        or len(issue.split()) > _LONGEST
        or all(word.casefold() in _STOP_WORDS for word in re.findall(r"\w+", issue))
    ):
        return False
    if CONTROL_MARK.search(issue) or EVIDENCE_MARK.search(issue) or _POINTS.search(issue):
        return False
    return not any(_copies(issue, option) for option in options)


def _copies(issue: str, option: str) -> bool:
    """Word for word, whole or in part, or nearly so."""
    own, other = terms(issue), terms(option)
    together = set(own) | set(other)
    if together and len(set(own) & set(other)) >= _ALIKE * len(together):
        return True
    one, all_of_it = f" {' '.join(own)} ", f" {' '.join(other)} "
    return one in all_of_it or (len(other) > 1 and all_of_it in one)
