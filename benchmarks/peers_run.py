"""One set, all systems: built by turns, then asked the same question one after the other."""

from __future__ import annotations

import json
import random
import shutil
import statistics
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.peers_contract import Text
from benchmarks.peers_install import CACHE
from benchmarks.peers_talk import Worker
from benchmarks.sweep_sets import load, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from benchmarks.sweep_sets import EvaluationSet, Query

WARM_UP = 3
"""Questions that are asked before any time is taken."""
SAMPLE, TURNS = 10, 12
"""After each round of building every worker embeds a few passages, by turns, several times: what
embedding costs now, whatever else the machine does, is then the same for all."""


@dataclass(frozen=True, slots=True)
class Plan:
    name: str
    """Of the set."""
    systems: tuple[str, ...]
    questions: int
    seed: int
    builds: int
    live: bool
    """Every system embeds every passage itself, instead of sharing kept vectors."""

    @property
    def folder(self) -> Path:
        return CACHE / "runs" / f"{self.name}-{self.questions}-{self.seed}"


@dataclass(frozen=True, slots=True)
class Measured:
    plan: Plan
    passages: int
    questions_held: int
    gold: dict[str, frozenset[str]]
    """Of each question asked."""
    about: dict[str, dict[str, Any]]
    builds: dict[str, list[dict[str, Any]]]
    rows: list[dict[str, Any]]


def measure(plan: Plan) -> Measured:
    """Goes on where an interrupted run with the same plan stopped asking."""
    data = load(plan.name)
    corpus = write_corpus(data, plan.folder)
    asked = drawn(data.queries, plan.questions, plan.seed)
    kept = None if plan.live else CACHE / "vectors.sqlite"
    with ExitStack() as stack:
        workers = [
            stack.enter_context(Worker(system, corpus, plan.folder / slug(system), kept))
            for system in plan.systems
        ]
        builds = build_all(workers, plan)
        rows = ask_all(workers, asked, plan)
        about = {worker.system: worker.about | worker.leave() for worker in workers}
    gold = {query.id: query.gold for query in asked}
    return Measured(plan, len(data.passages), len(data.queries), gold, about, builds, rows)


def forget(plan: Plan) -> None:
    """A finished run is not gone on with: the next one measures anew."""
    shutil.rmtree(plan.folder, ignore_errors=True)


def write_corpus(data: EvaluationSet, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "corpus.jsonl"
    with file.open("w", encoding="utf-8") as out:
        for row in data.passages:
            text = Text(row.id, row.title, row.text, shown(row, "context"))
            out.write(json.dumps(asdict(text)) + "\n")
    return file


def drawn(queries: Sequence[Query], count: int, seed: int) -> list[Query]:
    """A sample in random order, so that any beginning of it is a sample as well."""
    return random.Random(seed).sample(list(queries), min(count, len(queries)))


def slug(system: str) -> str:
    return "-".join(system.replace(",", "").split())


def build_all(workers: Sequence[Worker], plan: Plan) -> dict[str, list[dict[str, Any]]]:
    """Rounds of building, each system in turn. A first one, not counted, makes the vectors."""
    if not plan.live:
        build_round(workers, plan)
    rounds = []
    for _ in range(1 if plan.live else plan.builds):
        built, costs = build_round(workers, plan), embedding_costs(workers)
        rounds.append({name: built[name] | {"seconds_per_passage": costs[name]} for name in built})
    return {worker.system: [found[worker.system] for found in rounds] for worker in workers}


def build_round(workers: Sequence[Worker], plan: Plan) -> dict[str, dict[str, Any]]:
    built = {}
    for worker in workers:
        built[worker.system] = worker.request(do="build")
        seconds = sum(part["seconds"] for part in built[worker.system]["parts"].values())
        print(f"{plan.name}: {worker.system} built in {seconds:.1f} s", flush=True)
    return built


def embedding_costs(workers: Sequence[Worker]) -> dict[str, float]:
    """Seconds per passage of each system's texts."""
    taken: dict[str, list[float]] = {worker.system: [] for worker in workers}
    for turn in range(TURNS):
        for worker in workers:
            said = worker.request(do="embed", count=SAMPLE, turn=turn)
            taken[worker.system].append(said["seconds_per_passage"])
    return {system: statistics.fmean(found) for system, found in taken.items()}


def ask_all(workers: Sequence[Worker], asked: Sequence[Query], plan: Plan) -> list[dict[str, Any]]:
    file = plan.folder / "rows.jsonl"
    rows = read_rows(file)
    done = {row["id"] for row in rows}
    ways = [(worker, mode) for worker in workers for mode in worker.about["modes"]]
    for query in asked[:WARM_UP]:
        one_round(ways, query.question)
    with file.open("a", encoding="utf-8") as out:
        for number, query in enumerate(asked):
            if query.id in done:
                continue
            row = {"id": query.id, "found": one_round(mixed(ways, number), query.question)}
            out.write(json.dumps(row) + "\n")
            out.flush()
            rows.append(row)
            print(f"\r{plan.name}: {len(rows)} of {len(asked)} questions", end="", flush=True)
    print()
    return rows


def mixed(ways: Sequence[tuple[Worker, str]], number: int) -> list[tuple[Worker, str]]:
    """Another order for every question: none always comes after the same other one."""
    return random.Random(number).sample(list(ways), len(ways))


def one_round(ways: Iterable[tuple[Worker, str]], question: str) -> dict[str, dict[str, Any]]:
    return {
        way_name(worker.system, mode): worker.request(do="ask", mode=mode, question=question)
        for worker, mode in ways
    }


def way_name(system: str, mode: str) -> str:
    return f"{system}: {mode}"


def read_rows(file: Path) -> list[dict[str, Any]]:
    """What an interrupted run wrote; a line it was cut off in is left out."""
    if not file.exists():
        return []
    whole = [line for line in file.read_text("utf-8").splitlines(keepends=True) if "\n" in line]
    file.write_text("".join(whole), encoding="utf-8")
    return [json.loads(line) for line in whole]
