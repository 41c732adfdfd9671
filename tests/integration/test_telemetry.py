"""Runs told to OpenTelemetry: a real engine, the SDK's own exporters, a real receiver."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families

from secondlook.engine.secondlook import Secondlook
from secondlook.library.library import Library
from secondlook.telemetry import SILENT, observer_for
from secondlook.telemetry.opentelemetry import Meters, Spans, Telemetry
from tests.support.asking_http import QUESTION, library_at
from tests.support.function_model import FunctionModel, models_of
from tests.support.serving import client_of, settings_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from fastapi.testclient import TestClient
    from prometheus_client import Metric

    from secondlook.models.chat import ChatRequest
    from secondlook.settings.sections import Settings

MODEL = {"default": "ollama:function"}


class Watched:
    """An observer whose spans and metrics can be looked at."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        traces = TracerProvider(shutdown_on_exit=False)
        traces.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.reader = InMemoryMetricReader()
        self.metrics = MeterProvider([self.reader], shutdown_on_exit=False)
        self.observer = Telemetry(
            Spans(traces.get_tracer("test")), Meters(self.metrics.get_meter("test"))
        )

    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    def points(self, name: str) -> list[Any]:
        data = self.reader.get_metrics_data()
        assert data is not None
        return [
            point
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    library_at(tmp_path)
    return settings_at(tmp_path, models=MODEL, answer={"workflow": "linear"})


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    made = Watched()
    monkeypatch.setattr("secondlook.engine.secondlook.observer_for", lambda _: made.observer)
    yield made
    made.metrics.shutdown()


def _engine(settings: Settings, reply: Callable[[ChatRequest], str]) -> Secondlook:
    library = Library.open(settings.library.path, settings=settings)
    return Secondlook(library, settings=settings, models=models_of(FunctionModel(reply)))


def test_a_run_is_a_trace_of_nodes_and_calls_and_holds_no_text(
    settings: Settings, watched: Watched
) -> None:
    with _engine(settings, lambda _: "Berth 4 is 7.8 metres deep [1].") as engine:
        answer = engine.ask(QUESTION)
    told = "".join(span.to_json() for span in watched.spans()).casefold()
    for private in ("berth", "metres", "how deep", "survey"):
        assert private not in told
    spans = {span.name: span for span in watched.spans()}
    assert {"retrieve", "rerank", "answer", "finish"} <= set(spans)
    run, node, call = spans["secondlook linear"], spans["answer"], spans["chat ollama:function"]
    assert run.parent is None
    assert node.parent == run.context
    assert call.parent == node.context
    assert dict(run.attributes or {})["secondlook.status"] == answer.status
    about = dict(call.attributes or {})
    assert about["gen_ai.request.model"] == "function"
    assert about["gen_ai.usage.input_tokens"] == answer.usage.tokens_in > 0
    (counted,) = watched.points("secondlook.runs")
    assert (counted.value, counted.attributes["workflow"]) == (1, "linear")
    (read,) = [p for p in watched.points("secondlook.tokens") if p.attributes["kind"] == "input"]
    assert read.value == answer.usage.tokens_in
    nodes = {point.attributes["node"] for point in watched.points("secondlook.node.duration")}
    assert {"retrieve", "answer"} <= nodes


def test_an_observer_that_fails_costs_no_answer(
    settings: Settings, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("no more room")

    for half in watched.observer._parts:
        for name in ("see", "called"):
            monkeypatch.setattr(half, name, broken)
    with _engine(settings, lambda _: "Berth 4 is 7.8 metres deep [1].") as engine:
        assert engine.ask(QUESTION).status == "answered"


def test_off_by_default_and_then_nothing_is_imported(tmp_path: Path) -> None:
    assert observer_for(settings_at(tmp_path)) is SILENT
    spans = "secondlook.telemetry.opentelemetry"
    code = f"import sys, secondlook.engine.secondlook; sys.exit({spans!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_prometheus_fetches_what_the_server_did(tmp_path: Path) -> None:
    library_at(tmp_path)
    with client_of(tmp_path, serve={"metrics": True}, answer={"workflow": "linear"}) as client:
        before = _families(client)
        assert client.post("/api/ask", json={"question": QUESTION}).status_code == 200
        after = _families(client)
        # A reply may come a moment before the place of its run is free again.
        assert any(
            _families(client)["secondlook_runs_running"].samples[0].value == 0 for _ in range(1000)
        )
    assert _answered_runs(after) == _answered_runs(before) + 1
    assert "secondlook_node_duration_seconds" in after


def _families(client: TestClient) -> dict[str, Metric]:
    reply = client.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain")
    return {family.name: family for family in text_string_to_metric_families(reply.text)}


def _answered_runs(families: Mapping[str, Metric]) -> float:
    """Counters are the process's own: other tests may have asked in it before."""
    counted = families["secondlook_runs"].samples if "secondlook_runs" in families else []
    wanted = {"workflow": "linear", "status": "answered"}
    linear = [one for one in counted if wanted.items() <= one.labels.items()]
    return sum(one.value for one in linear if one.name.endswith("_total"))
