"""How often what a question wants is told wrongly.

    export SECONDLOOK_DATA=FOLDER                 # for the public sets; left out without it
    python -m benchmarks.classify

`training/asked/test-wants.txt` holds 240 questions as people type them, with what they want, by
another hand than the training data; `route` counts only which way a question goes. `hotpot` needs
several facts, `squad2-dev` is taken for one. Some of SQuAD's do need more than one fact, and some
of HotpotQA's can be answered from one passage (Min et al., ACL 2019, "Compositional Questions Do
Not Necessitate Multi-hop Reasoning"). A limit of the product was chosen on 500 questions of each.
Writes `benchmarks/results/classify.json`.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.common import data_folder, parser, rows, save, share
from secondlook.roles.wants import ONE, TALK, Want, read_form, wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

ASKED = Path(__file__).parents[1] / "training" / "asked" / "test-wants.txt"
PUBLIC = {"hotpot": "several", "squad2-dev": "one"}
SAMPLE, SEED = 1000, 8


def route(want: Want) -> str:
    return {"parts": "several"}.get(want.kind, "talk" if want.kind in TALK else want.kind)


def exact(want: Want) -> str:
    return want.split.combining if want.split else want.kind


def typed() -> Iterator[tuple[str, Want]]:
    for line in ASKED.read_text("utf-8").splitlines():
        question, _, form = line.rpartition(" => ")
        yield question, read_form(form) or ONE  # the tests see to it that each is a form


def public(name: str) -> list[str]:
    questions = [row["question"] for row in rows(name, "queries")]
    random.Random(SEED).shuffle(questions)
    return questions[:SAMPLE]


def main() -> None:
    parser(__doc__).parse_args()
    read = [(wanted(question), want) for question, want in typed()]
    told: dict[str, Any] = {
        "wants: kind wrong": share([exact(one) != exact(other) for one, other in read]),
        "wants: route wrong": share([route(one) != route(other) for one, other in read]),
    }
    for name, kind in PUBLIC.items() if os.environ.get("SECONDLOOK_DATA") else ():
        if (data_folder() / name).is_dir():
            found = [route(wanted(question)) for question in public(name)]
            told[f"{name}: route wrong"] = share(
                [(one == "one") != (kind == "one") for one in found]
            )
    save("classify", {"sample": SAMPLE, "seed": SEED, **told})


if __name__ == "__main__":
    main()
