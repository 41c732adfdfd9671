"""How much of the evidence the passages hold, and how little else, beside other chunkers.

    SECONDLOOK_DATA=... python -m benchmarks.chunking

Five long documents with questions whose evidence is marked to the character. Each chunker cuts
the documents, the embedder embeds the passages of all five, the five nearest to each question
are taken, and their character ranges are compared with the marked ones: recall (how much of the
evidence was found), precision (how much of what was found is evidence) and IoU. Precision omega
asks the same of the best possible retrieval: every passage that touches evidence, and no other.
The measure is that of B. Smith and A. Troynikov, "Evaluating Chunking Strategies for Retrieval",
Chroma 2024, counted in characters. Other chunkers: pip install langchain-text-splitters semchunk
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import importlib.metadata
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from secondlook.document import Extracted
from secondlook.reading import load_embedder
from secondlook.retrieval.chunk import ChunkOptions, chunk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from secondlook.reading.port import Embedder

    Ranges = list[tuple[int, int]]
    Chunker = Callable[[str], Ranges]

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "chunking.json"
CACHE = ROOT / ".cache" / "chunking"
RETRIEVED = 5
OURS = ((128, 0), (200, 0), (200, 25), (256, 0), (256, 32), (400, 0))
OTHERS = ((200, 0), (256, 0), (256, 32))


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    document: str
    evidence: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Bench:
    documents: dict[str, str]
    questions: list[Question]
    asked: NDArray[np.float32]
    embedder: Embedder


@dataclass(frozen=True, slots=True)
class Result:
    chunker: str
    tokens: int
    overlap: int
    passages: int
    mean_tokens: float
    recall: float
    precision: float
    iou: float
    precision_omega: float
    recall_per_set: dict[str, float]
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="run the configurations whose name has this")
    parser.add_argument("--documents", default="", help="only these, separated by commas")
    options = parser.parse_args()
    bench = _load(set(filter(None, options.documents.split(","))))
    results = []
    for name, size, overlap, chunker in _chunkers(bench.embedder):
        if options.only in f"{name} {size}/{overlap}":
            began = time.process_time()
            cut = {document: chunker(text) for document, text in bench.documents.items()}
            seconds = time.process_time() - began
            results.append(_measure((name, size, overlap), cut, seconds, bench))
            print(_line(results[-1]), flush=True)
    if not options.documents:
        _save(results, bench.embedder)


def _load(wanted: set[str]) -> Bench:
    folder = Path(os.environ["SECONDLOOK_DATA"]) / "chunking"
    # The marks count characters of the files as they are, line ends included.
    documents = {
        path.stem: path.read_bytes().decode("utf-8")
        for path in sorted(folder.glob("corpora/*.md"))
        if not wanted or path.stem in wanted
    }
    questions = []
    with gzip.open(folder / "questions.jsonl.gz", "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            spans = tuple((ref["start_index"], ref["end_index"]) for ref in row["references"])
            if row["corpus_id"] in documents:
                questions.append(Question(row["question"], row["corpus_id"], spans))
    embedder = load_embedder()
    asked = _embedded([question.text for question in questions], embedder)
    return Bench(documents, questions, asked, embedder)


def _chunkers(embedder: Embedder) -> Iterable[tuple[str, int, int, Chunker]]:
    for tokens, overlap in OURS:
        yield "secondlook", tokens, overlap, _ours(tokens, overlap, embedder)
    for tokens, overlap in OTHERS:
        yield "langchain recursive", tokens, overlap, _langchain(tokens, overlap, embedder)
        yield "semchunk", tokens, overlap, _semchunk(tokens, overlap, embedder)


def _ours(tokens: int, overlap: int, embedder: Embedder) -> Chunker:
    def cut(text: str) -> Ranges:
        spans = chunk(Extracted(text), embedder.token_starts, ChunkOptions(tokens, overlap))
        return [(span.start, span.end) for span in spans]

    return cut


def _langchain(tokens: int, overlap: int, embedder: Embedder) -> Chunker:
    """With the separators of the chunking evaluation, which add sentence ends to the defaults."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(
        chunk_size=tokens,
        chunk_overlap=overlap,
        length_function=lambda text: len(embedder.token_starts(text)),
        separators=["\n\n", "\n", ".", "?", "!", " ", ""],
        add_start_index=True,
    )

    def cut(text: str) -> Ranges:
        made = splitter.create_documents([text])
        starts = [(part.metadata["start_index"], part.page_content) for part in made]
        return [(start, start + len(words)) for start, words in starts]

    return cut


def _semchunk(tokens: int, overlap: int, embedder: Embedder) -> Chunker:
    from semchunk.semchunk import chunkerify

    chunker = chunkerify(lambda text: len(embedder.token_starts(text)), tokens)

    def cut(text: str) -> Ranges:
        made: tuple[Any, Any] = chunker(text, offsets=True, overlap=overlap or None)
        _, offsets = made
        return [(int(start), int(end)) for start, end in offsets]

    return cut


def _measure(
    label: tuple[str, int, int],
    cut: dict[str, Ranges],
    seconds: float,
    bench: Bench,
) -> Result:
    documents, questions, embedder = bench.documents, bench.questions, bench.embedder
    ranges = [(name, *span) for name, spans in cut.items() for span in spans]
    texts = [documents[name][start:end] for name, start, end in ranges]
    vectors = [
        _embedded([documents[name][start:end] for start, end in spans], embedder)
        for name, spans in cut.items()
    ]
    nearest = np.argsort(-(bench.asked @ np.concatenate(vectors).T), axis=1, kind="stable")
    scores = []
    for question, order in zip(questions, nearest, strict=True):
        found = [ranges[at][1:] for at in order[:RETRIEVED] if ranges[at][0] == question.document]
        wasted = sum(
            ranges[at][2] - ranges[at][1]
            for at in order[:RETRIEVED]
            if ranges[at][0] != question.document
        )
        scores.append((*_scores(question, found, wasted), _omega(question, cut)))
    table = np.array(scores)
    sets = np.array([question.document for question in questions])
    sizes = [len(embedder.token_starts(text)) for text in texts]
    recall, precision, iou, omega = (round(float(value), 4) for value in table.mean(axis=0))
    per_set = {
        str(name): round(float(table[sets == name, 0].mean()), 4) for name in np.unique(sets)
    }
    return Result(
        *label,
        passages=len(ranges),
        mean_tokens=round(float(np.mean(sizes)), 1),
        recall=recall,
        precision=precision,
        iou=iou,
        precision_omega=omega,
        recall_per_set=per_set,
        seconds=round(seconds, 2),
    )


def _scores(question: Question, found: Ranges, wasted: int) -> tuple[float, float, float]:
    """Recall, precision and IoU. What is retrieved twice counts twice against precision and IoU,
    as it would be paid for twice; text of other documents counts against them too."""
    evidence = _union(question.evidence)
    hit = _length(_intersection(evidence, _union(found)))
    retrieved = sum(end - start for start, end in found) + wasted
    needed = _length(evidence)
    precision = hit / retrieved if retrieved else 0.0
    return hit / needed, precision, hit / (retrieved + needed - hit)


def _omega(question: Question, cut: dict[str, Ranges]) -> float:
    evidence = _union(question.evidence)
    touching = [span for span in cut[question.document] if _intersection(evidence, [span])]
    retrieved = sum(end - start for start, end in touching)
    return _length(_intersection(evidence, _union(touching))) / retrieved if retrieved else 0.0


def _union(ranges: Iterable[tuple[int, int]]) -> Ranges:
    merged: Ranges = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _intersection(left: Ranges, right: Ranges) -> Ranges:
    shared = [(max(a, c), min(b, d)) for a, b in left for c, d in right]
    return [(start, end) for start, end in shared if start < end]


def _length(ranges: Ranges) -> int:
    return sum(end - start for start, end in ranges)


def _embedded(texts: list[str], embedder: Embedder) -> NDArray[np.float32]:
    """Vectors from the cache where these very texts were embedded before."""
    digest = hashlib.sha256("\0".join([embedder.name, *texts]).encode()).hexdigest()[:24]
    path = CACHE / f"{digest}.npy"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        np.save(path, embedder.embed_passages(texts))
    vectors: NDArray[np.float32] = np.load(path)
    return vectors


def _line(result: Result) -> str:
    name = f"{result.chunker} {result.tokens}/{result.overlap}"
    scores = (result.recall, result.precision, result.iou, result.precision_omega)
    return (
        f"{name:28} {result.passages:6} {result.mean_tokens:7.1f} "
        + " ".join(f"{value:.4f}" for value in scores)
        + f" {result.seconds:6.2f} s"
    )


def _save(results: list[Result], embedder: Embedder) -> None:
    """Write the results, beside those of the same embedder that were measured before."""
    versions = {
        name: importlib.metadata.version(name) for name in ("langchain-text-splitters", "semchunk")
    }
    kept: list[dict[str, Any]] = []
    if RESULTS.exists():
        earlier = json.loads(RESULTS.read_text("utf-8"))
        kept = earlier["results"] if earlier["embedder"] == embedder.name else []
    rows = {(row["chunker"], row["tokens"], row["overlap"]): row for row in kept}
    rows |= {(row.chunker, row.tokens, row.overlap): asdict(row) for row in results}
    record = {"embedder": embedder.name, "retrieved": RETRIEVED, "versions": versions}
    record["results"] = [rows[key] for key in sorted(rows)]
    RESULTS.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
