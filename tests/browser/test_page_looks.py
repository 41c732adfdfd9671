"""Every state of the page as it looks, by day, by night and on a phone, audited by axe; and the
page from the keyboard alone: everything is reached, and one always sees where one is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pytest
from playwright.sync_api import ViewportSize, expect

from tests.support.page import DESK, PHONE, Visitor, overflow, violations

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.browser.conftest import Visits
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


def test_a_thread_and_what_was_asked_before(visitor: Visitor, audit: Audit) -> None:
    visitor.asks(SOUNDINGS).is_answered()
    visitor.asks("And how thick is the sheet piling?").is_answered()
    visitor.button("Rename").click()
    visitor.page.get_by_role("tab", name="Asked before").click()
    audit(visitor, "thread")


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


# From the keyboard alone

# An outline or a ring, on what has the focus or on the frame around it.
_SEEN = """() => {
  const shows = (element) => {
    const style = getComputedStyle(element);
    const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
    return outlined || style.boxShadow !== "none";
  };
  const active = document.activeElement;
  return {
    seen: shows(active) || (active.parentElement !== null && shows(active.parentElement)),
    inside: (() => {
      const box = active.getBoundingClientRect();
      return box.width > 0 && box.bottom > 0 && box.top < innerHeight;
    })(),
    what: active.outerHTML.slice(0, 160),
    skips: active === document.body,
  };
}"""


def _tabs_to(visitor: Visitor, wanted: str, *, most: int = 60, key: str = "Tab") -> None:
    """Presses Tab until the focus is there; every stop on the way must be seen."""
    for _ in range(most):
        visitor.page.keyboard.press(key)
        stop: dict[str, Any] = visitor.page.evaluate(_SEEN)
        assert stop["skips"] or (stop["seen"] and stop["inside"]), stop["what"]
        if visitor.page.evaluate("(wanted) => document.activeElement.matches(wanted)", wanted):
            return
    raise AssertionError(f"{wanted!r} is not reached with {most} presses of {key}")


def test_a_question_is_asked_and_its_source_read_without_a_mouse(visitor: Visitor) -> None:
    page, keys = visitor.page, visitor.page.keyboard
    expect(visitor.row("cargo")).to_be_visible()
    _tabs_to(visitor, ".skip", most=1)
    keys.press("Enter")
    visitor.has_focus(visitor.box)
    keys.type(SOUNDINGS)
    keys.press("Enter")
    visitor.is_answered()
    visitor.has_focus(visitor.box)
    _tabs_to(visitor, ".chip[data-citation='1']", key="Shift+Tab")
    expect(page.get_by_role("tooltip")).to_contain_text("9,000 crowns")
    keys.press("Escape")
    expect(page.get_by_role("tooltip")).to_have_count(0)
    keys.press("Enter")
    expect(page.locator("mark")).to_contain_text("9,000 crowns")
    visitor.has_focus(page.locator(".source-head h2"))
    _tabs_to(visitor, ".source-links a", most=3)
    _tabs_to(visitor, ".back", key="Shift+Tab", most=3)
    keys.press("Enter")
    visitor.has_focus(page.locator(".chip[data-citation='1']").first)
    expect(page.locator("mark")).to_be_hidden()
