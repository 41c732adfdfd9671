"""Commands as a user without any rights, also where the tests run as root. Where the interpreter
lies in a folder that is closed to others, as in root's home, the command gets a view of the machine
in which the way to it is open. Root in a container that forbids this keeps its name and loses its
rights."""

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import secondlook

USER = 12_345
_BECOME = """
import ctypes, os, sys

user, needed, command = int(sys.argv[1]), sys.argv[2].split(":"), sys.argv[3:]
c = ctypes.CDLL(None, use_errno=True)
private_and_below, bind_and_below, new_mounts = 0x44000, 0x5000, 0x20000

def closed(path):
    steps = [path]
    while steps[-1] != "/":
        steps.append(os.path.dirname(steps[-1]))
    return next((step for step in reversed(steps) if not os.stat(step).st_mode & 1), None)

def mount(source, target, kind=None, flags=0, options=None):
    texts = [None if text is None else text.encode() for text in (source, target, kind)]
    if c.mount(*texts, ctypes.c_ulong(flags), options):
        raise OSError(ctypes.get_errno(), "mount")

def open_the_way():
    doors = {path: closed(path) for path in needed}
    if not any(doors.values()):
        return
    if c.unshare(new_mounts):
        raise OSError(ctypes.get_errno(), "unshare")
    mount(None, "/", None, private_and_below)
    held = {path: os.open(path, os.O_PATH) for path, door in doors.items() if door}
    for door in set(filter(None, doors.values())):
        mount("tmpfs", door, "tmpfs", 0, b"mode=755")
    for path, number in held.items():
        os.makedirs(path, exist_ok=True)
        mount(f"/proc/self/fd/{number}", path, None, bind_and_below)
        os.close(number)

try:
    open_the_way()
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
except OSError:
    for right in range(64):
        c.prctl(24, right, 0, 0, 0)
os.execv(command[0], command)
"""


def as_ordinary_user(
    command: Sequence[str | Path], *, user: int = USER, needed: Sequence[str] = ()
) -> list[str]:
    """`needed` are further folders that the command must be able to reach."""
    plain = [os.fspath(part) for part in command]
    if os.geteuid() != 0:
        return plain
    source = str(Path(secondlook.__file__).parents[1])
    interpreter = str(Path(os.path.realpath(sys.executable)).parents[1])
    ways = ":".join(dict.fromkeys([interpreter, sys.prefix, source, *needed]))
    return [sys.executable, "-c", _BECOME, str(user), ways, *plain]


@contextmanager
def home_of_ordinary_user() -> Iterator[dict[str, str]]:
    """An environment with a home of its own. It does not lie with the other files of the tests,
    which are closed to others."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    source = str(Path(secondlook.__file__).parents[1])
    with tempfile.TemporaryDirectory() as home:
        if os.geteuid() == 0:
            os.chown(home, USER, USER)
        yield {**kept, "HOME": home, "TMPDIR": home, "PYTHONPATH": source}
