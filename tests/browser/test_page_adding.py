"""A person fills libraries on the page: a pasted text, a web address, a folder that is followed;
libraries made, named, switched and deleted. Each state audited by day, by night and on a phone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.support.page import PHONE, Visitor, overflow, violations
from tests.support.serving import Serving, served
from tests.support.web_site import Site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.browser.conftest import Visits

PICTURES = os.environ.get("SECONDLOOK_PICTURES")


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Serving]:
    with served(tmp_path, web={"allow_private": True}) as serving:
        yield serving


def audit(visitor: Visitor, name: str) -> None:
    page, wrong = visitor.page, []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        if PICTURES:
            page.screenshot(path=f"{PICTURES}/{name}-{scheme}.png")
        wrong += [f"{name} {scheme}: {found}" for found in violations(page)]
        if wider := overflow(page):
            wrong.append(f"{name}: {wider} pixels too wide")
    assert wrong == []


def pastes(visitor: Visitor, what: str) -> Visitor:
    if not visitor.page.get_by_label("Text, a web address or a folder").is_visible():
        visitor.button("Paste text, a web address or a folder").click()
    visitor.page.get_by_label("Text, a web address or a folder").fill(what)
    return visitor


def test_texts_pages_and_folders_are_added(visit: Visits, empty: Serving, tmp_path: Path) -> None:
    visitor = visit(empty.base_url).opens()
    page = visitor.page
    pastes(visitor, "The bank offers 3.2 percent\nuntil the end of May.")
    page.get_by_label("Title, if you like").fill("Call with the bank")
    audit(visitor, "text")
    visitor.button("Add").click()
    expect(visitor.row("Call with the bank")).to_have_attribute("data-state", "ready")
    pastes(visitor, "The bank offers 3.2 percent\nuntil the end of May.")
    page.get_by_label("Title, if you like").fill("Call with the bank")
    visitor.button("Add").click()
    expect(page.get_by_text("Call with the bank is in the library already")).to_be_visible()

    with Site() as site:
        pastes(visitor, f"{site.url('/article')}\n{site.url('/image')}")
        page.get_by_label("How much of the site").select_option("1")
        visitor.button("Add").click()
        expect(visitor.row("Lighthouses of the north")).to_have_attribute("data-state", "ready")
        failed = visitor.row("/image")
        expect(failed).to_have_attribute("data-state", "failed")
        expect(failed).to_contain_text("which is no document")
        visitor.row("Lighthouses").locator("button.file").click()
        expect(page.get_by_role("link", name="See the page itself")).to_have_attribute(
            "href", site.url("/article")
        )

    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "lease.txt").write_text("The lease ends in June.", "utf-8")
    pastes(visitor, str(folder))
    visitor.button("Watch the folder").click()
    expect(visitor.row("lease")).to_have_attribute("data-state", "ready")
    (folder / "lease.txt").rename(folder / "contract.txt")
    (folder / "invoice.txt").write_text("The invoice is 120 euros.", "utf-8")
    expect(visitor.row("invoice")).to_have_attribute("data-state", "ready")
    (folder / "invoice.txt").unlink()
    expect(visitor.row("invoice")).to_have_count(0)
    folder.rename(tmp_path / "away")
    expect(page.get_by_text("It is not there; nothing is removed.")).to_be_visible()
    audit(visitor, "watched")
    expect(visitor.row("lease")).to_have_count(1)
    visitor.button(f"Watch {folder} no longer").click()
    expect(visitor.heading("Kept in step with")).to_have_count(0)


def test_libraries_are_made_switched_named_and_deleted(visit: Visits, empty: Serving) -> None:
    visitor = visit(empty.base_url).opens()
    page, more = visitor.page, visitor.button("Name, make or delete a library")
    pastes(visitor, "A note in the usual library.")
    visitor.button("Add").click()
    expect(visitor.row("A note in the usual")).to_be_visible()
    more.click()
    expect(visitor.button("Delete")).to_have_count(0)
    visitor.button("New library").click()
    page.get_by_label("Name of the new library").fill("Tax papers <b>2024</b>")
    audit(visitor, "making")
    visitor.button("Make it").click()
    which = page.get_by_label("Which library")
    expect(which).to_have_value("tax-papers-b-2024-b")
    expect(visitor.row("A note in the usual")).to_have_count(0)
    more.click()
    visitor.button("Rename").click()
    page.get_by_label("Name of this library").fill("Taxes")
    visitor.button("Rename").click()
    expect(which.locator("option:checked")).to_have_text("Taxes")
    page.reload()
    which.select_option(label="Taxes")
    more.click()
    visitor.button("Delete").click()
    visitor.has_focus(visitor.button("Keep"))
    expect(page.get_by_text("Delete the library “Taxes”")).to_be_visible()
    audit(visitor, "deleting")
    visitor.button("Delete").click()
    expect(which).to_have_value("default")
    expect(which.locator("option")).to_have_count(1)
    expect(visitor.row("A note in the usual")).to_be_visible()


def test_the_same_on_a_phone(visit: Visits, empty: Serving, tmp_path: Path) -> None:
    visitor = visit(empty.base_url, viewport=PHONE).opens()
    visitor.watch.expects("422")
    visitor.button("Library").click()
    visitor.button("Name, make or delete a library").click()
    pastes(visitor, str(tmp_path / "a folder with a name that is a good deal longer than a phone"))
    visitor.button("Watch the folder").click()
    expect(visitor.page.get_by_role("dialog").get_by_text("There is no folder")).to_be_visible()
    audit(visitor, "phone")
    pastes(visitor, str(tmp_path))
    visitor.button("Watch the folder").click()
    expect(visitor.heading("Kept in step with")).to_be_visible()
    pastes(visitor, "https://pages.example/guide")
    audit(visitor, "phone-watched")
