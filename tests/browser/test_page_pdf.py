"""Pages of a PDF as they look: the quote marked on its page, and turning from page to page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest
from playwright.sync_api import expect

from tests.support import files
from tests.support.library_http import uploaded
from tests.support.page import DESK, PHONE, Visitor, overflow, violations
from tests.support.serving import served

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.conftest import Visits


SOUNDINGS = "What would a yearly line of soundings cost?"


def test_a_quote_is_marked_on_its_page_and_pages_are_turned_by_keyboard(
    visitor: Visitor, tmp_path: Path
) -> None:
    page = visitor.page
    visitor.asks(SOUNDINGS).is_answered()
    chip = page.locator(".chip[data-citation='1']").first
    chip.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".source-place")).to_have_text("page 5 of 6")
    rectangle = page.locator("mark i").first
    expect(rectangle).to_be_in_viewport()
    box, sheet = rectangle.bounding_box(), page.locator(".page-sheet").bounding_box()
    found = httpx.get(f"{visitor.base_url}{_places(visitor)}").raise_for_status().json()
    left, top, right, _ = found["places"][0]["rectangles"][0]
    assert box
    assert sheet
    assert (box["x"] - sheet["x"]) / sheet["width"] == pytest.approx(left, abs=0.01)
    assert (box["y"] - sheet["y"]) / sheet["height"] == pytest.approx(top, abs=0.01)
    assert box["width"] / sheet["width"] == pytest.approx(right - left, abs=0.01)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".source-place")).to_have_text("page 6 of 6")
    expect(page.locator("mark")).to_have_count(0)
    expect(visitor.button("Next page")).to_be_disabled()
    expect(page.get_by_alt_text("Page 6 of")).to_be_visible()
    page.keyboard.press("Home")
    expect(page.locator(".source-place")).to_have_text("page 1 of 6")
    visitor.button("To the quote, page 5").click()
    expect(rectangle).to_be_in_viewport()
    visitor.button("Enlarge").click()
    expect(rectangle).to_be_in_viewport()
    assert violations(page) == []
    visitor.button("Text").click()
    expect(page.locator(".page-text mark")).to_be_in_viewport()
    page.reload()
    expect(page.locator(".page-text mark")).to_be_visible()
    visitor.button("Page").click()
    expect(rectangle).to_be_visible()
    for scheme in ("light", "dark"):
        for size in (DESK, PHONE):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.set_viewport_size(size)
            expect(rectangle).to_be_visible()
            page.screenshot(path=tmp_path / f"{scheme}-{size['width']}.png")
            assert violations(page) == []
            assert overflow(page) == 0


def test_a_file_that_was_changed_is_read_as_text(visit: Visits, tmp_path: Path) -> None:
    with served(tmp_path) as serving:
        with httpx.Client(base_url=serving.base_url) as client:
            uploaded(client, ("gate.pdf", files.pdf([["The gate is closed."], ["It opens."]])))
        visitor = visit(serving.base_url).opens()
        visitor.row("gate").get_by_role("button", name="gate").first.click()
        visitor.button("Read").click()
        expect(visitor.page.get_by_alt_text("Page 1 of")).to_be_visible()
        (tmp_path / "library" / "uploads" / "gate.pdf").write_bytes(b"%PDF-1.4 of another")
        visitor.watch.expects("/pages/2")
        visitor.button("Next page").click()
        expect(visitor.page.locator(".source .note")).to_contain_text("was changed")
        expect(visitor.page.locator(".page-text")).to_contain_text("The gate is closed.")
        assert violations(visitor.page) == []


def _places(visitor: Visitor) -> str:
    run = httpx.get(f"{visitor.base_url}/api/runs/{visitor.run}").json()
    cited = run["answer"]["citations"][0]
    where = f"start={cited['start']}&end={cited['end']}"
    return f"/api/libraries/default/documents/{cited['document']}/places?{where}"
