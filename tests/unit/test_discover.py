"""Discovery: a fixed order, nothing twice, nothing opened, a reason for what is left out."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from secondlook.errors import UsageError
from secondlook.retrieval.discover import DEFAULT_EXCLUDES, Found, Skipped, discover
from secondlook.retrieval.parse import pdf as ocr

if TYPE_CHECKING:
    from collections.abc import Callable

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX file types")


@pytest.fixture
def tree(tmp_path: Path) -> Callable[..., Path]:
    def grow(*names: str) -> Path:
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("words")
        return tmp_path

    return grow


def found(root: Path, *arguments: Path, **options: object) -> list[str]:
    items = discover(arguments or (root,), **options)  # type: ignore[arg-type]
    return [item.path.relative_to(root).as_posix() for item in items if isinstance(item, Found)]


def skipped(root: Path, *arguments: Path, **options: object) -> dict[str, str]:
    items = discover(arguments or (root,), **options)  # type: ignore[arg-type]
    return {
        item.path.relative_to(root).as_posix(): item.reason
        for item in items
        if isinstance(item, Skipped)
    }


def test_folders_are_walked_in_a_fixed_order(tree: Callable[..., Path]) -> None:
    root = tree("b.txt", "a.txt", "sub/z.md", "sub/a.md", "another/x.txt")
    assert found(root) == ["a.txt", "b.txt", "another/x.txt", "sub/a.md", "sub/z.md"]
    first = next(iter(discover([root])))
    assert isinstance(first, Found)
    assert (first.root, first.size) == (root, 5)
    assert first.mtime_ns == (root / "a.txt").stat().st_mtime_ns


def test_defaults_are_left_out_unless_named(tree: Callable[..., Path]) -> None:
    root = tree(
        "a.txt", ".hidden.txt", ".git/config", "node_modules/x/readme.md", "env/pyvenv.cfg",
        "env/lib/b.txt", "poetry.lock", "__pycache__/c.txt", "~$report.docx", "x.min.js",
    )  # fmt: skip
    assert found(root) == ["a.txt"]
    assert skipped(root) == {}
    assert found(root, root / ".hidden.txt", root / "poetry.lock") == [".hidden.txt", "poetry.lock"]
    assert found(root, root / "node_modules", root / ".git", root / "env") == [
        "node_modules/x/readme.md", ".git/config", "env/pyvenv.cfg", "env/lib/b.txt",
    ]  # fmt: skip
    assert ".*" in DEFAULT_EXCLUDES


def test_excludes_and_ignore_files_are_those_of_gitignore(tree: Callable[..., Path]) -> None:
    root = tree("a.md", "sub/a.md", "sub/b.md", "sub/deep/a.md", "other/b.md", "b.log", "keep.log")
    (root / "sub" / ".secondlookignore").write_text("# mine\n/a.md\n")
    (root / ".secondlookignore").write_text("other/\n")
    assert found(root, excludes=["*.log", "!keep.log"]) == [
        "a.md", "keep.log", "sub/b.md", "sub/deep/a.md",
    ]  # fmt: skip
    with pytest.raises(UsageError, match="malformed"):
        list(discover([root], excludes=["!"]))


def test_missing_large_and_unsupported_are_named(
    tree: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree("big.txt", "film.mp4", "photo.png", "a.txt")
    (root / "big.txt").write_text("x" * 200)
    monkeypatch.setattr(ocr, "_program", lambda: None)
    reasons = skipped(root, root, root / "nowhere", max_bytes=100)
    assert reasons["nowhere"] == "it does not exist"
    assert "200 bytes" in reasons["big.txt"]
    assert reasons["film.mp4"] == "files of type .mp4 are not supported"
    assert "pip install pillow" in reasons["photo.png"]
    assert found(root, root / "film.mp4") == ["film.mp4"]
    monkeypatch.setattr(ocr, "_program", lambda: "/usr/bin/tesseract")
    assert "photo.png" in found(root)


@posix_only
def test_links_pipes_and_sockets(tree: Callable[..., Path]) -> None:
    root = tree("real/a.txt")
    os.mkfifo(root / "pipe.txt")
    (root / "loop").symlink_to("loop")
    (root / "dangling.txt").symlink_to("nowhere.txt")
    (root / "link.txt").symlink_to(root / "real" / "a.txt")
    (root / "aaa").symlink_to(root / "real")
    (root / "real" / "up").symlink_to(root)
    listener = socket.socket(socket.AF_UNIX)
    monkey = os.getcwd()  # noqa: PTH109 - socket paths are short, so bind relatively
    os.chdir(root)
    try:
        listener.bind("s.txt")
    finally:
        os.chdir(monkey)
    try:
        reasons = skipped(root)
    finally:
        listener.close()
    assert found(root) == ["link.txt", "real/a.txt"]
    assert "pipe" in reasons["pipe.txt"]
    assert "socket" in reasons["s.txt"]
    assert "cannot be read" in reasons["loop"]
    assert "nowhere" in reasons["dangling.txt"]
    assert "already" in reasons["aaa"]
    assert "already" in reasons["real/up"]
    assert "pipe" in skipped(root, root / "pipe.txt")["pipe.txt"]
    assert "device" in next(iter(discover([Path("/dev/null")]))).reason  # type: ignore[union-attr]
