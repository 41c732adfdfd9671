"""What a local model is shown: sentences around the reader's span, or whole passages.

    python -m benchmarks.packing evidence [--questions 200]
    python -m benchmarks.packing answers --model FILE.gguf [--questions 30] [--threads 2]
    python -m benchmarks.packing report

`evidence` needs no model: how many tokens each arrangement takes and how often the answer is still
in them. `answers` asks a model, arrangement by arrangement for each question, so that other work
on the machine slows all alike: time to the first token, and what was answered. Questions are
answerable ones of `squad2-dev`, over a library of its 594 passages. Rows are kept in
`.cache/packing`, so both go on where they were stopped; `report` and both others write
`benchmarks/results/packing.json`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.reading_answers import answer_scores, rows, words
from secondlook.models.counting import approximate_tokens
from secondlook.nodes.packing import EvidenceItem, Mode, Packed, pack
from secondlook.nodes.sentences import Reviewed, review
from secondlook.prompts import evidence_marks, load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from secondlook.models.gguf import GgufChat
    from secondlook.models.port import Message

SET = "squad2-dev"
SEED = 7
K = 5
CACHE = Path(__file__).resolve().parent.parent / ".cache" / "packing"
RESULTS = Path(__file__).parent / "results" / "packing.json"
MARGIN = 0.05
"""An arrangement may lose this share of answers, by the lower end of a 95 % interval."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    mode: Mode
    budget: int

    @property
    def name(self) -> str:
        return self.mode if self.mode == "passages" else f"{self.mode}-{self.budget}"


WHOLE = Arrangement("passages", 1_000_000)
SHOWN = [WHOLE, *(Arrangement("sentences", size) for size in (150, 250, 350, 500, 700))]
ASKED = [WHOLE, Arrangement("sentences", 500), Arrangement("sentences", 250)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["evidence", "answers", "report"])
    parser.add_argument("--questions", type=int, default=0)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    if options.what == "evidence":
        show(options.questions or 200)
    elif options.what == "answers":
        if options.model is None:
            parser.error("answers needs --model")
        asyncio.run(ask_all(options.model, options.questions or 30, options.threads))
    report()


# What the library finds


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    text: str
    answers: list[str]
    found: list[EvidenceItem]


def questions(count: int) -> Iterator[Question]:
    """Always the same ones, in the same order; found once and then kept."""
    answerable = sorted(
        (row for row in rows(SET, "queries") if row["answerable"]), key=lambda row: str(row["id"])
    )
    chosen = random.Random(SEED).sample(answerable, len(answerable))[:count]
    kept = {row["id"]: row["found"] for row in read("found")}
    missing = [row for row in chosen if row["id"] not in kept]
    for row, items in zip(missing, search([row["question"] for row in missing]), strict=True):
        kept[row["id"]] = [asdict(item) for item in items]
        append("found", {"id": row["id"], "found": kept[row["id"]]})
    for row in chosen:
        items = [_item(values) for values in kept[row["id"]]]
        yield Question(row["id"], row["question"], row["answers"], items)


def _item(values: dict[str, Any]) -> EvidenceItem:
    span = tuple(values["span"]) if values["span"] else None
    return EvidenceItem(**values | {"heading": tuple(values["heading"]), "span": span})


def search(asked: list[str]) -> Iterator[list[EvidenceItem]]:
    from secondlook.library import Library, Text
    from secondlook.retrieval.search import SearchOptions

    if not asked:
        return
    with Library.open(CACHE / "library") as library:
        library.add_texts(
            Text(name=row["id"], title=row["title"], text=row["text"])
            for row in rows(SET, "corpus")
        )
        searcher = library.searcher()
        for question in asked:
            ranked = searcher.search(question, SearchOptions(k=K))
            readings = {item.entry.id: item.reading for item in ranked}
            hits = library.hits(ranked)
            yield [_evidence(hit.passage, readings[hit.passage.id]) for hit in hits]


def _evidence(passage: Any, reading: Any) -> EvidenceItem:
    span = (reading.start, reading.end) if reading and reading.end > reading.start else None
    return EvidenceItem(
        passage=passage.id,
        title=passage.title,
        text=passage.text,
        heading=passage.heading,
        span=span,
        relevance=reading.relevance if reading else None,
        answerable=reading.answerable if reading else None,
    )


# What is shown


def shown(question: Question, arrangement: Arrangement) -> tuple[Packed, tuple[Message, ...]]:
    packed = pack(
        question.text,
        question.found,
        mode=arrangement.mode,
        budget_tokens=arrangement.budget,
        count=approximate_tokens,
    )
    # As for different runs: what one arrangement shows is not in the cache for the next.
    marks = evidence_marks(f"{question.id} {arrangement.name}")
    evidence = marks.wrap([block.text for block in packed.blocks])
    return packed, load("answer").render(question=question.text, evidence=evidence)


def holds(text: str, answers: Sequence[str]) -> bool:
    said = f" {' '.join(words(text))} "
    return any(f" {' '.join(words(answer))} " in said for answer in answers if words(answer))


def show(count: int) -> None:
    done = {(row["id"], row["arrangement"]) for row in read("shown")}
    for question in questions(count):
        for arrangement in SHOWN:
            if (question.id, arrangement.name) in done:
                continue
            packed, messages = shown(question, arrangement)
            append(
                "shown",
                {
                    "id": question.id,
                    "arrangement": arrangement.name,
                    "held": holds(messages[-1].content.split("\n", 1)[1], question.answers),
                    "estimated_tokens": packed.tokens,
                    "characters": sum(len(block.text) for block in packed.blocks),
                    "blocks": len(packed.blocks),
                },
            )


# What is answered


async def ask_all(model: Path, count: int, threads: int | None) -> None:
    from secondlook.models.gguf import GgufChat

    chat = GgufChat(model, context_tokens=4096, threads=threads)
    done = {(row["model"], row["id"], row["arrangement"]) for row in read("answers")}
    try:
        # The first call loads the model, and leaves what all prompts begin with in its cache.
        chosen = list(questions(count))
        await _ask(chat, Question("", "Is it warm?", ["yes"], chosen[-1].found), ASKED[-1])
        for number, question in enumerate(chosen, 1):
            for arrangement in ASKED:
                if (model.name, question.id, arrangement.name) not in done:
                    row = await _ask(chat, question, arrangement)
                    append("answers", {"model": model.name, "threads": threads, **row})
            print(f"{number}/{count} {question.text}", flush=True)
    finally:
        await chat.aclose()


async def _ask(chat: GgufChat, question: Question, arrangement: Arrangement) -> dict[str, Any]:
    import psutil  # type: ignore[import-untyped,unused-ignore]

    from secondlook.models.port import ChatRequest

    packed, messages = shown(question, arrangement)
    pid = chat.worker_pid
    worker = psutil.Process(pid) if pid else None
    work = [_cpu(worker)]

    def first(_: str) -> None:
        if len(work) == 1:
            work.append(_cpu(worker))

    started = time.monotonic()
    request = ChatRequest(messages, max_tokens=64, timeout=400)
    result = await chat.complete(request, first)
    said = _reviewed(result.text, question, packed, messages)
    text = " ".join(sentence.text for sentence in said.sentences)
    return {
        "id": question.id,
        "arrangement": arrangement.name,
        "tokens_in": result.tokens_in,
        "tokens_cached": result.tokens_cached,
        "tokens_out": result.tokens_out,
        "first_token_seconds": round(result.first_token_seconds or 0, 3),
        "first_token_cpu_seconds": round(work[-1] - work[0], 3),
        "seconds": round(time.monotonic() - started, 3),
        "held": holds(messages[-1].content.split("\n", 1)[1], question.answers),
        "text": result.text,
        "right": holds(text, question.answers),
        "f1": round(answer_scores(text, question.answers)[1], 4),
        "not_found": said.not_found,
        "sentences": len(said.sentences),
        "cited": sum(bool(sentence.citations) for sentence in said.sentences),
        "dropped": dict(said.dropped),
    }


def _cpu(worker: Any) -> float:
    if worker is None:
        return 0.0
    used = worker.cpu_times()
    return float(used.user + used.system)


def _reviewed(
    text: str, question: Question, packed: Packed, messages: tuple[Message, ...]
) -> Reviewed:
    return review(
        text,
        len(packed.blocks),
        own_words=load("answer").own_words,
        question=question.text,
        evidence=messages[-1].content,
    )


# What follows


def report() -> None:
    summary: dict[str, Any] = {"set": SET, "k": K, "counted_with": "approximate_tokens"}
    if seen := list(read("shown")):
        summary["evidence"] = _summary(seen, ("held", "estimated_tokens", "characters", "blocks"))
    answered = list(read("answers"))
    for model in sorted({row["model"] for row in answered}):
        of_model = [row for row in answered if row["model"] == model]
        summary.setdefault("answers", {})[model] = _answered(of_model)
    summary["default"] = _default(summary)
    RESULTS.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(summary, indent=1))


def _answered(of_model: list[dict[str, Any]]) -> dict[str, Any]:
    measured = ("tokens_in", "tokens_cached", "tokens_out", "f1", "right", "held", "not_found")
    found = _summary(of_model, measured)
    for name, values in found.items():
        these = list({row["id"]: row for row in of_model if row["arrangement"] == name}.values())
        for key in ("first_token_seconds", "first_token_cpu_seconds", "seconds"):
            values[f"median_{key}"] = round(statistics.median(row[key] for row in these), 2)
        said = sum(row["sentences"] for row in these)
        values["sentences_cited"] = round(sum(row["cited"] for row in these) / max(said, 1), 3)
    return found


def _summary(measured: list[dict[str, Any]], keys: Sequence[str]) -> dict[str, Any]:
    """Means by arrangement, and differences from whole passages over the same questions."""
    by_name: dict[str, dict[str, dict[str, Any]]] = {}
    for row in measured:
        by_name.setdefault(row["arrangement"], {})[row["id"]] = row
    common = sorted(set.intersection(*(set(of) for of in by_name.values())))
    found: dict[str, Any] = {}
    for name, of in by_name.items():
        found[name] = {"questions": len(common)} | {
            key: round(float(np.mean([of[one][key] for one in common])), 3) for key in keys
        }
        if name != WHOLE.name:
            quality = "right" if "right" in keys else "held"
            pairs = [(of[one][quality], by_name[WHOLE.name][one][quality]) for one in common]
            found[name][f"{quality}_difference_95"] = _interval(pairs)
    return found


def _interval(pairs: list[tuple[float, float]]) -> list[float]:
    """95 % interval of the mean paired difference, by bootstrap."""
    differences = np.array([float(one) - float(other) for one, other in pairs])
    drawn = np.random.default_rng(SEED).integers(0, len(differences), (4000, len(differences)))
    low, high = np.quantile(differences[drawn].mean(axis=1), [0.025, 0.975])
    return [round(float(low), 3), round(float(high), 3)]


def _default(summary: dict[str, Any]) -> str:
    """The fewest tokens that lose no more than the margin, neither of the answers that the
    evidence holds nor of those that a model gives."""
    tables = [(summary.get("evidence", {}), "held")]
    tables += [(table, "right") for table in summary.get("answers", {}).values()]
    names = set.intersection(*(set(table) for table, _ in tables))
    enough = [name for name in names if all(_keeps(table, name, key) for table, key in tables)]
    sizes = {arrangement.name: arrangement.budget for arrangement in SHOWN}
    return min(enough, key=sizes.__getitem__, default="not measured")


def _keeps(table: dict[str, Any], name: str, key: str) -> bool:
    return name == WHOLE.name or table[name][f"{key}_difference_95"][0] > -MARGIN


# Rows that outlive a stop


def read(name: str) -> Iterator[dict[str, Any]]:
    file = CACHE / f"{name}.jsonl"
    if file.exists():
        with file.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def append(name: str, row: dict[str, Any]) -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
