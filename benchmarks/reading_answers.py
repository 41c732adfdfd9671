"""Questions with their gold passages, and how an extracted answer is scored (SQuAD's rules)."""

from __future__ import annotations

import gzip
import json
import os
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from secondlook.evaluation.metrics import exact_match, f1
from secondlook.evaluation.metrics import tokens as words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "SEED",
    "answer_scores",
    "auroc",
    "questions_with_passages",
    "rows",
    "sample_texts",
    "words",
]

SEED = 20


def rows(data: str, name: str) -> Iterator[dict[str, Any]]:
    file = Path(os.environ["SECONDLOOK_DATA"]) / data / f"{name}.jsonl.gz"
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def sample_texts(data: str, size: int) -> list[str]:
    return random.Random(SEED).sample([row["text"] for row in rows(data, "corpus")], size)


def questions_with_passages(data: str, size: int) -> list[dict[str, Any]]:
    texts = {row["id"]: row["text"] for row in rows(data, "corpus")}
    sample = random.Random(SEED).sample(list(rows(data, "queries")), size)
    return [{**row, "passage": texts[row["gold"][0]]} for row in sample]


def answer_scores(found: str, answers: Sequence[str]) -> tuple[float, float]:
    """Exact match and F1 against the most similar right answer."""
    return exact_match(found, answers), f1(found, answers)


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """The chance that a positive scores above a negative."""
    above = np.asarray(positive)[:, None] - np.asarray(negative)[None, :]
    return float(((above > 0) + 0.5 * (above == 0)).mean())
