"""Documents that say enough to be asked about, and outcomes whose true probability is known."""

import csv
import math
from dataclasses import replace
from pathlib import Path
from random import Random

from secondlook.evaluation.calibration import Answered
from secondlook.library.report import Text
from secondlook.reading.calibration import Calibration, load_calibration
from secondlook.reading.logistic import Logistic, Outcome

TOWNS = ("Lessing", "Halvermouth", "Corran", "Vastervik", "Ansby", "Tolland", "Merrow", "Dunmore")
_FACTS = (
    ("When was the lighthouse of {} built?", "The lighthouse of {} was built in {}.", 1801),
    ("How many metres deep is the harbour of {}?", "The harbour of {} is {} metres deep.", 4),
    ("How many stalls are in the market hall of {}?", "The market hall of {} has {} stalls.", 110),
    ("When was the bridge of {} destroyed?", "The bridge of {} was destroyed in {}.", 1840),
)


def documents() -> list[Text]:
    """Eight towns, each with a lighthouse, a harbour, a market and a bridge of its own."""
    return [
        Text(
            f"{town.lower()}.txt",
            "\n\n".join(said.format(town, first + 7 * at) for _, said, first in _FACTS),
            town,
        )
        for at, town in enumerate(TOWNS)
    ]


def sheet(file: Path) -> Path:
    """32 questions with their answers, and as many about towns that no document names."""
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(["question", "answer", "answerable"])
        for at, town in enumerate(TOWNS):
            for question, _, first in _FACTS:
                writer.writerow([question.format(town), first + 7 * at, "yes"])
                writer.writerow([question.format(f"New {town}"), "", "no"])
    return file


def shipped() -> Calibration:
    """The shipped calibration, of its own reader, with one feature that tells everything."""
    known = load_calibration("any reader")
    only = Logistic(0.0, {"margin": 1.0})
    return replace(known, label="calibrated", answer=only, second=None, yes_no=None)


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
        found.append(Answered(f"document {at // 4}", Outcome(features, right), before))
    return found
