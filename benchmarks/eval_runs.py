"""Runs configurations over an evaluation set with the product's own evaluation, and keeps of the
outcome what can be published: figures, never questions, answers or passages.

What small models and chat models said is remembered under `.cache/eval`. A remembered result is
counted with the time it once took, so studies of time have a memory of their own: what they count
was taken by themselves, on a machine that did nothing else.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.eval_sets import SEED
from secondlook.evaluation.comparison import compare
from secondlook.evaluation.statistics import holm
from secondlook.evaluation.study import Request, answer_all
from secondlook.evaluation.summary import summarise

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from secondlook.answer import Scalar
    from secondlook.evaluation.records import Configuration, Row, Summary
    from secondlook.evaluation.runner import Progress
    from secondlook.evaluation.study import Evaluated

RESULTS = Path(__file__).resolve().parent / "results"
COMPARED = ("f1", "f1_overall", "faithfulness")
SHOWN = (
    "recall@5", "em", "f1", "f1_overall", "f1_length_aware", "rouge_l", "contains", "text_em",
    "text_f1", "text_rouge_l", "text_contains", "faithfulness", "faithfulness_cosine", "support",
    "citation_precision", "citation_recall", "prompt_leak", "answered", "answered_answerable",
    "wrong_among_answered", "refused_unanswerable", "auroc", "aurc", "ece", "success",
    "fallback_rate", "web_rate", "failed", "llm_calls", "tokens_in", "tokens_out",
)  # fmt: skip
TIMES = ("latency_p50", "latency_p95")


def answered(
    folder: Path,
    configurations: Sequence[Configuration],
    out: Path,
    *,
    memory: Path,
    shared: Mapping[str, Scalar] | None = None,
    preset: str | None = None,
) -> Evaluated:
    """The rows of each configuration. The same call again goes on where it was interrupted.

    `memory` is the folder that holds what was indexed, and what models said."""
    os.environ["SECONDLOOK_CACHE"] = str(memory)
    request = Request(path=folder, flags=dict(shared or {}), preset=preset, seed=SEED, out=out)
    evaluated = answer_all(request, configurations, progress=_Told())
    problems = evaluated.data.problems
    if problems:
        raise SystemExit(f"{folder}: {len(problems)} rows cannot be used, such as {problems[0]}")
    return evaluated


class _Told:
    """A line now and then, with how long the rest may take."""

    def __init__(self, every: float = 10.0) -> None:
        self._every = every
        self._began = self._last = time.monotonic()

    def __call__(self, now: Progress) -> None:
        at, made = time.monotonic(), now.done - now.reused
        if at - self._last < self._every or not made or not now.total:
            return
        self._last = at
        left = (at - self._began) / made * (now.total - now.done)
        line = f"{now.configuration}: {now.done} of {now.total}, {now.failed} failed"
        print(f"{line}, about {left / 60:.0f} min left", file=sys.stderr, flush=True)


def figures(evaluated: Evaluated, shown: Sequence[str] = SHOWN) -> dict[str, Any]:
    """Each configuration's metrics, and those of its parts where questions are of types."""
    return {
        one.name: brief(summarise(evaluated.rows[one.name], configuration=one, seed=SEED), shown)
        for one in evaluated.configurations
    }


def brief(summary: Summary, shown: Sequence[str]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "workflow": summary.workflow,
        "metrics": _metrics(summary.metrics, shown),
        "stop_reasons": dict(sorted(summary.stop_reasons.items())),
        "rerank_scores": {
            name: _rounded(spread.model_dump()) for name, spread in summary.rerank_scores.items()
        },
    }
    if summary.by_type:
        told["by_type"] = {name: _metrics(part, shown) for name, part in summary.by_type.items()}
    return told


def _metrics(metrics: Mapping[str, Any], shown: Sequence[str]) -> dict[str, Any]:
    return {
        name: _rounded(metrics[name].model_dump())
        for name in shown
        if name in metrics and metrics[name].value is not None
    }


def _rounded(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: round(value, 6) if isinstance(value, float) else value
        for name, value in values.items()
    }


def differences(
    rows: Mapping[str, Sequence[Row]],
    pairs: Sequence[tuple[str, str]],
    *,
    parts: Mapping[str, Callable[[Row], bool]] | None = None,
    metrics: Sequence[str] = COMPARED,
) -> list[dict[str, Any]]:
    """Each pair of configurations on each part of the questions, p corrected for all together."""
    chosen = parts or {"all": lambda _row: True}
    told = [
        difference
        for part, belongs in chosen.items()
        for base, other in pairs
        for difference in _compared(
            [row for row in rows[base] if belongs(row)],
            [row for row in rows[other] if belongs(row)],
            names=(base, other),
            part=part,
            metrics=metrics,
        )
    ]
    corrected = holm([one["p"] for one in told])
    return [one | {"p_holm": round(p, 6)} for one, p in zip(told, corrected, strict=True)]


def _compared(
    base: Sequence[Row],
    other: Sequence[Row],
    *,
    names: tuple[str, str],
    part: str,
    metrics: Sequence[str],
) -> list[dict[str, Any]]:
    if not base:
        return []
    comparison = compare(base, other, seed=SEED)
    found = {one.metric: one.model_dump(exclude={"p_holm"}) for one in comparison.differences}
    named = {"part": part, "base_name": names[0], "other_name": names[1]}
    # Where nothing was answered under one of the two there is no faithfulness to compare.
    return [named | _rounded(found[metric]) for metric in metrics if metric in found]


def write_results(file: Path, command: str, content: Mapping[str, Any]) -> None:
    made = {"command": command, "machine": machine(), **content}
    file.write_text(_compact(json.dumps(made, indent=1)) + "\n", encoding="utf-8", newline="\n")
    print(f"{file.name} written", file=sys.stderr)


def _compact(text: str) -> str:
    """With what lies innermost on one line: a figure is easier to find, and to compare."""
    return re.sub(r"\{[^{}\[\]]*\}", lambda found: " ".join(found[0].split()), text)


def machine() -> dict[str, Any]:
    return {"cores": os.cpu_count(), "python": platform.python_version()}
