"""How fast the reader reads, what share of the cores' peak that is, and what int8 costs.

    export SECONDLOOK_DATA=...
    python -m benchmarks.reader [--float reader-float/]
    python -m benchmarks.reader --quality 1000 --float reader-float/

Every round reads the candidates of one question of squad2-dev: 20 passages, found by the product's
own search; the understander writes one text. All take turns within a round, in changing order;
medians over the rounds count, and ratios are medians of ratios within rounds. `--float` is a folder
with the same weights before they were made int8 (`python -m training.export.build reader ...
--float`). Operations are counted: those with weights are held against the peak of int8 (or float32)
products of the same shapes, all others against that of float32. `--quality` compares the answers of
int8 and float32 on gold passages. Writes benchmarks/results/reader.json.
"""

from __future__ import annotations

import json
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from benchmarks.common import RESULTS, auroc, parser, squad_library, squad_questions
from secondlook.evaluation.metrics import exact_match, f1
from secondlook.library.library import Library
from secondlook.reading.reader import QUESTION_TOKENS, OnnxReader, window_starts
from secondlook.reading.session import Wordpieces, Workers
from secondlook.reading.understander import understander
from secondlook.reading.weights import find_weights, read_weights
from secondlook.retrieval.chunk import with_context
from secondlook.retrieval.search import SearchOptions, best_looks

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from secondlook.reading.port import Reading
    from secondlook.reading.weights import Weights

FILE = RESULTS / "reader.json"
DATA = "squad2-dev"
OPTIONS = SearchOptions()
FOLLOW_UP = "alone: [Handbook] | how many days off do we get? | 27 days a year | and from when?"
TABLE = "query: mean pay in Sales? | table staff: c1 team (text: Sales, Shop) ; c2 pay (number: 31)"
HIDDEN, WIDE = 384, 1536
SHAPES = ((HIDDEN, 3 * HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, WIDE), (WIDE, HIDDEN))
"""The matrices of one layer, (in, out): query with key and value, mixing, wide and narrow."""
REPEATS = 24
"""Multiplications of each shape in one measurement of the peak, on every core."""
_SPECIAL = 3


@dataclass(frozen=True, slots=True)
class Operations:
    """Additions and multiplications: with weights, which int8 makes cheaper, and others, which
    are made in float32 either way."""

    weights: float = 0.0
    others: float = 0.0

    def __add__(self, other: Operations) -> Operations:
        return Operations(self.weights + other.weights, self.others + other.others)

    @property
    def all(self) -> float:
        return self.weights + self.others


def layers_operations(tokens: Sequence[int], layers: int) -> Operations:
    """Two per weight and token; attention compares every token with every other and mixes them."""
    weights = sum(size * out for size, out in SHAPES)
    return Operations(
        layers * 2 * weights * sum(tokens),
        layers * 2 * 2 * HIDDEN * sum(count * count for count in tokens),
    )


def heads_operations(looked: Sequence[int], *, glances: int, heads: int) -> Operations:
    """Of the glance's head, and of span, relevance and the heads over first token and answer."""
    dense = 2 * (HIDDEN * HIDDEN + HIDDEN)
    each = dense + heads * 2 * (2 * HIDDEN * HIDDEN + HIDDEN)
    per_token = 2 * 2 * HIDDEN + 2 * HIDDEN
    return Operations(others=glances * dense + sum(per_token * n + each for n in looked))


class Peak:
    """Products with the matrices of a layer, as many at once as there are cores."""

    def __init__(self, tokens: int, workers: Workers, *, int8: bool) -> None:
        random = np.random.default_rng(4)
        self.operations = float(
            REPEATS * workers.threads * sum(2 * tokens * size * out for size, out in SHAPES)
        )
        self._workers = workers
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._opened = [
            onnxruntime.InferenceSession(
                multiplication(*shape, int8=int8), options, ["CPUExecutionProvider"]
            )
            for shape in SHAPES
        ]
        kind: Any = np.uint8 if int8 else np.float32
        self._values = [random.integers(0, 256, (tokens, size)).astype(kind) for size, _ in SHAPES]

    def run(self, _: object = None) -> None:
        self._workers.map(self._each, range(REPEATS * self._workers.threads))

    def _each(self, _: int) -> None:
        for opened, value in zip(self._opened, self._values, strict=True):
            opened.run(None, {"value": value})


def multiplication(size: int, out: int, *, int8: bool) -> bytes:
    """A graph of nothing but one product with a constant matrix, as in the reader's graphs."""
    random = np.random.default_rng(3)
    if int8:
        matrix: Any = random.integers(-127, 128, (size, out)).astype(np.int8)
        operator, given, made = "MatMulInteger", TensorProto.UINT8, TensorProto.INT32
    else:
        matrix = random.normal(size=(size, out)).astype(np.float32)
        operator, given, made = "MatMul", TensorProto.FLOAT, TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node(operator, ["value", "matrix"], ["product"])],
        "product",
        [helper.make_tensor_value_info("value", given, ("tokens", size))],
        [helper.make_tensor_value_info("product", made, ("tokens", out))],
        [numpy_helper.from_array(matrix, "matrix")],
    )
    opset = [helper.make_opsetid("", 17)]
    model: onnx.ModelProto = helper.make_model(graph, opset_imports=opset, ir_version=8)
    return bytes(model.SerializeToString())


@dataclass(frozen=True, slots=True)
class Candidates:
    """What the reader is given for one question, and the tokens of its passes."""

    question: str
    passages: list[str]
    fusion: list[float]
    tokens: list[int]
    owners: list[int]
    """To which passage each pass belongs."""


def collect(questions: int) -> list[Candidates]:
    """The candidates of some questions, as the product's search finds them."""
    asked = squad_questions(questions)
    weights = find_weights("reader")
    wordpieces = Wordpieces(weights.tokenizer)
    found = []
    with Library.open(squad_library(), create=False) as library:
        for row in asked:
            hits = library.hits(library.searcher().find(row["question"], OPTIONS))
            hits = hits[: OPTIONS.candidates]
            passages = [hit.passage for hit in hits]
            texts = [with_context(one.title, one.heading, one.text) for one in passages]
            (ids,) = wordpieces.ids([row["question"]], limit=QUESTION_TOKENS)
            room = weights.max_tokens - len(ids) - _SPECIAL
            windows = [
                (at, len(ids) + len(tokens[start : start + room]) + _SPECIAL)
                for at, (tokens, _) in enumerate(wordpieces.with_offsets(texts))
                for start in window_starts(len(tokens), room)
            ]
            fusion = [hit.fusion_score for hit in hits]
            owners, counts = [at for at, _ in windows], [count for _, count in windows]
            found.append(Candidates(row["question"], texts, fusion, counts, owners))
    return found


class Own:
    """A reader of the product that looks at some or all of the candidates."""

    def __init__(self, weights: Weights, *, looks: int | None, int8: bool = True) -> None:
        self.weights, self.looks, self.int8 = weights, looks, int8
        self.reader = OnnxReader(weights, remembered=0)

    def run(self, one: Candidates) -> list[Reading]:
        looks = self.looks
        choose = looks and best_looks(one.fusion, blend=OPTIONS.blend, looks=looks)
        return self.reader.read(one.question, one.passages, choose=choose or None)

    def operations(self, one: Candidates) -> Operations:
        """What the passes over these candidates need."""
        manifest = json.loads((self.weights.folder / "manifest.json").read_text("utf-8"))
        layers, depth = manifest["layers"], manifest.get("glance_layers", 0)
        readings = self.run(one)
        looked = [
            count
            for count, owner in zip(one.tokens, one.owners, strict=True)
            if readings[owner].looked
        ]
        needed = layers_operations(one.tokens, depth) + layers_operations(looked, layers - depth)
        heads = 1 + ("support" in manifest["outputs"])
        glances = len(one.tokens) if depth else 0
        return needed + heads_operations(looked, glances=glances, heads=heads)


def race(
    work: Mapping[str, Callable[[Candidates], Any]], asked: Sequence[Candidates]
) -> dict[str, list[float]]:
    """Seconds of each contender in each round."""
    names = list(work)
    for name in names:
        work[name](asked[0])  # the first call pays for memory that all use
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for at, one in enumerate(asked):
        for name in (*names[at % len(names) :], *names[: at % len(names)]):
            began = time.perf_counter()
            work[name](one)
            seconds[name].append(time.perf_counter() - began)
    return seconds


def speed(given: argparse.Namespace, shipped: Weights) -> dict[str, Any]:
    asked = collect(given.questions)
    some, all_ = f"shipped, {OPTIONS.looks} looks", "shipped, a look at all"
    own = {some: Own(shipped, looks=OPTIONS.looks), all_: Own(shipped, looks=None)}
    if given.float:
        exact = read_weights(given.float)
        own[f"float32, {OPTIONS.looks} looks"] = Own(exact, looks=OPTIONS.looks, int8=False)
        own["float32, a look at all"] = Own(exact, looks=None, int8=False)
    typical = round(statistics.mean(count for one in asked for count in one.tokens))
    peaks = {int8: Peak(typical, Workers(), int8=int8) for int8 in (True, False)}
    work: dict[str, Callable[[Candidates], Any]] = {name: one.run for name, one in own.items()}
    work["understander, a follow-up"] = lambda _: understander().write.__wrapped__(FOLLOW_UP)
    work["understander, a table"] = lambda _: understander().write.__wrapped__(TABLE)
    seconds = race(work | {f"peak {int8}": peak.run for int8, peak in peaks.items()}, asked)
    per_second = {
        int8: peak.operations / statistics.median(seconds[f"peak {int8}"])
        for int8, peak in peaks.items()
    }
    pairs = {
        "int8 / float32": (f"float32, {OPTIONS.looks} looks", some),
        "int8 / float32 with a look at all": ("float32, a look at all", all_),
        "looks / a look at all": (all_, some),
        "understander, a follow-up / reader": (some, "understander, a follow-up"),
        "understander, a table / reader": (some, "understander, a table"),
    }
    return {
        "machine": {
            "cores": Workers().threads,
            "onnxruntime": onnxruntime.__version__,
            "readers": {name: one.weights.identity for name, one in own.items()},
            "questions": len(asked),
            "passages": sum(len(one.passages) for one in asked),
            "passes": sum(len(one.tokens) for one in asked),
            "tokens_per_pass": typical,
        },
        "peak_operations_per_second": {"int8": per_second[True], "float32": per_second[False]},
        "contenders": {
            name: _figures(seconds[name], asked, one, per_second) for name, one in own.items()
        },
        "times_as_fast": {
            name: statistics.median(map(float.__truediv__, seconds[slower], seconds[faster]))
            for name, (slower, faster) in pairs.items()
            if slower in seconds
        },
    }


def _figures(
    seconds: list[float], asked: Sequence[Candidates], reader: Own, peak: Mapping[bool, float]
) -> dict[str, Any]:
    needed = sum((reader.operations(one) for one in asked), Operations())
    least = needed.weights / peak[reader.int8] + needed.others / peak[False]
    return {
        "seconds_per_question": statistics.median(seconds),
        "operations_per_question": needed.all / len(asked),
        "operations_per_second": needed.all / sum(seconds),
        "share_of_peak": least / sum(seconds),
    }


def precision(int8: Weights, exact: Weights, size: int) -> dict[str, Any]:
    """Answers and answerability of both, how they differ, and whether that is little enough."""
    asked = squad_questions(size)
    spans, figures = {}, {}
    for name, weights in (("int8", int8), ("float32", exact)):
        read = OnnxReader(weights, remembered=0).read
        readings = [read(row["question"], [row["passage"]])[0] for row in asked]
        scored: list[tuple[float, float]] = []
        sides: dict[bool, list[float]] = {True: [], False: []}
        for row, one in zip(asked, readings, strict=True):
            sides[row["answerable"]].append(one.answerable)
            if row["answerable"]:
                said = row["passage"][one.start : one.end]
                scored.append((exact_match(said, row["answers"]), f1(said, row["answers"])))
        exact_share, mean_f1 = (statistics.mean(column) for column in zip(*scored, strict=True))
        sure = auroc(sides[True], sides[False])
        figures[name] = {"EM": exact_share, "F1": mean_f1, "AUROC": sure}
        spans[name] = [(one.start, one.end) for one in readings]
    lost = {name: figures["float32"][name] - figures["int8"][name] for name in figures["int8"]}
    return {
        "data": DATA,
        "questions": size,
        "readers": {"int8": int8.identity, "float32": exact.identity},
        **figures,
        "lost": lost,
        "same_span": statistics.mean(map(tuple.__eq__, spans["int8"], spans["float32"])),
    }


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--float", type=Path, help="folder of the same reader in float32")
    options.add_argument("--questions", type=int, default=40, help="rounds")
    options.add_argument(
        "--quality", type=int, default=0, metavar="N", help="int8 and float32 on N questions"
    )
    given = options.parse_args()
    shipped = find_weights("reader")
    done = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    part = "precision" if given.quality else "speed"
    if given.quality and given.float is None:
        raise SystemExit("--quality compares with float32: name its folder with --float")
    if given.quality:
        done[part] = precision(shipped, read_weights(given.float), given.quality)
    else:
        done[part] = speed(given, shipped)
    FILE.write_text(json.dumps(done, indent=2) + "\n", "utf-8")
    print(json.dumps(done[part], indent=2))


if __name__ == "__main__":
    main()
