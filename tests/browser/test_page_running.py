"""A run on the page while it goes on. The model answers when the test lets it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import httpx
import pytest
from playwright.sync_api import expect

from tests.support.asking_http import QUESTION, Gate, gated_server, library_at
from tests.support.cut_line import Line, line_to
from tests.support.page import PATIENCE_MS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.browser.conftest import Visits
    from tests.support.page import Visitor
    from tests.support.serving import Serving

Gated = tuple["Serving", Gate]


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    library_at(folder)
    return folder


@pytest.fixture
def gated(texts: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gated]:
    """One question at a time, and one more may wait."""
    monkeypatch.setattr("secondlook.server.runs._MOST_WAITING", 1)
    with gated_server(texts, serve={"concurrency": 1}) as made:
        yield made


@pytest.fixture
def line(gated: Gated) -> Iterator[Line]:
    with line_to(gated[0].base_url) as made:
        yield made


@pytest.fixture
def asking(gated: Gated, visit: Visits) -> Visitor:
    """A person whose question waits for the model."""
    serving, gate = gated
    visitor = visit(serving.base_url).opens()
    visitor.asks(QUESTION, workflow="linear")
    assert gate.asked.acquire(timeout=PATIENCE_MS / 1000)
    return visitor


def test_the_graph_lights_up_as_the_run_goes_on(gated: Gated, asking: Visitor) -> None:
    for node in ("retrieve", "rerank"):
        expect(asking.node(node)).to_have_attribute("data-state", "done")
    expect(asking.node("answer")).to_have_attribute("data-state", "running")
    expect(asking.node("finish")).to_have_attribute("data-state", "idle")
    edge = asking.page.locator("[data-edge='rerank answer']")
    expect(edge).to_have_attribute("data-taken", "true")
    expect(asking.page.locator("ol.steps [data-state=running]")).to_have_attribute(
        "data-node", "answer"
    )
    gated[1].open()
    asking.is_answered()
    for node in ("answer", "finish"):
        expect(asking.node(node)).to_have_attribute("data-state", "done")


def test_while_it_runs_the_page_says_what_is_done_and_keeps_its_place(
    gated: Gated, asking: Visitor
) -> None:
    page = asking.page
    working = page.get_by_test_id("working")
    expect(working).to_contain_text("Writing the answer from its passages")
    expect(asking.article).to_have_attribute("aria-busy", "true")
    expect(page.locator(".sources .card").first).to_contain_text("survey")
    announcer = page.get_by_test_id("announcer")
    expect(announcer).not_to_be_empty()
    heading = asking.heading(QUESTION).bounding_box()
    cards = page.locator(".sources").bounding_box()
    gated[1].open()
    asking.is_answered()
    expect(working).to_have_count(0)
    expect(announcer).to_contain_text("The answer is here.")
    assert asking.heading(QUESTION).bounding_box() == heading
    after = page.locator(".sources").bounding_box()
    assert cards is not None
    assert after is not None
    assert after["y"] == cards["y"]


def test_a_run_is_stopped_and_taken_up_again(gated: Gated, asking: Visitor) -> None:
    asking.button("Stop").click()
    asking.is_answered("stopped")
    expect(asking.page.locator(".ended")).to_contain_text(re.compile(r"Stopped after \d steps"))
    expect(asking.node("answer")).not_to_have_attribute("data-state", "running")
    assert _status(asking) in {"stopped", "interrupted"}
    gated[1].open()
    asking.button("Resume").click()
    asking.is_answered()
    expect(asking.answer).to_contain_text("7.8 metres")


def test_a_reload_joins_the_run_again_and_loses_nothing(gated: Gated, asking: Visitor) -> None:
    run = asking.run
    before = _seen(asking)
    asking.page.reload()
    expect(asking.heading(QUESTION)).to_be_visible()
    expect(asking.node("answer")).to_have_attribute("data-state", "running")
    assert asking.run == run
    assert _seen(asking) == before
    gated[1].open()
    asking.is_answered()
    expect(asking.answer).to_contain_text("7.8 metres")
    told = httpx.get(f"{asking.base_url}/api/runs/{run}").json()["answer"]
    steps = asking.page.locator("ol.steps > li")
    assert [step.get_attribute("data-node") for step in steps.all()] == [
        step["node"] for step in told["steps"]
    ]


def test_a_line_that_was_cut_is_told_and_joined_again(
    gated: Gated, line: Line, visit: Visits
) -> None:
    visitor = visit(line.base_url).opens()
    visitor.watch.expects("ERR_CONNECTION", "ERR_EMPTY_RESPONSE", "ERR_INCOMPLETE")
    visitor.asks(QUESTION, workflow="linear")
    expect(visitor.node("answer")).to_have_attribute("data-state", "running")
    line.cut()
    working = visitor.page.get_by_test_id("working")
    expect(working).to_contain_text("Connection lost. Reconnecting ...")
    gated[1].open()
    line.mend()
    visitor.is_answered()
    expect(visitor.answer).to_contain_text("7.8 metres")
    expect(visitor.page.locator("ol.steps > li")).to_have_count(4)


def test_a_sentence_that_no_source_carries_is_cut_and_told(gated: Gated, asking: Visitor) -> None:
    invented = "Berth 4 was paid for by the King of Norway in 1871 [1]."
    gated[1].says = f"Berth 4 is the deepest berth, at 7.8 metres [1]. {invented}"
    gated[1].open()
    asking.is_answered()
    expect(asking.answer).to_contain_text("at 7.8 metres")
    expect(asking.answer).not_to_contain_text("King of Norway")
    expect(asking.answer.locator(".note")).to_contain_text("1 more sentence was cut")


def _status(visitor: Visitor) -> str:
    return str(httpx.get(f"{visitor.base_url}/api/runs/{visitor.run}").json()["status"])


def _seen(visitor: Visitor) -> list[tuple[str | None, str | None]]:
    steps = visitor.page.locator("ol.steps > li")
    return [
        (step.get_attribute("data-node"), step.get_attribute("data-state")) for step in steps.all()
    ]
