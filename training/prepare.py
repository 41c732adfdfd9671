"""Prepare the data that the reader is trained on.

    python -m training.prepare --data $SECONDLOOK_DATA --out .cache/training/in

Writes passages, questions (with mined negatives and unanswerable rows made by code), claims and
the held-out part of both as gzip JSON lines, and report.json. The same data and seed give the same
bytes. Stops where text of a test set would be trained on.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.errors import SecondlookError, UsageError
from training.data.assemble import Assembly, write
from training.data.report import report

if TYPE_CHECKING:
    from training.data.own_index import IndexMiner

REPORT_FILE = "report.json"


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    try:
        _prepare(options)
    except SecondlookError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    known = os.environ.get("SECONDLOOK_DATA")
    parser.add_argument("--data", type=Path, default=known, required=known is None)
    parser.add_argument("--out", type=Path, default=Path(".cache/training/in"))
    parser.add_argument("--limit", type=int, help="rows of each source; all if left out")
    parser.add_argument("--fill", type=int, default=0, help="times each template is filled in")
    parser.add_argument("--forms", type=Path, help="rows of the understander")
    parser.add_argument("--written", type=Path, nargs="*", default=(), help="what it wrote instead")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--mine",
        choices=("words", "index"),
        default="words",
        help="how hard negatives are found: by BM25 alone, or by the product's own search, "
        "which embeds every passage first (a quarter of an hour on two cores)",
    )
    parser.add_argument("--kept", type=Path, help="folder for those vectors; default: OUT/vectors")
    return parser.parse_args(arguments)


def _prepare(options: argparse.Namespace) -> None:
    data, out = options.data, options.out
    if not (data / "squad-train").is_dir():
        raise UsageError(
            f"no training data in {str(data)!r}: it has no folder 'squad-train'",
            hint="Name the folder of the data sets with --data or SECONDLOOK_DATA.",
        )
    started = time.process_time()
    miner = _index_miner(options) if options.mine == "index" else None
    assembly = Assembly(
        data,
        options.seed,
        options.limit,
        options.fill,
        forms=options.forms,
        written=tuple(options.written),
        miner=miner,
    )
    write(assembly, out)
    found = {
        "seed": options.seed,
        "limit": options.limit,
        "fill": options.fill,
        "mine": options.mine,
        **report(out, assembly.guard),
        "left_out": dict(sorted(assembly.dropped.items())),
    }
    text = json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    (out / REPORT_FILE).write_text(text, "utf-8")
    sys.stdout.write(text)
    sys.stdout.write(f"{time.process_time() - started:.0f} seconds of one core\n")


def _index_miner(options: argparse.Namespace) -> IndexMiner:
    from training.data.own_index import IndexMiner

    return IndexMiner(options.kept or options.out / "vectors")


if __name__ == "__main__":
    sys.exit(main())
