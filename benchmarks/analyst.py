"""What the steps of `analyst` buy a local model: the workflow beside the same model writing code in
one shot, with the same prompt, in the same sandbox.

    python -m benchmarks.analyst --set dabench --n 40 --model gguf:FILE
    python -m benchmarks.analyst --set wikitables --n 40 --model gguf:FILE

Every answer is appended to a file as it comes, so that a run goes on where it stopped; a model's
replies are kept too, so that the two ways pay once for a prompt that they share. The questions are
drawn by a fixed seed, evenly over the levels.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.eval_sets import data_folder
from secondlook.engine.secondlook import Secondlook
from secondlook.evaluation.cache import Memory, RememberingModels
from secondlook.evaluation.metrics import denoted, right, values_right
from secondlook.evaluation.statistics import mcnemar
from secondlook.library.library import Library
from secondlook.settings import load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from secondlook.answer import Answer

RESULTS = Path(__file__).parent / "results"
ROWS = Path(".cache") / "analyst"
ONE_SHOT: dict[str, object] = {
    "analyst.enable_understanding": False,
    "analyst.enable_grammar": False,
    "analyst.enable_alignment": False,
    "analyst.enable_code_check": False,
    "analyst.enable_variation": False,
    "analyst.enable_arithmetic": False,
    "analyst.enable_recomputation": False,
    "analyst.enable_remediation": False,
    "analyst.max_code_attempts": 1,
}
WAYS: dict[str, dict[str, object]] = {
    "one_shot": ONE_SHOT,
    "workflow": {},
    "workflow_without_grammar": {"analyst.enable_grammar": False},
}


@dataclass(frozen=True, slots=True)
class Asked:
    id: str
    level: str
    question: str
    table: object
    """A path, or rows."""
    expected: tuple[tuple[str, str], ...]
    """Names and values; under the name "" any value will do."""


def main() -> None:
    options = _options()
    asked = list(_drawn(list(_asked(options.set)), options.n, options.seed))
    rows = _Rows(ROWS / f"{options.set}-{_short(options.model)}.jsonl")
    memory = Memory(ROWS / "replies.db")
    try:
        for way in options.ways.split(","):
            _answer_all(way, asked, rows, memory, options.model)
    finally:
        memory.close()
    found = _summary(asked, rows, options)
    print(json.dumps(found, indent=2))
    RESULTS.mkdir(exist_ok=True)
    name = f"analyst_{options.set}_{_short(options.model)}.json"
    (RESULTS / name).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--set", choices=("dabench", "wikitables"), default="dabench")
    parser.add_argument("--n", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", default="none")
    parser.add_argument("--ways", default="workflow,one_shot")
    return parser.parse_args()


def _short(model: str) -> str:
    return model.rpartition("/")[2].removesuffix(".gguf").replace(":", "-") or "none"


def _asked(name: str) -> Iterator[Asked]:
    folder = data_folder() / name
    if name == "dabench":
        for row in _lines(folder / "questions.jsonl.gz"):
            text = "\n".join([row["question"], row["constraints"], row["format"]])
            table = folder / "tables" / f"{row['file_name']}.gz"
            pairs = tuple((key, value) for key, value in row["answers"])
            yield Asked(str(row["id"]), row["level"], text, table, pairs)
        return
    held = {row["table"]: row for row in _lines(folder / "tables.jsonl.gz")}
    for row in list(_lines(folder / "questions.jsonl.gz"))[:1000]:
        pairs = tuple(("", answer) for answer in row["answers"])
        yield Asked(row["id"], "any", row["question"], held[row["table"]], pairs)


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _drawn(asked: Sequence[Asked], n: int, seed: int) -> Iterable[Asked]:
    """Evenly over the levels, each drawn by the seed."""
    chance = random.Random(seed)
    levels: dict[str, list[Asked]] = defaultdict(list)
    for one in asked:
        levels[one.level].append(one)
    order = [chance.sample(held, len(held)) for _, held in sorted(levels.items())]
    mixed = [one for at in range(len(asked)) for held in order for one in held[at : at + 1]]
    return mixed[:n]


class _Rows:
    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._file = file
        self.held: dict[tuple[str, str], dict[str, Any]] = {}
        if file.exists():
            for line in file.read_text("utf-8").splitlines():
                row = json.loads(line)
                self.held[row["way"], row["id"]] = row

    def add(self, row: dict[str, Any]) -> None:
        self.held[row["way"], row["id"]] = row
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def _answer_all(way: str, asked: Sequence[Asked], rows: _Rows, memory: Memory, model: str) -> None:
    missing = [one for one in asked if (way, one.id) not in rows.held]
    if not missing:
        return
    folder = ROWS.absolute() / "library"
    settings = load(
        {"library.path": str(folder), "models.default": model, "runs.keep": 0, **WAYS[way]}
    ).settings
    library = Library.open(folder, create=True, settings=settings)
    models = RememberingModels(settings, memory=memory)
    with Secondlook(library, settings=settings, models=models) as engine:
        for at, one in enumerate(missing, 1):
            rows.add(_answered(engine, way, one))
            print(f"{way} {at}/{len(missing)} {rows.held[way, one.id]['right']}", flush=True)


def _answered(engine: Secondlook, way: str, one: Asked) -> dict[str, Any]:
    began = time.monotonic()
    table = one.table
    if isinstance(table, dict):
        names = _different(table["header"])
        table = [dict(zip(names, row, strict=False)) for row in table["rows"]]
    answer = engine.ask(
        one.question, tables={"data": table}, workflow="analyst", run=f"bench-{one.id}"
    )
    analysis = answer.analysis
    attempts = analysis.attempts if analysis else ()
    parts = _parts(one, answer)
    return {
        "way": way,
        "id": one.id,
        "level": one.level,
        "answered": answer.status in {"answered", "partial"},
        "right": bool(parts) and all(parts.values()),
        "parts": list(parts.values()),
        "kind": analysis.kind if analysis else None,
        "stop": answer.stop_reason,
        "attempts": [one.status for one in attempts],
        "failed_attempts": sum(one.status != "ok" for one in attempts),
        "remedies": len(analysis.remedies) if analysis else 0,
        "checks": {check.name: check.passed for check in analysis.checks} if analysis else {},
        "score": min((column.score for column in analysis.columns), default=None)
        if analysis
        else None,
        "calls": answer.usage.calls,
        "tokens_in": answer.usage.tokens_in,
        "tokens_out": answer.usage.tokens_out,
        "seconds": round(time.monotonic() - began, 2),
    }


def _different(names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        again = sum(1 for one in found if one == name or one.startswith(f"{name}."))
        found.append(f"{name}.{again}" if again else name)
    return found


def _parts(one: Asked, answer: Answer) -> dict[str, bool]:
    """By wanted name; of an answer without names, whether it is the right set."""
    if one.expected and one.expected[0][0]:
        return values_right(one.expected, answer.values)
    return {"": right(denoted(answer.values), [value for _, value in one.expected])}


def _summary(asked: Sequence[Asked], rows: _Rows, options: argparse.Namespace) -> dict[str, Any]:
    ways = {
        way: [rows.held[way, one.id] for one in asked if (way, one.id) in rows.held]
        for way in options.ways.split(",")
    }
    found: dict[str, Any] = {
        "set": options.set,
        "model": _short(options.model),
        "n": len(asked),
        "seed": options.seed,
        "ways": {way: _figures(held) for way, held in ways.items()},
    }
    if "workflow" in ways and "one_shot" in ways:
        found["paired"] = _paired(ways["workflow"], ways["one_shot"])
    return found


def _figures(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    parts = [part for row in rows for part in row["parts"]]
    answered = [row for row in rows if row["answered"]]
    attempts = sum(len(row["attempts"]) for row in rows)
    return {
        "accuracy": _share(row["right"] for row in rows),
        "proportional": _share(
            sum(row["parts"]) / len(row["parts"]) if row["parts"] else 0.0 for row in rows
        ),
        "by_sub_question": _share(parts),
        "answered": _share(row["answered"] for row in rows),
        "wrong_among_answered": _share(not row["right"] for row in answered),
        "code_error_rate": round(sum(row["failed_attempts"] for row in rows) / attempts, 4)
        if attempts
        else None,
        "computed": sum(row["kind"] == "computed" for row in rows),
        "right_by_level": {
            level: sum(row["right"] for row in rows if row["level"] == level)
            for level in sorted({row["level"] for row in rows})
        },
        "calls": round(sum(row["calls"] for row in rows) / len(rows), 2) if rows else None,
        "seconds_median": sorted(row["seconds"] for row in rows)[len(rows) // 2] if rows else None,
    }


def _share(values: Iterable[float]) -> float | None:
    held = list(values)
    return round(sum(held) / len(held), 4) if held else None


def _paired(ours: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]]) -> Any:
    better = sum(a["right"] and not b["right"] for a, b in zip(ours, theirs, strict=True))
    worse = sum(b["right"] and not a["right"] for a, b in zip(ours, theirs, strict=True))
    return {"better": better, "worse": worse, "p": round(mcnemar(better, worse), 4)}


if __name__ == "__main__":
    main()
