"""Which pairs a step trains on, and how they lie in memory.

Pairs are packed one after the other into a fixed number of tokens: nothing is padded but the end,
and every layer sees the same shape at every step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from training.arrays import (
    CLS,
    MAX_SPANS,
    MAX_TOKENS,
    NEGATIVE,
    NO_SPAN,
    POSITIVE,
    SEP,
    SPECIAL_TOKENS,
    UNANSWERABLE,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from training.arrays import Floats, Integers, Pairs

    Bools = NDArray[np.bool_]

NOTHING = -1
EASY = -1e8
"""A negative marked as easier than this is left out."""
NEAR_MISS = "near"
"""How the names of rows with a passage close by begin."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Tokens of all rows, one after the other, and what is right for each row."""

    ids: Integers
    types: Integers
    position: Integers
    """Of each token in its row."""
    row: Integers
    """Of each token."""
    bounds: Integers
    """Row r is tokens bounds[r]:bounds[r + 1]. Rows past `pair` only fill up the shape."""
    pair: Integers
    """Number of each real row's pair."""
    spans: Integers
    """(rows, MAX_SPANS, 2), counted in the row; (0, 0) means no answer; NOTHING: not known."""
    kind: Integers
    members: Integers
    """(groups, most): rows whose relevance is compared, NOTHING where a group is smaller."""

    @property
    def longest(self) -> int:
        return int(np.diff(self.bounds).max())


@dataclass(frozen=True, slots=True)
class Mix:
    """What a step is made of."""

    shares: Mapping[str, float]
    """Tokens by source; a source that is not named gets none."""
    negatives: int = 4
    harder: int = 12
    """Negatives are drawn from so many of the hardest."""
    unanswerable: int = 2


class Sampler:
    """Endless steps of groups: every group of a source once before any comes again."""

    def __init__(self, pairs: Pairs, mix: Mix, *, tokens: int, seed: int) -> None:
        self._pairs, self._mix, self._tokens = pairs, mix, tokens
        self._random = np.random.default_rng(seed)
        self._lengths = pairs.lengths
        self.hardness = mined_order(pairs)
        """Per pair, higher is harder. Replaced when a model has scored the negatives."""
        self._shares = {
            code: mix.shares[name]
            for code, name in enumerate(pairs.sources.tolist())
            if mix.shares.get(name, 0) > 0 and np.any(pairs.source == code)
        }
        if not self._shares:
            raise ValueError(f"no rows of {sorted(mix.shares)!r} among {pairs.sources.tolist()!r}")
        self._orders = {code: self._shuffled(code) for code in self._shares}
        self._spent = dict.fromkeys(self._shares, 0.0)

    def __iter__(self) -> Iterator[Batch]:
        held: list[list[int]] = []
        used = 0
        while True:
            group = self._next_group()
            size = int(self._lengths[group].sum())
            if used + size > self._tokens and held:
                yield pack(self._pairs, held, tokens=self._tokens)
                held, used = [], 0
            if size <= self._tokens:
                held.append(group)
                used += size

    def _next_group(self) -> list[int]:
        """From the source that lags most behind its share."""
        code = min(self._shares, key=lambda code: self._spent[code] / self._shares[code])
        group = self.choose(next(self._orders[code]))
        self._spent[code] += float(self._lengths[group].sum())
        return group

    def _shuffled(self, code: int) -> Iterator[int]:
        groups = np.flatnonzero(self._pairs.source == code)
        while True:
            yield from self._random.permutation(groups).tolist()

    def choose(self, group: int) -> list[int]:
        """The pairs of one group to train on this time."""
        first, last = self._pairs.groups[group], self._pairs.groups[group + 1]
        if last - first == 1:
            return [int(first)]
        rows = np.arange(first, last)
        kind = self._pairs.kind[first:last]
        hard = rows[(kind == NEGATIVE) & (self.hardness[first:last] > EASY)]
        hard = hard[np.argsort(-self.hardness[hard], kind="stable")][: self._mix.harder]
        parts = [
            rows[(kind != NEGATIVE) & (kind != UNANSWERABLE)],
            self._some(hard, self._mix.negatives),
            self._some(rows[kind == UNANSWERABLE], self._mix.unanswerable),
        ]
        return [int(row) for part in parts for row in part]

    def _some(self, rows: Integers, count: int) -> Integers:
        return rows if len(rows) <= count else self._random.choice(rows, count, replace=False)


def mined_order(pairs: Pairs) -> Floats:
    """Negatives come hardest first: the earlier in its group, the harder."""
    size = np.diff(pairs.groups)
    place = np.arange(len(pairs.kind)) - np.repeat(pairs.groups[:-1], size)
    return -place.astype(np.float32)


def in_order(pairs: Pairs, rows: Integers, *, tokens: int) -> Iterator[Batch]:
    """Batches for scoring: given pairs, each its own group, longest first."""
    lengths = pairs.lengths
    held: list[list[int]] = []
    used = 0
    for row in rows[np.argsort(-lengths[rows], kind="stable")].tolist():
        if used + lengths[row] > tokens:
            yield pack(pairs, held, tokens=tokens)
            held, used = [], 0
        held.append([row])
        used += int(lengths[row])
    if held:
        yield pack(pairs, held, tokens=tokens)


def pack(pairs: Pairs, groups: Sequence[Sequence[int]], *, tokens: int) -> Batch:
    """Lay the pairs out as `[CLS] question [SEP] passage [SEP]`, type 1 on the passage alone."""
    chosen = np.array([row for group in groups for row in group], np.int64)
    questions, passages = pairs.question_tokens(chosen), pairs.passage_tokens(chosen)
    bounds = _filled(questions + passages + SPECIAL_TOKENS, tokens)
    sizes = np.diff(bounds)
    row = np.repeat(np.arange(len(sizes)), sizes)
    position = np.arange(tokens) - bounds[row]
    ids, types = _tokens(pairs, chosen, row, position)
    return Batch(
        ids=ids,
        types=types,
        position=position,
        row=row,
        bounds=bounds,
        pair=chosen,
        spans=_spans(pairs, chosen, questions),
        kind=pairs.kind[chosen].astype(np.int64),
        members=_members(pairs, groups),
    )


def _filled(sizes: Integers, tokens: int) -> Integers:
    """Row bounds; what is left of the shape becomes rows of fill."""
    rest = tokens - int(sizes.sum())
    fill = [MAX_TOKENS] * (rest // MAX_TOKENS) + [rest % MAX_TOKENS] * bool(rest % MAX_TOKENS)
    return np.concatenate([[0], np.cumsum([*sizes.tolist(), *fill])]).astype(np.int64)


def _tokens(
    pairs: Pairs, chosen: Integers, row: Integers, position: Integers
) -> tuple[Integers, Integers]:
    real = row < len(chosen)
    row, position = row[real], position[real]
    question, passage = pairs.question_tokens(chosen)[row], pairs.passage_tokens(chosen)[row]
    in_question = (position > 0) & (position <= question)
    in_passage = (position > question + 1) & (position < question + passage + 2)
    from_question = pairs.bounds[pairs.question[chosen]][row] + position - 1
    start = pairs.bounds[pairs.passage[chosen]] + pairs.offset[chosen]
    from_passage = start[row] + position - question - 2
    where = np.where(in_question, from_question, np.where(in_passage, from_passage, 0))
    special = np.where(position == 0, CLS, SEP)
    ids, types = np.zeros(len(real), np.int64), np.zeros(len(real), np.int64)
    ids[: len(row)] = np.where(in_question | in_passage, pairs.tokens[where], special)
    types[: len(row)] = in_passage
    return ids, types


def _spans(pairs: Pairs, chosen: Integers, questions: Integers) -> Integers:
    kind = pairs.kind[chosen]
    stored = pairs.spans[chosen].astype(np.int64)
    shift = (questions + 2 - pairs.offset[chosen])[:, None, None]
    spans = np.where(stored == NO_SPAN, NOTHING, stored + shift)
    none = np.full((MAX_SPANS, 2), NOTHING)
    none[0] = 0
    spans[(kind == NEGATIVE) | (kind == UNANSWERABLE)] = none
    return spans


def right_and_wrong(pairs: Pairs, rows: Integers) -> tuple[Bools, Bools]:
    """Which of one question's pairs ranking should put first, and which last."""
    near = np.flatnonzero(np.char.startswith(pairs.details, NEAR_MISS))
    kind = pairs.kind[rows]
    missed = (kind == UNANSWERABLE) & np.isin(pairs.detail[rows], near)
    return kind == POSITIVE, (kind == NEGATIVE) | missed


def _members(pairs: Pairs, groups: Sequence[Sequence[int]]) -> Integers:
    """Rows to compare in relevance: where a group has both a right and a wrong passage. A near
    miss is a wrong one; other unanswerable rows ask something else or show a damaged passage."""
    rows = np.array([row for group in groups for row in group], np.int64)
    right, wrong = right_and_wrong(pairs, rows)
    found, first = [], 0
    for group in groups:
        part = slice(first, first + len(group))
        first += len(group)
        if len(group) > 1 and right[part].any() and wrong[part].any():
            found.append(part.start + np.flatnonzero(right[part] | wrong[part]))
    members = np.full((len(found), max(map(len, found), default=1)), NOTHING, np.int64)
    for at, rows in enumerate(found):
        members[at, : len(rows)] = rows
    return members
