"""Questions over documents as people keep them, made from the templates in `training/files`.

A template is filled in many times, laid out in several ways and cut into passages as the product
cuts a document. Its README says how a template is written.

    python -m training.data.files FILE ...      checks templates and shows one of them filled in
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from secondlook.document import Extracted, Heading
from secondlook.retrieval.chunk import chunk, with_context
from training.data.chance import chance, is_dev
from training.data.rows import FILES, Claim, Passage, Positive, Question, Unanswerable
from training.data.values import DRAWN, value_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from random import Random

    from training.data.hotpot import Keep
    from training.data.rows import Part, Span

TEMPLATES = Path(__file__).parents[1] / "files"
NEGATIVES = 8
NO_SUCH_QUESTION = 0.25
"""How often a question for a value is answered by yes or no, which is wrong."""
OTHER_THING = 0.5
"""How often the question is also asked about another thing."""
ELSEWHERE = 0.3
"""How often a true sentence is put beside a passage that does not say it."""
FROM_DOCUMENT = 0.8
"""How often a wrong answer is one that the document has elsewhere."""
SAID = {"true": 1, "false": 0}
"""Sentences about a document, and whether it supports them."""
LOWER, BARE, SLIP = 0.35, 0.35, 0.05
"""How often a question is typed without capitals, without its question mark, with a slip."""
_TOKEN = re.compile(r"\[\[(\w+)\||\]\]|\{([^{}]+)\}")
_ASKED = re.compile(r"(?:(yes|no|list|true|false)\s+)?([\w ]+?):\s")
_WORD = re.compile(r"\w+|[^\w\s]")
_TELLING = re.compile(r"[a-z]{4,}")
_SLOT = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Asked:
    """The questions of one line; `how` is yes, no, list, none or empty for a span. With true or
    false they are sentences that the document supports, or does not."""

    how: str
    keys: tuple[str, ...]
    wordings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Template:
    name: str
    lines: tuple[str, ...]
    asked: tuple[Asked, ...]


@dataclass(slots=True)
class Document:
    """A template filled in: text, headings, where each key stands, and what was drawn."""

    text: str = ""
    headings: list[Heading] = field(default_factory=list)
    spans: dict[str, Span] = field(default_factory=dict)
    drawn: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By name: the kind and the value."""
    style: int = 0
    """How dates and amounts are written."""


# Reading templates


def templates(files: Iterable[Path]) -> list[Template]:
    return [made for file in files for made in _templates(file.read_text("utf-8"), file.name)]


def _templates(text: str, where: str) -> Iterator[Template]:
    for part in re.split(r"^=== *", text, flags=re.MULTILINE)[1:]:
        head, _, rest = part.partition("\n")
        body, line, questions = rest.partition("\n---\n")
        if not line:
            raise ValueError(f"{where}: {head!r} has no questions")
        asked = tuple(_asked(line, f"{where}: {head}") for line in questions.split("\n") if line)
        yield Template(f"{where}: {head.strip()}", tuple(body.strip("\n").split("\n")), asked)


def _asked(line: str, where: str) -> Asked:
    found = _ASKED.match(line + " ")
    if found is None:
        raise ValueError(f"{where}: no key before the questions: {line!r}")
    keys = tuple(found[2].split())
    how = found[1] or ("none" if keys == ("none",) else "")
    wordings = tuple(filter(None, (part.strip() for part in line[found.end() :].split("|"))))
    if not wordings or (how not in {"list", *SAID} and len(keys) > 1):
        raise ValueError(f"{where}: {line!r}")
    return Asked(how, () if how == "none" else keys, wordings)


# Filling in


def filled(template: Template, draw: Random) -> Document:
    """The document as the product's parsers would give its text."""
    made = Document(style=draw.randint(1, 1_000))
    columns: list[str] = []
    between = draw.choice((" | ", "; ", " "))
    after_label = draw.choice((": ", ": ", "   ", "\n", " | ", " "))
    for line in template.lines:
        cells = line.split(" | ")
        if len(cells) > 1 and not line.startswith("#"):
            at = len(made.text)
            _add_row(made, cells, columns, between, draw)
            columns = columns or made.text[at:].rstrip("\n").split(" | ")
            continue
        columns = []
        if heading := re.match(r"(#+) +", line):
            at = len(made.text)
            _add(made, line[heading.end() :], draw)
            made.headings.append(Heading(len(heading[1]), at, len(made.text)))
            made.text += "\n\n"
        elif " :: " in line:
            label, value = line.split(" :: ", 1)
            _add(made, label, draw)
            made.text += after_label
            _add(made, value, draw)
            made.text += "\n"
        else:
            _add(made, line, draw)
            made.text += "\n"
    made.text = made.text.rstrip() + "\n"
    return made


def _add_row(
    made: Document, cells: Sequence[str], columns: Sequence[str], between: str, draw: Random
) -> None:
    """Cells after "; " say their column, as those of sheets do. The first row names the columns."""
    for at, cell in enumerate(cells):
        made.text += (between if columns else " | ") if at else ""
        if between == "; " and at < len(columns):
            made.text += f"{columns[at]}: "
        _add(made, cell, draw)
    made.text += "\n"


def _add(made: Document, piece: str, draw: Random) -> None:
    """One line or cell; marks are taken out and their places noted."""
    opened: list[tuple[str, int]] = []
    at = 0
    for token in _TOKEN.finditer(piece):
        made.text += piece[at : token.start()]
        at = token.end()
        if token[1]:
            opened.append((token[1], len(made.text)))
        elif token[2]:
            name, _, kind = token[2].partition(":")
            value = _value(made, name, kind, draw)
            if kind:
                made.spans.setdefault(name, (len(made.text), len(made.text) + len(value)))
            made.text += value
        elif opened:
            key, start = opened.pop()
            made.spans.setdefault(key, (start, len(made.text)))
        else:
            raise ValueError(f"']]' closes nothing: {piece!r}")
    if opened:
        raise ValueError(f"'[[' is not closed: {piece!r}")
    made.text += piece[at:]


def _value(made: Document, name: str, kind: str, draw: Random) -> str:
    if kind:
        taken = {value for _, value in made.drawn.values()}
        value = next(
            (v for _ in range(20) if (v := value_of(kind, draw, made.style)) not in taken),
            value_of(kind, draw, made.style),
        )
        made.drawn[name] = (kind, value)
        return value
    if name in made.drawn:
        return made.drawn[name][1]
    if name.split(maxsplit=1)[0] in DRAWN:
        return value_of(name, draw, made.style)
    raise ValueError(f"{{{name}}} is neither drawn before nor a kind")


def said(wording: str, made: Document, other: str = "", draw: Random | None = None) -> str:
    """A question with its slots filled in; the slot `other` gets a value that is not its own."""

    def fill(token: re.Match[str]) -> str:
        kind, value = made.drawn[token[2]]
        if token[2] != other or draw is None:
            return value
        found = (value_of(kind, draw, made.style) for _ in range(20))
        return next((new for new in found if new not in made.text), "")

    return _TOKEN.sub(fill, wording)


def as_typed(question: str, draw: Random) -> str:
    """As people type: often without capitals, without a question mark, now and then with a slip."""
    if draw.random() < BARE:
        question = question.rstrip("?").rstrip()
    if draw.random() < LOWER:
        question = question.lower()
    if draw.random() < SLIP and len(question) > 12:  # noqa: PLR2004
        at = draw.randrange(3, len(question) - 3)
        if question[at : at + 2].isalpha():
            question = question[:at] + question[at + 1] + question[at] + question[at + 2 :]
    return question


# Rows


@dataclass(frozen=True, slots=True)
class Cut:
    """A passage of a document, with what stands above it, and where its own words begin."""

    passage: Passage
    start: int
    end: int
    shift: int
    """Added to a place in the document, gives the place in the passage."""

    def place(self, span: Span) -> Span | None:
        if self.start <= span[0] and span[1] <= self.end:
            return span[0] + self.shift, span[1] + self.shift
        return None


def passages_of(made: Document, title: str) -> list[Cut]:
    spans = chunk(Extracted(made.text, headings=tuple(made.headings)), _token_starts)
    found = []
    for span in spans:
        text = made.text[span.start : span.end]
        whole = with_context(title, span.heading, text)
        shift = len(whole) - len(text) - span.start
        found.append(Cut(Passage(title, whole), span.start, span.end, shift))
    return found


def _token_starts(text: str) -> list[int]:
    return [found.start() for found in _WORD.finditer(text)]


@dataclass(frozen=True, slots=True)
class Filled:
    """A document with its passages and their numbers in the training set."""

    template: Template
    time: int
    made: Document
    cuts: Sequence[Cut]
    numbers: Sequence[int]

    def placed(self, span: Span) -> Iterator[tuple[Cut, int, Span]]:
        """The passages that hold a span of the document, with its place in each."""
        for cut, number in zip(self.cuts, self.numbers, strict=True):
            if place := cut.place(span):
                yield cut, number, place


@dataclass(slots=True)
class Maker:
    """Rows of all templates. Nothing of a template that is held out is trained on."""

    keep: Keep
    seed: int
    times: int
    """How often each template is filled in."""
    dev_share: float
    dropped: Counter[str]

    def documents(self, found: Sequence[Template]) -> Iterator[Filled]:
        for time in range(self.times):
            for template in found:
                draw = chance(self.seed, f"{template.name} {time}")
                made = filled(template, draw)
                cuts = passages_of(made, _title(template, made, draw))
                yield Filled(template, time, made, cuts, [self.keep(c.passage) for c in cuts])

    def part(self, template: Template) -> Part:
        return "dev" if is_dev(self.seed, template.name, self.dev_share) else "train"

    def rows(self, found: Sequence[Template]) -> Iterator[tuple[Part, Question]]:
        documents = list(self.documents(found))
        parts = {document.template.name: self.part(document.template) for document in documents}
        pools = {
            part: Pool(one for one in documents if parts[one.template.name] == part)
            for part in set(parts.values())
        }
        for document in documents:
            part = parts[document.template.name]
            for line, asked in enumerate(document.template.asked):
                if asked.how in SAID:
                    continue
                key = f"{FILES} {document.template.name} {document.time}.{line}"
                draw = chance(self.seed, key)
                row = self._question(key, document, asked, draw)
                if row is not None:
                    yield part, replace(row, negatives=pools[part].negatives(row, document, draw))

    def _question(self, key: str, document: Filled, asked: Asked, draw: Random) -> Question | None:
        made, wording = document.made, draw.choice(asked.wordings)
        positives: list[Positive] = []
        nothing: list[Unanswerable] = []
        answers: tuple[str, ...] = ()
        if asked.how == "none":
            nothing = [Unanswerable("near: not said", number) for number in document.numbers]
        else:
            spans = [made.spans[key] for key in asked.keys]
            wanted = min(start for start, _ in spans), max(end for _, end in spans)
            answers = (made.text[slice(*wanted)],)
            for cut, number, place in document.placed(wanted):
                positives.append(Positive(number, place))
                nothing += _without_its_line(cut, number, place)
                if other := _other_question(made, wording, cut, draw):
                    nothing.append(Unanswerable("files: other thing", number, question=other))
            if not positives:
                self.dropped["files: an answer over two passages"] += 1
                return None
        question = as_typed(said(wording, made), draw)
        some = tuple(draw.sample(nothing, min(len(nothing), 3)))
        return Question(key, FILES, question, answers, tuple(positives[:2]), (), some)

    def claims(self, found: Sequence[Template]) -> Iterator[tuple[Part, Claim]]:
        """Question and answer together: right, beside the right one, and yes against no."""
        for document in self.documents(found):
            draw = chance(self.seed, f"claims {document.template.name} {document.time}")
            for asked in document.template.asked:
                for claim in _claims(document, asked, draw):
                    yield self.part(document.template), claim


def _without_its_line(cut: Cut, number: int, place: Span) -> Iterator[Unanswerable]:
    text = cut.passage.text
    start, end = text.rfind("\n", 0, place[0]) + 1, text.find("\n", place[1])
    end = len(text) if end < 0 else end
    rest = text[:start] + text[end:]
    if start and text[slice(*place)].lower() not in rest.lower() and len(rest) > len(text) // 3:
        yield Unanswerable("near: line taken out", number, cut=(start, end))


def _other_question(made: Document, wording: str, cut: Cut, draw: Random) -> str:
    """The same question about another invoice, person or town than the passage names."""
    names = [name for name in _SLOT.findall(wording) if made.drawn[name][1] in cut.passage.text]
    if not names:
        return ""
    other = said(wording, made, other=draw.choice(names), draw=draw)
    return "" if other == said(wording, made) else as_typed(other, draw)


class Pool:
    """Where negatives come from: other passages of the document, and those of other templates that
    share most words with the question."""

    def __init__(self, documents: Iterable[Filled]) -> None:
        self._held = [
            (document.template.name, number, cut.passage.text.lower())
            for document in documents
            for number, cut in zip(document.numbers, document.cuts, strict=True)
        ]
        by_word: dict[str, list[int]] = defaultdict(list)
        for at, (_, _, text) in enumerate(self._held):
            for word in set(_TELLING.findall(text)):
                by_word[word].append(at)
        most = len(self._held) // 8
        self._by_word = {word: at for word, at in by_word.items() if len(at) <= most}

    def negatives(self, row: Question, document: Filled, draw: Random) -> tuple[int, ...]:
        taken = {right.passage for right in row.positives} | {u.passage for u in row.unanswerable}
        shared: Counter[int] = Counter()
        for word in set(_TELLING.findall(row.question.lower())):
            places = self._by_word.get(word, [])
            shared.update(draw.sample(places, min(len(places), 40)))
        chosen = [number for number in document.numbers if number not in taken][:4]
        for at, _ in shared.most_common(60):
            name, number, text = self._held[at]
            other = name != document.template.name
            if other and not any(answer.lower() in text for answer in row.answers):
                chosen.append(number)
        return tuple(dict.fromkeys(chosen))[:NEGATIVES]


def _claims(document: Filled, asked: Asked, draw: Random) -> Iterator[Claim]:
    made, wording = document.made, draw.choice(asked.wordings)
    if asked.how in SAID:
        yield from _sentences(document, asked, wording, draw)
        return
    question = as_typed(said(wording, made), draw)
    if asked.how == "none" and made.drawn:
        _, answer = draw.choice(list(made.drawn.values()))
        yield _claim(question, answer, draw.choice(document.numbers), 0, "not said")
    if asked.how in {"none", "list"}:
        return
    key = asked.keys[0]
    place = next(document.placed(made.spans[key]), None)
    if place is None:
        return
    cut, number, _ = place
    if asked.how:
        yield _claim(question, asked.how, number, 1, "yes or no")
        yield _claim(question, "no" if asked.how == "yes" else "yes", number, 0, "yes or no")
        return
    answer = made.text[slice(*made.spans[key])]
    yield _claim(question, answer, number, 1, "answer")
    if draw.random() < NO_SUCH_QUESTION:
        yield _claim(question, draw.choice(("yes", "no")), number, 0, "no such question")
    if wrong := _beside(made, key, answer, draw):
        yield _claim(question, wrong, number, 0, "beside")
    if (other := _other_question(made, wording, cut, draw)) and draw.random() < OTHER_THING:
        yield _claim(other, answer, number, 0, "other thing")


def _sentences(document: Filled, asked: Asked, wording: str, draw: Random) -> Iterator[Claim]:
    """A sentence; a true one also with another value in it, and beside a passage that is about
    something else."""
    made = document.made
    spans = [made.spans[key] for key in asked.keys]
    whole = min(start for start, _ in spans), max(end for _, end in spans)
    place = next(document.placed(whole), None)
    if place is None:
        return
    cut, number, _ = place

    def claim(text: str, label: Literal[0, 1], passage: int, how: str) -> Claim:
        return Claim(text, label, f"said: {how}", passage=passage)

    sentence = said(wording, made)
    yield claim(sentence, 1 if SAID[asked.how] else 0, number, asked.how)
    if asked.how == "false":
        return
    names = _SLOT.findall(wording)
    changed = {name: _beside(made, name, made.drawn[name][1], draw) for name in names}
    changed = {name: value for name, value in changed.items() if value}
    if changed:
        name = draw.choice(list(changed))
        other = said(wording.replace(f"{{{name}}}", changed[name]), made)
        if other != sentence:
            yield claim(other, 0, number, "another value")
    held = [made.text[slice(*span)] for span in spans]
    apart = [
        other
        for one, other in zip(document.cuts, document.numbers, strict=True)
        if one is not cut and not any(text in one.passage.text for text in held)
    ]
    if apart and draw.random() < ELSEWHERE:
        yield claim(sentence, 0, draw.choice(apart), "elsewhere")


def _beside(made: Document, key: str, answer: str, draw: Random) -> str:
    """A value of the same kind that stands elsewhere in the document, or one made up."""
    kind = made.drawn[key][0] if key in made.drawn else ""
    alike = [
        made.text[slice(*span)]
        for name, span in made.spans.items()
        if name != key and made.drawn.get(name, ("",))[0].split()[:1] == kind.split()[:1]
    ]
    alike = [value for value in alike if value not in answer and answer not in value]
    if alike and (not kind or draw.random() < FROM_DOCUMENT):
        return draw.choice(alike)
    made_up = value_of(kind, draw, made.style) if kind else ""
    return "" if made_up == answer else made_up


def _claim(question: str, answer: str, number: int, label: Literal[0, 1], how: str) -> Claim:
    return Claim(f"{question} {answer}", label, f"{FILES}: {how}", passage=number)


def _title(template: Template, made: Document, draw: Random) -> str:
    """The name of the file, or its first heading, as the product has it."""
    name = template.name.split(": ", 1)[1]
    if made.headings and draw.random() < 0.5:  # noqa: PLR2004
        first = made.headings[0]
        return made.text[first.start : first.end]
    return draw.choice((name, name.replace(" ", "_"), name.title().replace(" ", "")))


@cache
def own_templates() -> tuple[Template, ...]:
    return tuple(templates(sorted(TEMPLATES.glob("*.txt"))))


# Checking templates


def main(files: Sequence[str]) -> int:
    wrong = 0
    found = templates(map(Path, files))
    for template in found:
        for fault in faults(template):
            sys.stderr.write(f"{template.name}: {fault}\n")
            wrong += 1
    wordings = sum(len(asked.wordings) for template in found for asked in template.asked)
    lines = sum(len(template.asked) for template in found)
    sys.stdout.write(f"{len(found)} templates, {lines} answers, {wordings} wordings\n")
    if found and not wrong:
        template = chance(0, str(len(found))).choice(found)
        sys.stdout.write(f"\n{template.name}\n{filled(template, chance(1, 'shown')).text}\n")
    return 1 if wrong else 0


def faults(template: Template) -> Iterator[str]:
    try:
        made = filled(template, chance(0, template.name))
    except (ValueError, KeyError, IndexError) as fault:
        yield f"cannot be filled in: {fault}"
        return
    if left := re.search(r"\[\[|\]\]|[{}]|::", made.text):
        yield f"{left[0]!r} is left in the text: {made.text[left.start() - 30 : left.end() + 30]!r}"
    for asked in template.asked:
        for key in asked.keys:
            if key not in made.spans:
                yield f"no {key!r} in the document"
        for wording in asked.wordings:
            names = _SLOT.findall(wording)
            if unknown := [name for name in names if name not in made.drawn]:
                yield f"question with unknown {unknown}: {wording!r}"
    marks = re.findall(r"\[\[(\w+)\|", "\n".join(template.lines))
    asked_for = {key for asked in template.asked for key in asked.keys}
    for key in marks:
        if key not in asked_for:
            yield f"nobody asks for {key!r}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
