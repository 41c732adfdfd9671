"""Rows of SQuAD-style questions: the answer in its passage, mined negatives, unanswerables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from training.data.articles import Article, View, articles_of, name_use
from training.data.chance import chance
from training.data.lexical import LexicalIndex, best, lexical_index
from training.data.rows import Positive, Question
from training.data.swaps import WordUse
from training.data.unanswerable import Asked, Usage, unanswerable_rows

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from training.data.lexical import Miner
    from training.data.rows import Passage, Span

NEGATIVES = 12
FROM_ANYWHERE = 8
"""Of the negatives, so many by score alone; the rest are of the question's own article."""
LOOKED_AT = 40
UNANSWERABLE = 2
NEAR_SHARE = 0.5
"""A near miss scores at least this share of what the answering passage scores."""


@dataclass(frozen=True, slots=True)
class Source:
    """A question whose answer stands at `span` of the passage with that number."""

    id: str
    question: str
    answers: tuple[str, ...]
    passage: int
    span: Span


@dataclass(frozen=True)
class Pool:
    """Passages to mine in, with the view and the article of each."""

    views: Mapping[int, View]
    articles: Mapping[str, Article]
    use: Usage


def pool_of(passages: Mapping[int, Passage], questions: Sequence[Source]) -> Pool:
    articles = articles_of(passages)
    words = WordUse()
    for row in questions:
        words.learn(row.question)
    views = {view.number: view for article in articles.values() for view in article.views}
    return Pool(views, articles, Usage(name_use(articles.values()), words))


def sources(
    rows: Sequence[dict[str, Any]],
    numbers: Mapping[str, int],
    texts: Mapping[int, Passage],
    dropped: Counter[str],
) -> Iterator[Source]:
    """Questions with the span of their first answer; what does not match its text is counted."""
    for row in rows:
        number = numbers.get(row["gold"][0])
        if number is None:
            dropped["squad: passage left out"] += 1
            continue
        start, answer = row["answer_starts"][0], row["answer_texts"][0]
        span = (start, start + len(answer))
        if texts[number].text[slice(*span)] != answer:
            dropped["squad: answer not at its place"] += 1
            continue
        yield Source(row["id"], row["question"], tuple(row["answers"]), number, span)


@dataclass(frozen=True, slots=True)
class Mine:
    """Where negatives are looked for."""

    pool: Pool
    index: LexicalIndex
    numbers: Sequence[int]
    """The number of each passage of the index."""
    places: Mapping[int, int]
    miner: Miner | None = None
    """Who finds passages anywhere; None: the index of words."""

    def found(self, questions: Sequence[str]) -> Iterator[tuple[NDArray[np.float32], list[int]]]:
        """For each question the score of every passage by words, and the hardest anywhere."""
        scored = self.index.scores(questions)
        if self.miner is None:
            yield from ((scores, best(scores, LOOKED_AT)) for scores in scored)
            return
        passages = [view.passage for view in self.pool.views.values()]
        hardest = self.miner.hardest(passages, questions, LOOKED_AT)
        yield from zip(scored, hardest, strict=True)


def mine_of(pool: Pool, miner: Miner | None = None) -> Mine:
    numbers = list(pool.views)
    index = lexical_index([view.passage for view in pool.views.values()])
    places = {number: place for place, number in enumerate(numbers)}
    return Mine(pool, index, numbers, places, miner)


def question_rows(
    questions: Sequence[Source], mine: Mine, *, closed: Collection[int] = (), seed: int
) -> Iterator[Question]:
    """One row per question. Passages that are closed stay out of it."""
    found = mine.found([row.question for row in questions])
    for row, (scores, hardest) in zip(questions, found, strict=True):
        ranked = _ranked(row, mine, scores, hardest, closed)
        yield _question(row, mine.pool, ranked, seed=seed)


@dataclass(frozen=True, slots=True)
class Ranked:
    """Passages without the answer, best first."""

    anywhere: list[int]
    in_article: list[int]
    near: list[int]


def _ranked(
    row: Source,
    mine: Mine,
    scores: NDArray[np.float32],
    hardest: Sequence[int],
    closed: Collection[int],
) -> Ranked:
    views, places = mine.pool.views, mine.places

    def usable(number: int) -> bool:
        allowed = number != row.passage and number not in closed
        return allowed and not views[number].holds_any(row.answers)

    article = mine.pool.articles[views[row.passage].passage.title]
    siblings = sorted(
        (view.number for view in article.views), key=lambda n: (-scores[places[n]], n)
    )
    anywhere = [mine.numbers[place] for place in hardest]
    enough = NEAR_SHARE * scores[places[row.passage]]
    own = list(filter(usable, siblings))
    near = [number for number in own if scores[places[number]] >= enough]
    return Ranked(list(filter(usable, anywhere)), own, near)


def _question(row: Source, pool: Pool, ranked: Ranked, *, seed: int) -> Question:
    view = pool.views[row.passage]
    article = pool.articles[view.passage.title]
    asked = Asked(row.question, row.answers, row.span, view, article, ranked.near)
    draw = chance(seed, row.id)
    return Question(
        id=row.id,
        source="squad",
        question=row.question,
        answers=row.answers,
        positives=(Positive(row.passage, row.span),),
        negatives=mixed(ranked.anywhere, ranked.in_article),
        unanswerable=unanswerable_rows(asked, use=pool.use, draw=draw, count=UNANSWERABLE),
    )


def mixed(anywhere: Sequence[int], in_article: Sequence[int]) -> tuple[int, ...]:
    """The best from anywhere, then the best of the article, then more from anywhere."""
    order = [*anywhere[:FROM_ANYWHERE], *in_article[:NEGATIVES], *anywhere[FROM_ANYWHERE:]]
    return tuple(dict.fromkeys(order))[:NEGATIVES]
