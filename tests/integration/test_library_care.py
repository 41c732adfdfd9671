"""Slips of the hand that must not cost anything, and labels that must follow their files."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from secondlook.errors import LibraryError, SettingsError, UsageError
from secondlook.library.library import Library
from secondlook.settings.sections import Settings

if TYPE_CHECKING:
    from pathlib import Path


def test_restore_never_replaces_what_is_no_library(
    library: Library, folder: Path, tmp_path: Path
) -> None:
    library.add([folder])
    archive = library.backup(tmp_path / "saved")
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(UsageError, match="not a library"):
        Library.restore(archive, precious, force=True)
    assert (precious / "thesis.txt").read_text(encoding="utf-8") == "years of work"
    with pytest.raises(UsageError, match="not a folder"):
        Library.restore(archive, precious / "thesis.txt")


@pytest.mark.parametrize(
    "wrong", [{"library": {"language": "klingon"}}, {"chunking": {"tokens": 5000, "overlap": 2500}}]
)
def test_a_wrong_setting_leaves_no_broken_library(
    tmp_path: Path, folder: Path, wrong: dict[str, dict[str, object]]
) -> None:
    path = tmp_path / "made"
    try:
        settings = Settings.model_validate(wrong)
        with Library.open(path, settings=settings) as library:
            assert library.add([folder]).count("added") == 2
    except (UsageError, SettingsError, ValueError):
        assert not (path / "library.json").exists()
    with Library.open(path) as library:
        library.add([folder])
        assert len(library.documents()) == 2
        assert library.language == "english"


def test_searches_go_on_through_rebuilds(library: Library, folder: Path) -> None:
    library.add([folder])
    wrong: list[object] = []
    stop = threading.Event()

    def search(shared: Library) -> None:
        while not stop.is_set():
            try:
                if not shared.search("deepest berth", rerank=False):
                    wrong.append("found nothing")
                with Library.open(library.path) as fresh:
                    fresh.search("deepest berth", rerank=False)
            except (LibraryError, UsageError, ValueError) as error:
                wrong.append(error)

    readers = [threading.Thread(target=search, args=(library,)) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(4):
        Library.rebuild(library.path).close()
    stop.set()
    for reader in readers:
        reader.join()
    assert wrong == []
