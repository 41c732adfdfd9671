"""A disk that is full, or may only be read: it is said plainly, and what was stored is whole."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from secondlook.engine.record import RunStore
from tests.support.memory_runs import CREATED, entry, full_answer
from tests.support.unprivileged import environment, unprivileged

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ROOM = "2M"
# In a view of the machine of its own: a disk that is full there is full for nobody else.
_SMALL_DISK = """
import ctypes, os, sys
c = ctypes.CDLL(None, use_errno=True)
user = os.geteuid()
if c.unshare(0x10020000 if user else 0x20000):
    sys.exit("no view of its own")
if user:
    with open("/proc/self/uid_map", "w") as owners:
        owners.write(f"0 {user} 1")
if c.mount(None, b"/", None, ctypes.c_ulong(0x44000), None):
    sys.exit("no view of its own")
if c.mount(b"tmpfs", sys.argv[1].encode(), b"tmpfs", ctypes.c_ulong(0), sys.argv[2].encode()):
    sys.exit("no disk of its own")
os.execv(sys.argv[3], sys.argv[3:])
"""
_FILL = """
import sqlite3, sys
from pathlib import Path
from secondlook.errors import RunError
from secondlook.models.journal import JournalEntry
from secondlook.engine.record import RunStore
path = Path(sys.argv[1])
store = RunStore.open(path)
store.start("r", question="q", workflow="linear", created="2026-11-15T09:30:00Z")
kept = 0
try:
    for kept in range(1_000):
        store.journal("r").put(str(kept), JournalEntry("t" * 20_000, "stop", "n", "r", "m", 1, 1))
except RunError as error:
    print(error)
    print(error.hint)
assert [key for key, _ in store.journal("r").entries()] == [str(n) for n in range(kept)]
ballast = path.with_name("ballast")
if ballast.exists():
    ballast.unlink()
store.journal("r").put("room again", JournalEntry("t", "stop", "n", "r", "m", 1, 1))
store.close()
with sqlite3.connect(path) as db:
    print(db.execute("PRAGMA integrity_check").fetchone()[0], kept > 10)
"""


def ran(command: Sequence[str]) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a disk is mounted")
def test_a_full_disk_is_told_and_the_record_is_whole(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    fill = "from pathlib import Path; import sys; Path(sys.argv[1]).with_name('ballast')"
    code = f"{fill}.write_bytes(bytes(500_000))\n{_FILL}"
    inside = [sys.executable, "-c", code, str(disk / "runs.db")]
    said = ran([sys.executable, "-c", _SMALL_DISK, str(disk), f"size={ROOM}", *inside])
    assert "cannot be written" in said[0]
    assert "full" in said[0]
    assert "has room" in said[1]
    assert said[2] == "ok True"


def recorded(path: Path) -> None:
    with RunStore.open(path) as store:
        store.start("r", question="q", workflow="linear", created=CREATED)
        store.journal("r").put("k", entry())
        store.finish(full_answer("r"))


_WRITE_AND_READ = """
import sys
from pathlib import Path
from secondlook.errors import RunError
from secondlook.engine.record import RunStore
path = Path(sys.argv[1])
try:
    store = RunStore.open(path)
    store.start("new", question="q", workflow="linear", created="2026-11-15T09:30:00Z")
except RunError as error:
    print(error)
with RunStore.open(path, create=False) as store:
    print(store.get("last").status)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="root is let in elsewhere")
def test_a_disk_that_may_only_be_read_is_told_and_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "record"
    path = folder / "runs.db"
    recorded(path)
    before = path.read_bytes()
    path.chmod(0o400)
    folder.chmod(0o500)
    try:
        said = ran(unprivileged([sys.executable, "-c", _WRITE_AND_READ, path]))
    finally:
        folder.chmod(0o700)
        path.chmod(0o600)
    assert "cannot be written" in said[0]
    assert said[1] == "answered"
    assert path.read_bytes() == before
