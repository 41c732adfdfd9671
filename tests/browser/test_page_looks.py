"""Every state of the page as it looks: by day, by night and on a phone; audited by axe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import pytest
from playwright.sync_api import expect

from tests.support.page import DESK, PHONE, overflow, violations

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from playwright.sync_api import Page, ViewportSize

    from tests.browser.conftest import Visits
    from tests.support.page import Visitor
    from tests.support.serving import Serving

Look: TypeAlias = "tuple[Literal['light', 'dark'], ViewportSize]"
SURVEY = "Halvermouth Harbour Survey 2024"
SOUNDINGS = "What would a yearly line of soundings cost?"
LOOKS: tuple[Look, ...] = (("light", DESK), ("dark", DESK), ("light", PHONE), ("dark", PHONE))
# Of what is like another state in most places: each theme and each width once.
CROSSED = (LOOKS[0], LOOKS[3])


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the screenshots of a run of these tests are kept."""
    return tmp_path_factory.mktemp("pictures")


class Audit:
    """Looks at a state of the page in every look; collects what is wrong with it."""

    def __init__(self, pictures: Path) -> None:
        self._pictures = pictures
        self.wrong: list[str] = []

    def __call__(self, visitor: Visitor, name: str, *, looks: Sequence[Look] = LOOKS) -> None:
        page = visitor.page
        papers = {}
        for scheme, size in looks:
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.set_viewport_size(size)
            _settled(page)
            look = f"{name}-{scheme}-{size['width']}"
            picture = page.screenshot(path=self._pictures / f"{look}.png")
            papers[scheme] = page.evaluate(
                "getComputedStyle(document.documentElement).backgroundColor"
            )
            self.wrong += [f"{look}: {found}" for found in violations(page)]
            if wider := overflow(page):
                self.wrong.append(f"{look}: {wider} pixels too wide")
            assert len(picture) > 5000, "there is nothing to see"
        assert len(set(papers.values())) == len(papers), "both themes look alike"
        page.set_viewport_size(looks[0][1])


def _settled(page: Page) -> None:
    """A chart follows the size of the window a moment later."""
    for chart in page.locator(".chart").all():
        width = chart.evaluate("(chart) => `${chart.clientWidth}`")
        expect(chart.locator("svg.main-svg").first).to_have_attribute("width", width)


@pytest.fixture
def audit(pictures: Path) -> Iterator[Audit]:
    made = Audit(pictures)
    yield made
    assert made.wrong == []


def test_the_page_with_files(visitor: Visitor, audit: Audit) -> None:
    expect(visitor.page.locator(".suggestions button")).to_have_count(3)
    audit(visitor, "home")
    visitor.row(SURVEY).get_by_role("button", name=SURVEY).click()
    visitor.row(SURVEY).get_by_role("button", name="Ask only in this").click()
    visitor.row(SURVEY).get_by_role("button", name="Delete").click()
    audit(visitor, "limited", looks=CROSSED)


def test_an_answer_and_its_source(visitor: Visitor, audit: Audit) -> None:
    visitor.asks(SOUNDINGS).is_answered()
    visitor.strip.get_by_role("button").click()
    audit(visitor, "answer")
    visitor.page.locator(".chip").first.focus()
    visitor.page.locator(".chip").first.hover()
    expect(visitor.page.get_by_role("tooltip")).to_be_visible()
    audit(visitor, "quote", looks=LOOKS[:2])
    visitor.button("Ask another way").click()
    visitor.button("Export").click()
    audit(visitor, "menus", looks=CROSSED)
    visitor.page.locator(".chip").first.click()
    expect(visitor.page.locator("mark")).to_be_visible()
    audit(visitor, "source")


def test_the_sheets_of_a_phone(visit: Visits, server: Serving, audit: Audit) -> None:
    visitor = visit(server.base_url, viewport=PHONE, has_touch=True).opens()
    page = visitor.page
    visitor.asks(SOUNDINGS).is_answered()
    visitor.button("Library").click()
    expect(page.get_by_role("dialog", name="Library")).to_be_visible()
    audit(visitor, "sheet-library", looks=LOOKS[2:])
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    visitor.button("How it was made").click()
    expect(page.get_by_role("dialog", name="How this answer was made")).to_be_visible()
    audit(visitor, "sheet-made", looks=LOOKS[2:])
    page.keyboard.press("Escape")
    chip = page.locator(".chip").first
    chip.tap()
    expect(page.get_by_role("dialog").locator("mark")).to_be_in_viewport()
    audit(visitor, "sheet-source", looks=LOOKS[2:])
    page.get_by_role("button", name="Back").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    visitor.has_focus(chip)
