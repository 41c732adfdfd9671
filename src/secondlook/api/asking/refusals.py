"""What is told of a run with which something cannot be done."""

from __future__ import annotations

from secondlook.api.problems import Problem
from secondlook.errors import RunMissing


def missing(run: str) -> RunMissing:
    return RunMissing(f"there is no run {run!r}", hint="GET /api/runs lists them")


def not_ours(run: str) -> Problem:
    return Problem(
        409,
        "run_elsewhere",
        f"another process works on the run {run!r}",
        hint=f"POST /api/runs/{run}/cancel asks it to stop",
    )


def goes_on(run: str, worker: str) -> Problem:
    return Problem(
        409,
        "run_elsewhere",
        f"{worker} works on the run {run!r} and was asked to stop, but goes on",
        hint="a server stops when its step lets it; a terminal or notebook must be stopped there",
    )


def not_interrupted(run: str, status: str) -> Problem:
    if status in {"running", "queued"}:
        return Problem(
            409,
            "run_in_progress",
            f"the run {run!r} has not ended",
            hint=f"GET /api/runs/{run}/events shows it",
        )
    return Problem(
        409,
        "run_finished",
        f"the run {run!r} has its answer",
        hint=f"GET /api/runs/{run} shows it",
    )
