"""From rows of text to token arrays, once.

    python -m training.encode --data .cache/training/in --work DIR

The second call finds the arrays in the working folder.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from training.arrays import (
    MAX_SPANS,
    MAX_TOKENS,
    NEGATIVE,
    NO_SPAN,
    POSITIVE,
    QUESTION_TOKENS,
    SPECIAL_TOKENS,
    SUPPORTED,
    UNANSWERABLE,
    UNSUPPORTED,
    Pairs,
    load_pairs,
    token_span,
    window_start,
)
from training.data.rows import read_claims, read_passages, read_questions, without

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokenizers import Tokenizer

    from training.data.rows import Claim, Part, Passage, Question, Span

TOKENIZER = Path(__file__).parents[1] / "weights/src/secondlook_weights/reader/tokenizer.json"
TEXTS_AT_ONCE = 20_000
PER_PAIR = ("question", "passage", "offset", "spans", "kind", "detail")


@dataclass(slots=True)
class Collected:
    """Pairs as they accumulate, texts still as text."""

    texts: dict[str, int] = field(default_factory=dict)
    question: list[int] = field(default_factory=list)
    passage: list[int] = field(default_factory=list)
    spans: list[list[Span]] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    detail: list[int] = field(default_factory=list)
    groups: list[int] = field(default_factory=lambda: [0])
    source: list[int] = field(default_factory=list)
    details: dict[str, int] = field(default_factory=lambda: {"": 0})
    sources: dict[str, int] = field(default_factory=dict)

    def text(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))

    def pair(
        self, question: str, passage: str, kind: int, *, spans: list[Span], detail: str = ""
    ) -> None:
        self.question.append(self.text(question))
        self.passage.append(self.text(passage))
        self.spans.append(spans)
        self.kind.append(kind)
        self.detail.append(self.details.setdefault(detail, len(self.details)))

    def close_group(self, source: str) -> None:
        if len(self.kind) > self.groups[-1]:
            self.groups.append(len(self.kind))
            self.source.append(self.sources.setdefault(source, len(self.sources)))


def collect(
    passages: Sequence[Passage], questions: Iterable[Question], claims: Iterable[Claim]
) -> Collected:
    collected = Collected()
    for question in questions:
        add_question(collected, question, passages)
    for claim in claims:
        kind = SUPPORTED if claim.label else UNSUPPORTED
        premise = claim.premise_text(passages)
        collected.pair(claim.hypothesis, premise, kind, spans=[], detail=claim.source)
        collected.close_group(claim.group)
    return collected


def add_question(collected: Collected, row: Question, passages: Sequence[Passage]) -> None:
    """The passages that help first, then the negatives, then the rows made unanswerable."""
    for right in row.positives:
        text = passages[right.passage].text
        spans = answer_spans(text, right.span) if right.span else []
        collected.pair(row.question, text, POSITIVE, spans=spans)
    for number in row.negatives:
        collected.pair(row.question, passages[number].text, NEGATIVE, spans=[])
    for made in row.unanswerable:
        text = without(passages[made.passage].text, made.cut)
        asked = made.question or row.question
        collected.pair(asked, text, UNANSWERABLE, spans=[], detail=made.how)
    collected.close_group(row.source)


def answer_spans(text: str, span: Span) -> list[Span]:
    """The marked answer first, then the same words wherever else they stand alone."""
    start, end = span
    if not start < end <= len(text):
        return []
    others = re.finditer(rf"(?<!\w){re.escape(text[start:end])}(?!\w)", text)
    found = [span, *(match.span() for match in others if match.start() != start)]
    return found[:MAX_SPANS]


def tokenise(collected: Collected, tokenizer: Tokenizer) -> Pairs:
    """All texts in a few calls: the tokenizer spreads each over the cores."""
    marked = {p for p, spans in zip(collected.passage, collected.spans, strict=True) if spans}
    tokens, bounds, offsets = _encode(tokenizer, list(collected.texts), marked)
    spans, windows = _placed(collected, bounds, offsets)
    return Pairs(
        tokens=tokens,
        bounds=bounds,
        question=np.array(collected.question, np.int32),
        passage=np.array(collected.passage, np.int32),
        offset=windows,
        spans=spans,
        kind=np.array(collected.kind, np.int8),
        detail=np.array(collected.detail, np.int16),
        groups=np.array(collected.groups, np.int64),
        source=np.array(collected.source, np.int8),
        details=np.array(list(collected.details)),
        sources=np.array(list(collected.sources)),
    )


def _encode(
    tokenizer: Tokenizer, texts: list[str], marked: set[int]
) -> tuple[Any, Any, dict[int, Any]]:
    """Tokens of all texts, and the character offsets of those an answer is marked in."""
    parts = [
        np.array(encoding.ids, np.uint16)
        for group in _chunks(texts)
        for encoding in tokenizer.encode_batch_fast(group, add_special_tokens=False)
    ]
    numbers = sorted(marked)
    placed = (
        encoding
        for group in _chunks([texts[number] for number in numbers])
        for encoding in tokenizer.encode_batch(group, add_special_tokens=False)
    )
    offsets = {
        number: np.array(encoding.offsets, np.int32).reshape(-1, 2)
        for number, encoding in zip(numbers, placed, strict=True)
    }
    sizes = np.array([len(part) for part in parts], np.int64)
    return np.concatenate(parts), np.concatenate([[0], sizes.cumsum()]), offsets


def _chunks(texts: list[str]) -> Iterator[list[str]]:
    return (texts[at : at + TEXTS_AT_ONCE] for at in range(0, len(texts), TEXTS_AT_ONCE))


def _placed(collected: Collected, bounds: Any, offsets: dict[int, Any]) -> tuple[Any, Any]:
    """Token spans of every pair, and where the window that holds the first one starts."""
    pairs = len(collected.kind)
    spans = np.full((pairs, MAX_SPANS, 2), NO_SPAN, np.int16)
    windows = np.zeros(pairs, np.int16)
    for at, chars in enumerate(collected.spans):
        if not chars:
            continue
        asked = collected.question[at]
        question = min(int(bounds[asked + 1] - bounds[asked]), QUESTION_TOKENS)
        room = MAX_TOKENS - SPECIAL_TOKENS - question
        windows[at], held = token_spans(chars, offsets[collected.passage[at]], room)
        spans[at, : len(held)] = np.array(held).reshape(-1, 2)
    return spans, windows


def token_spans(chars: list[Span], offsets: Any, room: int) -> tuple[int, list[Span]]:
    found = [span for start, end in chars if (span := token_span(offsets, start, end))]
    if not found:
        return 0, []
    window = window_start(len(offsets), room, found[0][1])
    return window, [(a, b) for a, b in found if window <= a and b < window + room]


def make_pairs(data: Path, part: Part, tokenizer_file: Path = TOKENIZER) -> Pairs:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    passages = read_passages(data)
    rows = collect(passages, read_questions(data, part), read_claims(data, part))
    return tokenise(rows, tokenizer)


def every_nth_group(pairs: Pairs, groups: int) -> Pairs:
    """About so many groups from all over, for a trial."""
    kept = np.arange(0, len(pairs.source), max(len(pairs.source) // groups, 1))
    parts = [np.arange(pairs.groups[g], pairs.groups[g + 1]) for g in kept]
    rows = np.concatenate(parts)
    bounds = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
    chosen = {name: getattr(pairs, name)[rows] for name in PER_PAIR}
    return replace(pairs, groups=bounds, source=pairs.source[kept], **chosen)


def cached_pairs(work: Path, data: Path, part: Part) -> Pairs:
    """Arrays that lie beside the rows, or take their place, are used as they are."""
    if (data / f"{part}.npz").exists():
        return load_pairs(data / f"{part}.npz")
    file = work / f"{part}.npz"
    if not file.exists():
        make_pairs(data, part).save(file)
    return load_pairs(file)


def describe(pairs: Pairs) -> dict[str, Any]:
    kinds = {"positive": POSITIVE, "negative": NEGATIVE, "unanswerable": UNANSWERABLE}
    kinds |= {"supported": SUPPORTED, "unsupported": UNSUPPORTED}
    groups = np.bincount(pairs.source, minlength=len(pairs.sources))
    spanless = (pairs.kind == POSITIVE) & (pairs.spans[:, 0, 0] == NO_SPAN)
    return {
        "texts": len(pairs.bounds) - 1,
        "pairs": len(pairs.kind),
        "tokens": int(pairs.lengths.sum()),
        **{name: int((pairs.kind == code).sum()) for name, code in kinds.items()},
        "positive without a span": int(spanless.sum()),
        "groups": dict(zip(pairs.sources.tolist(), groups.tolist(), strict=True)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--again", action="store_true", help="even if the arrays are there")
    given = parser.parse_args()
    parts: tuple[Part, ...] = ("train", "dev")
    for part in parts:
        began = time.monotonic()
        if given.again:
            (given.work / f"{part}.npz").unlink(missing_ok=True)
        pairs = cached_pairs(given.work, given.data, part)
        seconds = round(time.monotonic() - began, 1)
        print(json.dumps({"part": part, "seconds": seconds, **describe(pairs)}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
