"""Files on the page: the first visit, adding them, those that fail, and taking them out again."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from secondlook.library.library import samples_folder
from secondlook.server.jobs import RunningJob
from tests.support.serving import served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from secondlook.library.report import Progress
    from tests.browser.conftest import Visits
    from tests.support.page import Visitor
    from tests.support.serving import Serving

SURVEY = "Halvermouth Harbour Survey 2024"


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A server whose library nobody has filled yet."""
    with served(tmp_path_factory.mktemp("empty"), serve={"max_upload_mb": 1}) as serving:
        yield serving


@pytest.fixture
def newcomer(visit: Visits, empty: Serving) -> Visitor:
    return visit(empty.base_url).opens()


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Reading files waits at its first word of progress until the event is set."""
    go_on, progress = threading.Event(), RunningJob.progress

    def slow(job: RunningJob, told: Progress) -> None:
        progress(job, told)
        assert go_on.wait(60), "nobody let it go on"

    monkeypatch.setattr(RunningJob, "progress", slow)
    yield go_on
    go_on.set()


def test_a_pdf_and_a_table_are_read_and_give_three_questions(
    newcomer: Visitor, held: threading.Event, library: Path
) -> None:
    page = newcomer.page
    newcomer.adds(samples_folder() / "harbour-survey-2024.pdf", library / "cargo.csv")
    for name in ("harbour-survey-2024.pdf", "cargo.csv"):
        expect(newcomer.row(name)).to_have_attribute("data-state", re.compile("indexing|waiting"))
        expect(page.get_by_role("progressbar", name=f"Adding {name}")).to_be_visible()
    held.set()
    for title in (SURVEY, "cargo"):
        expect(newcomer.row(title)).to_have_attribute("data-state", "ready")
    expect(page.get_by_role("progressbar")).to_have_count(0)
    questions = page.get_by_role("region", name="Questions your files can answer")
    expect(questions.get_by_role("button")).to_have_count(3)
    question = questions.get_by_role("button").filter(has_text="computed from the table").first
    asked = question.locator("span").inner_text()
    question.click()
    expect(newcomer.heading(asked)).to_be_visible()
    newcomer.is_answered()
    expect(newcomer.strip).to_contain_text("verified")


def test_a_file_that_cannot_be_read_says_why(newcomer: Visitor) -> None:
    newcomer.adds(_file("broken.pdf", b"%PDF-1.7 and nothing else"))
    row = newcomer.row("broken.pdf")
    expect(row).to_have_attribute("data-state", "failed")
    expect(row.locator(".reason")).to_contain_text("It is not a readable PDF")
    newcomer.page.reload()
    expect(row.locator(".reason")).to_contain_text("It is not a readable PDF")
    row.get_by_role("button", name="broken.pdf").click()
    row.get_by_role("button", name="Dismiss").click()
    expect(row).to_have_count(0)


def test_markup_in_names_and_texts_stays_text(newcomer: Visitor) -> None:
    markup = "<img src=x onerror=alert(1)>"
    text = f"# {markup}\n\nThe {markup} lamp was made by Ida Voss in Vardal.\n"
    newcomer.adds(_file("lamp.md", text.encode()))
    expect(newcomer.row(markup)).to_have_attribute("data-state", "ready")
    newcomer.asks("Who made the lamp?", workflow="linear").is_answered()
    newcomer.page.locator("article .card").first.click()
    expect(newcomer.page.locator(".page-text")).to_contain_text(markup)
    expect(newcomer.page.locator("img[src=x]")).to_have_count(0)


def _file(name: str, data: bytes) -> dict[str, Any]:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": data}
