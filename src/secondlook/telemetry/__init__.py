"""What runs take, told to OpenTelemetry and Prometheus: numbers and names alone, no texts."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any, Protocol

from secondlook.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from prometheus_client import CollectorRegistry

    from secondlook.answer import CallUsage
    from secondlook.events import Event
    from secondlook.settings.sections import Settings, TelemetrySettings

# Who watches runs. An observer never fails and never waits: answering goes on whatever it does.


class Observer(Protocol):
    def see(self, event: Event) -> None:
        """Every event of every run, `Answered` included."""

    def left(self, run: str) -> None:
        """The run stopped without an answer."""

    def called(self, run: str, usage: CallUsage, *, seconds: float, error: str | None) -> None:
        """A model was asked, just now and for so long; `error` is the class of what went wrong."""


class Silent:
    def see(self, event: Event) -> None: ...

    def left(self, run: str) -> None: ...

    def called(self, run: str, usage: CallUsage, *, seconds: float, error: str | None) -> None: ...


SILENT = Silent()


# The observer that the settings ask for: one for a process, whoever asks. Its providers write
# what waits when the process ends.

INSTALL = (
    "pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http "
    "opentelemetry-exporter-prometheus"
)
_SCOPE = "secondlook"
_PATIENCE = 5.0  # seconds that a collector may take for one report: a program must be able to end


def observer_for(settings: Settings) -> Observer:
    telemetry = settings.telemetry
    if telemetry.endpoint is None and not settings.serve.metrics:
        return SILENT
    return _observer(telemetry, settings.serve.metrics)


def scraped(settings: Settings) -> bytes:
    from prometheus_client import generate_latest

    _observer(settings.telemetry, True)  # noqa: FBT003  # counted from the first look on
    return generate_latest(_registry(settings.telemetry))


def watch_queue(settings: Settings, counts: Callable[[], tuple[int, int]]) -> None:
    if observer_for(settings) is SILENT:
        return
    from opentelemetry.metrics import Observation

    meter = _providers(settings.telemetry, settings.serve.metrics)[1].get_meter(_SCOPE)
    for place, name in enumerate(("secondlook.runs.running", "secondlook.runs.waiting")):
        meter.create_observable_gauge(
            name,
            callbacks=[lambda _, place=place: [Observation(counts()[place])]],
            unit="{run}",
            description="Of the server, now.",
        )


@functools.cache
def _observer(telemetry: TelemetrySettings, served: bool) -> Observer:  # noqa: FBT001  # a key
    traces, metrics = _providers(telemetry, served)
    from secondlook.telemetry.opentelemetry import Meters, Spans, Telemetry

    spans = Spans(traces.get_tracer(_SCOPE)) if telemetry.endpoint else None
    return Telemetry(spans, Meters(metrics.get_meter(_SCOPE)))


@functools.cache
def _providers(telemetry: TelemetrySettings, served: bool) -> tuple[Any, Any]:  # noqa: FBT001
    """Without a collector the program's own; metrics to be fetched need one of ours."""
    try:
        from opentelemetry import metrics, trace
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
    except ImportError as error:
        key = "telemetry.endpoint" if telemetry.endpoint else "serve.metrics"
        raise SettingsError(
            f"{key} is set, and OpenTelemetry is not installed", hint=INSTALL
        ) from error
    resource = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME", "secondlook")})
    readers: list[Any] = []
    if served:
        from opentelemetry.exporter.prometheus import PrometheusMetricReader

        readers.append(PrometheusMetricReader(registry=_registry(telemetry)))
    traces: Any = trace.get_tracer_provider()
    if telemetry.endpoint not in {None, "program"}:
        traces = TracerProvider(resource=resource)
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        base = str(telemetry.endpoint).rstrip("/")
        spans = OTLPSpanExporter(endpoint=f"{base}/v1/traces", timeout=_PATIENCE)
        traces.add_span_processor(BatchSpanProcessor(spans))
        sums = OTLPMetricExporter(endpoint=f"{base}/v1/metrics", timeout=_PATIENCE)
        readers.append(PeriodicExportingMetricReader(sums))
    own = MeterProvider(readers, resource=resource) if readers else metrics.get_meter_provider()
    return traces, own


@functools.cache
def _registry(_: TelemetrySettings) -> CollectorRegistry:
    from prometheus_client import CollectorRegistry

    return CollectorRegistry()
