"""How well support is judged, and whether `verify` sees that a claim no longer follows.

    SECONDLOOK_DATA=... python -m benchmarks.groundedness fit       the head's probability
    SECONDLOOK_DATA=... python -m benchmarks.groundedness           everything below
                        python -m benchmarks.groundedness tables    its figures into docs/verify.md

`fit` writes src/secondlook/reading/support/head.json from the held-out part of the training claims
(`python -m training.prepare` makes them). The rest writes benchmarks/results/groundedness.json:
BEGIN and QAGS, HaluEval with lengths matched, minimal pairs, and falsified answers of the engine.
Thresholds of baselines are found on the same claims as the head's probability, with the same
weights; what they reach with the best threshold of the test set itself is told beside.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import groundedness_answers, groundedness_sets, groundedness_tables
from benchmarks import groundedness_measures as measures
from secondlook.errors import SecondlookError
from secondlook.library.library import Library
from secondlook.reading.support import (
    ALL_CAPS,
    DEFAULT_MIN_SUPPORT,
    CoverageSupport,
    ReaderSupport,
    SupportHead,
    cap,
    read_head,
    save_head,
    supporting_logits,
)

if TYPE_CHECKING:
    from benchmarks.groundedness_measures import Pairs, RememberingReader, Scores
    from benchmarks.groundedness_sets import Claims
    from secondlook.reading.support import Support

ROOT = Path(__file__).resolve().parents[1]
HEAD = ROOT / "src" / "secondlook" / "reading" / "support" / "head.json"
PAGE = ROOT / "docs" / "verify.md"
RESULTS = Path(__file__).parent / "results" / "groundedness.json"
PARTS = ("judgements", "lengths", "pairs", "answers")
FALSIFIED_EACH = 4


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    if options.what == "tables":
        groundedness_tables.fill(PAGE, json.loads(options.out.read_text("utf-8")))
        return 0
    try:
        reader = measures.RememberingReader.open(options.reader)
        if options.what == "fit":
            _fit(reader, options.head, options.claims)
        else:
            _run(reader, read_head(options.head), options)
    except SecondlookError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("fit", "run", "tables"), default="run")
    parser.add_argument("--reader", type=Path, help="folder of a reader; else the installed one")
    parser.add_argument("--head", type=Path, default=HEAD, help="file of the head's probability")
    parser.add_argument("--claims", type=int, default=0, help="claims to fit on; 0 = all")
    parser.add_argument("--begin", type=int, default=0, help="rows of BEGIN; 0 = all")
    parser.add_argument("--questions", type=int, default=150, help="questions asked of the engine")
    parser.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    if options.what != "tables" and "SECONDLOOK_DATA" not in os.environ:
        parser.error("SECONDLOOK_DATA names the folder of the data sets")
    return options


def _fit(reader: RememberingReader, file: Path, size: int) -> None:
    claims = groundedness_sets.fitting(size)
    head = measures.fit_head(reader, claims)
    scores = np.array([head.probability(one) for one in supporting_logits(reader, claims.pairs)])
    save_head(
        file,
        head,
        made=f"{datetime.now(UTC):%Y-%m-%d}",
        by="python -m benchmarks.groundedness fit",
        data={"claims": "held-out part of the training claims", "n": len(claims.pairs)},
        fitted=measures.figures(scores, claims.supported, DEFAULT_MIN_SUPPORT),
    )
    print(file.read_text("utf-8"))


def _run(reader: RememberingReader, head: SupportHead, options: argparse.Namespace) -> None:
    found: dict[str, Any] = {"judge": ReaderSupport(lambda: reader, head).name}
    found |= {"reader": reader.name, "min_support": DEFAULT_MIN_SUPPORT}
    if head.reader != reader.name:
        raise SecondlookError(
            f"the head was fitted for {head.reader!r}, the reader is {reader.name!r}",
            hint="python -m benchmarks.groundedness fit",
        )
    if "judgements" in options.only:
        thresholds = _thresholds(measures.BASELINES, options.claims)
        found["judgements"] = {
            name: _compared(reader, head, claims, measures.BASELINES, thresholds)
            for name, claims in (
                ("BEGIN", groundedness_sets.begin(options.begin)),
                ("QAGS", groundedness_sets.qags()),
            )
        }
    if "lengths" in options.only:
        baselines = {"length": measures.length, "word overlap": measures.overlap}
        thresholds = _thresholds(baselines, options.claims)
        claims = groundedness_sets.halueval()
        found["halueval, lengths matched"] = _compared(reader, head, claims, baselines, thresholds)
    if "pairs" in options.only:
        found["minimal pairs"] = _minimal(reader, head)
    if "answers" in options.only:
        found["falsified answers"] = _answers(reader, head, options.questions)
    print(json.dumps(found, indent=1))
    _keep(found, options.out)


def _keep(found: dict[str, Any], file: Path) -> None:
    """Beside what other parts found with the same judge."""
    known = json.loads(file.read_text("utf-8")) if file.exists() else {}
    if known.get("judge") == found["judge"]:
        found = known | found
    file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _thresholds(baselines: dict[str, Any], size: int) -> dict[str, float]:
    fitted = groundedness_sets.fitting(size)
    return {
        name: measures.best_threshold(score(fitted.pairs), fitted)
        for name, score in baselines.items()
    }


def _compared(
    reader: RememberingReader,
    head: SupportHead,
    claims: Claims,
    baselines: dict[str, Any],
    thresholds: dict[str, float],
) -> dict[str, Any]:
    least = DEFAULT_MIN_SUPPORT
    judge = np.array(ReaderSupport(lambda: reader, head).support(claims.pairs))
    found: dict[str, Any] = {
        "n": len(claims.pairs),
        "supported": sum(claims.supported),
        "judge": measures.figures(judge, claims.supported, least),
        "variants": {
            name: measures.figures(
                _capped(reader, head, claims.pairs, caps), claims.supported, least
            )
            for name, caps in (("head alone", ()), ("head, every cap", ALL_CAPS))
        },
        "coverage": measures.figures(measures.coverage(claims.pairs), claims.supported, least),
        "majority": {"balanced_accuracy": 0.5},
    }
    for name, score in baselines.items():
        found[name] = measures.figures(score(claims.pairs), claims.supported, thresholds[name])
    best = max(found[name]["balanced_accuracy"] for name in ("majority", *baselines))
    found["points_above_best_baseline"] = round(
        100 * (found["judge"]["balanced_accuracy"] - best), 1
    )
    return found


def _capped(reader: RememberingReader, head: SupportHead, pairs: Pairs, caps: Any) -> Scores:
    """The head's probability of each pair as a whole, without the look for verbatim sentences."""
    return np.array(
        [
            min(head.probability(logit), cap(*pair, caps))
            for pair, logit in zip(pairs, supporting_logits(reader, pairs), strict=True)
        ]
    )


def _minimal(reader: RememberingReader, head: SupportHead) -> dict[str, Any]:
    """True sentences are judged by the model too here, though `verify` needs not ask it."""
    pairs = groundedness_sets.minimal_pairs()
    scored = {
        name: (
            _capped(reader, head, [(one.true, one.passage) for one in pairs], caps),
            _capped(reader, head, [(one.changed, one.passage) for one in pairs], caps),
        )
        for name, caps in (("judge", head.caps), ("head alone", ()))
    }
    both = [(one.true, one.passage) for one in pairs], [(one.changed, one.passage) for one in pairs]
    scored["coverage"] = measures.coverage(both[0]), measures.coverage(both[1])
    kinds = np.array([one.how for one in pairs])
    return {"n": len(pairs)} | {
        name: {"all": _told_apart(*scores)}
        | {
            kind: _told_apart(*(some[kinds == kind] for some in scores))
            for kind in sorted(set(kinds))
        }
        for name, scores in scored.items()
    }


def _told_apart(true: Scores, changed: Scores) -> dict[str, Any]:
    least = DEFAULT_MIN_SUPPORT
    return {
        "n": len(true),
        "true_kept": round(float((true >= least).mean()), 3),
        "changed_stopped": round(float((changed < least).mean()), 3),
        "balanced_accuracy": round(float((true >= least).mean() + (changed < least).mean()) / 2, 3),
        "both_right": round(float(((true >= least) & (changed < least)).mean()), 3),
        "true_above_changed": round(float((true > changed).mean()), 3),
    }


def _answers(reader: RememberingReader, head: SupportHead, size: int) -> dict[str, Any]:
    samples = json.loads((ROOT / "examples" / "questions.json").read_text("utf-8"))["answered"]
    judges: dict[str, Support] = {
        "judge": ReaderSupport(lambda: reader, head),
        "coverage": CoverageSupport(),
    }
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        answers = groundedness_answers.engine_answers(
            Path(folder), [one["question"] for one in samples], size
        )
        with Library.open(groundedness_answers.library_in(Path(folder))) as library:
            return groundedness_answers.judged(
                answers, library, judges, each=FALSIFIED_EACH, min_support=DEFAULT_MIN_SUPPORT
            )


if __name__ == "__main__":
    sys.exit(main())
