"""What goes wrong is said on the page, with what to do; and a server with a token asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
TOKEN = "a-token-of-this-test"  # noqa: S105 (opens nothing else)


@pytest.fixture(scope="module")
def guarded(copied: Callable[[], Path]) -> Iterator[Serving]:
    with served(copied(), token=TOKEN) as serving:
        yield serving


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
