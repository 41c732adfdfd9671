"""What the reader makes of the passages that the searches rank first; resumable at any moment."""

from __future__ import annotations

import itertools
import json
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks import sweep_score
from benchmarks.calibrate_pools import CACHE, Asked, asked, corpus
from secondlook.reading import load_reader
from secondlook.retrieval.fuse import fuse
from secondlook.retrieval.index.port import Scored
from secondlook.retrieval.rerank import rerank
from secondlook.retrieval.search import DEFAULT_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from secondlook.reading.port import Reading
    from secondlook.retrieval.fuse import Fused

TOP = 5
"""Passages whose spans an answer may be taken from."""
_HOTPOT_ANSWERED = 300
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Seen:
    """What the reader made of one passage; the sweep kept no spans and only their margins."""

    relevance: float
    answerable: float
    span_score: float
    null_score: float
    span: str | None = None


Readings = dict[Key, dict[str, Seen]]


def fused(question: Asked, *, dense: float, lexical: float) -> list[Fused]:
    return fuse(
        [Scored(*hit) for hit in question.dense],
        [Scored(*hit) for hit in question.lexical],
        dense_weight=dense,
        lexical_weight=lexical,
        k=DEFAULT_OPTIONS.rrf_k,
    )


def primary(question: Asked) -> list[Fused]:
    """The passages that the first search gives to the reader."""
    found = fused(question, dense=DEFAULT_OPTIONS.dense, lexical=DEFAULT_OPTIONS.lexical)
    return found[: DEFAULT_OPTIONS.candidates]


def ranked(entries: list[Fused], seen: dict[str, Seen]) -> list[tuple[Fused, float]]:
    """In the order the product puts them, with their final scores."""
    relevance = {entry.id: seen[entry.id].relevance for entry in entries if entry.id in seen}
    return rerank(entries, relevance, blend=DEFAULT_OPTIONS.blend)


def read(*, seconds: float) -> None:
    """Read pairs for so long at most; what is still missing is read by the next call."""
    reader = load_reader()
    known = load_readings(reader.name)
    texts: dict[str, dict[str, str]] = {}
    file = _file(reader.name)
    file.parent.mkdir(parents=True, exist_ok=True)
    began, pairs = time.monotonic(), 0
    with file.open("a", encoding="utf-8") as out:
        for at, (question, wanted) in enumerate(_queue(known)):
            if time.monotonic() - began > seconds:
                break
            if question.set not in texts:
                texts[question.set] = corpus(question.set)
            given = [texts[question.set][passage] for passage in wanted]
            readings = reader.read(question.question, given)
            row = {
                passage: _numbers(text, reading)
                for passage, text, reading in zip(wanted, given, readings, strict=True)
            }
            out.write(
                "\n" + json.dumps({"set": question.set, "query": question.id, "passages": row})
            )
            out.flush()
            pairs += len(row)
            if at % 100 == 0:
                rate = pairs / (time.monotonic() - began)
                print(f"{at} questions, {pairs} pairs, {rate:.0f} a second", flush=True)
    print(f"read {pairs} pairs", flush=True)


def load_readings(reader: str) -> Readings:
    """The sweep's scores, and over them what was read here, span included."""
    known: Readings = defaultdict(dict)
    for row in sweep_score.read_scores(sweep_score.score_folder(reader, "context")):
        for passage, (relevance, answerable, margin) in zip(
            row["passages"], row["scores"], strict=True
        ):
            known[row["set"], row["query"]][passage] = Seen(relevance, answerable, margin, 0.0)
    for row in sweep_score.read_scores(_file(reader).parent):
        for passage, values in row["passages"].items():
            known[row["set"], row["query"]][passage] = Seen(*values)
    return known


def _file(reader: str) -> Path:
    return CACHE / "readings" / reader.replace("@", "-") / "readings.jsonl"


def _numbers(text: str, reading: Reading) -> list[float | str]:
    scores = (reading.relevance, reading.answerable, reading.span_score, reading.null_score)
    return [*(round(score, 4) for score in scores), text[reading.start : reading.end]]


def _queue(known: Readings) -> Iterator[tuple[Asked, list[str]]]:
    """Questions and the passages still to be read, the kinds of one set taken in turn."""
    squad = list(asked("squad2-dev"))
    squad_lanes = [
        [(question, _spans(question, known)) for question in squad if question.answerable],
        [(question, _unread(question, known)) for question in squad if not question.answerable],
    ]
    hotpot_lanes = [
        [(question, _unread(question, known)) for question in asked("hotpot-train")],
        [
            (question, _spans(question, known))
            for question in itertools.islice(asked("hotpot"), _HOTPOT_ANSWERED)
        ],
    ]
    for lanes in (squad_lanes, hotpot_lanes):
        for turn in itertools.zip_longest(*lanes):
            yield from (job for job in turn if job and job[1])


def _unread(question: Asked, known: Readings) -> list[str]:
    seen = known.get((question.set, question.id), {})
    return [entry.id for entry in primary(question) if entry.id not in seen]


def _spans(question: Asked, known: Readings) -> list[str]:
    seen = known.get((question.set, question.id), {})
    best = [entry.id for entry, _ in ranked(primary(question), seen)[:TOP]]
    return [passage for passage in best if passage not in seen or seen[passage].span is None]
