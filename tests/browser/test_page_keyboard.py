"""The page from the keyboard alone: everything is reached, and one always sees where one is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.support.page import Visitor

SOUNDINGS = "What would a yearly line of soundings cost?"
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
