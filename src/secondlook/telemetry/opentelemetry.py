"""An observer that keeps traces and counts. Whatever goes wrong in it stays in it."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context

from secondlook.answer import EXIT_CODES, CallUsage

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter

    from secondlook.events import Event

_LOG = logging.getLogger(__name__)


class Telemetry:
    """Either half may be missing. Whatever goes wrong in one stays in it: answering goes on."""

    def __init__(self, spans: Spans | None, meters: Meters | None) -> None:
        self._parts: list[Any] = [one for one in (spans, meters) if one is not None]

    def see(self, event: Event) -> None:
        self._all("see", event)

    def left(self, run: str) -> None:
        self._all("left", run)

    def called(self, run: str, usage: CallUsage, *, seconds: float, error: str | None) -> None:
        self._all("called", run, usage, seconds=seconds, error=error)

    def _all(self, method: str, *given: Any, **named: Any) -> None:
        for part in self._parts:
            try:
                getattr(part, method)(*given, **named)
            except Exception:  # noqa: BLE001
                _LOG.warning("telemetry failed; answering goes on", exc_info=True)


# Runs as traces: a span for the run, below it one for each visit of a node, below that one for
# each call of a model. Names follow OpenTelemetry's conventions for generative models.

_NANOSECONDS = 1_000_000_000


@dataclass(slots=True)
class _Run:
    span: Span
    nodes: dict[str, list[Span]] = field(default_factory=dict)  # open visits by node


class Spans:
    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._runs: dict[str, _Run] = {}

    def see(self, event: Event) -> None:  # noqa: C901
        if event.type == "run_started":
            span = self._tracer.start_span(
                f"secondlook {event.workflow}",
                attributes={"secondlook.run": event.run, "secondlook.workflow": event.workflow},
            )
            self._runs[event.run] = _Run(span)
            return
        run = self._runs.get(event.run)
        if run is None:
            return
        if event.type == "node_started":
            attributes = {"secondlook.node": event.node}
            if event.workflow:
                attributes["secondlook.workflow"] = event.workflow
            span = self._tracer.start_span(
                event.node, context=set_span_in_context(run.span), attributes=attributes
            )
            run.nodes.setdefault(event.node, []).append(span)
        elif event.type == "node_finished" and run.nodes.get(event.node):
            # A node that says several things has ended with the first.
            span = run.nodes[event.node].pop(0)
            for name, value in event.numbers.items():
                if isinstance(value, int | float | bool):  # texts may be a person's own
                    span.set_attribute(f"secondlook.{name.replace(' ', '_')}", value)
            span.end()
        elif event.type == "routed":
            run.span.add_event("routed", {"from": event.source, "to": event.to})
        elif event.type == "warned":
            run.span.add_event("warned", {"node": event.trouble.node, "error": event.trouble.error})
        elif event.type == "answered":
            answer, usage = event.answer, event.answer.usage
            told = {
                "secondlook.status": answer.status,
                "secondlook.stop_reason": answer.stop_reason,
                "secondlook.method": answer.method,
                "secondlook.claims": len(answer.claims),
                "secondlook.citations": len(answer.citations),
                "secondlook.calls": usage.calls,
                "gen_ai.usage.input_tokens": usage.tokens_in,
                "gen_ai.usage.output_tokens": usage.tokens_out,
                **({} if usage.cost is None else {"secondlook.cost": usage.cost}),
            }
            self._end(event.run, told, failed=answer.exit_code == EXIT_CODES["failed"])

    def left(self, run: str) -> None:
        self._end(run, {"secondlook.stop_reason": "cancelled"})

    def called(self, run: str, usage: CallUsage, *, seconds: float, error: str | None) -> None:
        held = self._runs.get(run)
        if held is None:
            return
        now = time.time_ns()
        visits = held.nodes.get(usage.node) or [held.span]
        provider, _, model = usage.model.partition(":")
        told: dict[str, str | int | float] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": model or usage.model,
            "gen_ai.usage.input_tokens": usage.tokens_in,
            "gen_ai.usage.output_tokens": usage.tokens_out,
            "gen_ai.usage.cache_read.input_tokens": usage.tokens_cached,
            "secondlook.role": usage.role,
            "secondlook.node": usage.node,
            "secondlook.retries": usage.retries,
            "secondlook.parse_failures": usage.parse_failures,
        }
        if usage.cost is not None:
            told["secondlook.cost"] = usage.cost
        span = self._tracer.start_span(
            f"chat {usage.model}",
            context=set_span_in_context(visits[-1]),
            kind=SpanKind.CLIENT,
            start_time=now - int(seconds * _NANOSECONDS),
            attributes=told,
        )
        if error is not None:
            span.set_attribute("error.type", error)
            span.set_status(Status(StatusCode.ERROR))
        span.end(now)

    def _end(self, run: str, attributes: dict[str, Any], *, failed: bool = False) -> None:
        held = self._runs.pop(run, None)
        if held is None:
            return
        for visits in held.nodes.values():  # nodes that a deadline or a failure cut short
            for span in visits:
                span.end()
        held.span.set_attributes(attributes)
        if failed:
            held.span.set_status(Status(StatusCode.ERROR))
        held.span.end()


# What runs take, counted: for a collector, and for Prometheus to fetch.

_RUN_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_NODE_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Meters:
    def __init__(self, meter: Meter) -> None:
        def seconds(name: str, about: str, bounds: tuple[float, ...]) -> Any:
            return meter.create_histogram(
                name, "s", about, explicit_bucket_boundaries_advisory=bounds
            )

        calls = "gen_ai.client.operation.duration"
        self._run_seconds = seconds("secondlook.run.duration", "Of a run.", _RUN_SECONDS)
        self._node_seconds = seconds("secondlook.node.duration", "Of a node.", _NODE_SECONDS)
        self._call_seconds = seconds(calls, "Of asking a model, with retries.", _RUN_SECONDS)
        self._runs = meter.create_counter("secondlook.runs", "{run}", "Runs that ended.")
        self._tokens = meter.create_counter("secondlook.tokens", "{token}", "Read and written.")
        self._cost = meter.create_counter("secondlook.cost", "USD", "Of calls of known price.")
        self._workflows: dict[str, str] = {}

    def see(self, event: Event) -> None:
        if event.type == "run_started":
            self._workflows[event.run] = event.workflow
        elif event.type == "node_finished":
            workflow = event.workflow or self._workflows.get(event.run, "")
            self._node_seconds.record(event.seconds, {"node": event.node, "workflow": workflow})
        elif event.type == "answered":
            answer = event.answer
            workflow = self._workflows.pop(answer.run, answer.workflow)
            of = {"workflow": workflow, "status": answer.status, "stop_reason": answer.stop_reason}
            self._runs.add(1, of)
            self._run_seconds.record(answer.usage.seconds, {"workflow": workflow})

    def left(self, run: str) -> None:
        self._runs.add(1, {"workflow": self._workflows.pop(run, ""), "status": "cancelled"})

    def called(self, _run: str, usage: CallUsage, *, seconds: float, error: str | None) -> None:
        of = {"model": usage.model, "role": usage.role}
        self._call_seconds.record(seconds, {**of, "error": error or ""})
        kinds = {
            "input": usage.tokens_in,
            "output": usage.tokens_out,
            "cached": usage.tokens_cached,
        }
        for kind, tokens in kinds.items():
            if tokens:
                self._tokens.add(tokens, {**of, "kind": kind})
        if usage.cost:
            self._cost.add(usage.cost, of)
