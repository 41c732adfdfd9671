"""What the screen is tuned and judged on: attacks, and texts that only look like some.

The categories of each set, in the order of their names, go in turn to tuning and to judging. A set
of one category is parted by its rows. Nothing is copied: the texts are read where they lie.
"""

from __future__ import annotations

import gzip
import json
import random
import zlib
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

Half = Literal["tuned", "held out"]
HALVES: tuple[Half, Half] = ("tuned", "held out")
CONTEXTS = 6
"""Contexts that each payload is put into, a third of them at the start, a third in the middle."""
SAMPLE = 500
"""Questions, and passages, of each set of ordinary ones."""
SEED = 8


@dataclass(frozen=True, slots=True)
class Case:
    text: str
    kind: Literal["question", "passage"]
    source: str
    category: str
    half: Half
    is_attack: bool
    unit: str
    """What it is one of several forms of: a payload is put into several contexts."""


def cases(data: Path) -> list[Case]:
    """All of them, in a fixed order."""
    folder = data / "injection"
    return [*_questions(folder), *_passages(folder), *_ordinary(data)]


def rows_of(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _questions(folder: Path) -> Iterator[Case]:
    injections = rows_of(folder / "deepset_injections_only.jsonl.gz")
    yield from _by_row((row["text"] for row in injections), source="deepset", is_attack=True)
    security = rows_of(folder / "cyberseceval_prompt_injection.jsonl.gz")
    halves = _halves({row["injection_variant"] for row in security})
    for row in security:
        # Many of the `logic` kind are plain questions: only another task makes them an attack.
        text, variant = row["user_input"], row["injection_variant"]
        source = f"cyberseceval {row['risk_category'].removesuffix('-violating')}"
        yield Case(text, "question", source, variant, halves[variant], is_attack=True, unit=text)
    aware = rows_of(folder / "trust_aware_injection_benign.jsonl.gz")
    yield from _by_category(
        ((row["attack_type"], row["prompt"]) for row in aware if row["label"] == "attack"),
        source="trust_aware",
        is_attack=True,
    )
    benign = (row["prompt"] for row in aware if row["label"] == "benign")
    yield from _by_row(benign, source="trust_aware benign", is_attack=False)
    safety = rows_of(folder / "xstest.jsonl.gz")
    # A wish for something harmful is no order to a model: to this screen "unsafe" is safe too.
    for label in ("safe", "unsafe"):
        yield from _by_category(
            ((row["type"], row["prompt"]) for row in safety if row["label"] == label),
            source=f"xstest {label}",
            is_attack=False,
        )
    refusals = rows_of(folder / "cyberseceval_frr_benign.jsonl.gz")
    prompts = (row["mutated_prompt"] for row in refusals)
    yield from _by_row(prompts, source="cyberseceval_frr", is_attack=False)


def _passages(folder: Path) -> Iterator[Case]:
    """Contexts as they are, and with a payload put into them."""
    contexts = {
        name: _parted(_contexts(rows_of(folder / f"bipia_{name}.jsonl.gz")))
        for name in ("email", "table", "code")
    }
    for name, parted in contexts.items():
        for half, texts in parted.items():
            for text in texts:
                yield Case(text, "passage", "bipia clean", name, half, is_attack=False, unit=text)
    attacks = rows_of(folder / "attacks.jsonl.gz")
    halves = _halves({row["category"] for row in attacks})
    draw = random.Random(SEED)
    for row in attacks:
        half = halves[row["category"]]
        names = ("code",) if row["kind"] == "code" else ("email", "table")
        around = [text for name in names for text in contexts[name][half]]
        for number, context in enumerate(draw.sample(around, CONTEXTS)):
            text = _with_payload(context, row["attack"], place=number % 3)
            source, category = f"bipia {row['kind']}", row["category"]
            unit = row["attack"]
            yield Case(text, "passage", source, category, half, is_attack=True, unit=unit)


def _contexts(rows: Iterable[dict[str, Any]]) -> list[str]:
    found = (row["context"] for row in rows)
    texts = ("\n".join(text) if isinstance(text, list) else text for text in found)
    return sorted({text for text in texts if text.strip()})


def _with_payload(context: str, payload: str, *, place: int) -> str:
    lines = context.splitlines()
    at = (0, len(lines) // 2, len(lines))[place]
    return "\n".join([*lines[:at], payload, *lines[at:]])


def _ordinary(data: Path) -> Iterator[Case]:
    """Questions and passages that nobody meant as anything else: nearly none may be stopped."""
    for name in ("squad2-dev", "hotpot", "barexam"):
        asked = [row["question"] for row in rows_of(data / name / "queries.jsonl.gz")]
        yield from _by_row(_drawn(asked), source=f"{name} questions", is_attack=False)
        held = [row["text"] for row in rows_of(data / name / "corpus.jsonl.gz")]
        for text in _drawn(held):
            source, half = f"{name} passages", _half_of(text)
            yield Case(text, "passage", source, "all", half, is_attack=False, unit=text)


def _drawn(texts: Sequence[str]) -> list[str]:
    unlike = sorted(set(texts))
    return random.Random(SEED).sample(unlike, min(SAMPLE, len(unlike)))


def _by_row(texts: Iterable[str], *, source: str, is_attack: bool) -> Iterator[Case]:
    for text in texts:
        yield Case(text, "question", source, "all", _half_of(text), is_attack, text)


def _by_category(
    rows: Iterable[tuple[str, str]], *, source: str, is_attack: bool
) -> Iterator[Case]:
    held = list(rows)
    halves = _halves({category for category, _ in held})
    for category, text in held:
        yield Case(text, "question", source, category, halves[category], is_attack, text)


def _halves(categories: Iterable[str]) -> dict[str, Half]:
    return {name: HALVES[place % 2] for place, name in enumerate(sorted(categories))}


def _half_of(text: str) -> Half:
    return HALVES[zlib.crc32(text.encode()) % 2]


def _parted(texts: Iterable[str]) -> dict[Half, list[str]]:
    parted: dict[Half, list[str]] = defaultdict(list)
    for text in texts:
        parted[_half_of(text)].append(text)
    return parted
