"""The first minute: the demo on the real sample documents."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

import pytest

from secondlook.cli.main import main
from secondlook.library.library import Library

if TYPE_CHECKING:
    from pathlib import Path


def test_answers_two_questions_withholds_one_and_leaves_nothing_behind(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert main(["demo"]) == 0
    printed = capsys.readouterr().out
    add, *asked = printed.split("\n$ secondlook ")[1:]
    assert add.startswith("add ")
    assert "7 added" in add
    thick, against, designed = asked
    assert "9.5 millimetres" in thick
    assert "[1] Halvermouth Harbour Survey 2024, p. 3" in thick
    assert "Councillor Whitlock" in against
    assert "I couldn't find a clear answer" in designed
    assert not (tmp_path / "data").exists()
    assert list(tmp_path.glob("secondlook-*")) == []


@pytest.mark.slow
def test_in_a_library_to_keep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    kept = tmp_path / "kept"
    assert main(["demo", "-q", "--library", str(kept)]) == 0
    with Library.open(kept, create=False) as library:
        assert len(library.documents()) == 7
