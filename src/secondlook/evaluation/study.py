"""The whole of an evaluation: read the set, answer, sum up, compare, and write it down."""

from __future__ import annotations

import platform
import time
from contextlib import closing
from dataclasses import dataclass, replace
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from secondlook import __version__
from secondlook.engine.request import ANALYST, AUTO
from secondlook.errors import UsageError
from secondlook.evaluation import datasets, report
from secondlook.evaluation.ablation import (
    MARGIN,
    PARAM,
    VALUES,
    ablate,
    ablation_plan,
    sweep_plan,
    values_seen,
    workflow_evaluated,
)
from secondlook.evaluation.cache import Memory
from secondlook.evaluation.comparison import check_metric, compare_all, primary_metric
from secondlook.evaluation.datasets.evalset import EvalSet, describe, of_threads, sample
from secondlook.evaluation.library import cache_folder, not_indexed
from secondlook.evaluation.questions import by_configuration
from secondlook.evaluation.records import Case, Configuration, Results, Row
from secondlook.evaluation.report import plots
from secondlook.evaluation.runner import Progress, Request, run, with_settings
from secondlook.evaluation.summary import summarise
from secondlook.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from secondlook.settings.sections import Settings

    Listener = Callable[[Progress], None] | None

MEMORY_FILE = "memory.db"
FILE = "results.json"
_ENGINES = ("langgraph", "onnxruntime", "numpy")
_NOT_TOLD = {"library", "runs", "ingest"}  # sections that say where things lie on this machine


@dataclass(frozen=True, slots=True)
class Evaluated:
    request: Request
    data: EvalSet
    cases: tuple[Case, ...]
    configurations: tuple[Configuration, ...]
    rows: Mapping[str, Sequence[Row]]
    metric: str
    passes: dict[str, float | None]

    def compared(self, reference: str | None = None) -> Results:
        options: dict[str, Any] = {"metric": self.metric, "seed": self.request.seed}
        pairs = compare_all(self.rows, reference=reference, **options)
        return self.written(comparisons=pairs)

    def written(self, **found: Any) -> Results:
        request, settings = self.request, self.request.load().settings
        named = {item.name: item for item in self.configurations}
        no_plots = [] if plots.can_draw() else [f"plots are left out: {plots.INSTALL} brings them"]
        results = Results(
            command=request.command,
            data={
                **describe(self.data),
                "notes": [*self.data.notes, *no_plots],
                "not_indexed": not_indexed(self.data, settings),
                "asked": len(self.cases),
                "threads": request.threads,
                "limit": request.limit,
                "seed": request.seed,
                "repeat": request.repeat,
            },
            settings=settings.model_dump(mode="json", exclude=_NOT_TOLD),
            versions=_versions(settings),
            summaries={
                name: summarise(rows, configuration=named[name], seed=request.seed)
                for name, rows in self.rows.items()
            },
            passes=self.passes,
            rows=tuple(row for rows in self.rows.values() for row in rows),
            **found,
        )
        write(results, request.folder)
        report.write(results, request.folder)
        return results


def _versions(settings: Settings) -> dict[str, str]:
    from secondlook.library.stores import load_embedder_for, load_reader_for

    return {
        "secondlook": __version__,
        "python": platform.python_version(),
        "reader": load_reader_for(settings).name,
        "embedder": load_embedder_for(settings).name,
        "model": settings.models.default,
        **{package: version(package) for package in _ENGINES if find_spec(package)},
    }


def answer_all(
    request: Request, configurations: Sequence[Configuration], *, progress: Listener = None
) -> Evaluated:
    began = time.perf_counter()
    planned = with_settings(configurations, lambda changes: request.load(changes).settings)
    data = datasets.load(request.path, leave_out=[request.folder])
    others = {item.workflow for item in configurations} - {ANALYST, AUTO}
    if data.form == "tables" and others:
        raise UsageError(
            f"{min(others)!r} does not compute with tables", hint=f"use --workflow {ANALYST}"
        )
    chosen = of_threads(data.cases, request.threads)
    cases = sample(chosen, limit=request.limit, seed=request.seed)
    metric = check_metric(request.metric or primary_metric(cases))
    with closing(Memory(cache_folder() / MEMORY_FILE)) as memory:
        rows, indexing = run(
            request, replace(data, cases=cases), planned, memory, progress=progress
        )
    return Evaluated(
        request=request,
        data=data,
        cases=cases,
        configurations=tuple(configurations),
        rows=by_configuration(rows),
        metric=metric,
        passes=memory.told(indexing, time.perf_counter() - began),
    )


def evaluate(
    request: Request,
    workflows: Sequence[str] = (),
    *,
    web: bool = False,
    progress: Listener = None,
) -> Results:
    """`web` also asks each workflow that can search the web with it."""
    chosen = list(workflows) or [_usual(request, workflow_evaluated(request.load().settings))]
    configurations = [Configuration(name, name) for name in dict.fromkeys(chosen)]
    configurations += [
        Configuration(f"{one.name}+web", one.name, {"web.enable_web_search": True})
        for one in configurations
        if web and one.name in {"adaptive", "corrective", AUTO}
    ]
    return answer_all(request, configurations, progress=progress).compared()


def evaluate_ablation(
    request: Request,
    workflows: Sequence[str] = (),
    *,
    margin: float = MARGIN,
    progress: Listener = None,
) -> Results:
    chosen = list(workflows) or [_usual(request, "adaptive")]
    configurations, left_out = ablation_plan(request.load().settings, chosen)
    evaluated = answer_all(request, configurations, progress=progress)
    found = ablate(
        evaluated.rows,
        reference=configurations[0].name,
        metric=evaluated.metric,
        margin=margin,
        left_out=left_out,
        seed=request.seed,
    )
    return evaluated.written(comparisons=found.comparisons, ablation=found)


def evaluate_sweep(
    request: Request,
    *,
    param: str | None = None,
    values: str | None = None,
    workflow: str | None = None,
    progress: Listener = None,
) -> Results:
    try:
        chosen = None if values is None else [float(part) for part in values.split(",")]
    except ValueError:
        raise UsageError(
            f"--values {values!r} is no list of numbers", hint="for example: --values 1,3,5"
        ) from None
    settings = request.load().settings
    param = param or PARAM
    plan = sweep_plan(settings, param=param, values=chosen, workflow=workflow)
    if chosen is None and param == PARAM:
        # The scale of the scores is the reader's own: values where something changes are added.
        first = answer_all(request, plan[:1], progress=progress)
        seen = values_seen(first.rows[plan[0].name])
        plan = sweep_plan(settings, param=PARAM, values=(*VALUES, *seen), workflow=workflow)
        request = replace(request, fresh=False)  # what was asked a moment ago is fresh
    return answer_all(request, plan, progress=progress).compared(reference=plan[0].name)


def _usual(request: Request, otherwise: str) -> str:
    return datasets.usual_workflow(request.path.expanduser()) or otherwise


# `results.json`, written whole and read again.


def write(results: Results, folder: Path) -> Path:
    """Whole or not at all: a reader never sees half a file."""
    file = folder / FILE
    try:
        write_whole(file, f"{results.model_dump_json()}\n".encode())
    except OSError as error:
        raise UsageError(
            f"{str(file)!r} cannot be written: {error.strerror or error}",
            hint="make room, or name another folder with --out; no question is lost",
        ) from error
    return file


def read(place: Path) -> Results:
    file = place / FILE if place.is_dir() else place
    try:
        return Results.model_validate_json(file.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{str(file)!r} does not hold the results of an evaluation: {error}".split("\n")[0],
            hint="name a folder or a results.json that `secondlook eval` of this version wrote",
        ) from error
