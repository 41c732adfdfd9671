"""Claims about our own passages: true sentences, and the same with one thing changed.

A true sentence is also said in other words (a clause dropped, its parts in another order, a
question with its answer), and changed from there: a changed claim never differs from a true one in
style, only in what it says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from training.data.rows import TOGETHER, Claim
from training.data.statements import statement
from training.data.swaps import changed_number, exchanged_names, shuffled, swapped_name
from training.data.texts import names, normalised, numbers, word_count
from training.data.wording import negated_statement, reversed_word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from random import Random

    from training.data.articles import Article, View
    from training.data.rows import Span
    from training.data.squad import Source
    from training.data.swaps import NameUse

SENTENCES = 3
"""Sentences taken from each passage."""
FEWEST_WORDS, MOST_WORDS = 7, 45
WHOLE_PASSAGE = 0.6
"""How often the premise is the whole passage; else the sentence with its neighbours."""
REWORDED = 0.6
BESIDE, NO_SUCH_QUESTION = 0.5, 0.1
REMOVED, SIBLING = 0.4, 0.4
"""How often a passage gives a claim that it does not make at all."""

_WEIGHTS = {"negated": 0.45, "names exchanged": 1.5, "word reversed": 2.0}
"""How much a way to change a claim is preferred, where several would do."""

_PARENTHESIS = re.compile(r" \([^()]*\)")
_RELATIVE = re.compile(r", (?:which|who|whose|where) [^,;()]+,(?= (?!and|or|but)\w)")
_TAIL = re.compile(
    r",(?: \w+)? (?:\w+ing|which|who|where|while|although|because|including) [^,;]+(?=\.$)"
)
_OPENING = re.compile(r"^(In|On|At|During|By|Since|After|Before) ([^,;:]{3,40}), ([A-Za-z].+)\.$")
_MOVABLE = frozenset(("In", "On", "At", "During", "Since"))


@dataclass(frozen=True, slots=True)
class Scene:
    """A passage, its article, and how names are used."""

    view: View
    article: Article
    use: NameUse


@dataclass(frozen=True, slots=True)
class Premise:
    passage: int
    keep: Span | None = None
    cut: Span | None = None

    def claim(self, hypothesis: str, label: Literal[0, 1], how: str) -> Claim:
        return Claim(
            hypothesis=hypothesis,
            label=label,
            source=f"own: {how}",
            passage=self.passage,
            keep=self.keep,
            cut=self.cut,
        )


def passage_claims(scene: Scene, questions: Sequence[Source], *, draw: Random) -> Iterator[Claim]:
    """Pairs of a true and a changed claim, and claims that the passage does not make."""
    spans = [span for span in scene.view.sentences if _fit(scene.view.text[slice(*span)])]
    chosen = draw.sample(spans, min(SENTENCES, len(spans)))
    for span in chosen:
        yield from _sentence_pair(scene, span, draw)
    for source in questions:
        yield from _answer_pair(scene, source, draw)
        yield from _asked_and_answered(scene, source, questions, draw)
    if chosen and draw.random() < REMOVED:
        yield from _removed(scene, chosen[0])
    if draw.random() < SIBLING:
        yield from _of_sibling(scene, draw)


def _fit(sentence: str) -> bool:
    complete = sentence[:1].isupper() and sentence.endswith(".")
    return complete and FEWEST_WORDS <= word_count(sentence) <= MOST_WORDS


def _sentence_pair(scene: Scene, span: Span, draw: Random) -> Iterator[Claim]:
    sentence = scene.view.text[slice(*span)]
    how, said = reworded(sentence, draw) if draw.random() < REWORDED else ("stated", sentence)
    changed = altered(said, scene, draw)
    if changed is None:
        return
    premise = Premise(scene.view.number, keep=_around(scene.view, span, draw))
    yield premise.claim(said, 1, how)
    yield premise.claim(changed[1], 0, changed[0])


def _around(view: View, span: Span, draw: Random) -> Span | None:
    if draw.random() < WHOLE_PASSAGE:
        return None
    place = view.sentences.index(span)
    first = max(0, place - draw.randint(0, 1))
    last = min(len(view.sentences) - 1, place + draw.randint(0, 1))
    return view.sentences[first][0], view.sentences[last][1]


def reworded(sentence: str, draw: Random) -> tuple[str, str]:
    """The sentence with a clause less or its opening at the end, if its form allows that."""
    ways: list[tuple[str, Callable[[str], str]]] = [
        ("clause dropped", without_clause),
        ("reordered", reordered),
        ("opening dropped", without_opening),
    ]
    for how, way in shuffled(ways, draw):
        said = way(sentence)
        if said != sentence and word_count(said) >= FEWEST_WORDS - 2:
            return how, said
    return "stated", sentence


def without_clause(sentence: str) -> str:
    """Without brackets, or without one relative clause or the participle at its end."""
    bare = _PARENTHESIS.sub("", sentence)
    if bare != sentence:
        return bare
    inner = _RELATIVE.sub("", sentence, count=1)
    return inner if inner != sentence else _TAIL.sub("", sentence)


def reordered(sentence: str) -> str:
    match = _OPENING.match(sentence)
    if match is None or match[1] not in _MOVABLE or "," in match[3]:
        return sentence
    return f"{_capital(match[3])} {match[1].lower()} {match[2]}."


def without_opening(sentence: str) -> str:
    match = _OPENING.match(sentence)
    return sentence if match is None else f"{_capital(match[3])}."


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def altered(said: str, scene: Scene, draw: Random) -> tuple[str, str] | None:
    """The claim with one thing changed, in the first way that its words allow."""
    ways: list[tuple[str, Callable[[str, Scene, Random], str | None]]] = [
        ("number changed", _other_number),
        ("name swapped", _other_name),
        ("names exchanged", _exchanged),
        ("word reversed", _reversed),
        ("negated", _negated),
    ]
    weights = {"negated": 0.45, "names exchanged": 1.5, "word reversed": 2.0}
    order = sorted(
        ways, key=lambda way: draw.random() ** (1 / weights.get(way[0], 1)), reverse=True
    )
    for how, way in order:
        changed = way(said, scene, draw)
        if changed is not None and normalised(changed) not in scene.view.normalised:
            return how, changed
    return None


def _other_number(said: str, scene: Scene, draw: Random) -> str | None:
    return changed_number(
        said, targets=numbers(said), pool=scene.view.numbers, avoid=said, draw=draw
    )


def _other_name(said: str, scene: Scene, draw: Random) -> str | None:
    targets = names(said)
    for pool in (scene.view.names, scene.article.names):
        changed = swapped_name(
            said, targets=targets, pool=pool, avoid=scene.article.title, use=scene.use, draw=draw
        )
        if changed is not None:
            return changed
    return None


def _exchanged(said: str, scene: Scene, draw: Random) -> str | None:
    return exchanged_names(said, use=scene.use, draw=draw)


def _reversed(said: str, _scene: Scene, draw: Random) -> str | None:
    return reversed_word(said, absent_from=said, draw=draw, question=False)


def _negated(said: str, _scene: Scene, _draw: Random) -> str | None:
    return negated_statement(said)


def _answer_pair(scene: Scene, source: Source, draw: Random) -> Iterator[Claim]:
    """A question with its answer as a statement, and the same with something changed."""
    said = statement(source.question, source.answers[0])
    if said is None:
        return
    premise = Premise(scene.view.number)
    changed = altered(said, scene, draw)
    yield premise.claim(said, 1, "question and answer")
    if changed is not None:
        yield premise.claim(changed[1], 0, f"answer, {changed[0]}")


def _asked_and_answered(
    scene: Scene, source: Source, questions: Sequence[Source], draw: Random
) -> Iterator[Claim]:
    """A question and its answer side by side; then with the answer to another question of the
    passage, or with something changed in either."""
    premise, answer = Premise(scene.view.number), source.answers[0]
    said = f"{source.question} {answer}"
    yield premise.claim(said, 1, f"{TOGETHER}right")
    if draw.random() < NO_SUCH_QUESTION:
        wrong = f"{source.question} {draw.choice(('yes', 'no'))}"
        yield premise.claim(wrong, 0, f"{TOGETHER}no such question")
    alike = [
        other.answers[0]
        for other in questions
        if normalised(other.answers[0]) not in normalised(answer)
        and normalised(answer) not in normalised(other.answers[0])
        and bool(numbers(other.answers[0])) == bool(numbers(answer))
    ]
    if alike and draw.random() < BESIDE:
        yield premise.claim(f"{source.question} {draw.choice(alike)}", 0, f"{TOGETHER}beside")
    elif (changed := altered(said, scene, draw)) and changed[0] != "negated":
        yield premise.claim(changed[1], 0, f"{TOGETHER}{changed[0]}")


def _removed(scene: Scene, span: Span) -> Iterator[Claim]:
    """A true sentence, and the passage without it."""
    if len(scene.view.sentences) > SENTENCES:
        sentence = scene.view.text[slice(*span)]
        yield Premise(scene.view.number, cut=span).claim(sentence, 0, "sentence removed")


def _of_sibling(scene: Scene, draw: Random) -> Iterator[Claim]:
    """A sentence of another passage of the article, the one of several that shares most words."""
    others = [view for view in scene.article.views if view.number != scene.view.number]
    here = set(scene.view.normalised.split())
    said = [
        view.text[slice(*span)]
        for view in draw.sample(others, min(4, len(others)))
        for span in view.sentences
        if _fit(view.text[slice(*span)])
    ]
    if said:
        nearest = max(said, key=lambda text: _shared(text, here))
        yield Premise(scene.view.number).claim(nearest, 0, "of another passage")


def _shared(sentence: str, here: set[str]) -> float:
    found = set(normalised(sentence).split())
    return len(found & here) / max(1, len(found))
