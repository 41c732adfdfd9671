"""What goes wrong is said on the page, with what to do; and a server with a token asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest import mock

import httpx
import pytest
from playwright.sync_api import expect

from secondlook.server.runs import Runs
from tests.support.serving import served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.browser.conftest import Visits
    from tests.support.page import Visitor
    from tests.support.serving import Serving

QUESTION = "How long is the breakwater?"
MINUTES = "Minutes of the Halvermouth town council, 11 June 2024"
TOKEN = "a-token-of-this-test"  # noqa: S105 (opens nothing else)


@pytest.fixture(scope="module")
def server(copied: Callable[[], Path]) -> Iterator[Serving]:
    """With a short limit on questions."""
    with (
        mock.patch("secondlook.server.runs.QUESTION_CHARACTERS", 60),
        mock.patch("secondlook.server.status.QUESTION_CHARACTERS", 60),
        served(copied()) as serving,
    ):
        yield serving


@pytest.fixture(scope="module")
def guarded(copied: Callable[[], Path]) -> Iterator[Serving]:
    with served(copied(), token=TOKEN) as serving:
        yield serving


def test_what_the_server_refuses_is_said_with_what_to_do(visitor: Visitor) -> None:
    visitor.watch.expects("status of 4")
    visitor.row(MINUTES).get_by_role("button", name=MINUTES).click()
    visitor.button("Ask only in this").click()
    library = f"{visitor.base_url}/api/libraries/default/documents"
    listed = httpx.get(library).json()["documents"]
    (gone,) = [one["id"] for one in listed if one["title"] == MINUTES]
    assert httpx.delete(f"{library}/{gone}").status_code == 204
    visitor.asks(QUESTION).is_answered("lost")
    alert = visitor.page.get_by_role("alert").filter(has_text="Ask again")
    expect(alert.locator(".lead").first).to_contain_text("document")
    expect(alert.locator(".lead.soft")).not_to_be_empty()


def test_a_fault_of_the_server_is_no_dead_end(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("a fault of this test")

    visitor.watch.expects("status of 500")
    with monkeypatch.context() as patched:
        patched.setattr(Runs, "start", broken)
        visitor.asks(QUESTION).is_answered("lost")
    alert = visitor.page.get_by_role("alert").filter(has_text="Ask again")
    expect(alert).not_to_contain_text("a fault of this test")
    expect(alert).not_to_contain_text("Traceback")
    visitor.button("Ask again").click()
    visitor.is_answered()
    expect(visitor.answer).to_contain_text("640 metres")


def test_a_server_that_is_away_is_told_and_tried_again(visitor: Visitor) -> None:
    visitor.watch.expects("ERR_FAILED", "ERR_CONNECTION")
    away = f"{visitor.base_url}/api/**"
    visitor.page.route(away, lambda route: route.abort())
    visitor.page.reload()
    expect(visitor.heading("The server does not answer")).to_be_visible()
    expect(visitor.page.get_by_role("alert")).to_contain_text("secondlook serve")
    visitor.page.unroute(away)
    visitor.button("Try again").click()
    expect(visitor.page.locator(".home h1")).to_contain_text("Ask your")


def test_the_token_is_asked_for_once(visit: Visits, guarded: Serving) -> None:
    visitor = visit(guarded.base_url)
    visitor.watch.expects("status of 401")
    visitor.opens()
    page = visitor.page
    field = page.get_by_label("Token", exact=True)
    visitor.has_focus(field)
    field.fill("not the token")
    field.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("That is not the token.")
    expect(page.locator(".home")).to_have_count(0)
    field.fill(TOKEN)
    visitor.button("Sign in").click()
    expect(page.locator(".home h1")).to_contain_text("Ask your 3 documents")
    page.reload()
    expect(page.locator(".home h1")).to_contain_text("Ask your 3 documents")
    assert TOKEN not in page.evaluate("document.cookie")
    visitor.asks(QUESTION).is_answered()
    expect(visitor.answer).to_contain_text("640 metres")
