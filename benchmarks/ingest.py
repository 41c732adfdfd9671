"""How fast a folder becomes a library, and what those who search meanwhile notice.

    SECONDLOOK_DATA=... python -m benchmarks.ingest [--articles 60] [--rounds 3]
    SECONDLOOK_DATA=... python -m benchmarks.ingest --large [--articles 5]

Writes real articles (SQuAD train, CC BY-SA 4.0) as PDF, DOCX, HTML, Markdown and text, adds them to
a fresh library, and embeds the very same passages without anything else, by turns, so that the
ratio holds on a busy machine; seconds do not. `--large` adds all 442 articles (20,000 passages)
with vectors drawn at random in place of computed ones, which shows everything but embedding, and
then adds some more with the real embedder while another process searches. Writes
benchmarks/results/ingest.json or ingest_large.json.
"""

from __future__ import annotations

import hashlib
import html
import json
import os
import resource
import select
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.common import parser, rows, save, spread
from secondlook.library.library import Library
from secondlook.retrieval.chunk import with_context
from tests.support.files import docx, pdf, word_paragraph

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from secondlook.reading.port import Embedder

ALL_ARTICLES = 442
LINE, LINES_PER_PAGE = 95, 50
QUIET_SECONDS = 15


def write_articles(folder: Path, count: int, *, first: int = 0) -> dict[str, int]:
    """How many of each kind."""
    found: dict[str, list[str]] = {}
    for row in rows("squad-train", "corpus"):
        found.setdefault(row["title"], []).append(row["text"])
    folder.mkdir()
    written: dict[str, int] = {}
    for number, (title, texts) in enumerate([*found.items()][first : first + count], first):
        kind = ("pdf", "docx", "html", "md", "txt")[number % 5]
        (folder / f"{number:03}.{kind}").write_bytes(as_file(kind, title, texts))
        written[kind] = written.get(kind, 0) + 1
    return written


def as_file(kind: str, title: str, texts: list[str]) -> bytes:
    if kind == "docx":
        return docx("".join(word_paragraph(html.escape(text)) for text in [title, *texts]))
    if kind == "html":
        body = "".join(f"<p>{html.escape(text)}</p>" for text in texts)
        head = f"<html><head><title>{html.escape(title)}</title></head>"
        return f"{head}<body>{body}</body></html>".encode()
    if kind == "pdf":
        lines = [title, *(line for text in texts for line in [*textwrap.wrap(text, LINE), ""])]
        places = range(0, len(lines), LINES_PER_PAGE)
        return pdf([lines[at : at + LINES_PER_PAGE] for at in places])
    return "\n\n".join([f"# {title}" if kind == "md" else title, *texts]).encode()


def one_round(folder: Path, path: Path) -> dict[str, float]:
    with Library.open(path) as library:
        report = library.add([folder])
        if report.failed:
            sys.exit(f"these files failed: {report.failed}")
        index, texts = library.searcher().index, []
        for document in library.documents():
            entries = index.fetch([f"{document.id}.{n}" for n in range(document.passages)])
            texts += [with_context(document.title, entry.heading, entry.text) for entry in entries]
        embedder = library.embedder()
        began = time.perf_counter()
        embedder.embed_passages(texts)
        alone = time.perf_counter() - began
    return {
        "passages": len(texts),
        "seconds": round(report.seconds, 2),
        "embedding_alone_seconds": round(alone, 2),
        "ratio_to_embedding_alone": round(alone / report.seconds, 3),
        "files_per_second": round(len(report.changes) / report.seconds, 1),
        "passages_per_second": round(len(texts) / report.seconds, 1),
    }


# A large library


class Drawn:
    """An embedder that draws vectors at random from the text's hash."""

    def __init__(self, real: Embedder) -> None:
        self.name, self.dimensions, self.max_tokens = real.name, real.dimensions, real.max_tokens
        self.token_starts, self.embed_query = real.token_starts, real.embed_query

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        for at, text in enumerate(texts):
            seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
            vectors[at] = np.random.default_rng(seed).standard_normal(self.dimensions)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


class DrawnLibrary(Library):
    def embedder(self) -> Embedder:
        return Drawn(super().embedder())


def add(library: Path, folder: Path, *, drawn: bool) -> None:
    """In a process of its own. Processor time is of all cores and processes."""
    with (DrawnLibrary if drawn else Library).open(library) as opened:
        report = opened.add([folder])
    if report.failed:
        raise SystemExit(f"these files failed: {report.failed}")
    found = {
        "files": len(report.changes),
        "passages": report.passages,
        "seconds": round(report.seconds, 1),
        "processor_seconds": round(sum(os.times()[:4]), 1),
        "passages_per_second": round(report.passages / report.seconds, 1),
        "resident_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    }
    print(json.dumps(found))


def search(library: Path) -> None:
    """Search from the line `begin` to the line `end`, again and again; say how it went."""
    asked = [row["question"] for row in rows("squad-train", "queries")[:50]]
    with Library.open(library, create=False) as opened:
        opened.search(asked[0], rerank=False)
        print("ready", flush=True)
        while sys.stdin.readline().strip() == "begin":
            taken: list[float] = []
            errors: list[str] = []
            while not select.select([sys.stdin], [], [], 0)[0]:
                began = time.perf_counter()
                try:
                    opened.search(asked[len(taken) % len(asked)], rerank=False)
                except Exception as error:  # noqa: BLE001 - any of them is what is looked for
                    errors.append(repr(error))
                taken.append(1000 * (time.perf_counter() - began))
            sys.stdin.readline()
            told = {"searches": len(taken), "errors": errors[:1], "ms": spread(taken, 1)}
            print(json.dumps(told), flush=True)


def large(articles: int, folder: Path) -> dict[str, Any]:
    library = folder / "library"
    write_articles(folder / "all", ALL_ARTICLES - articles)
    write_articles(folder / "more", articles, first=ALL_ARTICLES - articles)

    def started(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "benchmarks.ingest", "--step", *arguments]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def added(files: str, how: str) -> dict[str, Any]:
        child = started("add", str(library), str(folder / files), how)
        output = child.communicate()[0]
        if child.returncode:
            raise SystemExit(f"adding {files} failed")
        told: dict[str, Any] = json.loads(output.splitlines()[-1])
        return told

    found: dict[str, Any] = {"without_embedding": added("all", "drawn")}
    reader = started("search", str(library))
    if reader.stdin is None or reader.stdout is None or reader.stdout.readline() != "ready\n":
        raise SystemExit("the reader did not start")
    try:
        for name in ("quiet", "while_adding"):
            reader.stdin.write("begin\n")
            reader.stdin.flush()
            if name == "quiet":
                time.sleep(QUIET_SECONDS)
            else:
                found["added"] = added("more", "embedded")
            reader.stdin.write("end\n")
            reader.stdin.flush()
            found[name] = json.loads(reader.stdout.readline())
    finally:
        reader.communicate()
    before, meanwhile = found["quiet"]["ms"], found["while_adding"]["ms"]
    found["to_quiet"] = {name: round(meanwhile[name] / before[name], 2) for name in before}
    return found


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--articles", type=int)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--large", action="store_true")
    options.add_argument("--step", nargs="+", help="of a process that this one starts")
    given = options.parse_args()
    if given.step:
        what, library, *rest = given.step
        if what == "add":
            add(Path(library), Path(rest[0]), drawn=rest[1] == "drawn")
        else:
            search(Path(library))
        return
    with tempfile.TemporaryDirectory() as scratch:
        if given.large:
            save("ingest_large", large(given.articles or 5, Path(scratch)))
            return
        folder = Path(scratch) / "articles"
        kinds = write_articles(folder, given.articles or 60)
        rounds = [one_round(folder, Path(scratch) / str(at)) for at in range(given.rounds)]
    medians = {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}
    save("ingest", {"kinds": kinds, **medians, "rounds": rounds})


if __name__ == "__main__":
    main()
