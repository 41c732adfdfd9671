"""Which files to read, in a fixed order, and a reason for all that is left out. Only ignore files
are opened: no pipe, socket or device can block."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from secondlook.errors import UsageError
from secondlook.retrieval.parse import ocr, source
from secondlook.retrieval.parse.source import DEFAULT_LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pathspec import GitIgnoreSpec

IGNORE_FILE = ".secondlookignore"

DEFAULT_EXCLUDES: tuple[str, ...] = (
    *(".*", "__MACOSX/", "__pycache__/", "node_modules/", "bower_components/", "site-packages/"),
    *("venv/", "virtualenv/", "*.egg-info/", "Thumbs.db", "desktop.ini", "~$*", "*~", "*.swp"),
    *("*.tmp", "*.part", "*.crdownload", "package-lock.json", "yarn.lock", "pnpm-lock.yaml"),
    *("poetry.lock", "uv.lock", "Cargo.lock", "Gemfile.lock", "composer.lock", "Pipfile.lock"),
    *("go.sum", "*.min.js", "*.min.css"),
)
"""Left out of folders unless named as an argument. Hidden files and folders are `.*`."""


def is_usually_left_out(place: PurePath) -> bool:
    """Whether what lies there, below a folder that was named, is left out by default."""
    return _left_out_by_default().match_file(place.as_posix())


@cache
def _left_out_by_default() -> GitIgnoreSpec:
    return _compiled(DEFAULT_EXCLUDES)


@dataclass(frozen=True, slots=True)
class Found:
    """A file to read. `root` is the argument it was found under: its folder, for a file."""

    path: Path
    root: Path
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Skipped:
    path: Path
    reason: str


def discover(
    paths: Iterable[Path],
    *,
    excludes: Sequence[str] = (),
    max_bytes: int = DEFAULT_LIMITS.file_bytes,
    max_table_bytes: int = DEFAULT_LIMITS.table_bytes,
    follow_links: bool = False,
) -> Iterator[Found | Skipped]:
    """Every file once, in the order of the arguments and of the names below them. Excludes are
    patterns as in `.gitignore`: such files are left out silently. `follow_links`: also to what
    lies below none of the arguments."""
    roots = [Path(os.path.abspath(path.expanduser())) for path in paths]  # noqa: PTH100 - resolve() would follow links
    walk = _Walk(_left_out_by_default(), _compiled(excludes), max_bytes, max_table_bytes)
    walk.inside = None if follow_links else tuple(map(_real, roots))
    for root in roots:
        yield from walk.argument(root)


def _real(path: Path) -> Path | None:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a loop of links
        return None


def _compiled(patterns: Sequence[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(patterns)
    except ValueError as error:
        raise UsageError(
            f"an exclude pattern is malformed: {error}", hint="patterns are those of .gitignore"
        ) from error


@dataclass(frozen=True, slots=True)
class _Folder:
    path: Path
    root: Path
    ignored: tuple[tuple[Path, GitIgnoreSpec], ...] = ()  # each holds below its own folder
    is_link: bool = False


@dataclass(slots=True)
class _Walk:
    defaults: GitIgnoreSpec
    excludes: GitIgnoreSpec
    max_bytes: int
    max_table_bytes: int
    inside: tuple[Path | None, ...] | None = None  # where links may lead to; None = anywhere
    files: set[Path] = field(default_factory=set)
    folders: set[tuple[int, int]] = field(default_factory=set)  # device and inode: read once

    def argument(self, path: Path) -> Iterator[Found | Skipped]:
        try:
            status = path.stat()
        except OSError as error:
            yield Skipped(path, _why(error, path))
            return
        if not stat.S_ISDIR(status.st_mode):
            # Named outright: defaults and extensions are overruled, the contents decide.
            yield from self._file(path, path.parent, status, is_named=True)
            return
        # Files of a folder, then its folders; links to folders last, so that real paths win.
        stack, links = [_Folder(path, path)], list[_Folder]()
        while stack or links:
            inner: list[_Folder] = []
            yield from self._folder(stack.pop() if stack else links.pop(0), inner)
            links.extend(item for item in inner if item.is_link)
            stack.extend(item for item in reversed(inner) if not item.is_link)

    def _folder(self, folder: _Folder, inner: list[_Folder]) -> Iterator[Found | Skipped]:
        try:
            status = folder.path.stat()
            names = sorted(os.listdir(folder.path))  # noqa: PTH208 - names are all that is needed
        except OSError as error:
            yield Skipped(folder.path, _why(error, folder.path))
            return
        identity = (status.st_dev, status.st_ino)
        if identity in self.folders:
            if folder.is_link:
                yield Skipped(folder.path, "a link to a folder that is read already")
            return
        self.folders.add(identity)
        if folder.path != folder.root and "pyvenv.cfg" in names:
            return
        ignored = folder.ignored
        if IGNORE_FILE in names:
            with suppress(OSError):
                path = folder.path / IGNORE_FILE
                if path.is_file():
                    lines = path.read_text("utf-8", "replace").splitlines()
                    ignored = (*ignored, (folder.path, _compiled(lines)))
        for name in names:
            yield from self._entry(_Folder(folder.path / name, folder.root, ignored), inner)

    def _entry(self, entry: _Folder, inner: list[_Folder]) -> Iterator[Found | Skipped]:
        """Sorts an entry into files, which are yielded, and folders, which are noted."""
        try:
            status = entry.path.stat()
        except OSError as error:
            if not self._is_excluded(entry, is_folder=False):
                yield Skipped(entry.path, _why(error, entry.path))
            return
        is_folder = stat.S_ISDIR(status.st_mode)
        if self._is_excluded(entry, is_folder=is_folder):
            return
        is_link = entry.path.is_symlink()
        if is_link and self._leads_out(entry.path):
            yield Skipped(entry.path, "a link out of the folder that was named (--follow-links)")
        elif is_folder:
            inner.append(replace(entry, is_link=is_link))
        else:
            yield from self._file(entry.path, entry.root, status, is_named=False)

    def _leads_out(self, link: Path) -> bool:
        place = _real(link)
        within = (place and root and place.is_relative_to(root) for root in self.inside or ())
        return self.inside is not None and not any(within)

    def _is_excluded(self, entry: _Folder, *, is_folder: bool) -> bool:
        end = "/" if is_folder else ""
        if self.defaults.match_file(entry.path.name + end):
            return True
        return any(
            spec.match_file(entry.path.relative_to(folder).as_posix() + end)
            for folder, spec in ((entry.root, self.excludes), *entry.ignored)
        )

    def _file(
        self, path: Path, root: Path, status: os.stat_result, *, is_named: bool
    ) -> Iterator[Found | Skipped]:
        if path not in self.files:
            self.files.add(path)
            reason = self._reason_to_skip(path, status, is_named=is_named)
            found = Found(path, root, status.st_size, status.st_mtime_ns)
            yield Skipped(path, reason) if reason else found

    def _reason_to_skip(self, path: Path, status: os.stat_result, *, is_named: bool) -> str:
        suffix = path.suffix.lower()
        most = self.max_table_bytes if suffix in source.TABLES else self.max_bytes
        reasons = {
            "it is a pipe, socket or device, not a file": not stat.S_ISREG(status.st_mode),
            f"it has {status.st_size:,} bytes, the limit is {most:,}": status.st_size > most,
            "it cannot be read: permission denied": not os.access(path, os.R_OK),
            f"files of type {suffix} are not supported": not is_named
            and suffix in source.UNSUPPORTED,
            f"it is an image, which only OCR can read: {ocr.HINT}": not is_named
            and suffix in source.IMAGES
            and not any(ocr.usable()),
        }
        return next((reason for reason, holds in reasons.items() if holds), "")


def _why(error: OSError, path: Path) -> str:
    if isinstance(error, FileNotFoundError):
        return "a link that leads nowhere" if path.is_symlink() else "it does not exist"
    return f"it cannot be read: {error.strerror or error}"
