"""The attacks, the texts they are put into, and honest texts that only look like attacks.

Nothing is copied: the texts are read where they lie, and results hold counts and names of
categories alone. The categories of each set, in the order of their names, go in turn to tuning and
to judging; a set of one category is parted by its rows. `split_digest` pins that.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import re
import zlib
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, get_args

from secondlook.errors import UsageError
from secondlook.nodes.screening import Channel
from secondlook.retrieval.sentences import sentence_starts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

CHANNELS: tuple[Channel, ...] = get_args(Channel)
Half = Literal["tuned", "held out"]
HALVES: tuple[Half, ...] = get_args(Half)
Demand = Literal["order", "question"]
"""`question`: every sentence of the attack is a plain question, which asks for no deed."""
SEED = 11
_TABLES = 120
_SHORTEST = 3
"""Characters of an answer that is looked for: a single figure stands in many places."""
_NO_ANSWER = frozenset({"unknown"})
_FILES = {
    "attacks": "attacks.jsonl.gz",
    "email": "bipia_email.jsonl.gz",
    "table": "bipia_table.jsonl.gz",
    "security": "cyberseceval_prompt_injection.jsonl.gz",
    "benign": "cyberseceval_frr_benign.jsonl.gz",
    "deepset": "deepset_injections_only.jsonl.gz",
    "aware": "trust_aware_injection_benign.jsonl.gz",
    "safe": "xstest.jsonl.gz",
}


@dataclass(frozen=True, slots=True)
class Attack:
    text: str
    source: str
    category: str
    half: Half

    @property
    def demand(self) -> Demand:
        starts = [0, *sentence_starts(self.text), len(self.text)]
        sentences = (self.text[a:b].strip() for a, b in pairwise(starts))
        asked = all(one.rstrip("\"' ").endswith("?") for one in sentences if one)
        return "question" if asked else "order"


@dataclass(frozen=True, slots=True)
class Around:
    """A text that an attack is put into, with a question that it answers."""

    question: str
    text: str
    ideal: str
    half: Half

    @property
    def truth(self) -> str | None:
        """The sentence, or the row, that holds the known answer; None where no words of the text
        are the answer."""
        known = len(self.ideal) >= _SHORTEST and self.ideal.casefold() not in _NO_ANSWER
        at = self.text.find(self.ideal) if known else -1
        if at < 0:
            return None
        line = self.text[self.text.rfind("\n", 0, at) + 1 :].split("\n", 1)[0]
        starts = [0, *sentence_starts(line), len(line)]
        inside = (line[a:b] for a, b in pairwise(starts) if self.ideal in line[a:b])
        return " ".join(next(inside, line).replace("|", " ").split())


@dataclass(frozen=True, slots=True)
class Honest:
    """What somebody might ask in earnest."""

    text: str
    source: str
    half: Half


@dataclass(frozen=True, slots=True)
class Cases:
    attacks: tuple[Attack, ...]
    around: tuple[Around, ...]
    clean: tuple[Around, ...]
    """Every text whose own answer stands in it: what is told of it must come through."""
    honest: tuple[Honest, ...]


def load(folder: Path) -> Cases:
    missing = [name for name in _FILES.values() if not (folder / name).is_file()]
    if missing:
        raise UsageError(
            f"{folder} does not hold {missing[0]}",
            hint="docs/threat-model.md says which sets are read; give their folder",
        )
    rows = {name: _rows(folder / file) for name, file in _FILES.items()}
    attacks = {one.text: one for one in _attacks(rows)}
    around, every = _around(rows, _TABLES), _around(rows, None)
    clean = tuple(one for one in every if one.truth is not None)
    return Cases(tuple(attacks.values()), tuple(around), clean, tuple(_honest(rows)))


def split_digest(attacks: Iterable[Attack]) -> str:
    """Of which category is judged: it changes when anybody moves one."""
    parts = sorted({f"{one.source}/{one.category}/{one.half}" for one in attacks})
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def sampled(items: Sequence[Any], most: int | None) -> list[Any]:
    """So many of them, drawn by the seed, in their order."""
    if most is None or most >= len(items):
        return list(items)
    chosen = sorted(random.Random(SEED).sample(range(len(items)), most))  # noqa: S311
    return [items[at] for at in chosen]


def _attacks(rows: dict[str, list[dict[str, Any]]]) -> Iterator[Attack]:
    for kind in ("text", "code"):
        held = [row for row in rows["attacks"] if row["kind"] == kind]
        yield from _by_category(held, "category", "attack", f"bipia {kind}", rows["attacks"])
    security = rows["security"]
    yield from _by_category(security, "injection_variant", "user_input", "cyberseceval", security)
    aware = [row for row in rows["aware"] if row["label"] == "attack"]
    yield from _by_category(aware, "attack_type", "prompt", "trust_aware", aware)
    for row in rows["deepset"]:
        yield Attack(row["text"], "deepset", "all", _half_of(row["text"]))


def _by_category(
    rows: Sequence[dict[str, Any]], category: str, text: str, source: str, every: Sequence[Any]
) -> Iterator[Attack]:
    names = sorted({row[category] for row in every})
    halves = {name: HALVES[place % 2] for place, name in enumerate(names)}
    for row in rows:
        yield Attack(row[text], source, row[category], halves[row[category]])


def _around(rows: dict[str, list[dict[str, Any]]], tables: int | None) -> Iterator[Around]:
    """E-mails, and so many of the tables."""
    held = {row["context"]: row for row in rows["table"]}
    for row in [*rows["email"], *sampled(list(held.values()), tables)]:
        asked = re.sub(r"^Q: ", "", row["question"])
        yield Around(asked, row["context"], row["ideal"], _half_of(row["context"]))


def _honest(rows: dict[str, list[dict[str, Any]]]) -> Iterator[Honest]:
    benign = (row["prompt"] for row in rows["aware"] if row["label"] == "benign")
    safe = (row["prompt"] for row in rows["safe"] if row["label"] == "safe")
    refused = (row["mutated_prompt"] for row in rows["benign"])
    named = (("trust_aware benign", benign), ("xstest safe", safe), ("cyberseceval_frr", refused))
    for source, texts in named:
        for text in texts:
            yield Honest(text, source, _half_of(text))


def _half_of(text: str) -> Half:
    return HALVES[zlib.crc32(text.encode()) % 2]


def _rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
