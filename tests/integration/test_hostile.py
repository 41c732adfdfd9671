"""Hostile files in one real `add`, in the soak 400 of them: no crash, no hang, a plain reason."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from secondlook.library.library import Library
from tests.support import hostile
from tests.support.hostile_forms import CANARY
from tests.support.unprivileged import environment, unprivileged

SOAK = bool(os.environ.get("SECONDLOOK_SOAK"))
LARGE = set(
    """pdf/pages-10000.pdf pdf/tree-deep.pdf archive/bomb-many.zip text/headers.eml
    text/deep-10000.eml text/attributes.html text/one-word.txt text/deep.json text/deep.md
    text/deep.xml text/deep-object.json text/one-row.csv archive/bomb-layers.gz
    archive/bomb.tar.gz office/inflated.odt office/inflated.epub""".split()  # noqa: SIM905
)
MOST_SECONDS = 900
"""Far more than it takes: a machine may be busy, but a hang must end the test."""
ADD = """
import json, sys
from secondlook.library.library import Library
with Library.open(sys.argv[2]) as library:
    report = library.add([sys.argv[1]])
# Not getrusage: it starts from what the process that ran this one had at its peak.
try:
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) // 1024
except OSError:
    peak = 0
changes = [[item.path, item.change, item.reason] for item in report.changes]
print(json.dumps({"changes": changes, "peak_mb": peak}))
"""
NOT_PLAIN = re.compile(r'Traceback|File "|\w+(Error|Exception)\(| object at 0x|\n|^\s*$')


@dataclass(frozen=True, slots=True)
class Run:
    files: list[str]
    folder: Path
    library: Path
    mark: str
    first: dict[str, Any]

    def outcomes(self) -> dict[str, list[tuple[str, str]]]:
        """What was said of each file; members of an archive are said of the archive."""
        said: dict[str, list[tuple[str, str]]] = {}
        for path, change, reason in self.first["changes"]:
            said.setdefault(path.partition("!/")[0], []).append((change, reason))
        return said


def add(folder: Path, library: Path, mark: str) -> dict[str, Any]:
    settings = {"SECONDLOOK_INGEST_WORKERS": "2", "HOSTILE_MARK": mark}
    done = subprocess.run(
        unprivileged([sys.executable, "-c", ADD, folder, library]),
        env=environment(settings),
        capture_output=True,
        timeout=MOST_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def fewer(files: list[str], folder: Path) -> list[str]:
    """Without the large files that take minutes, and a fifth of the random damage."""
    kept = []
    for number, path in enumerate(files):
        name = Path(path).relative_to(folder).as_posix()
        random = name.startswith(("cut/", "flipped/", "noise/")) and name != "noise/random.pdf"
        if name in LARGE or (random and number % 5):
            Path(path).unlink()
        else:
            kept.append(path)
    return kept


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with tempfile.TemporaryDirectory(prefix="hostile-") as scratch:
        folder, library = Path(scratch) / "files", Path(scratch) / "library"
        files = hostile.write_hostile_folder(folder)
        if not SOAK:
            files = fewer(files, folder)
        mark = f"{os.getpid()}-{scratch}"
        try:
            yield Run(files, folder, library, mark, add(folder, library, mark))
        finally:
            hostile.unlock(folder)


def test_every_file_is_accounted_for(run: Run) -> None:
    outcomes = run.outcomes()
    assert set(outcomes) == set(run.files)
    for path, said in outcomes.items():
        assert {change for change, _ in said} <= {"added", "failed", "duplicate"}, path
    paths = [path for path, _, _ in run.first["changes"]]
    assert len(paths) == len(set(paths)), "a file is reported twice"


def test_every_failure_has_a_plain_reason(run: Run) -> None:
    for path, change, reason in run.first["changes"]:
        if change == "failed":
            assert not NOT_PLAIN.search(reason), (path, reason)
            assert len(reason) < 500, (path, reason)


def test_the_reason_is_the_right_one(run: Run) -> None:
    reasons = {
        "text/empty.txt": "empty", "pdf/encrypted.pdf": "password",
        "office/encrypted.docx": "password", "archive/encrypted.zip": "password",
        "archive/bomb-declared.zip": "when it is unpacked",
        "archive/bomb-overlapping.zip": "when it is unpacked",
        "archive/bomb-nested.zip": "when it is unpacked", "archive/nested-40.zip": "nested",
        "office/inflated.docx": "when it is unpacked",
        "text/one-line.txt": "more than 20,000,000 characters",
        "pdf/pages-60000.pdf": "60,000 pages", "named/elf.docx": "not of that kind",
        "noise/random.pdf": "not of that kind",
    }  # fmt: skip
    for name, reason in reasons.items():
        said = run.outcomes()[str(run.folder / name)]
        assert any(change == "failed" and reason in why for change, why in said), (name, said)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
def test_what_is_no_file_or_locked_is_named(run: Run) -> None:
    reasons = {
        "pipe.txt": "pipe", "socket.txt": "socket", "device.txt": "a link out",
        "loop-a.txt": "cannot be read", "dangling.txt": "leads nowhere",
        "parent": "a folder that is read already", "locked.txt": "permission denied",
        "closed": "Permission denied",
    }  # fmt: skip
    for name, reason in reasons.items():
        ((change, why),) = run.outcomes()[str(run.folder / "special" / name)]
        assert change == "failed"
        assert reason in why


def test_strange_names_are_no_hindrance(run: Run) -> None:
    outcomes = run.outcomes()
    strange = [path for path in run.files if Path(path).is_relative_to(run.folder / "names")]
    assert len(strange) >= 6
    with Library.open(run.library, create=False) as library:
        for path in strange:
            assert outcomes[path] == [("added", "")], path
            assert library.document(path).paths == (path,)


def test_good_files_are_found(run: Run) -> None:
    with Library.open(run.library, create=False) as library:
        for name, question in hostile.QUESTIONS.items():
            best = library.search(question, k=3)
            wanted = library.document(str(run.folder / name)).id
            assert wanted in {hit.passage.document for hit in best}, name


def test_nothing_from_outside_got_in(run: Run) -> None:
    """Entities and links that point at other files must not bring their contents."""
    with Library.open(run.library, create=False) as library:
        for document in library.documents():
            text = library.text(document.id).text
            assert CANARY not in text, document.paths
            assert "root:x:0:0" not in text, document.paths
    assert not list(run.folder.parent.glob("**/climb.txt"))


@pytest.mark.skipif(sys.platform != "linux", reason="processes are listed in /proc")
def test_no_process_is_left_over(run: Run) -> None:
    left = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"HOSTILE_MARK={run.mark}".encode() in (process / "environ").read_bytes():
                left.append((process / "cmdline").read_bytes())
        except OSError:  # it ended while we looked, or is not ours
            continue
    assert left == []
