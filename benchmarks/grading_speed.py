"""The reader as a grader of passages, beside one call of a local model that grades them all.

    export SECONDLOOK_DATA=...
    python scripts/fetch_test_model.py coder-0.5b
    python -m benchmarks.grading_speed coder-0.5b [--questions 12]

For each question the best ten passages that the product finds are graded twice, one grader after
the other: by the reader, which looks at all ten, and by one call that shows the model all ten and
asks for ten verdicts under a JSON schema. Seconds per ten passages, their ratio, and precision
and recall against gold. Writes `benchmarks/results/grading_speed.json`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field, ValidationError

from benchmarks.answer import library_folder
from benchmarks.local_models import find
from benchmarks.reading_answers import SEED, rows
from secondlook.library import Library
from secondlook.models.gguf import GgufChat
from secondlook.models.port import ChatRequest, Message
from secondlook.reading import load_embedded_reader
from secondlook.reading.calibration import load_calibration
from secondlook.retrieval.chunk import with_context
from secondlook.retrieval.search import SearchOptions

if TYPE_CHECKING:
    from secondlook.reading.reader import OnnxReader

RESULTS = Path(__file__).parent / "results" / "grading_speed.json"
PASSAGES = 10
ASKED = Message(
    "system",
    "You judge passages. For each numbered passage say whether it helps to answer the question. "
    "Reply with JSON: one true or false per passage, in their order.",
)


class Verdicts(BaseModel):
    relevant: list[bool] = Field(min_length=PASSAGES, max_length=PASSAGES)


@dataclass(frozen=True, slots=True)
class Graded:
    """Seconds, and of each passage whether it is gold and whether it was accepted."""

    seconds: float
    passages: list[tuple[bool, bool]]


@dataclass(frozen=True, slots=True)
class Case:
    question: str
    passages: list[str]
    gold: list[bool]


def cases(questions: int) -> list[Case]:
    answerable = [row for row in rows("squad2-dev", "queries") if row["answerable"]]
    texts = {row["id"]: row["text"] for row in rows("squad2-dev", "corpus")}
    found = []
    with Library.open(library_folder(), create=False) as library:
        for row in random.Random(SEED).sample(answerable, questions):
            ranked = library.searcher().find(row["question"], SearchOptions(k=PASSAGES))
            kept = [hit.passage for hit in library.hits(ranked)[:PASSAGES]]
            gold = "\n".join(texts[name] for name in row["gold"])
            found.append(
                Case(
                    row["question"],
                    [with_context(one.title, one.heading, one.text) for one in kept],
                    [one.text.strip() in gold for one in kept],
                )
            )
    return found


def by_reader(case: Case, reader: OnnxReader, min_about: float) -> Graded:
    reader.forget()
    began = time.perf_counter()
    readings = reader.read(case.question, case.passages)
    seconds = time.perf_counter() - began
    accepted = [one.relevance > min_about for one in readings]
    return Graded(seconds, list(zip(case.gold, accepted, strict=True)))


async def by_model(case: Case, chat: GgufChat) -> Graded:
    """What cannot be understood accepts nothing."""
    listed = "\n\n".join(f"[{at}] {text}" for at, text in enumerate(case.passages, 1))
    request = ChatRequest(
        (ASKED, Message("user", f"{listed}\n\nQuestion: {case.question}")),
        max_tokens=120,
        schema=Verdicts.model_json_schema(),
        mode="json_schema",
    )
    began = time.perf_counter()
    result = await chat.complete(request)
    seconds = time.perf_counter() - began
    try:
        accepted = Verdicts.model_validate_json(result.text).relevant
    except ValidationError:
        accepted = [False] * len(case.passages)
    return Graded(seconds, list(zip(case.gold, accepted, strict=True)))


def figures(graded: list[Graded]) -> dict[str, Any]:
    pairs = [pair for one in graded for pair in one.passages]
    kept = sum(gold and accepted for gold, accepted in pairs)
    return {
        "seconds_per_ten": round(statistics.median(one.seconds for one in graded), 3),
        "precision": round(kept / max(1, sum(accepted for _, accepted in pairs)), 3),
        "recall": round(kept / max(1, sum(gold for gold, _ in pairs)), 3),
        "pairs": len(pairs),
    }


async def run(model: str, questions: int) -> dict[str, Any]:
    reader = load_embedded_reader()
    min_about = load_calibration(reader.name).min_about
    chat = GgufChat(find(model), context_tokens=4096)
    await chat.count((ASKED,))
    read, asked = [], []
    for case in cases(questions):
        read.append(by_reader(case, reader, min_about))
        asked.append(await by_model(case, chat))
        print(f"{read[-1].seconds:.2f} s  {asked[-1].seconds:.2f} s", flush=True)
    await chat.aclose()
    ratios = [two.seconds / one.seconds for one, two in zip(read, asked, strict=True)]
    return {
        "reader": reader.name,
        "model": model,
        "questions": questions,
        "by_reader": figures(read),
        "by_model": figures(asked),
        "reader_is_faster": round(statistics.median(ratios), 1),
        "least": round(min(ratios), 1),
        "load_average": [round(load, 1) for load in os.getloadavg()],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", help="a name that scripts/fetch_test_model.py knows, or a path")
    parser.add_argument("--questions", type=int, default=12)
    given = parser.parse_args()
    made = asyncio.run(run(given.model, given.questions))
    print(json.dumps(made, indent=2))
    RESULTS.write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
