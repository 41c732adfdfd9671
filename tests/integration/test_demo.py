"""The first minute: the demo on the real sample documents."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

from secondlook.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


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
