"""What benchmarks share: where data and results lie, how sets are read and made, and how the
product's own evaluation is run over them.

Result files hold figures, never questions, answers or passages. What is made or remembered lies
under `.cache`, comes out the same each time, and lets an interrupted run go on where it was.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import random
import re
import sys
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from secondlook.evaluation.comparison import compare
from secondlook.evaluation.runner import Request
from secondlook.evaluation.statistics import holm, wilson
from secondlook.evaluation.study import answer_all
from secondlook.evaluation.summary import summarise
from secondlook.library.library import Library
from secondlook.library.report import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from secondlook.answer import Scalar
    from secondlook.evaluation.records import Configuration, Row
    from secondlook.evaluation.runner import Progress
    from secondlook.evaluation.study import Evaluated

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
CACHE = ROOT / ".cache"
SEED = 0
SQUAD_SEED = 20
"""Draws the questions of squad2-dev that speed and reading are measured with."""
COMPARED = ("f1", "f1_overall", "faithfulness")
SHOWN = (
    "recall@5", "em", "f1", "f1_overall", "contains", "text_f1", "faithfulness", "support",
    "citation_precision", "citation_recall", "prompt_leak", "answered", "answered_answerable",
    "wrong_among_answered", "refused_unanswerable", "auroc", "ece", "success",
    "fallback_rate", "web_rate", "failed", "llm_calls", "latency_p50", "latency_p95",
)  # fmt: skip

Rows = list[dict[str, Any]]


# Command line and results


def parser(doc: str | None) -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    return argparse.ArgumentParser(description=doc, formatter_class=form)


def machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "kind": platform.machine(),
        "python": platform.python_version(),
        "load_average": [round(load, 1) for load in os.getloadavg()],
    }


def save(name: str, content: Mapping[str, Any], *, folder: Path | None = None) -> None:
    """The figures with the command and the machine, written to `NAME.json`."""
    command = " ".join([f"python -m benchmarks.{Path(sys.argv[0]).stem}", *sys.argv[1:]])
    made = {"command": command, "machine": machine(), **content}
    # What lies innermost goes on one line: a figure is easier to find, and to compare.
    text = re.sub(
        r"\{[^{}\[\]]*\}", lambda found: " ".join(found[0].split()), json.dumps(made, indent=1)
    )
    (folder or RESULTS).joinpath(f"{name}.json").write_text(text + "\n", encoding="utf-8")
    print(text)


def share(yes: Sequence[bool]) -> dict[str, Any]:
    """How many, of how many, and Wilson's 95 % interval of the share."""
    value = sum(yes) / len(yes) if yes else 0.0
    low, high = wilson(value, len(yes)) if yes else (0.0, 1.0)
    return {"count": sum(yes), "n": len(yes), "share": round(value, 4)} | {
        "low": round(low, 4),
        "high": round(high, 4),
    }


def spread(values: Sequence[float], digits: int = 4) -> dict[str, float]:
    """Median and 95th percentile."""
    return {
        f"p{at}": round(float(np.percentile(values, at, method="nearest")), digits)
        for at in (50, 95)
    }


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """The chance that a positive scores above a negative."""
    above = np.asarray(positive)[:, None] - np.asarray(negative)[None, :]
    return float(((above > 0) + 0.5 * (above == 0)).mean())


# Sets


def data_folder() -> Path:
    folder = os.environ.get("SECONDLOOK_DATA")
    if not folder:
        raise SystemExit("set SECONDLOOK_DATA to the folder that holds the evaluation sets")
    return Path(folder)


def read_lines(file: Path) -> Rows:
    """A file of JSON lines, gzipped or not, by its plain name."""
    if file.is_file() and file.suffix != ".gz":
        text = file.read_text("utf-8")
    else:
        packed = file if file.suffix == ".gz" else file.with_name(f"{file.name}.gz")
        with gzip.open(packed, "rt", encoding="utf-8") as lines:
            text = lines.read()
    # Not splitlines: a text may hold other signs that end lines.
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def rows(data: str | Path, name: str) -> Rows:
    """`corpus` or `queries` of a set."""
    return read_lines(data_folder() / data / f"{name}.jsonl")


def write_set(folder: Path, corpus: Iterable[dict[str, Any]], queries: Rows) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, held in (("corpus", corpus), ("queries", queries)):
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in held)
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8", newline="\n")
    return folder


def each_once(queries: Rows) -> Rows:
    """Some sets ask a question twice; an evaluation takes it once, the first time."""
    return list({row["question"]: row for row in reversed(queries)}.values())[::-1]


def chosen(held: Sequence[dict[str, Any]], most: int | None, *, seed: int = SEED) -> Rows:
    """A random part in the order given; all where there are no more."""
    if most is None or most >= len(held):
        return list(held)
    return [held[at] for at in sorted(random.Random(seed).sample(range(len(held)), most))]


def by_answerable(queries: Rows, *, answerable: int | None, unanswerable: int | None) -> Rows:
    """So many of each kind, by chance; None = all of them."""
    can = chosen([row for row in queries if row["answerable"]], answerable)
    cannot = chosen([row for row in queries if not row["answerable"]], unanswerable)
    taken = {row["id"] for row in [*can, *cannot]}
    return [row for row in queries if row["id"] in taken]


@cache
def squad_questions(size: int) -> Rows:
    """Some questions of squad2-dev, each with its gold passage."""
    texts = {row["id"]: row["text"] for row in rows("squad2-dev", "corpus")}
    drawn = random.Random(SQUAD_SEED).sample(rows("squad2-dev", "queries"), size)
    return [{**row, "passage": texts[row["gold"][0]]} for row in drawn]


def squad_library() -> Path:
    """The passages of squad2-dev as a library, made once: each is a document of its own."""
    folder = CACHE / "answer" / "squad2-dev"
    if not (folder / "library.json").exists():
        with Library.open(folder) as library:
            library.add_texts(
                Text(name=row["id"], text=row["text"], title=row["title"])
                for row in rows("squad2-dev", "corpus")
            )
    return folder


# Evaluations


class _Progress:
    """A line now and then, with how long the rest may take."""

    def __init__(self) -> None:
        self._began = self._last = time.monotonic()

    def __call__(self, now: Progress) -> None:
        at, made = time.monotonic(), now.done - now.reused
        if at - self._last < 10 or not made or not now.total:
            return
        self._last = at
        left = (at - self._began) / made * (now.total - now.done)
        line = f"{now.configuration}: {now.done} of {now.total}, {now.failed} failed"
        print(f"{line}, about {left / 60:.0f} min left", file=sys.stderr, flush=True)


def answered(
    folder: Path,
    configurations: Sequence[Configuration],
    out: Path,
    *,
    memory: Path = CACHE / "eval",
    shared: Mapping[str, Scalar] | None = None,
    preset: str | None = None,
) -> Evaluated:
    """The rows of each configuration. The same call again goes on where it was interrupted.

    `memory` is the folder that holds what was indexed, and what models said. A remembered result
    counts with the time it once took, so studies of time have a memory of their own."""
    os.environ["SECONDLOOK_CACHE"] = str(memory)
    request = Request(path=folder, flags=dict(shared or {}), preset=preset, seed=SEED, out=out)
    evaluated = answer_all(request, configurations, progress=_Progress())
    if problems := evaluated.data.problems:
        raise SystemExit(f"{folder}: {len(problems)} rows cannot be used, such as {problems[0]}")
    return evaluated


def figures(evaluated: Evaluated) -> dict[str, Any]:
    """Each configuration's metrics, and those of its parts where questions are of types."""

    def metrics(held: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: _rounded(held[name].model_dump())
            for name in SHOWN
            if name in held and held[name].value is not None
        }

    told = {}
    for one in evaluated.configurations:
        found = summarise(evaluated.rows[one.name], configuration=one, seed=SEED)
        told[one.name] = {
            "workflow": found.workflow,
            "metrics": metrics(found.metrics),
            "stop_reasons": dict(sorted(found.stop_reasons.items())),
            "by_type": {name: metrics(part) for name, part in found.by_type.items()},
        }
    return told


def differences(
    held: Mapping[str, Sequence[Row]],
    pairs: Sequence[tuple[str, str]],
    *,
    parts: Mapping[str, Callable[[Row], bool]] | None = None,
) -> list[dict[str, Any]]:
    """Each pair of configurations on each part of the questions, p corrected for all together."""
    told = []
    for part, belongs in (parts or {"all": lambda _row: True}).items():
        for base, other in pairs:
            ours, theirs = ([row for row in held[name] if belongs(row)] for name in (base, other))
            if not ours:
                continue
            found = {one.metric: one for one in compare(ours, theirs, seed=SEED).differences}
            named = {"part": part, "base_name": base, "other_name": other}
            # Where nothing was answered under one of the two there is no faithfulness to compare.
            told += [
                named | _rounded(found[metric].model_dump(exclude={"p_holm"}))
                for metric in COMPARED
                if metric in found
            ]
    corrected = holm([one["p"] for one in told])
    return [one | {"p_holm": round(p, 6)} for one, p in zip(told, corrected, strict=True)]


def _rounded(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: round(value, 6) if isinstance(value, float) else value
        for name, value in values.items()
    }
