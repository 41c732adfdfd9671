"""How often a question is taken for simple, or for one that needs several facts, and is not.

    export SECONDLOOK_DATA=FOLDER                 # for the public sets; left out without it
    python -m benchmarks.classify

`benchmarks/sets/classify.jsonl` holds 96 questions in our own words: half simple, half multi_hop,
and half of each with choices. It was written before the rules. Rules were fitted to its half
`tune`, and to samples of `hotpot-train` (all multi_hop) and `squad-train` (taken as simple); the
half `judge`, `hotpot` and `squad2-dev` were looked at once the rules stood. One author wrote the
questions and the rules, so the public sets are the harder judges. Both are open questions. Some of
SQuAD's do need more than one fact, and some of HotpotQA's can be answered from one passage (Min
et al., ACL 2019, "Compositional Questions Do Not Necessitate Multi-hop Reasoning"). Writes
`benchmarks/results/classify.json`.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.common import data_folder, parser, read_lines, rows, save, share
from secondlook.roles.route import classified

if TYPE_CHECKING:
    from collections.abc import Sequence

LABELLED = Path(__file__).parent / "sets" / "classify.jsonl"
PUBLIC = {
    "hotpot-train": "multi_hop",
    "squad-train": "simple",
    "hotpot": "multi_hop",
    "squad2-dev": "simple",
}
SAMPLE, SEED = 1000, 8


@dataclass(frozen=True, slots=True)
class Labelled:
    question: str
    choices: int
    kind: str
    group: str


def labelled() -> list[Labelled]:
    return [
        Labelled(row["question"], len(row["choices"]), row["kind"], row["half"])
        for row in read_lines(LABELLED)
    ]


def public() -> list[Labelled]:
    found: list[Labelled] = []
    for name, kind in PUBLIC.items():
        if (data_folder() / name).is_dir():
            questions = [row["question"] for row in rows(name, "queries")]
            random.Random(SEED).shuffle(questions)
            found += [Labelled(question, 0, kind, name) for question in questions[:SAMPLE]]
    return found


def rates(asked: Sequence[Labelled]) -> dict[str, Any]:
    """Both error rates by group, over all and for questions with choices and without."""
    wrong: dict[tuple[str, str, str], list[bool]] = {}
    for one in asked:
        other = "multi_hop" if one.kind == "simple" else "simple"
        is_wrong = classified(one.question, choices=one.choices).kind != one.kind
        for form in ("all", "choices" if one.choices else "open"):
            key = (one.group, form, f"{one.kind} called {other}")
            wrong.setdefault(key, []).append(is_wrong)
    told: dict[str, Any] = {}
    for (group, form, name), verdicts in wrong.items():
        told.setdefault(group, {}).setdefault(form, {})[name] = share(verdicts)
    return told


def main() -> None:
    parser(__doc__).parse_args()
    others = public() if os.environ.get("SECONDLOOK_DATA") else []
    save("classify", {"sample": SAMPLE, "seed": SEED, "rules": rates([*labelled(), *others])})


if __name__ == "__main__":
    main()
