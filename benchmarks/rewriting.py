"""How good other words for a question are: chat's stand-alone step, the guard of rewrites, and
queries that code makes.

    export SECONDLOOK_DATA=...
    python -m benchmarks.rewriting                              by code, some minutes
    python -m benchmarks.rewriting --model gguf:PATH --limit 100     and by a model

CANARD (Elgohary et al., EMNLP 2019) has people's stand-alone rewrites of questions in
conversations. Rules and thresholds were set while looking at the conversations of one half; the
other half reports (`benchmarks/condense.py`). What a model said is kept under `.cache/rewriting`,
so that a run can be stopped and goes on later. Writes benchmarks/results/rewriting.json.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

from benchmarks import condense, rewriting_guard, rewriting_model, rewriting_search

RESULTS = Path(__file__).parent / "results" / "rewriting.json"


def main() -> None:
    options = _arguments()
    reported = [row for row in condense.rows() if condense.is_reported(row)]
    found: dict[str, Any] = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    if "stand_alone" in options.parts:
        cases = [case for row in reported if (case := condense.played(row))]
        found["stand_alone_by_rules"] = condense.measure(cases)
    if "guard" in options.parts:
        found["guard"] = rewriting_guard.measure(reported)
    if "search" in options.parts:
        found["queries_by_code"] = rewriting_search.measure(options.questions)
    if options.model:
        rows = rewriting_model.asked(options.model, _some(reported, options.limit))
        by_model = found.setdefault("by_model", {})
        by_model[rewriting_model.name_of(options.model)] = rewriting_model.figures(rows)
    print(json.dumps(found, indent=1))
    if not options.look:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _some(rows: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """The same follow-ups each time, in an order that has nothing to do with their content."""
    later = [row for row in rows if len(row["history"]) > 2]
    return sorted(later, key=lambda row: hashlib.sha256(row["id"].encode()).hexdigest())[:most]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = ["stand_alone", "guard", "search"]
    parser.add_argument("--parts", nargs="*", choices=parts, default=parts, help="what by code")
    parser.add_argument("--model", help="ask this model too, as provider:model")
    parser.add_argument("--limit", type=int, default=100, help="questions for the model")
    parser.add_argument("--questions", type=int, default=500, help="per set, for the search")
    parser.add_argument("--look", action="store_true", help="print only, save nothing")
    return parser.parse_args()


if __name__ == "__main__":
    main()
