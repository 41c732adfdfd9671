"""How much of the evidence the passages hold, and how little else, beside LangChain's splitter.

    SECONDLOOK_DATA=... python -m benchmarks.chunking [--documents pubmed,chatlogs]

Five long documents with questions whose evidence is marked to the character. Each chunker cuts
the documents, the embedder embeds the passages of all five, the five nearest to each question
are taken, and their character ranges are compared with the marked ones: recall (how much of the
evidence was found), precision (how much of what was found is evidence) and IoU. Precision omega
asks the same of the best possible retrieval: every passage that touches evidence, and no other.
The measure is that of B. Smith and A. Troynikov, "Evaluating Chunking Strategies for Retrieval",
Chroma 2024, counted in characters. LangChain is left out where langchain-text-splitters is not
installed. Writes benchmarks/results/chunking.json.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.common import CACHE, data_folder, parser, read_lines, save
from secondlook.document import Extracted
from secondlook.reading import load_embedder
from secondlook.retrieval.chunk import ChunkOptions, chunk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from secondlook.reading.port import Embedder

    Ranges = list[tuple[int, int]]

RETRIEVED = 5
OURS = ((128, 0), (200, 0), (256, 0), (256, 32), (400, 0))
"""Tokens and overlap; the second is the product's default."""
OTHERS = ((200, 0), (256, 32))


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    document: str
    evidence: Ranges


def chunkers(embedder: Embedder) -> Iterator[tuple[str, Callable[[str], Ranges]]]:
    def ours(text: str, *, options: ChunkOptions) -> Ranges:
        spans = chunk(Extracted(text), embedder.token_starts, options)
        return [(span.start, span.end) for span in spans]

    for tokens, overlap in OURS:
        options = ChunkOptions(tokens, overlap)
        yield f"secondlook {tokens}/{overlap}", partial(ours, options=options)
    if not find_spec("langchain_text_splitters"):
        return
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    for tokens, overlap in OTHERS:
        # With the separators of the chunking evaluation, which add sentence ends to the defaults.
        splitter = RecursiveCharacterTextSplitter(
            chunk_size=tokens,
            chunk_overlap=overlap,
            length_function=lambda text: len(embedder.token_starts(text)),
            separators=["\n\n", "\n", ".", "?", "!", " ", ""],
            add_start_index=True,
        )

        def theirs(text: str, splitter: Any = splitter) -> Ranges:
            made = splitter.create_documents([text])
            starts = [(part.metadata["start_index"], part.page_content) for part in made]
            return [(start, start + len(words)) for start, words in starts]

        yield f"langchain recursive {tokens}/{overlap}", theirs


def measured(
    cut: dict[str, Ranges],
    documents: dict[str, str],
    questions: list[Question],
    asked: NDArray[np.float32],
    embedder: Embedder,
) -> dict[str, Any]:
    texts = {name: [documents[name][a:b] for a, b in spans] for name, spans in cut.items()}
    ranges = [(name, *span) for name, spans in cut.items() for span in spans]
    vectors = np.concatenate([embedded(some, embedder) for some in texts.values()])
    nearest = np.argsort(-(asked @ vectors.T), axis=1, kind="stable")
    scores = []
    for question, order in zip(questions, nearest, strict=True):
        best = [ranges[at] for at in order[:RETRIEVED]]
        found = [(start, end) for name, start, end in best if name == question.document]
        # What is retrieved twice counts twice against precision and IoU, as it would be paid for
        # twice; text of other documents counts against them too.
        retrieved = sum(end - start for _, start, end in best)
        evidence = union(question.evidence)
        needed, hit = length(evidence), length(shared(evidence, union(found)))
        touching = [span for span in cut[question.document] if shared(evidence, [span])]
        held = length(shared(evidence, union(touching))) / max(1, length(touching))
        scores.append((hit / needed, hit / retrieved, hit / (retrieved + needed - hit), held))
    means = np.array(scores).mean(axis=0)
    names = ("recall", "precision", "iou", "precision_omega")
    sizes = [len(embedder.token_starts(text)) for some in texts.values() for text in some]
    told = {name: round(float(value), 4) for name, value in zip(names, means, strict=True)}
    return {"passages": len(ranges), "mean_tokens": round(float(np.mean(sizes)), 1), **told}


def union(ranges: Iterable[tuple[int, int]]) -> Ranges:
    merged: Ranges = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def shared(left: Ranges, right: Ranges) -> Ranges:
    both = [(max(a, c), min(b, d)) for a, b in left for c, d in right]
    return [(start, end) for start, end in both if start < end]


def length(ranges: Ranges) -> int:
    return sum(end - start for start, end in ranges)


def embedded(texts: list[str], embedder: Embedder) -> NDArray[np.float32]:
    """Vectors from the cache where these very texts were embedded before."""
    digest = hashlib.sha256("\0".join([embedder.name, *texts]).encode()).hexdigest()[:24]
    path = CACHE / "chunking" / f"{digest}.npy"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, embedder.embed_passages(texts))
    vectors: NDArray[np.float32] = np.load(path)
    return vectors


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--documents", default="", help="only these, separated by commas")
    wanted = set(filter(None, options.parse_args().documents.split(",")))
    folder = data_folder() / "chunking"
    # The marks count characters of the files as they are, line ends included.
    documents = {
        path.stem: path.read_bytes().decode("utf-8")
        for path in sorted(folder.glob("corpora/*.md"))
        if not wanted or path.stem in wanted
    }
    questions = [
        Question(
            row["question"],
            row["corpus_id"],
            [(one["start_index"], one["end_index"]) for one in row["references"]],
        )
        for row in read_lines(folder / "questions.jsonl")
        if row["corpus_id"] in documents
    ]
    embedder = load_embedder()
    asked = embedded([question.text for question in questions], embedder)
    results = {}
    for name, cut in chunkers(embedder):
        pieces = {document: cut(text) for document, text in documents.items()}
        results[name] = measured(pieces, documents, questions, asked, embedder)
        print(name, results[name], flush=True)
    if not wanted:
        save("chunking", {"embedder": embedder.name, "retrieved": RETRIEVED, "results": results})


if __name__ == "__main__":
    main()
