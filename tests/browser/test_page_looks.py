"""Every state of the page as it looks, by day, by night and on a phone, audited by axe; and the
page from the keyboard alone: everything is reached, and one always sees where one is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect

from tests.support.page import CROSSED, LOOKS, PHONE, Audit, Visitor

if TYPE_CHECKING:
    from tests.browser.conftest import Visits
    from tests.support.serving import Serving

SURVEY = "Halvermouth Harbour Survey 2024"
SOUNDINGS = "What would a yearly line of soundings cost?"


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
