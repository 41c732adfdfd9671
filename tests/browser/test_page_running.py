"""A run on the page while it goes on. The model answers when the test lets it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import httpx
import pytest
from playwright.sync_api import expect

from tests.support.asking_http import QUESTION, Gate, gated_server, library_at
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
def asking(gated: Gated, visit: Visits) -> Visitor:
    """A person whose question waits for the model."""
    serving, gate = gated
    visitor = visit(serving.base_url).opens()
    visitor.asks(QUESTION, workflow="linear")
    assert gate.asked.acquire(timeout=PATIENCE_MS / 1000)
    return visitor


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


def _status(visitor: Visitor) -> str:
    return str(httpx.get(f"{visitor.base_url}/api/runs/{visitor.run}").json()["status"])


def _seen(visitor: Visitor) -> list[tuple[str | None, str | None]]:
    steps = visitor.page.locator("ol.steps > li")
    return [
        (step.get_attribute("data-node"), step.get_attribute("data-state")) for step in steps.all()
    ]
