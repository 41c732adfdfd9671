"""What it costs, and stops, to refuse sentences with a number or a name that their evidence lacks.

    export SECONDLOOK_DATA=...
    python -m benchmarks.absent [--claims 600]

Claims of BEGIN and HaluEval that the judge of support lets stand, with what is known of them: how
many of the supported and of the unsupported ones `check_grounded` refuses because of a number, and
because of a name. The whole text is the evidence, as it is for names in the product, and HaluEval's
questions count as known, as they do there; BEGIN's claims are replies in conversations.
Writes `benchmarks/results/absent.json`.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.groundedness_sets import begin, halueval
from benchmarks.reading_answers import SEED, rows
from secondlook.reading.numbers import missing_numbers
from secondlook.reading.support import DEFAULT_MIN_SUPPORT, load_support
from secondlook.reading.support.coverage import Cap, cap
from secondlook.reading.support.verbatim import is_verbatim
from training.data.statements import statement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.groundedness_sets import Claims
    from secondlook.reading.support import Support

RESULTS = Path(__file__).parent / "results" / "absent.json"
SETS = {"BEGIN": begin, "HaluEval": halueval}
_NAMES: tuple[Cap, ...] = ("name",)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--claims", type=int, default=600, help="of each set")
    parser.add_argument("--threads", type=int, default=None)
    given = parser.parse_args()
    judge = load_support(threads=given.threads)
    found = {"judge": judge.name} | {
        name: _figures(judge, claims(), _questions(), given.claims) for name, claims in SETS.items()
    }
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


def _questions() -> dict[str, str]:
    """What each of HaluEval's claims answers."""
    found: dict[str, str] = {}
    for row in rows("halueval-qa", "rows"):
        found[row["hallucinated_answer"].strip()] = row["question"]
        if (right := statement(row["question"], row["right_answer"])) is not None:
            found[right] = row["question"]
    return found


def _figures(
    judge: Support, claims: Claims, questions: Mapping[str, str], most: int
) -> dict[str, Any]:
    judged = list(zip(claims.pairs, claims.supported, strict=True))
    sample = random.Random(SEED).sample(judged, min(most, len(judged)))
    supports = judge.support([pair for pair, _ in sample])
    standing = [
        row for row, support in zip(sample, supports, strict=True) if support >= DEFAULT_MIN_SUPPORT
    ]
    return {
        name: _counted([pair for pair, supported in standing if supported is which], questions)
        for name, which in (("supported", True), ("unsupported", False))
    }


def _counted(pairs: list[tuple[str, str]], questions: Mapping[str, str]) -> dict[str, int]:
    open_ones = [
        (claim, f"{evidence}\n\n{questions.get(claim, '')}")
        for claim, evidence in pairs
        if not is_verbatim(claim, evidence)
    ]
    numbers = [pair for pair in open_ones if missing_numbers(*pair)]
    names = [pair for pair in open_ones if cap(*pair, _NAMES) < 1]
    return {
        "standing": len(pairs),
        "verbatim": len(pairs) - len(open_ones),
        "lacks_number": len(numbers),
        "lacks_name": len(names),
    }


if __name__ == "__main__":
    main()
