"""How fast a folder becomes a library, beside the cost of its embeddings alone.

Writes a folder of real articles (SQuAD train, CC BY-SA 4.0) as PDF, DOCX, HTML, Markdown and
text, adds it to a fresh library, and embeds the very same passages without anything else. Both
run by turns, so that the ratio holds on a busy machine; seconds do not.

    SECONDLOOK_DATA=... python benchmarks/ingest.py --articles 60 --rounds 3
"""

from __future__ import annotations

import argparse
import gzip
import html
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from secondlook.library.library import Library
from secondlook.reading import load_embedder
from secondlook.retrieval.chunk import with_context
from tests.support.files import docx, pdf, word_paragraph

RESULTS = Path(__file__).parent / "results" / "ingest.json"
LINE = 95
LINES_PER_PAGE = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--articles", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    embedder = load_embedder()
    embedder.embed_query("warm up")
    rounds = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "articles"
        kinds = write_articles(folder, options.articles)
        for number in range(options.rounds):
            rounds.append(one_round(folder, Path(scratch) / f"library{number}"))
            print(json.dumps(rounds[-1]))
    summary = {
        "files": sum(kinds.values()),
        "kinds": kinds,
        "passages": rounds[0]["passages"],
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "embedder": embedder.name,
        "files_per_second": round(statistics.median(r["files_per_second"] for r in rounds), 1),
        "passages_per_second": round(
            statistics.median(r["passages_per_second"] for r in rounds), 1
        ),
        "ratio_to_embedding_alone": round(statistics.median(r["ratio"] for r in rounds), 3),
        "rounds": rounds,
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    print(json.dumps({key: summary[key] for key in summary if key != "rounds"}, indent=2))


def one_round(folder: Path, path: Path) -> dict[str, float]:
    with Library.open(path) as library:
        report = library.add([folder])
        if report.failed:
            sys.exit(f"these files failed: {report.failed}")
        texts = embedded_texts(library)
        embedder = library.embedder()
        started = time.perf_counter()
        embedder.embed_passages(texts)
        alone = time.perf_counter() - started
    return {
        "passages": len(texts),
        "seconds": round(report.seconds, 2),
        "embedding_alone_seconds": round(alone, 2),
        "ratio": alone / report.seconds,
        "files_per_second": len(report.changes) / report.seconds,
        "passages_per_second": len(texts) / report.seconds,
    }


def embedded_texts(library: Library) -> list[str]:
    index = library.searcher().index
    texts = []
    for document in library.documents():
        entries = index.fetch([f"{document.id}.{n}" for n in range(document.passages)])
        texts += [with_context(document.title, entry.heading, entry.text) for entry in entries]
    return texts


def write_articles(folder: Path, count: int) -> dict[str, int]:
    folder.mkdir()
    kinds = [
        ("pdf", as_pdf),
        ("docx", as_docx),
        ("html", as_html),
        ("md", as_markdown),
        ("txt", as_text),
    ]
    written: dict[str, int] = {}
    for number, (title, paragraphs) in enumerate(articles(count)):
        suffix, write = kinds[number % len(kinds)]
        (folder / f"{number:03}.{suffix}").write_bytes(write(title, paragraphs))
        written[suffix] = written.get(suffix, 0) + 1
    return written


def articles(count: int) -> list[tuple[str, list[str]]]:
    found: dict[str, list[str]] = {}
    with gzip.open(
        Path(os.environ["SECONDLOOK_DATA"]) / "squad-train" / "corpus.jsonl.gz", "rt"
    ) as lines:
        for line in lines:
            row = json.loads(line)
            if row["title"] not in found and len(found) == count:
                break
            found.setdefault(row["title"], []).append(row["text"])
    return list(found.items())


def as_text(title: str, paragraphs: list[str]) -> bytes:
    return "\n\n".join([title, *paragraphs]).encode()


def as_markdown(title: str, paragraphs: list[str]) -> bytes:
    return "\n\n".join([f"# {title}", *paragraphs]).encode()


def as_html(title: str, paragraphs: list[str]) -> bytes:
    body = "".join(f"<p>{html.escape(text)}</p>" for text in paragraphs)
    return (
        f"<html><head><title>{html.escape(title)}</title></head><body>{body}</body></html>".encode()
    )


def as_docx(title: str, paragraphs: list[str]) -> bytes:
    body = "".join(word_paragraph(html.escape(text)) for text in [title, *paragraphs])
    return docx(body)


def as_pdf(title: str, paragraphs: list[str]) -> bytes:
    lines = [title]
    for text in paragraphs:
        words = text.split()
        line = ""
        for word in words:
            if len(line) + len(word) > LINE:
                lines.append(line)
                line = ""
            line = f"{line} {word}".strip()
        lines += [line, ""]
    pages = [
        lines[start : start + LINES_PER_PAGE] for start in range(0, len(lines), LINES_PER_PAGE)
    ]
    return pdf(pages)


if __name__ == "__main__":
    main()
