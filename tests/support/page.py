"""The page in a real browser: one that reaches this machine only, and a person who uses it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from playwright.sync_api import (
    Browser,
    BrowserContext,
    BrowserType,
    ConsoleMessage,
    Locator,
    Page,
    Request,
    ViewportSize,
    expect,
)

# Slow machines, and coverage, make an answer take several times as long.
PATIENCE_MS = 30_000
DESK: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Whatever asks for another host fails at once, and is seen as an error.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)
_VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
"""


def found_browser() -> str | None:
    """Where a Chromium lies on this machine."""
    named = os.environ.get("CHROMIUM")
    return named or next((path for name in _NAMES if (path := shutil.which(name))), None)


def launched(chromium: BrowserType, path: str) -> Browser:
    return chromium.launch(executable_path=path, args=list(_FLAGS))


@dataclass
class Watch:
    """Everything that a page does and must not do, over all that one context shows."""

    base_url: str
    faults: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)
    expected: list[str] = field(default_factory=list)

    def over(self, context: BrowserContext) -> None:
        context.on("request", self._request)
        context.on("console", self._console)
        context.on("weberror", lambda error: self.faults.append(f"uncaught: {error.error}"))
        context.add_init_script(_VIOLATIONS)

    def expects(self, *words: str) -> None:
        """A console line with these words is what the test is about."""
        self.expected.extend(words)

    def check(self) -> None:
        assert self.hosts <= {urlsplit(self.base_url).netloc}
        assert self.faults == []

    def _request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in {"data", "blob"}:
            self.hosts.add(parts.netloc)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type not in {"error", "warning"}:
            return
        said = f"{message.type}: {message.text} ({message.location.get('url')})"
        if not any(word in said for word in self.expected):
            self.faults.append(said)


@dataclass(frozen=True, slots=True)
class Visitor:
    """A person in front of the page."""

    page: Page
    base_url: str
    watch: Watch

    def opens(self, address: str = "") -> Visitor:
        self.page.goto(f"{self.base_url}/{address}")
        return self

    def asks(self, question: str, *, workflow: str | None = None) -> Visitor:
        if workflow:
            self.page.get_by_label("Workflow").select_option(workflow)
        self.box.fill(question)
        self.box.press("Enter")
        expect(self.heading(question)).to_be_visible()
        return self

    def is_answered(self, phase: str = "done") -> Visitor:
        expect(self.article).to_have_attribute("data-phase", phase)
        return self

    def adds(self, *files: Path | dict[str, Any]) -> Visitor:
        """Through the picker of files, as a person does."""
        with self.page.expect_file_chooser() as choosing:
            self.page.get_by_role("button", name="Drop files here").first.click()
        choosing.value.set_files(list(files))  # type: ignore[arg-type]
        return self

    def heading(self, text: str) -> Locator:
        return self.page.get_by_role("heading", name=text, exact=True)

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def row(self, title: str) -> Locator:
        """A line of the library."""
        return self.page.locator("[data-state]").filter(
            has=self.page.locator(".file-title", has_text=title)
        )

    def node(self, name: str) -> Locator:
        """A node of the drawn graph."""
        return self.page.locator(f"svg [data-node='{name}']")

    @property
    def box(self) -> Locator:
        return self.page.locator("#ask-box")

    @property
    def article(self) -> Locator:
        return self.page.locator("article[data-phase]")

    @property
    def answer(self) -> Locator:
        return self.page.locator("article .text")

    @property
    def strip(self) -> Locator:
        return self.page.get_by_test_id("claim-strip")

    @property
    def run(self) -> str:
        """The id of the run on the page, which is part of its address."""
        expect(self.article).not_to_have_attribute("data-phase", "asking")
        return self.page.url.partition("#/runs/")[2].partition("/")[0]

    def has_focus(self, on: Locator) -> None:
        expect(on).to_be_focused()


def violations(page: Page) -> list[str]:
    """What axe finds on the page as it is now, each with the first places it is at."""
    page.evaluate(AXE_SCRIPT)
    found = page.evaluate('axe.run({resultTypes: ["violations"]})')
    return [f"{one['id']}: {one['help']}: {_places(one['nodes'])}" for one in found["violations"]]


def _places(nodes: Sequence[dict[str, Any]]) -> str:
    return "; ".join(f"{node['target']} {node['failureSummary']}" for node in nodes[:3])


def overflow(page: Page) -> int:
    """By how many pixels the page is wider than its window."""
    return int(
        page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    )


# How a state of the page looks, by day, by night and on a phone.

Look: TypeAlias = "tuple[Literal['light', 'dark'], ViewportSize]"
LOOKS: tuple[Look, ...] = (("light", DESK), ("dark", DESK), ("light", PHONE), ("dark", PHONE))
# Of what is like another state in most places: each theme and each width once.
CROSSED = (LOOKS[0], LOOKS[3])


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
