"""Settings on the page: which model answers, getting one, and what else a person may turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from secondlook.models import hub
from tests.support.chat_server import ChatServer
from tests.support.mirror import CONTENT, Mirror, mirrored
from tests.support.serving import Serving, served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.browser.conftest import Visits
    from tests.support.page import Audit, Visitor

SAYS = "A yearly line of soundings would cost 9,000 crowns [1]."
QUESTION = "What would a yearly line of soundings cost?"
KNOWN = hub.Known("tiny-3", "some/Model", "MIT", 0.1, 1, "for tests")


@pytest.fixture(scope="module")
def chat() -> Iterator[ChatServer]:
    with ChatServer(lambda _: SAYS, facts={"/v1/models": {"data": [{"id": "clerk"}]}}) as server:
        yield server


@pytest.fixture
def place(copied: Callable[[], Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Serving]:
    """A server of its own: what is set here counts for whoever asks it afterwards."""
    folder = copied()
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "data"))
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setattr(hub, "known_models", lambda: {KNOWN.name: KNOWN})
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    with served(folder) as serving:
        yield serving


def opened(visitor: Visitor) -> Visitor:
    visitor.button("Settings").click()
    expect(visitor.page.get_by_role("group", name="Model")).to_be_visible()
    return visitor


def test_a_model_is_chosen_and_answers_the_next_question(
    place: Serving, visit: Visits, chat: ChatServer
) -> None:
    visitor = opened(visit(place.base_url).opens())
    page, sheet = visitor.page, visitor.page.get_by_role("dialog", name="Settings")
    page.get_by_text("Other models").click()
    box = page.get_by_label("Address of another server")
    visitor.watch.expects("422")
    box.fill("http://127.0.0.1:9/v1")
    box.press("Enter")
    expect(sheet.get_by_text("No models are offered at http://127.0.0.1:9/v1")).to_be_visible()
    box.fill(f"{chat.url}/v1")
    box.press("Enter")
    page.get_by_role("radio", name="clerk").check()
    expect(sheet.get_by_text("This counts from your next question on.")).to_be_visible()
    page.keyboard.press("Escape")
    visitor.has_focus(visitor.button("Settings"))
    visitor.asks(QUESTION, workflow="linear").is_answered()
    expect(visitor.answer).to_contain_text("9,000 crowns")
    expect(page.get_by_text("answered by clerk")).to_be_visible()
    assert chat.chats


def test_a_small_model_is_got_with_a_bar_stopped_and_gone_on_with(
    place: Serving, visit: Visits, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mirrored(Mirror({"model-Q4_K_M.gguf": CONTENT}, quick=1_000_000)) as mirror:
        monkeypatch.setenv("HF_ENDPOINT", mirror.address)
        visitor = opened(visit(place.base_url).opens())
        page = visitor.page
        visitor.button("Get tiny-3").click()
        expect(page.get_by_role("progressbar", name="tiny-3, fetched")).to_be_visible()
        visitor.button("Stop fetching tiny-3").click()
        expect(page.get_by_text("what came is kept")).to_be_visible()
        mirror.hurries.set()
        visitor.button("Go on tiny-3").click()
        expect(page.get_by_text("It is here: choose it above.")).to_be_visible()
        expect(page.get_by_role("radio", name="model-Q4_K_M")).to_be_visible()


def test_the_other_settings(place: Serving, visit: Visits, audit: Audit) -> None:
    visitor = opened(visit(place.base_url).opens())
    page, sheet = visitor.page, visitor.page.get_by_role("dialog", name="Settings")
    page.get_by_text("Other models").click()
    page.get_by_text("Who does what").click()
    audit(visitor, "settings")
    page.get_by_role("radio", name="Careful", exact=True).check()
    expect(sheet.get_by_text("This counts from your next question on.")).to_be_visible()
    page.get_by_role("radio", name="The web too").check()
    expect(page.get_by_text("Web too", exact=True)).to_be_attached()
    page.get_by_label("Language", exact=True).select_option("german")
    page.get_by_role("button", name="Read it again in German").click()
    expect(page.get_by_role("button", name="Read it again in German")).to_have_count(0)
    page.get_by_role("radio", name="Dark").check()
    page.emulate_media(color_scheme="light")
    dark = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert dark == "rgb(22, 22, 20)"
    page.reload()
    expect(visitor.box).to_be_visible()
    assert dark == page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    opened(visitor)
    expect(page.get_by_role("radio", name="Careful", exact=True)).to_be_checked()
    expect(page.get_by_role("radio", name="Dark")).to_be_checked()
