"""Two-hop questions: both gold passages are relevant, neither alone need hold the answer.

The corpus also holds the passages of the test set of the same name. They are dropped, by text and
by the title of what its questions need, before anything is mined.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from training.data.articles import View
from training.data.chance import is_dev
from training.data.lexical import best, lexical_index
from training.data.rows import Passage, Positive, Question

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from training.data.leakage import Guard
    from training.data.lexical import Miner
    from training.data.rows import Part, Span

NEGATIVES = 6
LOOKED_AT = 40
JUDGED = frozenset(("yes", "no"))
"""Answers that no passage states."""

Keep: TypeAlias = Callable[[Passage], int]
"""Gives a passage its number in the training set."""


@dataclass(frozen=True)
class Corpus:
    views: Mapping[str, View]
    """Passages by id; a view's number is its place in the index."""

    def of(self, row: dict[str, Any]) -> list[View] | None:
        """The passages that a question needs, if all of them may be used."""
        found = [self.views.get(key) for key in row["gold"]]
        return None if None in found else [view for view in found if view is not None]


def corpus_of(
    rows: Iterable[dict[str, Any]],
    *,
    guard: Guard,
    titles: Collection[str],
    dropped: Counter[str],
) -> Corpus:
    views: dict[str, View] = {}
    for row in rows:
        if row["title"] in titles or guard.leaks(row["text"]):
            dropped["hotpot: passage of a test set"] += 1
        else:
            views[row["id"]] = View(len(views), Passage(row["title"], row["text"]))
    return Corpus(views)


def two_hop_rows(
    rows: Sequence[dict[str, Any]],
    corpus: Corpus,
    *,
    guard: Guard,
    keep: Keep,
    dropped: Counter[str],
    seed: int,
    dev_share: float,
    miner: Miner | None = None,
) -> Iterator[tuple[Part, Question]]:
    """Every usable question with the part it belongs to; no passage a dev question needs trains."""
    usable = [row for row in rows if _usable(row, corpus, guard, dropped)]
    held = {row["id"] for row in usable if is_dev(seed, row["id"], dev_share)}
    closed = {key for row in usable if row["id"] in held for key in row["gold"]}
    kept = [row for row in usable if row["id"] in held or not closed & set(row["gold"])]
    dropped["hotpot: shares a passage with dev"] += len(usable) - len(kept)
    shut = {corpus.views[key].number for key in closed}
    views = list(corpus.views.values())
    hardest = _hardest(views, [row["question"] for row in kept], miner)
    for row, places in zip(kept, hardest, strict=True):
        part: Part = "dev" if row["id"] in held else "train"
        near = [views[place] for place in places]
        open_ = [view for view in near if part == "dev" or view.number not in shut]
        yield part, _question(row, corpus.of(row) or [], open_, keep)


def _hardest(
    views: Sequence[View], questions: Sequence[str], miner: Miner | None
) -> Iterator[list[int]]:
    passages = [view.passage for view in views]
    if miner is not None:
        return miner.hardest(passages, questions, LOOKED_AT)
    scored = lexical_index(passages).scores(questions)
    return (best(scores, LOOKED_AT) for scores in scored)


def _usable(row: dict[str, Any], corpus: Corpus, guard: Guard, dropped: Counter[str]) -> bool:
    if guard.leaks(row["question"]):
        dropped["hotpot: question of a test set"] += 1
        return False
    if corpus.of(row) is None:
        dropped["hotpot: needs a passage of a test set"] += 1
        return False
    return True


def _question(
    row: dict[str, Any], gold: Sequence[View], near: Sequence[View], keep: Keep
) -> Question:
    answers = tuple(row["answers"])
    stated = () if JUDGED & {answer.lower() for answer in answers} else answers
    needed = {view.number for view in gold}
    wrong = [v for v in near if v.number not in needed and not v.holds_any(stated)][:NEGATIVES]
    return Question(
        id=row["id"],
        source="hotpot",
        question=row["question"],
        answers=answers,
        positives=tuple(Positive(keep(v.passage), found_at(v.text, stated)) for v in gold),
        negatives=tuple(keep(view.passage) for view in wrong),
    )


def found_at(text: str, answers: Sequence[str]) -> Span | None:
    """Where the first answer that stands in the text as whole words does."""
    for answer in answers:
        match = re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text)
        if match:
            return match.span()
    return None
