"""Draws the pairs of benchmarks/labelled and prints them to be labelled, without gold or scores.

    SECONDLOOK_DATA=FOLDER python -m benchmarks.labelled_sample > to-label.txt

The ten best passages of questions drawn by chance, sorted into bands by how the reader's relevance
stands to its threshold; from each band so many by chance, no question twice. With the reader that
the pairs were drawn with it prints those of `pairs.jsonl`, in their order.
"""

from __future__ import annotations

import random
import sys
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.grading_cases import Desk, desk, drawn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from secondlook.state import Found

QUESTIONS = {"squad2-dev": 150, "hotpot": 90}
WANTED: Mapping[str, Mapping[str, int]] = {
    "squad2-dev": {"sure": 12, "over": 10, "under": 16, "low": 12, "glanced": 4},
    "hotpot": {"sure": 9, "over": 8, "under": 11, "low": 7, "glanced": 3},
}
_OF_QUESTIONS, _OF_PAIRS = 7, 11
"""Seeds of the two draws."""


@dataclass(frozen=True, slots=True)
class Drawn:
    set: str
    query: str
    question: str
    document: str
    title: str
    text: str
    start: int
    band: str


def band(item: Found, min_about: float) -> str:
    if item["relevance"] is None or item["answerable"] is None:
        return "glanced"
    above = item["relevance"] - min_about
    if above > 0:
        return "sure" if above > 3 else "over"
    return "under" if above > -4 else "low"


def pool(place: Desk) -> Iterator[Drawn]:
    name = place.data.name
    min_about = place.context("").calibration.min_about
    for case in drawn(place.data.cases, QUESTIONS[name], seed=_OF_QUESTIONS):
        asked = place.asked(case)
        held = place.library.shelf().passages([item["id"] for item in asked.found])
        for item, called in zip(asked.found, asked.names, strict=True):
            passage = held[item["id"]]
            yield Drawn(
                name,
                case.id,
                case.question,
                called,
                passage.title,
                passage.text,
                passage.start,
                band(item, min_about),
            )


def sample() -> list[Drawn]:
    generator = random.Random(_OF_PAIRS)
    picked: list[Drawn] = []
    for name, wanted in WANTED.items():
        bands: dict[str, list[Drawn]] = defaultdict(list)
        with desk(name) as place:
            for one in pool(place):
                bands[one.band].append(one)
        sizes = {key: len(those) for key, those in bands.items()}
        print(f"{name}: {sizes}", file=sys.stderr)
        used: set[str] = set()
        for key, most in wanted.items():
            generator.shuffle(bands[key])
            picked += taken(bands[key], most, used)
    generator.shuffle(picked)
    return picked


def taken(pairs: Sequence[Drawn], most: int, used: set[str]) -> list[Drawn]:
    """The first so many, of questions that are not used yet; marks them as used."""
    found: list[Drawn] = []
    for one in pairs:
        if one.start == 0 and one.query not in used and len(found) < most:
            used.add(one.query)
            found.append(one)
    return found


def main() -> None:
    for number, one in enumerate(sample()):
        print(f"#{number} {one.set} {one.query} {one.document}")
        print(f"Q: {one.question}\n<{one.title}> {one.text}\n")


if __name__ == "__main__":
    main()
