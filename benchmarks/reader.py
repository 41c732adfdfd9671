"""How fast the reader reads, beside the one it was built from and beside what the cores can do.

    export SECONDLOOK_DATA=...
    python -m benchmarks.reader --given reader-12/ --fused reader-12-fused/ --float reader-float/
    python -m benchmarks.reader --quality 1000 --float reader-float/

Every round reads the candidates of one question of squad2-dev: 20 passages, found by the product's
own search. All contenders take turns within a round and the order changes from round to round;
medians over the rounds count, and ratios are medians of ratios within rounds.

- given: the file of `--given`, unfused, at the best of all batch sizes and ways to use the cores
- fused: the same weights in the graph that this product writes (`--fused`, a folder)
- shipped: the reader of the product (or `--reader`), as a search uses it and with a look at all
- float32: the same weights before they were made int8 (`--float`, written by
  `python -m training.export.build reader ... --float`)

What passes need is counted, not estimated: operations with weights against the peak of int8 (or
float32) products of the same shapes, all others against that of float32. `--quality` reads gold
passages with int8 and float32 and compares what comes of it. Results go to
benchmarks/results/reader.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnxruntime

from benchmarks.reader_candidates import OPTIONS, Candidates, collect
from benchmarks.reader_given import ways
from benchmarks.reader_operations import (
    Operations,
    Peak,
    glance_head_operations,
    layers_operations,
    look_head_operations,
)
from benchmarks.reader_precision import precision
from secondlook.reading.reader import OnnxReader
from secondlook.reading.session import Workers, allowed_cores
from secondlook.reading.weights import find_weights, read_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.reader_given import Pair
    from secondlook.reading.port import Reading
    from secondlook.reading.weights import Weights

RESULTS = Path(__file__).parent / "results" / "reader.json"
GOAL = 1.5
"""Times as fast as the given file at its best."""


class Own:
    """A reader of the product that looks at some or all of the candidates."""

    def __init__(self, weights: Weights, *, looks: int | None, int8: bool = True) -> None:
        self.weights = weights
        self.looks = looks
        self.int8 = int8
        self.reader = OnnxReader(weights, remembered=0)

    def run(self, one: Candidates) -> list[Reading]:
        choose = None if self.looks is None else one.choose(self.looks)
        return self.reader.read(one.question, one.passages, choose=choose)

    def operations(self, one: Candidates) -> Operations:
        """What the passes over these candidates need."""
        manifest = json.loads((self.weights.folder / "manifest.json").read_text("utf-8"))
        layers, depth = manifest["layers"], manifest.get("glance_layers", 0)
        heads = 1 + ("support" in manifest["outputs"])
        readings = self.run(one)
        looked = [
            count
            for count, owner in zip(one.tokens, one.owners, strict=True)
            if readings[owner].looked
        ]
        needed = layers_operations(one.tokens, depth)
        needed += layers_operations(looked, layers - depth)
        needed += look_head_operations(looked, heads=heads)
        return needed + glance_head_operations(len(one.pairs) if depth else 0)


def contenders(given: argparse.Namespace) -> dict[str, Own]:
    """The product's readers by name."""
    shipped = read_weights(given.reader) if given.reader else find_weights("reader")
    made = {
        f"shipped, {given.looks} looks": Own(shipped, looks=given.looks),
        "shipped, a look at all": Own(shipped, looks=None),
    }
    if given.fused:
        made["fused, a look at all"] = Own(read_weights(given.fused), looks=None)
    if given.float:
        weights = read_weights(given.float)
        made[f"float32, {given.looks} looks"] = Own(weights, looks=given.looks, int8=False)
        made["float32, a look at all"] = Own(weights, looks=None, int8=False)
    return made


def race(
    work: Mapping[str, Callable[[Candidates], Any]], asked: Sequence[Candidates]
) -> dict[str, list[float]]:
    """Seconds of each contender in each round."""
    names = list(work)
    for name in names:
        work[name](asked[0])  # what comes first pays for memory that all use
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for at, one in enumerate(asked):
        for name in (*names[at % len(names) :], *names[: at % len(names)]):
            began = time.perf_counter()
            work[name](one)
            seconds[name].append(time.perf_counter() - began)
        if at % 5 == 4:
            print(f"{at + 1} of {len(asked)} rounds", flush=True)
    return seconds


def measured(given: argparse.Namespace) -> dict[str, Any]:
    asked = collect(given.questions)
    own, workers = contenders(given), Workers()
    typical = round(statistics.mean(count for one in asked for count in one.tokens))
    peaks = {int8: Peak(typical, workers, int8=int8) for int8 in (True, False)}
    work: dict[str, Callable[[Candidates], Any]] = {
        name: partial(_on_pairs, run) for name, run in ways(given.given / "model.int8.onnx").items()
    }
    work |= {name: reader.run for name, reader in own.items()}
    work |= {f"peak {int8=}": partial(_peak, peak) for int8, peak in peaks.items()}
    seconds = race(work, asked)
    per_second = {
        int8: peak.operations / statistics.median(seconds[f"peak {int8=}"])
        for int8, peak in peaks.items()
    }
    return {
        "machine": _machine(asked, own, typical),
        "peak_operations_per_second": {
            "int8": per_second[True],
            "float32": per_second[False],
        },
        "contenders": {
            name: _figures(seconds[name], asked, own.get(name), per_second)
            for name in work
            if not name.startswith("peak")
        },
        **_ratios(seconds, given.looks),
    }


def _on_pairs(run: Callable[[Sequence[Pair]], Any], one: Candidates) -> None:
    run(one.pairs)


def _peak(peak: Peak, _: Candidates) -> None:
    peak.run()


def _figures(
    seconds: list[float],
    asked: Sequence[Candidates],
    reader: Own | None,
    per_second: Mapping[bool, float],
) -> dict[str, Any]:
    passages = statistics.mean(len(one.passages) for one in asked)
    typical = statistics.median(seconds)
    found: dict[str, Any] = {
        "seconds_per_question": typical,
        "passages_per_second": passages / typical,
    }
    if reader is None:
        return found
    needed = sum((reader.operations(one) for one in asked), Operations())
    least = needed.weights / per_second[reader.int8] + needed.others / per_second[False]
    return {
        **found,
        "operations_per_question": needed.all / len(asked),
        "operations_per_second": needed.all / sum(seconds),
        "share_of_peak": least / sum(seconds),
    }


def _ratios(seconds: Mapping[str, list[float]], looks: int) -> dict[str, Any]:
    """How many times as fast, within rounds; and the best way to run the given file."""
    best = min(
        (name for name in seconds if name.startswith("given")),
        key=lambda name: statistics.median(seconds[name]),
    )
    shipped = f"shipped, {looks} looks"
    pairs = {
        "shipped / given at its best": (best, shipped),
        "shipped with a look at all / given at its best": (best, "shipped, a look at all"),
        "shipped / fused": ("fused, a look at all", shipped),
        "fused / given at its best": (best, "fused, a look at all"),
        "int8 / float32": (f"float32, {looks} looks", shipped),
        "int8 / float32 with a look at all": ("float32, a look at all", "shipped, a look at all"),
    }
    return {
        "given_at_its_best": best,
        "times_as_fast": {
            name: statistics.median(
                slow / fast for slow, fast in zip(seconds[slower], seconds[faster], strict=True)
            )
            for name, (slower, faster) in pairs.items()
            if slower in seconds and faster in seconds
        },
        "goal": {"shipped / given at its best": GOAL},
    }


def _machine(asked: Sequence[Candidates], own: Mapping[str, Own], tokens: int) -> dict[str, Any]:
    return {
        "cores": allowed_cores(),
        "onnxruntime": onnxruntime.__version__,
        "readers": {name: reader.weights.identity for name, reader in own.items()},
        "questions": len(asked),
        "passages": sum(len(one.passages) for one in asked),
        "passes": sum(len(one.pairs) for one in asked),
        "tokens_per_pass": tokens,
    }


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--given", type=Path, help="folder of the unfused file, model.int8.onnx")
    parser.add_argument("--fused", type=Path, help="folder of the same weights in our graph")
    parser.add_argument("--reader", type=Path, help="folder of the reader; default: the shipped")
    parser.add_argument("--float", type=Path, help="folder of the same reader in float32")
    parser.add_argument("--questions", type=int, default=40, help="rounds")
    parser.add_argument("--looks", type=int, default=OPTIONS.looks)
    parser.add_argument(
        "--quality", type=int, default=0, metavar="N", help="int8 and float32 on N questions"
    )
    return parser.parse_args()


def main() -> None:
    given = options()
    done = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    if given.quality:
        if given.float is None:
            raise SystemExit("--quality compares with float32: name its folder with --float")
        shipped = read_weights(given.reader) if given.reader else find_weights("reader")
        done["precision"] = precision(shipped, read_weights(given.float), given.quality)
    elif given.given is None:
        raise SystemExit("speed is told beside the given file: name its folder with --given")
    else:
        done["speed"] = measured(given)
    RESULTS.write_text(json.dumps(done, indent=2) + "\n", "utf-8")
    print(json.dumps(done["precision" if given.quality else "speed"], indent=2))


if __name__ == "__main__":
    main()
