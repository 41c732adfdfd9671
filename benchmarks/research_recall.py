"""Whether several steps find more of the gold than one pass that is shown as many passages.

    SECONDLOOK_DATA=FOLDER python -m benchmarks.research_recall --limit 300
    SECONDLOOK_DATA=FOLDER python -m benchmarks.research_recall --limit 50 --model gguf:FILE

`research` and `corrective` are shown n passages of a question, in all their steps together. Their
share of the gold is held against that of the best n of one search of the same question, question
by question. One search comes in two forms: `deep` ranks as `linear` does and goes on to n, `wide`
fuses twice as many candidates and has the reader look at every passage that counts, as many as the
steps of research look at. The questions are those of `secondlook eval SET --limit N`.

Interrupted, it goes on where it was: `.cache/eval` holds the rows and what models said. Writes
benchmarks/results/research_recall.json, which holds no question.
"""

from __future__ import annotations

import argparse
import os
import sys
from statistics import fmean
from typing import TYPE_CHECKING, Any

from benchmarks.eval_runs import RESULTS, write_results
from benchmarks.eval_sets import CACHE, data_folder
from secondlook.evaluation.evaluating import Request, answer_all
from secondlook.evaluation.records import Configuration
from secondlook.evaluation.statistics import interval, paired
from secondlook.settings import load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from secondlook.evaluation.records import Row
    from secondlook.settings import Settings

FILE = "research_recall.json"
BASES = ("deep", "wide")
OTHERS = ("research", "corrective")
SEED = 0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", dest="name", default="hotpot")
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--model", default="none")
    parser.add_argument("--preset")
    parser.add_argument("--file", default=FILE, help="name of the file in benchmarks/results")
    options = parser.parse_args()
    rows = answered(options.name, options.limit, model=options.model, preset=options.preset)
    command = " ".join(["python -m benchmarks.research_recall", *sys.argv[1:]])
    content = {"set": options.name, "model": options.model, **told(rows)}
    write_results(RESULTS / options.file, command, content)
    print(table(content))


def answered(
    name: str, limit: int, *, model: str, preset: str | None
) -> Mapping[str, Sequence[Row]]:
    os.environ.setdefault("SECONDLOOK_CACHE", str(CACHE))
    flags = {"models.default": model}
    request = Request(
        path=data_folder() / name,
        flags=flags,
        preset=preset,
        limit=limit,
        seed=SEED,
        out=CACHE / f"research-recall-{name}-{model.rpartition('/')[2]}-{preset or 'as-set'}",
    )
    return answer_all(request, configurations(load(flags, preset=preset).settings)).rows


def configurations(settings: Settings) -> list[Configuration]:
    """One pass must be able to show as many as the most steps can."""
    most = settings.answer.k * max(
        settings.research.max_cycles, 1 + settings.corrective.max_rewrites
    )
    deep = {"answer.k": most, "search.candidates": max(most, settings.search.candidates)}
    wide = {"answer.k": most, "search.candidates": 2 * most, "search.looks": most}
    return [
        Configuration("linear", "linear"),
        Configuration("deep", "linear", deep),
        Configuration("wide", "linear", wide),
        *(Configuration(name, name) for name in OTHERS),
    ]


def told(rows: Mapping[str, Sequence[Row]]) -> dict[str, Any]:
    with_gold = [row for row in rows["linear"] if row.gold and row.answerable]
    return {
        "questions": len(with_gold),
        "recall": {name: recall_shown(found) for name, found in rows.items()},
        "comparisons": [
            {"one_pass": base, "steps": other, **at_equal_numbers(rows[base], rows[other])}
            for other in OTHERS
            for base in BASES
        ],
    }


def recall_shown(rows: Sequence[Row]) -> dict[str, Any]:
    """As each was shown: not at equal numbers."""
    shares = [row.metrics["recall_shown"] for row in rows if "recall_shown" in row.metrics]
    found = interval(shares, SEED)
    return {
        "value": _rounded(found.value),
        "low": _rounded(found.low),
        "high": _rounded(found.high),
        "shown": round(fmean(row.shown for row in rows), 3) if rows else None,
    }


def at_equal_numbers(base: Sequence[Row], other: Sequence[Row]) -> dict[str, Any]:
    """The gold that steps were shown, less that of as many from one pass; by type as well."""
    one_pass = {row.case: row for row in base}
    pairs = [(one_pass[row.case], row) for row in other if "recall_shown" in row.metrics]
    kinds = sorted({row.type for _, row in pairs if row.type})
    return {
        **compared(pairs),
        "by_type": {
            kind: compared([one for one in pairs if one[1].type == kind]) for kind in kinds
        },
    }


def compared(pairs: Sequence[tuple[Row, Row]]) -> dict[str, Any]:
    before = [best(row, after.shown) for row, after in pairs]
    after = [row.metrics["recall_shown"] for _, row in pairs]
    found = paired(before, after, yes_no=False, seed=SEED)
    return {
        "questions": len(pairs),
        "shown": round(fmean(row.shown for _, row in pairs), 3),
        "recall_one_pass": round(fmean(before), 4),
        "recall_steps": round(fmean(after), 4),
        "difference": round(found.difference, 4),
        "low": round(found.low, 4),
        "high": round(found.high, 4),
        "p": round(found.p, 6),
        "improved": found.improved,
        "same": found.same,
        "degraded": found.degraded,
        "too_few": sum(row.shown < other.shown for row, other in pairs),
    }


def best(row: Row, number: int) -> float:
    """Recall among the best so many passages of one pass."""
    return sum(rank <= number for rank in row.gold_ranks) / row.gold


def table(content: Mapping[str, Any]) -> str:
    lines = [
        "| steps | one pass | passages | recall, one pass | recall, steps | difference (95 %) |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {one['steps']} | {one['one_pass']} | {one['shown']:.1f} | {one['recall_one_pass']:.3f} "
        f"| {one['recall_steps']:.3f} | {one['difference']:+.3f} ({one['low']:+.3f} to "
        f"{one['high']:+.3f}) |"
        for one in content["comparisons"]
    ]
    return "\n".join(lines)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


if __name__ == "__main__":
    main()
