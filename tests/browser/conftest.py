"""A browser for each file, a fresh context and a watch over it for each test."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from secondlook.library.library import Library, samples_folder
from tests.support.page import DESK, PATIENCE_MS, Audit, Visitor, Watch, found_browser, launched
from tests.support.serving import Serving, served, settings_at

CARGO = "month,goods,tonnes\n" + "".join(
    f"2023-{month:02},{goods},{tonnes + month}\n"
    for month in range(1, 13)
    for goods, tonnes in (("timber", 5900), ("grain", 2400), ("fish", 800))
)


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a library of a PDF, minutes and a table. Servers work on copies of it."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "cargo.csv").write_text(CARGO, encoding="utf-8")
    samples = samples_folder()
    names = ("harbour-survey-2024.pdf", "council-minutes-2024-06-11.md")
    with Library.open(settings=settings_at(folder)) as made:
        report = made.add([folder / "cargo.csv", *(samples / name for name in names)])
    assert not report.failed
    return folder


@pytest.fixture(scope="module")
def copied(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """A copy of that folder, to be altered."""

    def copy() -> Path:
        folder = tmp_path_factory.mktemp("copied") / "page"
        shutil.copytree(library, folder)
        return folder

    return copy


@pytest.fixture(scope="module")
def server(copied: Callable[[], Path]) -> Iterator[Serving]:
    """A server over the library, with nothing but the embedded models."""
    with served(copied()) as serving:
        yield serving


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """For a file at a time: while it lives, nothing else in this thread may run an event loop."""
    path = found_browser()
    if path is None:
        pytest.skip("there is no Chromium on this machine; CHROMIUM names one elsewhere")
    with sync_playwright() as playwright:
        expect.set_options(timeout=PATIENCE_MS)
        with launched(playwright.chromium, path) as made:
            yield made


class Visits(Protocol):
    def __call__(self, base_url: str, **looks: object) -> Visitor: ...


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visits]:
    """Opens a browser window at a server; afterwards nothing may have gone wrong in it."""
    opened = []

    def open_at(base_url: str, **looks: object) -> Visitor:
        context = browser.new_context(**{"viewport": DESK, **looks})  # type: ignore[arg-type]
        context.set_default_timeout(PATIENCE_MS)
        watch = Watch(base_url)
        watch.over(context)
        opened.append((context, watch))
        page = context.new_page()
        # The browser hands its choosers of files to the test only from the first listener on.
        page.on("filechooser", lambda _: None)
        return Visitor(page, base_url, watch)

    yield open_at
    for context, watch in opened:
        context.close()
        watch.check()


@pytest.fixture
def visitor(visit: Visits, server: Serving) -> Visitor:
    """A person at the page of the shared server."""
    return visit(server.base_url).opens()


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the screenshots of a run of these tests are kept."""
    return tmp_path_factory.mktemp("pictures")


@pytest.fixture
def audit(pictures: Path) -> Iterator[Audit]:
    made = Audit(pictures)
    yield made
    assert made.wrong == []
