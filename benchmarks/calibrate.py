"""When to answer and when to search again: probabilities and thresholds, made from data.

export SECONDLOOK_DATA=...                 the folder with the evaluation sets
python -m benchmarks.sweep prepare         pools and scores of answerable questions
python -m benchmarks.sweep score
python -m benchmarks.calibrate prepare     searches for the questions that remain
python -m benchmarks.calibrate read        reads them (the long step; resumable)
python -m benchmarks.calibrate fit         fits, reports, saves
"""

from __future__ import annotations

import argparse


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=["prepare", "read", "fit"])
    parser.add_argument("--seconds", type=float, default=float("inf"), help="how long to read")
    options = parser.parse_args()
    if options.step == "prepare":
        from benchmarks import calibrate_pools

        calibrate_pools.prepare()
    elif options.step == "read":
        from benchmarks import calibrate_read

        calibrate_read.read(seconds=options.seconds)
    else:
        from benchmarks import calibrate_report

        calibrate_report.report()


if __name__ == "__main__":
    main()
