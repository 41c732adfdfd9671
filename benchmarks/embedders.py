"""Which embedder to ship: dense retrieval alone, on four sets, and what each passage costs.

    SECONDLOOK_DATA=... python -m benchmarks.embedders \\
        --given gte-small/model.int8.onnx --minilm all-MiniLM-L6-v2/

`--given` is the int8 file the shipped graph was rebuilt from, `--minilm` a folder with
model.safetensors and tokenizer.json. Cells already in the results file are not computed again.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import random
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from secondlook.reading.embedder import OnnxEmbedder
from secondlook.reading.weights import find_weights, read_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

RESULTS = Path(__file__).parent / "results" / "embedders.json"
SEED = 20
ROUNDS = 5


class Embeds(Protocol):
    def embed_passages(self, texts: Sequence[str]) -> Vectors: ...


@dataclass(frozen=True)
class Cell:
    """One measurement: a model reads a set's passages in one way."""

    model: str
    data: str
    passage: str = "title. text"
    cap: int = 384
    others: int | None = None
    """Passages beside the gold ones; None is the whole corpus."""

    @property
    def key(self) -> str:
        corpus = "all" if self.others is None else f"gold+{self.others}"
        return f"{self.model} | {self.data} {corpus} | {self.passage} | {self.cap}"


QUESTIONS = {"squad2-dev": 400, "scifact": 300, "hotpot": 200, "cranfield": 225}
FUSED, GIVEN, MINILM = "gte-small", "gte-small, given file", "all-MiniLM-L6-v2"
# Samples that a laptop embeds in minutes; `--full` adds the whole corpora.
HOTPOT, SCIFACT = 1000, 700
CELLS = [
    *(Cell(model, "squad2-dev") for model in (FUSED, GIVEN, MINILM)),
    *(Cell(model, "cranfield") for model in (FUSED, GIVEN, MINILM)),
    *(Cell(model, "hotpot", others=HOTPOT) for model in (FUSED, MINILM)),
    *(Cell(model, "scifact", others=SCIFACT) for model in (FUSED, MINILM)),
    *(Cell(FUSED, "scifact", cap=cap, others=SCIFACT) for cap in (256, 512)),
    Cell(FUSED, "cranfield", cap=256),
]
FULL = [Cell(model, data) for data in ("hotpot", "scifact") for model in (FUSED, GIVEN, MINILM)]


class GivenFile:
    """The exported int8 graph, one text per pass like the shipped one."""

    def __init__(self, file: Path, shipped: OnnxEmbedder, cap: int) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(file), options, ["CPUExecutionProvider"])
        self._wordpieces = shipped._wordpieces  # noqa: SLF001
        self._cap = cap

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return np.stack(
            [self._one(ids) for ids in self._wordpieces.ids(texts, limit=self._cap - 2)]
        )

    def _one(self, ids: list[int]) -> Vectors:
        tokens = np.array([[101, *ids, 102]], dtype=np.int64)
        mask, types = np.ones_like(tokens), np.zeros_like(tokens)
        feed = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": types}
        mean = self._session.run(None, feed)[0][0].mean(axis=0)
        unit: Vectors = mean / np.linalg.norm(mean)
        return unit


class Models:
    """Contenders by name and token cap, each opened once."""

    def __init__(self, given: Path, minilm: Path, cache: Path) -> None:
        self._given, self._minilm, self._cache = given, minilm, cache
        self._opened: dict[tuple[str, int], Embeds] = {}

    def open(self, model: str, cap: int) -> Embeds:
        if (model, cap) not in self._opened:
            self._opened[model, cap] = self._new(model, cap)
        return self._opened[model, cap]

    def _new(self, model: str, cap: int) -> Embeds:
        shipped = replace(find_weights("embedder"), max_tokens=cap)
        if model == FUSED:
            return OnnxEmbedder(shipped, threads=1)
        if model == GIVEN:
            return GivenFile(self._given, OnnxEmbedder(shipped, threads=1), cap)
        return OnnxEmbedder(replace(read_weights(self._built()), max_tokens=cap), threads=1)

    def _built(self) -> Path:
        from training.export.build import build

        build(
            "embedder",
            weights=self._minilm / "model.safetensors",
            tokenizer=self._minilm / "tokenizer.json",
            name=MINILM,
            folder=self._cache,
        )
        return self._cache


def rows(data: str, name: str) -> list[dict[str, Any]]:
    file = Path(os.environ["SECONDLOOK_DATA"]) / data / f"{name}.jsonl.gz"
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def load(cell: Cell) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Passages and questions; the same sample for every model."""
    chance = random.Random(SEED)
    corpus = rows(cell.data, "corpus")
    questions = [row for row in rows(cell.data, "queries") if row["answerable"] and row["gold"]]
    questions = chance.sample(questions, min(QUESTIONS[cell.data], len(questions)))
    if cell.others is not None:
        gold = {passage for row in questions for passage in row["gold"]}
        others = [row["id"] for row in corpus if row["id"] not in gold]
        kept = gold | set(chance.sample(others, cell.others))
        corpus = [row for row in corpus if row["id"] in kept]
    return corpus, questions


def measure(cell: Cell, model: Embeds) -> dict[str, float]:
    corpus, questions = load(cell)
    texts = [
        f"{row['title']}. {row['text']}" if cell.passage == "title. text" else row["text"]
        for row in corpus
    ]
    began = time.process_time()
    passages = model.embed_passages(texts)
    spent = time.process_time() - began
    asked = model.embed_passages([row["question"] for row in questions])
    gold = [set(row["gold"]) for row in questions]
    scores = ranking_scores(asked, passages, [row["id"] for row in corpus], gold)
    size = {"passages": len(corpus), "questions": len(questions)}
    return {**scores, "cpu_ms_per_passage": 1000 * spent / len(corpus), **size}


def ranking_scores(
    asked: Vectors, passages: Vectors, ids: list[str], gold: list[set[str]]
) -> dict[str, float]:
    order = np.argsort(-(asked @ passages.T), axis=1)[:, :20]
    ranked = [[ids[at] for at in top] for top in order]
    scores = {
        f"R@{k}": float(np.mean([recall(r, g, k) for r, g in zip(ranked, gold, strict=True)]))
        for k in (1, 5, 20)
    }
    scores["nDCG@10"] = float(np.mean([ndcg(r, g) for r, g in zip(ranked, gold, strict=True)]))
    return scores


def whole_corpora(identity: str) -> dict[str, dict[str, float]]:
    """The shipped model on every passage and question, from the vectors that
    `python -m benchmarks.sweep prepare` keeps; empty where it was not run."""
    from benchmarks.sweep_sets import CACHE, GIVEN, SETS
    from benchmarks.sweep_sets import load as load_set

    folder = CACHE / "vectors" / identity.replace("@", "-")
    scored = {}
    for name in SETS:
        held = load_set(name)
        ids, gold = [row.id for row in held.passages], [set(query.gold) for query in held.queries]
        for seen in GIVEN:
            file, asked = folder / f"{name}-{seen}.npy", folder / f"{name}-queries.npy"
            if file.exists() and asked.exists():
                scores = ranking_scores(np.load(asked), np.load(file), ids, gold)
                size = {"passages": len(ids), "questions": len(gold)}
                scored[f"{name} | {seen}"] = {**scores, **size}
    return scored


def recall(ranked: list[str], gold: set[str], k: int) -> float:
    return len(gold & set(ranked[:k])) / len(gold)


def ndcg(ranked: list[str], gold: set[str], k: int = 10) -> float:
    gain = sum(1 / math.log2(2 + at) for at, one in enumerate(ranked[:k]) if one in gold)
    return gain / sum(1 / math.log2(2 + at) for at in range(min(k, len(gold))))


def cost(models: Models) -> dict[str, dict[str, float]]:
    """Processor time per passage, the contenders taking turns, the best of several rounds."""
    texts = [row["text"] for row in load(Cell(FUSED, "squad2-dev"))[0][:60]]
    best = dict.fromkeys((FUSED, GIVEN, MINILM), math.inf)
    for _ in range(ROUNDS):
        for name in best:
            began = time.process_time()
            models.open(name, 384).embed_passages(texts)
            best[name] = min(best[name], time.process_time() - began)
    return {
        name: {"cpu_ms_per_passage": 1000 * spent / len(texts), "ratio": spent / best[FUSED]}
        for name, spent in best.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--given", type=Path, required=True)
    parser.add_argument("--minilm", type=Path, required=True)
    parser.add_argument("--full", action="store_true", help="embed whole corpora too (an hour)")
    parser.add_argument("--whole", action="store_true", help="only from the sweep's vectors")
    given = parser.parse_args()
    identity = find_weights("embedder").identity
    done: dict[str, Any] = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    if done.get("shipped") != identity:
        done = {"shipped": identity, "cells": {}}
    if given.whole:
        done["whole_corpora"] = whole_corpora(identity)
        RESULTS.write_text(json.dumps(done, indent=2) + "\n", "utf-8")
        return
    with tempfile.TemporaryDirectory() as cache:
        models = Models(given.given, given.minilm, Path(cache))
        for cell in CELLS + (FULL if given.full else []):
            if cell.key not in done["cells"]:
                done["cells"][cell.key] = measure(cell, models.open(cell.model, cell.cap))
                RESULTS.write_text(json.dumps(done, indent=2) + "\n", "utf-8")
                print(cell.key, done["cells"][cell.key], flush=True)
        done["whole_corpora"] = whole_corpora(identity)
        done["cost"] = cost(models)
    RESULTS.write_text(json.dumps(done, indent=2) + "\n", "utf-8")
    print(json.dumps(done["cost"], indent=2))


if __name__ == "__main__":
    main()
