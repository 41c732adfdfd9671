"""Questions that their passage does not answer, made from ones that it does.

Each maker returns None where it cannot vouch for the row: where the answer would still be there,
or where nothing in the passage tells the altered question from the one that was asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from training.data.rows import Unanswerable, without
from training.data.swaps import changed_number, swapped_name, swapped_word
from training.data.texts import holds, names, normalised, numbers, sentence_at
from training.data.wording import negated_question, reversed_word

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from training.data.articles import Article, View
    from training.data.rows import Span
    from training.data.swaps import NameUse, WordUse

SHORTEST_REST = 200
"""Characters that must be left of a passage without its answering sentence."""
LOOKED_AT = 80
"""Names of the article among which another one is looked for."""
FROM_PASSAGE = 0.6
"""How often a name is looked for in the passage itself before the rest of the article."""
WEIGHTS = {
    "sentence removed": 1.0,
    "entity swapped": 1.3,
    "number changed": 1.5,
    "word reversed": 1.5,
    "word swapped": 0.9,
    "negated": 0.35,
    "near miss": 0.5,
}
"""How much each kind is preferred where a question allows several."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the passage that answers it, and what is known around both."""

    question: str
    answers: Sequence[str]
    span: Span
    view: View
    article: Article
    near_misses: Sequence[int]
    """Passages of the article that share words with the question and hold no answer."""

    @property
    def sentence_span(self) -> Span:
        return sentence_at(self.view.sentences, *self.span)

    @property
    def sentence(self) -> str:
        start, end = self.sentence_span
        return self.view.text[start:end]

    def altered(self, how: str, question: str | None) -> Unanswerable | None:
        if question is None:
            return None
        return Unanswerable(how, self.view.number, question=question)


@dataclass(frozen=True, slots=True)
class Usage:
    names: NameUse
    words: WordUse


class Maker(Protocol):
    def __call__(self, asked: Asked, use: Usage, draw: Random, /) -> Unanswerable | None: ...


def unanswerable_rows(
    asked: Asked, *, use: Usage, draw: Random, count: int
) -> tuple[Unanswerable, ...]:
    """Up to `count` rows, each of another kind, kinds drawn by weight."""
    order = sorted(MAKERS, key=lambda how: draw.random() ** (1 / WEIGHTS[how]), reverse=True)
    rows: list[Unanswerable] = []
    for how in order:
        if len(rows) == count:
            break
        row = MAKERS[how](asked, use, draw)
        if row is not None:
            rows.append(row)
    return tuple(rows)


def sentence_removed(asked: Asked, _use: Usage, _draw: Random) -> Unanswerable | None:
    """The passage without the sentence that answers, if nothing else in it does."""
    cut = asked.sentence_span
    rest = without(asked.view.text, cut)
    said, lower = normalised(rest), rest.lower()
    if len(rest) < SHORTEST_REST or any(holds(said, lower, answer) for answer in asked.answers):
        return None
    return Unanswerable("sentence removed", asked.view.number, cut=cut)


def entity_swapped(asked: Asked, use: Usage, draw: Random) -> Unanswerable | None:
    """Another name of the passage or its article, that the answering sentence does not use."""
    known = asked.view.normalised + normalised(asked.article.title)
    targets = [
        name
        for name in names(asked.question)
        if normalised(name.text) in known and not name.after[:1].isdigit()
    ]
    here = asked.view.names
    some = draw.sample(asked.article.names, min(LOOKED_AT, len(asked.article.names)))
    elsewhere = [name for name in some if normalised(name.text) not in asked.view.normalised]
    pools = (here, elsewhere) if draw.random() < FROM_PASSAGE else (elsewhere, here)
    avoid = " ".join((asked.sentence, asked.article.title, *asked.answers))
    for pool in pools:
        question = swapped_name(
            asked.question, targets=targets, pool=pool, avoid=avoid, use=use.names, draw=draw
        )
        if question is not None:
            return asked.altered("entity swapped", question)
    return None


def number_changed(asked: Asked, _use: Usage, draw: Random) -> Unanswerable | None:
    """A year or number that the passage states, changed to one the answering sentence lacks."""
    stated = {number.text for number in asked.view.numbers}
    targets = [number for number in numbers(asked.question) if number.text in stated]
    avoid = " ".join((asked.sentence, *asked.answers))
    question = changed_number(
        asked.question, targets=targets, pool=asked.view.numbers, avoid=avoid, draw=draw
    )
    return asked.altered("number changed", question)


def word_reversed(asked: Asked, _use: Usage, draw: Random) -> Unanswerable | None:
    """most for least, before for after: with a word that the passage never uses."""
    question = reversed_word(asked.question, absent_from=asked.view.text, draw=draw, question=True)
    return asked.altered("word reversed", question)


def word_swapped(asked: Asked, use: Usage, draw: Random) -> Unanswerable | None:
    question = swapped_word(
        asked.question,
        known=asked.article.words,
        answering=asked.sentence,
        use=use.words,
        draw=draw,
    )
    return asked.altered("word swapped", question)


def negated(asked: Asked, _use: Usage, _draw: Random) -> Unanswerable | None:
    if " not " in asked.question or "n't" in asked.question:
        return None
    return asked.altered("negated", negated_question(asked.question))


def near_miss(asked: Asked, _use: Usage, _draw: Random) -> Unanswerable | None:
    if not asked.near_misses:
        return None
    return Unanswerable("near miss", asked.near_misses[0])


MAKERS: dict[str, Maker] = {
    "sentence removed": sentence_removed,
    "entity swapped": entity_swapped,
    "number changed": number_changed,
    "word reversed": word_reversed,
    "word swapped": word_swapped,
    "negated": negated,
    "near miss": near_miss,
}
