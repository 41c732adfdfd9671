"""Looking before reading: what `add` has to do about each file, decided by stat and hash alone."""

import errno
import hashlib
import os
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from secondlook.library.catalog import Catalog, FileRow
from secondlook.library.commit import version_of_parser
from secondlook.library.report import FileChange
from secondlook.library.uploads import FOLDER as UPLOADS
from secondlook.retrieval.discover import Found, Skipped, discover

# A file changed again within this time of its hashing may keep its time stamp: do not trust it.
_RACY_NS = 2_000_000_000
MEMBER_SEPARATOR = "!/"


@dataclass(frozen=True, slots=True)
class Request:
    roots: tuple[Path, ...]
    metadata: Mapping[str, str] = field(default_factory=dict)
    excludes: Sequence[str] = ()
    max_bytes: int = 1 << 30
    max_table_bytes: int = 64 << 30
    prune: bool = False
    wary: bool = False  # a folder that is empty or cannot be read may be a disk that is away
    force: bool = False
    parser: str = ""  # version of the parser: what another version read is read again
    stale: frozenset[str] = frozenset()  # documents to read again although nothing changed
    own_folder: Path | None = None  # the library itself may lie inside what is added
    follow_links: bool = False  # out of the roots
    within: tuple[Path, ...] = ()  # where files must really lie, links followed, if that matters


@dataclass(slots=True)
class Survey:
    to_read: dict[str, list[FileRow]] = field(default_factory=dict)  # by SHA-256: parsed once
    to_attach: list[FileRow] = field(default_factory=list)  # content held: moved, copied, labelled
    to_touch: list[FileRow] = field(default_factory=list)  # only the time stamp changed
    to_drop: list[str] = field(default_factory=list)  # paths that are gone: moved away, or pruned
    failed: list[FileRow] = field(default_factory=list)
    changes: list[FileChange] = field(default_factory=list)


def survey(
    catalog: Catalog, request: Request, *, looked: Callable[[int, str], None] = lambda _n, _p: None
) -> Survey:
    result = Survey()
    seen: set[str] = set()
    unread: set[Path] = set()
    there = discover(
        request.roots,
        excludes=request.excludes,
        max_bytes=request.max_bytes,
        max_table_bytes=request.max_table_bytes,
        follow_links=request.follow_links,
    )
    for count, found in enumerate(there, 1):
        looked(count, str(found.path))
        if _is_own(request, found.path) or _leads_out(request, found.path):
            continue
        seen.add(str(found.path))
        if isinstance(found, Skipped):
            unread.add(found.path)
            _skip(result, catalog, found)
        else:
            _look(result, catalog, request, found)
    if request.prune:
        _prune(result, catalog, request, seen, unread)
    return result


def _prune(
    result: Survey, catalog: Catalog, request: Request, seen: set[str], unread: set[Path]
) -> None:
    # A root that is missing may be a disk that is not mounted: only its own row may go.
    roots = request.roots
    folders = [root for root in roots if root.is_dir()]
    if request.wary:
        folders = [root for root in folders if any(root.iterdir())]
    already = set(result.to_drop)
    for file in catalog.files():
        anchor = file.container or file.path
        if anchor in seen and Path(anchor).exists():
            continue
        path = Path(anchor)
        if _is_own(request, path) and path.exists():
            continue  # uploads were never part of the folder that is gone through
        if request.wary and not unread.isdisjoint(path.parents):
            continue
        below = any(folder in path.parents for folder in folders)
        if (below or path in roots) and file.path not in already:
            result.to_drop.append(file.path)
            result.changes.append(FileChange(file.path, "removed", file.document))


def _is_own(request: Request, path: Path) -> bool:
    own = request.own_folder
    if own is None or own not in path.parents:
        return False
    uploads = own / UPLOADS
    return not any(
        uploads in (root, *root.parents) and root in (path, *path.parents) for root in request.roots
    )


def _leads_out(request: Request, path: Path) -> bool:
    if not request.within:
        return False
    try:
        place = path.resolve()
    except (OSError, RuntimeError):  # a loop of links
        return True
    return not any(place.is_relative_to(folder) for folder in request.within)


def _skip(result: Survey, catalog: Catalog, skipped: Skipped) -> None:
    path = str(skipped.path)
    known = catalog.file(path)
    if known is not None and known.reason is None:
        # What was readable once stays until it is pruned: the disk may only be unmounted.
        result.changes.append(FileChange(path, "unchanged", known.document, 0, skipped.reason))
        return
    result.failed.append(FileRow(path, "", 0, -1, "", error="Skipped", reason=skipped.reason))
    result.changes.append(FileChange(path, "failed", reason=skipped.reason))


def _look(result: Survey, catalog: Catalog, request: Request, found: Found) -> None:
    path = str(found.path)
    known = catalog.file(path)
    metadata = {**(known.metadata if known else {}), **request.metadata}
    # Names a person may filter by: each folder from the added root down, and the path of all.
    # Added again from a folder further up, a file is also found under that folder's name.
    below = found.path.parent.relative_to(found.root).parts
    names = [name for name in (found.root.name, *below) if name]
    held = known.folders if known else ()
    folders = sorted({*names, *(["/".join(names)] if names else []), *held})
    if (
        known is not None
        and (known.bytes, known.mtime_ns) == (found.size, found.mtime_ns)
        and (known.parser, known.metadata, known.folders) == (request.parser, metadata, folders)
        and known.error in {None, "LimitExceeded"}
        and not request.force
        and known.document not in request.stale
    ):
        if known.reason is not None:
            result.changes.append(FileChange(path, "failed", reason=known.reason))
        else:
            result.changes.append(FileChange(path, "unchanged", known.document))
        return
    try:
        digest = _sha256(found.path)
    except OSError as error:
        _skip(result, catalog, Skipped(found.path, f"cannot be read: {error.strerror}"))
        return
    file = FileRow(
        path=path,
        sha256=digest,
        bytes=found.size,
        mtime_ns=found.mtime_ns if time.time_ns() - found.mtime_ns > _RACY_NS else -1,
        parser=request.parser,
        folders=folders,
        metadata=metadata,
    )
    _decide(result, catalog, request, file, known)


def _decide(
    result: Survey, catalog: Catalog, request: Request, file: FileRow, known: FileRow | None
) -> None:
    labels = (file.metadata, file.folders)
    same_labels = known is not None and (known.metadata, known.folders) == labels
    held = catalog.document(file.sha256[:16])
    if (
        held is not None
        and not request.force
        and version_of_parser(held.parser) == request.parser
        and held.id not in request.stale
    ):
        attached = replace(file, document=held.id)
        if not known or known.document != held.id:
            _attach(result, catalog, attached, held.title)
        elif same_labels:
            result.to_touch.append(attached)
            result.changes.append(FileChange(file.path, "unchanged", held.id))
        else:
            result.to_attach.append(attached)
            result.changes.append(FileChange(file.path, "updated", held.id, 0, "labels changed"))
    elif (
        # An archive has no document of its own: its row says when its members were read.
        known is not None
        and same_labels
        and not request.force
        and (known.sha256, known.parser) == (file.sha256, request.parser)
        and known.reason is None
        and catalog.members_of(known.path)
    ):
        result.to_touch.append(file)
        result.changes.append(FileChange(file.path, "unchanged"))
    else:
        was = known.document if known else None
        result.to_read.setdefault(file.sha256, []).append(replace(file, document=was))


def _attach(result: Survey, catalog: Catalog, file: FileRow, title: str) -> None:
    """A held content at a new place: moved there if it is gone elsewhere, else a copy."""
    others = [other for other in catalog.files_of([file.document or ""]) if other.path != file.path]
    # Text that came through stdin or the Python door has no place on disk to vanish from.
    places = [(other, Path(other.container or other.path)) for other in others]
    gone = [other for other, place in places if place.is_absolute() and not place.exists()]
    for other in gone:  # what the person said about the file moves along with it
        file = replace(file, metadata={**other.metadata, **file.metadata})
    result.to_attach.append(file)
    result.to_drop.extend(other.path for other in gone)
    if gone:
        change = FileChange(file.path, "moved", file.document, 0, f"from {gone[0].path}")
    else:
        change = FileChange(file.path, "duplicate", file.document, 0, f"same content as {title!r}")
    result.changes.append(change)


def _sha256(path: Path) -> str:
    """Of what the file held when it was opened: one that grows all the time ends all the same."""
    digest = hashlib.sha256()
    # A named pipe that took the file's place just now must not block.
    flag = getattr(os, "O_NONBLOCK", 0)
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | flag)) as source:
        status = os.fstat(source.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is no longer a file")
        left = status.st_size
        while block := source.read(min((1 << 20), left)):
            digest.update(block)
            left -= len(block)
    return digest.hexdigest()
