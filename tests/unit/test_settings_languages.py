"""The language of a library: what a setting may say, and what it is told otherwise."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from secondlook.errors import SettingsError
from secondlook.retrieval import terms as analyse
from secondlook.settings import load
from secondlook.settings.sections import LANGUAGES

VARIABLE = "SECONDLOOK_LIBRARY_LANGUAGE"


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


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("germn", "must be a known language (did you mean 'german'?), not 'germn'"),
        ("klingon", "must be a known language, such as 'german' or 'de', not 'klingon'"),
        ("  ", "must be a known language, such as 'german' or 'de', not '  '"),
    ],
)
def test_an_unknown_one_is_an_error(given: str, told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(environ={VARIABLE: given})
    assert caught.value.message == f"{VARIABLE}: library.language {told}"
    assert caught.value.exit_code == 2
