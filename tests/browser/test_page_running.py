"""The page at work: a run while it goes on, faults of the server, a token, files that are added."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from playwright.sync_api import expect

from secondlook.library.library import samples_folder
from secondlook.server.jobs import RunningJob
from secondlook.server.runs import Runs
from tests.support.asking_http import QUESTION, Gate, gated_server, library_at
from tests.support.page import PATIENCE_MS, Visitor
from tests.support.serving import Serving, served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from secondlook.library.report import Progress
    from tests.browser.conftest import Visits

Gated = tuple["Serving", Gate]
SURVEY = "Halvermouth Harbour Survey 2024"
BREAKWATER = "How long is the breakwater?"
TOKEN = "a-token-of-this-test"  # noqa: S105 (opens nothing else)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    library_at(folder)
    return folder


@pytest.fixture
def gated(texts: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gated]:
    """One question at a time, and one more may wait."""
    monkeypatch.setattr("secondlook.server.runs._MOST_WAITING", 1)
    with gated_server(texts, serve={"concurrency": 1}) as made:
        yield made


@pytest.fixture
def asking(gated: Gated, visit: Visits) -> Visitor:
    """A person whose question waits for the model."""
    serving, gate = gated
    visitor = visit(serving.base_url).opens()
    visitor.asks(QUESTION, workflow="linear")
    assert gate.asked.acquire(timeout=PATIENCE_MS / 1000)
    return visitor


def test_a_run_is_stopped_and_taken_up_again(gated: Gated, asking: Visitor) -> None:
    expect(asking.page.locator(".card:not(.empty)").first).to_contain_text("found")
    asking.button("Stop").click()
    asking.is_answered("stopped")
    expect(asking.page.locator(".ended")).to_contain_text(re.compile(r"Stopped after \d steps"))
    expect(asking.node("answer")).not_to_have_attribute("data-state", "running")
    run = httpx.get(f"{asking.base_url}/api/runs/{asking.run}").json()
    assert run["status"] in {"stopped", "interrupted"}
    gated[1].open()
    asking.button("Resume").click()
    asking.is_answered()
    expect(asking.answer).to_contain_text("7.8 metres")


def test_a_reload_joins_the_run_again_and_loses_nothing(gated: Gated, asking: Visitor) -> None:
    run = asking.run
    before = _seen(asking)
    asking.page.reload()
    expect(asking.heading(QUESTION)).to_be_visible()
    expect(asking.node("answer")).to_have_attribute("data-state", "running")
    assert asking.run == run
    assert _seen(asking) == before
    gated[1].open()
    asking.is_answered()
    expect(asking.answer).to_contain_text("7.8 metres")
    told = httpx.get(f"{asking.base_url}/api/runs/{run}").json()["answer"]
    steps = asking.page.locator("ol.steps > li")
    assert [step.get_attribute("data-node") for step in steps.all()] == [
        step["node"] for step in told["steps"]
    ]


def _seen(visitor: Visitor) -> list[tuple[str | None, str | None]]:
    steps = visitor.page.locator("ol.steps > li")
    return [
        (step.get_attribute("data-node"), step.get_attribute("data-state")) for step in steps.all()
    ]


# What goes wrong is said, with what to do


@pytest.fixture(scope="module")
def guarded(copied: Callable[[], Path]) -> Iterator[Serving]:
    with served(copied(), token=TOKEN) as serving:
        yield serving


def test_a_fault_of_the_server_is_no_dead_end(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("a fault of this test")

    visitor.watch.expects("status of 500")
    with monkeypatch.context() as patched:
        patched.setattr(Runs, "start", broken)
        visitor.asks(BREAKWATER).is_answered("lost")
    alert = visitor.page.get_by_role("alert").filter(has_text="Ask again")
    expect(alert).not_to_contain_text("a fault of this test")
    expect(alert).not_to_contain_text("Traceback")
    visitor.button("Ask again").click()
    visitor.is_answered()
    expect(visitor.answer).to_contain_text("640 metres")


def test_the_token_is_asked_for_once(visit: Visits, guarded: Serving) -> None:
    visitor = visit(guarded.base_url)
    visitor.watch.expects("status of 401")
    visitor.opens()
    page = visitor.page
    field = page.get_by_label("Token", exact=True)
    visitor.has_focus(field)
    field.fill("not the token")
    field.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("That is not the token.")
    expect(page.locator(".home")).to_have_count(0)
    field.fill(TOKEN)
    visitor.button("Sign in").click()
    expect(page.locator(".home h1")).to_contain_text("Ask your 3 documents")
    page.reload()
    expect(page.locator(".home h1")).to_contain_text("Ask your 3 documents")
    assert TOKEN not in page.evaluate("document.cookie")
    visitor.asks(BREAKWATER).is_answered()
    expect(visitor.answer).to_contain_text("640 metres")


# Files: the first visit, adding them, and those that fail


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


def test_more_files_than_one_upload_takes_are_all_accounted_for(newcomer: Visitor) -> None:
    notes = [_file(f"note {n:03}.txt", f"Note {n} is by Ada.".encode()) for n in range(55)]
    newcomer.adds(*notes, _file("large.txt", b"x" * 1_100_000))
    expect(newcomer.page.get_by_text("1 file left out: a file may have at most")).to_be_visible()
    ready = newcomer.page.locator(".file-title", has_text="note 0")
    rows = newcomer.page.locator("[data-state=ready]").filter(has=ready)
    expect(rows).to_have_count(55, timeout=4 * PATIENCE_MS)


def test_several_documents_are_selected_and_deleted_at_once(newcomer: Visitor) -> None:
    names = ("ash.txt", "birch.txt", "cedar.txt")
    newcomer.adds(*(_file(name, f"On the {name[:-4]}.".encode()) for name in names))
    for name in ("ash", "birch", "cedar"):
        expect(newcomer.row(name)).to_have_attribute("data-state", "ready")
    newcomer.button("Select several").click()
    for name in ("ash", "cedar"):
        newcomer.row(name).get_by_role("button", name=name).click()
    newcomer.button("Delete").click()
    expect(newcomer.page.get_by_text("Delete 2 documents from the library?")).to_be_visible()
    newcomer.page.get_by_role("group").get_by_role("button", name="Delete").click()
    expect(newcomer.row("ash")).to_have_count(0)
    expect(newcomer.row("cedar")).to_have_count(0)
    expect(newcomer.row("birch")).to_have_count(1)


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with served(tmp_path_factory.mktemp("new")) as serving:
        yield serving


def test_the_samples_are_a_click_away(new: Serving, visit: Visits) -> None:
    newcomer = visit(new.base_url).opens()
    newcomer.button("Try it with sample documents").click()
    expect(newcomer.row(SURVEY)).to_have_attribute("data-state", "ready")
    expect(newcomer.page.locator(".rows-of-library > li")).to_have_count(7)
    newcomer.asks(BREAKWATER).is_answered()
    expect(newcomer.answer).to_contain_text("640 metres")


def _file(name: str, data: bytes) -> dict[str, Any]:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": data}
