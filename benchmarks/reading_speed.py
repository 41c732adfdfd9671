"""How fast the small models run and what each choice in their graphs and passes buys.

    SECONDLOOK_DATA=... python -m benchmarks.reading_speed \\
        --given-embedder gte-small/model.int8.onnx --given-reader reader-12/model.int8.onnx

The given files are the int8 exports that the shipped graphs were rebuilt from. Contenders take
turns, the best of several rounds counts; ratios are within this run.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime

from benchmarks.reading_answers import answer_scores, auroc, questions_with_passages, sample_texts
from secondlook.reading.reader import QUESTION_TOKENS, best_span
from secondlook.reading.session import allowed_cores
from secondlook.reading.weights import find_weights
from secondlook.reading.wordpieces import CLS, SEP, Wordpieces
from training.export import models
from training.export.graph import Plan
from training.export.tensors import read_int8_onnx

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Ids = list[int]
    Run = Callable[[Any], Any]

RESULTS = Path(__file__).parent / "results" / "reading_speed.json"
ROUNDS = 3
QUESTIONS = 400
PASSAGES = 60
PAIRS = 20
PLANS = {
    "shipped": Plan(),
    "projections before the attention node": Plan(attention="separate"),
    "one node for add and layer norm": Plan(fuse_skip=True),
    "scale per row and block": Plan(linear="blocks", attention="separate"),
    "float32": Plan(linear="float", attention="separate"),
}


def session(model: bytes | str, *, threads: int = 1, spin: bool = True, raw: bool = False) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "1" if spin else "0")
    if raw:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])


def turns(
    contenders: Mapping[str, Callable[[], Any]], clock: Callable[[], float]
) -> dict[str, float]:
    """Seconds of each contender's best round."""
    best = dict.fromkeys(contenders, math.inf)
    for _ in range(ROUNDS):
        for name, work in contenders.items():
            began = clock()
            work()
            best[name] = min(best[name], clock() - began)
    return best


def single(ids: Ids) -> NDArray[np.int64]:
    return np.array([[CLS, *ids, SEP]], dtype=np.int64)


def given_vector(opened: Any, batch: Sequence[Ids]) -> NDArray[np.float32]:
    """The exported graph pads a batch to its longest text and leaves pooling to its caller."""
    longest = max(map(len, batch)) + 2
    tokens = np.zeros((len(batch), longest), np.int64)
    for row, ids in zip(tokens, batch, strict=True):
        row[: len(ids) + 2] = [CLS, *ids, SEP]
    mask = (tokens != 0).astype(np.int64)
    feed = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
    hidden = opened.run(None, feed)[0]
    mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    unit: NDArray[np.float32] = mean / np.linalg.norm(mean, axis=1, keepdims=True)
    return unit


def embedder_graphs(given: Path, texts: list[Ids]) -> dict[str, Any]:
    """Processor time per passage and agreement of vectors, one text per pass on one thread."""
    tensors = read_int8_onnx(given)
    run: dict[str, Run] = {}
    for name, plan in PLANS.items():
        opened = session(models.embedder(tensors, plan).SerializeToString(), raw=True)
        run[name] = partial(_own_vector, opened)
    run["given file"] = partial(_given_single, session(str(given)))
    best = turns({n: partial(_each, work, texts) for n, work in run.items()}, time.thread_time)
    vectors = {name: np.stack([work(ids) for ids in texts]) for name, work in run.items()}
    return {
        name: {
            "cpu_ms_per_passage": 1000 * best[name] / len(texts),
            "speed": best["given file"] / best[name],
            "cosine_to_given": _cosine(vectors[name], vectors["given file"]),
            "cosine_to_float32": _cosine(vectors[name], vectors["float32"]),
        }
        for name in run
    }


def _given_single(opened: Any, ids: Ids) -> NDArray[np.float32]:
    vector: NDArray[np.float32] = given_vector(opened, [ids])[0]
    return vector


def _own_vector(opened: Any, ids: Ids) -> NDArray[np.float32]:
    vector: NDArray[np.float32] = opened.run(None, {"ids": single(ids)})[0][0]
    return vector


def _each(work: Run, items: Sequence[Any]) -> None:
    for item in items:
        work(item)


def _cosine(left: NDArray[np.float32], right: NDArray[np.float32]) -> dict[str, float]:
    cosines = (left * right).sum(axis=1)
    return {"mean": float(cosines.mean()), "least": float(cosines.min())}


def batch_leak(given: Path, texts: list[Ids]) -> dict[str, float]:
    """How far a vector moves when its text shares a pass with others of about its length."""
    opened = session(str(given))
    ordered = sorted(texts, key=len)
    alone = np.concatenate([given_vector(opened, [ids]) for ids in ordered])
    batches = [ordered[at : at + 4] for at in range(0, len(ordered), 4)]
    shared = np.concatenate([given_vector(opened, batch) for batch in batches])
    return _cosine(alone, shared)


def policies(given: Path, texts: list[Ids]) -> dict[str, Any]:
    """Wall and processor time of all texts on all cores, by how passes are cut and spread."""
    cores = allowed_cores()
    own = models.embedder(read_int8_onnx(given)).SerializeToString()
    wide, quiet = session(str(given), threads=cores), session(str(given), threads=cores, spin=False)
    own_wide, narrow = session(own, threads=cores, raw=True), session(own, raw=True)
    ordered = sorted(texts, key=len, reverse=True)
    by = {
        size: [ordered[at : at + size] for at in range(0, len(ordered), size)]
        for size in (1, 2, 16)
    }
    with ThreadPoolExecutor(cores) as pool:
        work: dict[str, Callable[[], Any]] = {
            "given, batches of 16, all threads": partial(
                _each, partial(given_vector, wide), by[16]
            ),
            "given, batches of 2, all threads": partial(_each, partial(given_vector, wide), by[2]),
            "given, single texts, all threads": partial(_each, partial(given_vector, wide), by[1]),
            "given, single texts, all threads, no spinning": partial(
                _each, partial(given_vector, quiet), by[1]
            ),
            "own graph, single texts, all threads": partial(
                _each, partial(_own_vector, own_wide), ordered
            ),
            "own graph, single texts, one thread each (shipped)": lambda: list(
                pool.map(partial(_own_vector, narrow), ordered)
            ),
        }
        wall, cpu = turns(work, time.perf_counter), turns(work, time.process_time)
    first = next(iter(work))
    return {
        name: {
            "wall_ms_per_passage": 1000 * wall[name] / len(texts),
            "cpu_ms_per_passage": 1000 * cpu[name] / len(texts),
            "wall_speed": wall[first] / wall[name],
        }
        for name in work
    }


def pair(wordpieces: Wordpieces, question: str, passage: str) -> dict[str, Any]:
    (asked,) = wordpieces.ids([question], limit=QUESTION_TOKENS)
    ((ids, offsets),) = wordpieces.with_offsets([passage])
    ids = ids[: 384 - len(asked) - 3]
    tokens = np.array([[CLS, *asked, SEP, *ids, SEP]], dtype=np.int64)
    types = np.zeros_like(tokens)
    types[0, len(asked) + 2 : -1] = 1
    return {"ids": tokens, "types": types, "first": len(asked) + 2, "offsets": offsets[: len(ids)]}


def _given_reader(opened: Any, one: dict[str, Any]) -> Any:
    mask = np.ones_like(one["ids"])
    return opened.run(None, {"ids": one["ids"], "mask": mask, "tt": one["types"]})


def _own_reader(opened: Any, one: dict[str, Any]) -> Any:
    return opened.run(None, {"ids": one["ids"], "types": one["types"]})


def reader_graphs(given: Path, wordpieces: Wordpieces) -> dict[str, Any]:
    """Time, agreement and quality on the gold passages of answerable and other questions."""
    asked = questions_with_passages("squad2-dev", QUESTIONS)
    pairs = [pair(wordpieces, row["question"], row["passage"]) for row in asked]
    tensors = read_int8_onnx(given)
    run: dict[str, Run] = {"given file": partial(_given_reader, session(str(given)))}
    for name in ("shipped", "projections before the attention node", "float32"):
        model = models.reader(tensors, PLANS[name]).SerializeToString()
        run[name] = partial(_own_reader, session(model, raw=True))
    best = turns({n: partial(_each, w, pairs[:PAIRS]) for n, w in run.items()}, time.thread_time)
    read = {name: [_decoded(work(one), one) for one in pairs] for name, work in run.items()}
    return {
        name: {
            "cpu_ms_per_pair": 1000 * best[name] / PAIRS,
            "speed": best["given file"] / best[name],
            "spans_as_given": _equal(read[name], read["given file"]),
            "spans_as_float32": _equal(read[name], read["float32"]),
            **_quality(asked, read[name]),
        }
        for name in run
    }


def _decoded(output: Any, one: dict[str, Any]) -> dict[str, Any]:
    starts, ends, relevance, answerable = (values[0] for values in output)
    size, first = len(one["offsets"]), one["first"]
    found = best_span(starts[first : first + size], ends[first : first + size])
    assert found is not None  # noqa: S101 - every passage here has words
    span = (one["offsets"][found[1]][0], one["offsets"][found[2]][1])
    margin = found[0] - float(starts[0] + ends[0])
    return {"span": span, "relevance": relevance, "answerable": answerable, "margin": margin}


def _equal(left: list[dict[str, Any]], right: list[dict[str, Any]]) -> float:
    return float(np.mean([a["span"] == b["span"] for a, b in zip(left, right, strict=True)]))


def _quality(asked: list[dict[str, Any]], read: list[dict[str, Any]]) -> dict[str, float]:
    scored = [
        answer_scores(row["passage"][slice(*one["span"])], row["answers"])
        for row, one in zip(asked, read, strict=True)
        if row["answerable"]
    ]
    sides: dict[bool, list[float]] = {True: [], False: []}
    for row, one in zip(asked, read, strict=True):
        sides[row["answerable"]].append(float(one["answerable"]))
    exact, f1 = (float(np.mean(column)) for column in zip(*scored, strict=True))
    return {"EM": exact, "F1": f1, "AUROC_answerable": auroc(sides[True], sides[False])}


def loading(given: dict[str, Path]) -> dict[str, Any]:
    """Seconds to open a session: shipped file against the given one."""
    result = {}
    for name, file in given.items():
        weights = find_weights("embedder" if name == "embedder" else "reader")
        shipped = [str(graph) for graph in weights.graphs]
        work = {
            "shipped": partial(_each, partial(session, raw=True), shipped),
            "given file": partial(session, str(file)),
        }
        result[name] = turns(work, time.perf_counter)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--given-embedder", type=Path, required=True)
    parser.add_argument("--given-reader", type=Path, required=True)
    parser.add_argument("--only", help="measure this section again and keep the others")
    given = parser.parse_args()
    embedder, reader = find_weights("embedder"), find_weights("reader")
    wordpieces = Wordpieces(embedder.tokenizer)
    texts = wordpieces.ids(sample_texts("squad2-dev", PASSAGES), limit=510)
    files = {"embedder": given.given_embedder, "reader": given.given_reader}
    sections: dict[str, Callable[[], Any]] = {
        "machine": partial(_machine, [embedder.identity, reader.identity], texts),
        "load_seconds": partial(loading, files),
        "embedder_graphs": partial(embedder_graphs, given.given_embedder, texts),
        "batch_leak_cosine": partial(batch_leak, given.given_embedder, texts),
        "policies": partial(policies, given.given_embedder, texts),
        "reader_graphs": partial(reader_graphs, given.given_reader, wordpieces),
    }
    done = json.loads(RESULTS.read_text("utf-8")) if given.only and RESULTS.exists() else {}
    for name, work in sections.items():
        if given.only in {None, name}:
            done[name] = work()
            RESULTS.write_text(json.dumps(done, indent=2) + "\n", "utf-8")
            print(name, json.dumps(done[name], indent=2), flush=True)


def _machine(identities: list[str], texts: list[Ids]) -> dict[str, Any]:
    return {
        "models": identities,
        "onnxruntime": onnxruntime.__version__,
        "cores": allowed_cores(),
        "tokens_per_passage": float(np.mean([len(ids) + 2 for ids in texts])),
    }


if __name__ == "__main__":
    main()
