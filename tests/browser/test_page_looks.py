"""Every state of the page as it looks: by day, by night and on a phone; audited by axe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import pytest
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import expect

from tests.support.asking_http import QUESTION, Gate, gated_server, library_at
from tests.support.page import DESK, PATIENCE_MS, PHONE, overflow, violations
from tests.support.serving import served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from playwright.sync_api import Page, ViewportSize

    from tests.browser.conftest import Visits
    from tests.support.page import Visitor
    from tests.support.serving import Serving

Look: TypeAlias = "tuple[Literal['light', 'dark'], ViewportSize]"
SURVEY = "Halvermouth Harbour Survey 2024"
SOUNDINGS = "What would a yearly line of soundings cost?"
CHOICE = "Who voted against the money for dredging? (A) Councillor Whitlock (B) the mayor"
LOOKS: tuple[Look, ...] = (("light", DESK), ("dark", DESK), ("light", PHONE), ("dark", PHONE))
# Of what is like another state in most places: each theme and each width once.
CROSSED = (LOOKS[0], LOOKS[3])
TOKEN = "a-token-of-this-test"  # noqa: S105 (opens nothing else)


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
def guarded(tmp_path: Path) -> Iterator[Serving]:
    """A server over an empty library, with a token."""
    with served(tmp_path, token=TOKEN) as serving:
        yield serving


@pytest.fixture
def altered(copied: Callable[[], Path]) -> Iterator[Serving]:
    """A server over a library of its own."""
    with served(copied()) as serving:
        yield serving


@pytest.fixture
def gated(tmp_path: Path) -> Iterator[tuple[Serving, Gate]]:
    """A server whose model answers when it is let."""
    library_at(tmp_path)
    with gated_server(tmp_path) as made:
        yield made


@pytest.fixture
def audit(pictures: Path) -> Iterator[Audit]:
    made = Audit(pictures)
    yield made
    assert made.wrong == []


def test_the_page_before_the_first_file(guarded: Serving, visit: Visits, audit: Audit) -> None:
    visitor = visit(guarded.base_url)
    visitor.watch.expects("status of 401")
    visitor.opens().page.get_by_label("Token", exact=True).fill("wrong")
    visitor.button("Sign in").click()
    expect(visitor.page.get_by_role("alert")).not_to_be_empty()
    audit(visitor, "token")
    visitor.page.get_by_label("Token", exact=True).fill(TOKEN)
    visitor.button("Sign in").click()
    expect(visitor.page.locator(".library-empty")).to_be_visible()
    expect(visitor.page.get_by_label("Workflow")).to_be_visible()
    audit(visitor, "empty")


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


def test_a_figure_with_data_and_code(visitor: Visitor, audit: Audit) -> None:
    visitor.asks("plot the mean of tonnes by goods").is_answered()
    expect(visitor.page.locator("svg.main-svg").first).to_be_visible()
    audit(visitor, "figure", looks=CROSSED)
    visitor.button("Show data").click()
    visitor.button("Show code").click()
    audit(visitor, "figure-open")
    visitor.page.locator(".card").first.click()
    expect(visitor.page.locator(".columns")).to_be_visible()
    audit(visitor, "table", looks=CROSSED)


def test_an_abstention(visitor: Visitor, audit: Audit) -> None:
    visitor.asks("Who designed the lighthouse on Cape Varn?").is_answered()
    expect(visitor.page.locator(".nearest button").first).to_be_visible()
    audit(visitor, "abstention")


def test_a_multiple_choice(visitor: Visitor, audit: Audit) -> None:
    visitor.asks(CHOICE).is_answered()
    expect(visitor.page.get_by_test_id("choice")).to_be_visible()
    audit(visitor, "choice")


def test_a_file_that_failed(altered: Serving, visit: Visits, audit: Audit) -> None:
    visitor = visit(altered.base_url).opens()
    visitor.adds({"name": "broken.pdf", "mimeType": "", "buffer": b"%PDF-1.7 nothing"})
    row = visitor.row("broken.pdf")
    expect(row).to_have_attribute("data-state", "failed")
    row.get_by_role("button", name="broken.pdf").click()
    audit(visitor, "failed", looks=LOOKS[:2])


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


def test_a_run_that_goes_on_and_one_that_was_stopped(
    gated: tuple[Serving, Gate], visit: Visits, audit: Audit
) -> None:
    serving, gate = gated
    visitor = visit(serving.base_url).opens().asks(QUESTION, workflow="linear")
    assert gate.asked.acquire(timeout=PATIENCE_MS / 1000)
    expect(visitor.node("answer")).to_have_attribute("data-state", "running")
    audit(visitor, "running")
    visitor.button("Stop").click()
    visitor.is_answered("stopped")
    audit(visitor, "stopped", looks=CROSSED)


def test_what_went_wrong(visitor: Visitor, audit: Audit) -> None:
    visitor.watch.expects("status of 404")
    visitor.opens("#/runs/20260101-000000000000")
    expect(visitor.heading("This question cannot be shown")).to_be_visible()
    audit(visitor, "lost")


def test_the_audit_finds_what_is_wrong(visitor: Visitor) -> None:
    assert violations(visitor.page) == []
    visitor.page.evaluate(
        """document.querySelector("main").insertAdjacentHTML("beforeend",
          '<p style="color: #bbb; background: #fff">pale</p><img src="/assets/x.png">' +
          '<div style="width: 4000px">wide</div>')"""
    )
    visitor.watch.expects("status of 404")
    found = " ".join(violations(visitor.page))
    assert "color-contrast" in found
    assert "image-alt" in found


def test_the_watch_sees_what_reaches_out(visitor: Visitor) -> None:
    elsewhere = "http://elsewhere.invalid/"
    page, watch = visitor.page, visitor.watch
    assert page.evaluate(f"fetch('{elsewhere}').catch(() => 'refused')") == "refused"
    with pytest.raises(PlaywrightError, match="ERR_NAME_NOT_RESOLVED"):
        page.goto(elsewhere)
    page.close()
    assert "connect-src" in " ".join(watch.faults)
    assert "elsewhere.invalid" in watch.hosts
    watch.faults.clear()
    watch.hosts.clear()
