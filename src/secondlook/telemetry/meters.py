"""What runs take, counted: for a collector, and for Prometheus to fetch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter

    from secondlook.answer import Answer, CallUsage
    from secondlook.events import Event

_RUN_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_NODE_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Meters:
    def __init__(self, meter: Meter) -> None:
        self._runs = meter.create_counter(
            "secondlook.runs", unit="{run}", description="Runs that ended."
        )
        self._run_seconds = meter.create_histogram(
            "secondlook.run.duration",
            unit="s",
            description="Of a run.",
            explicit_bucket_boundaries_advisory=_RUN_SECONDS,
        )
        self._node_seconds = meter.create_histogram(
            "secondlook.node.duration",
            unit="s",
            description="Of a visit of a node.",
            explicit_bucket_boundaries_advisory=_NODE_SECONDS,
        )
        self._call_seconds = meter.create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="Of asking a model, retries included.",
            explicit_bucket_boundaries_advisory=_RUN_SECONDS,
        )
        self._tokens = meter.create_counter(
            "secondlook.tokens", unit="{token}", description="Read and written by models."
        )
        self._cost = meter.create_counter(
            "secondlook.cost", unit="USD", description="Of model calls whose price is known."
        )
        self._workflows: dict[str, str] = {}

    def see(self, event: Event) -> None:
        if event.type == "run_started":
            self._workflows[event.run] = event.workflow
        elif event.type == "node_finished":
            workflow = event.workflow or self._workflows.get(event.run, "")
            self._node_seconds.record(event.seconds, {"node": event.node, "workflow": workflow})
        elif event.type == "answered":
            self._answered(event.answer)

    def left(self, run: str) -> None:
        workflow = self._workflows.pop(run, "")
        self._runs.add(1, {"workflow": workflow, "status": "cancelled"})

    def called(self, usage: CallUsage, *, seconds: float, error: str | None) -> None:
        of = {"model": usage.model, "role": usage.role}
        self._call_seconds.record(seconds, {**of, "error": error or ""})
        for kind, tokens in (
            ("input", usage.tokens_in),
            ("output", usage.tokens_out),
            ("cached", usage.tokens_cached),
        ):
            if tokens:
                self._tokens.add(tokens, {**of, "kind": kind})
        if usage.cost:
            self._cost.add(usage.cost, of)

    def _answered(self, answer: Answer) -> None:
        workflow = self._workflows.pop(answer.run, answer.workflow)
        of = {"workflow": workflow, "status": answer.status, "stop_reason": answer.stop_reason}
        self._runs.add(1, of)
        self._run_seconds.record(answer.usage.seconds, {"workflow": workflow})
