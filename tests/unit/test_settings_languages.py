"""The language of a library: what a setting may say, and what it is told otherwise."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from secondlook.retrieval import terms as analyse
from secondlook.settings.sections import LANGUAGES


@pytest.fixture(autouse=True)
def _no_file_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secondlook.settings.user_file", lambda: tmp_path / "config.toml")
    monkeypatch.chdir(tmp_path)


def test_are_those_that_can_be_analysed() -> None:
    assert {*analyse.LANGUAGES, *analyse.LANGUAGES.values()} == LANGUAGES


def test_are_listed_in_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text("utf-8")
    paragraph = page[page.index("`library.language` is a name") :].split("\n\n")[0]
    listed = set(re.findall(r"[a-z]+", paragraph.partition(":")[2]))
    assert listed >= set(analyse.LANGUAGES.values())
