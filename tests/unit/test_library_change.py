"""The commit protocol, interrupted at every one of its steps."""

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from secondlook.document import Extracted
from secondlook.errors import UsageError
from secondlook.library.catalog import Catalog, DocumentRow, FileRow, TextStore
from secondlook.library.commit import Change, NewDocument, Stores, commit, recover
from secondlook.library.library import Library
from secondlook.library.tables import TableStore
from secondlook.library.uploads import FOLDER, Staging, new_staging, originals, safe_name, sweep
from secondlook.retrieval.discover import DEFAULT_EXCLUDES, Found, Skipped, discover
from secondlook.retrieval.index.lance import LanceIndex
from secondlook.retrieval.index.port import Entry
from secondlook.retrieval.parse import ocr
from secondlook.settings.sections import Settings
from secondlook.tables.table import Table

PARSER = "1"


class Killed(BaseException):
    """Stands for kill -9: nothing in the product catches it."""


def document(name: str, text: str) -> NewDocument:
    identifier = name.ljust(16, "0")
    row = DocumentRow(
        id=identifier, sha256=name.ljust(64, "0"), bytes=len(text), parser=PARSER, title=name,
        author=None, date=None, language=None, kind="text", pages=0, passages=2,
        characters=len(text), notes=[], labels=["kind=text"], added="2024-01-01T00:00:00+00:00",
    )  # fmt: skip
    entries = [
        Entry(f"{identifier}.{n}", identifier, f"{text} {n}", (text, str(n)), 0, len(text))
        for n in range(2)
    ]
    return NewDocument(row, Extracted(text), entries, np.eye(2, 4, dtype=np.float32))


def file(path: str, held: NewDocument | None) -> FileRow:
    if held is None:
        return FileRow(path, "f" * 64, 1, 1, PARSER, error="Damaged", reason="it is broken")
    return FileRow(path, held.row.sha256, 1, 1, PARSER, document=held.row.id, folders=["papers"])


def open_stores(folder: Path) -> Stores:
    folder.mkdir(exist_ok=True)
    index = LanceIndex.open(folder / "index", dimensions=4, create=True)
    tables = TableStore(folder / "tables")
    return Stores(Catalog(folder / "catalog.db"), TextStore(folder / "texts"), index, tables)


def write_table(stores: Stores, held: NewDocument) -> None:
    """A table of the document, as reading it leaves one before the commit."""
    identity = held.row.id
    table = Table(id=identity, name="t", title="t", sha256=held.row.sha256, rows=1, columns=())
    stores.tables.folder.mkdir(exist_ok=True)
    stores.tables.file(identity).write_bytes(b"rows")
    stores.tables.write(identity, "1", [table])


OLD, KEPT, NEW = document("aa", "old"), document("bb", "kept"), document("cc", "new")
BEFORE = Change(documents=[OLD, KEPT], files=[file("/a", OLD), file("/b", KEPT)])
REPLACING = Change(documents=[NEW], files=[file("/a", NEW)])
REMOVING = Change(gone_files=["/a"])
FAILING = Change(files=[file("/a", None)])
STEPS: dict[str, tuple[str, str]] = {
    "before the texts": ("texts", "write"),
    "before the journal": ("catalog", "write_journal"),
    "before the index": ("index", "add"),
    "before a removal from the index": ("index", "delete"),
    "before the rows": ("catalog", "transaction"),
    "before old texts go": ("texts", "delete"),
    "before old tables go": ("tables", "delete"),
    "before the journal is cleared": ("catalog", "clear_journal"),
}


def killing_before(store: object, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def kill(*_: object, **__: object) -> None:
        raise Killed

    monkeypatch.setattr(type(store), method, kill)


def killing_after(store: object, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    original = getattr(type(store), method)

    def kill(self: object, *values: object, **named: object) -> None:
        original(self, *values, **named)
        raise Killed

    monkeypatch.setattr(type(store), method, kill)


def state(stores: Stores) -> dict[str, str | None]:
    """What each file holds; checks that catalog, texts and index tell the same story."""
    rows = {row.id: row for row in stores.catalog.documents()}
    assert stores.index.documents() == {row.id: row.passages for row in rows.values()}
    for row in rows.values():
        assert stores.texts.read(row).text
    assert stores.catalog.journal() == {}
    files = stores.catalog.files()
    assert {item.document for item in files if item.document} == set(rows)
    return {item.path: item.document for item in files}


@pytest.mark.parametrize("kill", [killing_before, killing_after])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    "change", [REPLACING, REMOVING, FAILING], ids=["replace", "remove", "fail"]
)
def test_killed_at_any_step_it_is_done_or_not_done(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kill: Callable[[object, str, pytest.MonkeyPatch], None],
    step: str,
    change: Change,
) -> None:
    stores = open_stores(tmp_path)
    for held in (OLD, KEPT):
        write_table(stores, held)
    commit(stores, BEFORE)
    before = state(stores)
    with monkeypatch.context() as patched:
        part, method = STEPS[step]
        kill(getattr(stores, part), method, patched)
        with contextlib.suppress(Killed):
            commit(stores, change)
    stores.catalog.close()

    stores = open_stores(tmp_path)
    recover(stores)
    after = state(stores)
    target = {item.path: item.document for item in change.files}
    wanted = {
        path: name for path, name in (before | target).items() if path not in change.gone_files
    }
    assert after in (before, wanted)
    commit(stores, change)
    assert state(stores) == wanted
    assert {f.name[:2] for f in (tmp_path / "texts").glob("*/*")} == {
        row.sha256[:2] for row in stores.catalog.documents()
    }
    assert stores.tables.holders() == [KEPT.row.id]
    assert [f.name for f in (tmp_path / "tables").glob("*.parquet")] == [f"{KEPT.row.id}.parquet"]
    stores.catalog.close()


# Files that a library keeps itself: their names, their way in, and what a kill leaves.

NAMES = {
    "report.pdf": "report.pdf", "../../etc/passwd": "passwd", "..\\win\\win.ini": "win.ini",
    "..": "upload", "": "upload", "....": "upload", ".bashrc": "bashrc", "dir/": "upload",
    "a\x00b\nc.txt": "abc.txt", "con.txt": "_con.txt", "com1.tar.gz": "_com1.tar.gz",
    'a<b>:"|?*.txt': "a_b______.txt", "report.pdf. . ": "report.pdf",
    "Cafe\u0301.txt": "Caf\u00e9.txt", "\u202efdp.exe": "fdp.exe",
}  # fmt: skip


def test_names_are_never_trusted() -> None:
    assert {given: safe_name(given) for given in NAMES} == NAMES


def _arrived(library: Path, *files: tuple[str, bytes]) -> Staging:
    staging = new_staging(library)
    for name, data in files:
        staging.begin(name).write(data)
    staging.seal()
    return staging


def _listed(library: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (library / FOLDER).iterdir()}


def test_of_one_name_both_are_kept_unless_they_are_the_same(tmp_path: Path) -> None:
    staging = _arrived(tmp_path, ("a.txt", b"1"), ("A.txt", b"2"), ("a.txt", b"1"))
    assert staging.settle(staging.put_in_place()) == []
    assert _listed(tmp_path) == {"a.txt": b"1", "A (2).txt": b"2"}
    again = _arrived(tmp_path, ("A.TXT", b"new"))
    again.settle(again.put_in_place())
    assert _listed(tmp_path) == {"a.txt": b"new", "A (2).txt": b"2"}


_KILLED = """
import os, sys
from pathlib import Path
from secondlook.library.uploads import new_staging
staging = new_staging(Path(sys.argv[1]))
one = staging.begin("a.txt")
one.write(b"half of it")
one.stream.flush()
if sys.argv[2] != "arriving":
    staging.seal()
if sys.argv[2] == "placed":
    staging.put_in_place()
os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
@pytest.mark.parametrize("at", ["arriving", "sealed", "placed"])
def test_a_kill_leaves_nothing_or_an_upload_that_is_taken_up(tmp_path: Path, at: str) -> None:
    died = subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path), at], check=False)
    assert died.returncode == -9
    found = sweep(tmp_path)
    if at == "arriving":
        assert found == []
    else:
        assert [entry.name for entry in found[0].entries()] == ["a.txt"]
        found[0].settle(found[0].put_in_place())
    assert _listed(tmp_path) == ({} if at == "arriving" else {"a.txt": b"half of it"})


def test_what_another_process_is_at_work_on_is_left_alone(tmp_path: Path) -> None:
    staging = new_staging(tmp_path)
    staging.begin("a.txt").write(b"x")
    assert sweep(tmp_path) == []
    (tmp_path / FOLDER / ".incoming-just-made").mkdir()
    assert sweep(tmp_path) == []
    assert len(list((tmp_path / FOLDER).iterdir())) == 2
    staging.discard()
    assert [file.name for file in (tmp_path / FOLDER).iterdir()] == [".incoming-just-made"]
    assert list(originals(tmp_path / "nowhere")) == []


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    settings = Settings.model_validate({"library": {"path": str(tmp_path / "all" / "library")}})
    with Library.open(tmp_path / "all" / "library", settings=settings) as opened:
        (tmp_path / "all" / "note.txt").write_text("The harbour gate opens at nine.", "utf-8")
        yield opened


def _upload(library: Library, name: str, text: str) -> Path:
    staging = _arrived(library.path, (name, text.encode()))
    (place,) = staging.put_in_place()
    library.add([place])
    staging.settle([place])
    return place


def test_adding_the_folder_around_it_does_not_take_in_the_library(library: Library) -> None:
    place = _upload(library, "tides.txt", "The tide turns twice a day in this harbour.")
    report = library.add(library.path.parent, prune=True)
    assert [Path(change.path).name for change in report.changes] == ["note.txt"]
    assert {path for item in library.documents() for path in item.paths} == {
        str(place),
        str(library.path.parent / "note.txt"),
    }
    place.unlink()
    library.add(library.path.parent, prune=True)
    assert len(library.documents()) == 1


def test_removing_and_dismissing_delete_uploads_and_no_other_file(
    library: Library, tmp_path: Path
) -> None:
    place = _upload(library, "tides.txt", "The tide turns twice a day in this harbour.")
    outside, broken = library.path.parent / "note.txt", tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-")
    library.add([outside, broken])
    assert [item.path for item in library.failed_files()] == [str(broken)]
    assert library.dismiss(str(broken))
    assert not library.dismiss(str(broken))
    assert not library.dismiss(str(place))
    assert (library.failed_files(), len(library.documents())) == ([], 2)
    for item in library.documents():
        library.remove(item.id)
    assert not place.exists()
    assert outside.exists()
    assert broken.exists()


# Discovery: a fixed order, nothing twice, nothing opened, a reason for what is left out.


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
    monkeypatch.setattr(ocr, "usable", lambda: (False, None))
    reasons = skipped(root, root, root / "nowhere", max_bytes=100)
    assert reasons["nowhere"] == "it does not exist"
    assert "200 bytes" in reasons["big.txt"]
    assert reasons["film.mp4"] == "files of type .mp4 are not supported"
    assert "pip install pillow" in reasons["photo.png"]
    assert found(root, root / "film.mp4") == ["film.mp4"]
    monkeypatch.setattr(ocr, "usable", lambda: (False, "/usr/bin/tesseract"))
    assert "photo.png" in found(root)
