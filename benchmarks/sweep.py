"""Which weights, how many candidates, and how much to trust the reader: measured.

    export SECONDLOOK_DATA=...                 the folder with the evaluation sets
    python -m benchmarks.sweep prepare         embed, search, list the pairs to be read
    python -m benchmarks.sweep prepare --given text     the same without titles, to compare
    python -m benchmarks.sweep score           read the pairs (the long step; resumable)
    python -m benchmarks.sweep report          sweep, choose, print, save

`score --part 3/16 --threads 1` reads every sixteenth group of pairs: start sixteen of them. It
needs numpy, onnxruntime, tokenizers, the weights and the pairs, but neither the sets nor an
index, so that it can run on another machine; `.cache/sweep/scores` is what to bring back.
Everything lies under `.cache/sweep` and is reused; delete a file there to make it anew.
"""

from __future__ import annotations

import argparse


def main() -> None:
    options = _arguments()
    if options.step == "prepare":
        from benchmarks import sweep_pools

        sweep_pools.embed(options.given)
        sweep_pools.pools(options.given)
        if options.given == "context":
            sweep_pools.pairs()
    elif options.step == "score":
        from benchmarks import sweep_score

        part, parts = (int(number) for number in options.part.split("/"))
        sweep_score.score(
            options.given,
            part=part,
            parts=parts,
            threads=options.threads,
            limit=options.limit,
            depth=options.depth,
        )
    else:
        from benchmarks import sweep_report

        sweep_report.report(save=not options.limit, limit=options.limit, depth=options.depth)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=["prepare", "score", "report"])
    parser.add_argument("--part", default="1/1", help="which part of how many, e.g. 3/16")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--limit", type=int, default=None, help="questions per set, for a look")
    parser.add_argument(
        "--depth", type=int, default=50, help="candidates that the reader sees: 5, 10, 20, 30, 50"
    )
    parser.add_argument(
        "--given", choices=["context", "text"], default="context", help="what a model sees"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
