"""Documents that say enough to be asked about, and outcomes whose true probability is known."""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING

from secondlook.evaluation.confidence import Answered
from secondlook.evaluation.generated_questions import Asked
from secondlook.library.report import Text
from secondlook.reading.calibration import load_calibration
from secondlook.reading.logistic import Logistic, Outcome

if TYPE_CHECKING:
    from secondlook.reading.calibration import Calibration

TOWNS = ("Lessing", "Halvermouth", "Corran", "Vastervik", "Ansby", "Tolland", "Merrow", "Dunmore")
PEOPLE = (
    "Thomas Webb",
    "Anna Orr",
    "Julia Brandt",
    "Peter Lindqvist",
    "Maria Costa",
    "Henry Fowler",
    "Clara Nilsen",
    "Robert Haines",
)
SHIPS = ("Albatross", "Northern Star", "Grey Lady", "Fulmar", "Resolute", "Kittiwake")


def documents() -> list[Text]:
    """Eight towns, each with a harbour, a light, a council and a ferry of its own."""
    return [Text(f"{town.lower()}.txt", _about(at, town), town) for at, town in enumerate(TOWNS)]


def _about(at: int, town: str) -> str:
    person, other = PEOPLE[at], PEOPLE[(at + 3) % len(PEOPLE)]
    ship, near = SHIPS[at % len(SHIPS)], TOWNS[(at + 1) % len(TOWNS)]
    sentences = (
        f"The lighthouse of {town} was built by {person} in {1801 + 17 * at}.",
        f"The harbour of {town} was dredged to {4 + at} metres after the storm of {1911 + at}.",
        f"The council of {town} has approved a new breakwater near {near}.",
        f"In {1950 + 3 * at}, the ferry {ship} was sold to a company in {near}.",
        f"The market hall of {town} can hold {110 + 30 * at} stalls during the summer.",
        f"{other} was elected mayor of {town} in {1971 + 4 * at}.",
        f"The museum of {town} is open on {12 + at} days before the regatta.",
        f"The oldest bridge of {town} was destroyed by a flood in {1840 + 11 * at}.",
        f"The tower of the church in {town} is {31 + 2 * at} metres high.",
        f"A ticket for the ferry from {town} to {near} will cost {14 + at} crowns.",
        f"The school of {town} was founded by {person} with a gift of {2000 + 250 * at} crowns.",
        f"The fishing fleet of {town} had {41 + 6 * at} boats before the war.",
    )
    return "\n\n".join(sentences)


def shipped() -> Calibration:
    """The shipped calibration, of its own reader, with one feature that tells everything."""
    from dataclasses import replace

    known = load_calibration("any reader")
    return replace(known, label="calibrated", answer=Logistic(0.0, {"margin": 1.0}))


def outcomes(
    number: int, *, bias: float, slope: float, seed: int = 0, calibration: Calibration | None = None
) -> list[Answered]:
    """Answers whose probability of being right is a logistic function of the margin."""
    draw, used = Random(seed), calibration or shipped()
    found = []
    for at in range(number):
        margin = draw.gauss(0, 2)
        right = draw.random() < 1 / (1 + math.exp(-(bias + slope * margin)))
        features = {"margin": margin, "relevance": draw.gauss(0, 1)}
        before = used.answer.probability(features) if used.label == "calibrated" else None
        asked = Asked(f"question {at}?", ("yes",), answerable=True, group=f"document {at // 4}")
        found.append(Answered(asked, Outcome(features, right), before))
    return found
