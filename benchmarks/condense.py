"""How near the rules bring follow-up questions to what people make of them.

    SECONDLOOK_DATA=... python benchmarks/condense.py

CANARD (Elgohary et al., EMNLP 2019) has conversations in which people rewrote each question so that
it stands alone. A conversation is played from its start, as in a chat: earlier questions are those
that the rules made, answers are the ones given, the title is that of the page they are from. The
rules were written while looking at the conversations of one half, those with an even name; the
other half reports. Measured by the words that a rewrite shares with the person's (F1 of tokens),
against leaving the question as it is. Writes benchmarks/results/condense.json.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from secondlook.nodes.follow_up import leans, stand_alone
from secondlook.nodes.stand_alone import Turn

RESULTS = Path(__file__).parent / "results" / "condense.json"
SHORT = 8
"""Words of an answer that would be an answer's `short`."""
RESAMPLES = 2000
SEED = 17
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Case:
    question: str
    rewrite: str
    ours: str

    @property
    def gain(self) -> float:
        return f1(self.ours, self.rewrite) - f1(self.question, self.rewrite)


def rows() -> list[dict[str, Any]]:
    file = Path(os.environ["SECONDLOOK_DATA"]) / "rewriting" / "canard_dev.jsonl.gz"
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def is_reported(row: dict[str, Any]) -> bool:
    """Conversations are named by random hexadecimal digits: C_2d21...-1."""
    return int(row["id"].split("_")[1][:4], 16) % 2 == 1


def played(row: dict[str, Any]) -> Case | None:
    """The question after its conversation; None for one that begins it."""
    title, _, *said = row["history"]
    turns: list[Turn] = []
    for question, answer in zip(said[::2], said[1::2], strict=False):
        short = answer if len(answer.split()) <= SHORT else None
        turns.append(Turn(stand_alone(question, turns), short, answer, (title,)))
    if not turns:
        return None
    return Case(row["question"], row["rewrite"], stand_alone(row["question"], turns))


def f1(one: str, other: str) -> float:
    mine, theirs = Counter(_tokens(one)), Counter(_tokens(other))
    shared = sum((mine & theirs).values())
    return 2 * shared / (mine.total() + theirs.total()) if shared else 0.0


def _tokens(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def measure(cases: list[Case]) -> dict[str, Any]:
    gains = [case.gain for case in cases]
    changed = [case for case in cases if case.ours != case.question]
    alone = [case for case in cases if _tokens(case.question) == _tokens(case.rewrite)]
    low, high = interval(gains)
    return {
        "questions": len(cases),
        "f1_as_typed": mean([f1(case.question, case.rewrite) for case in cases]),
        "f1_by_rules": mean([f1(case.ours, case.rewrite) for case in cases]),
        "gain": mean(gains),
        "gain_95_percent": [low, high],
        "changed": len(changed),
        "nearer": sum(case.gain > 0 for case in changed),
        "further": sum(case.gain < 0 for case in changed),
        "stand_alone": len(alone),
        "stand_alone_untouched": sum(case.ours == case.question for case in alone),
        "worth_asking_a_model": mean([float(leans(case.question)) for case in cases]),
    }


def interval(gains: list[float]) -> tuple[float, float]:
    chance = random.Random(SEED)
    means = sorted(mean(chance.choices(gains, k=len(gains))) for _ in range(RESAMPLES))
    return means[RESAMPLES // 40], means[-RESAMPLES // 40]


def mean(values: list[float]) -> float:
    return round(sum(values) / len(values), 4)


def main() -> None:
    data = rows()
    found: dict[str, Any] = {}
    for name, reported in (("seen_while_writing", False), ("reported", True)):
        began = time.perf_counter()
        cases = [case for row in data if is_reported(row) is reported if (case := played(row))]
        seconds = time.perf_counter() - began
        found[name] = measure(cases) | {"milliseconds_each": round(1e3 * seconds / len(cases), 2)}
    print(json.dumps(found, indent=1))
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
