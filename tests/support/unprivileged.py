"""Child processes that meet the file system as an ordinary user does, also under root. They change
themselves and then become the command: a function that runs between fork and exec would fork this
process, which the index engine does not bear."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import secondlook

SECONDLOOK = [sys.executable, "-m", "secondlook"]
_DROP_RIGHTS = """
import ctypes, os, sys
drop_from_bounding_set, may_override, may_search = 24, 1, 2
for capability in (may_override, may_search):
    if ctypes.CDLL(None).prctl(drop_from_bounding_set, capability, 0, 0, 0):
        sys.exit("root's right to pass locked doors cannot be dropped")
os.execv(sys.argv[1], sys.argv[1:])
"""
_LIMIT_FILES = """
import os, resource, sys
size = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
os.execv(sys.argv[1], sys.argv[1:])
"""


def environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    source = str(Path(secondlook.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": source, **(changes or {})}


def unprivileged(command: Sequence[str | Path]) -> list[str]:
    """The command, for whom a file without rights is locked."""
    plain = [os.fspath(part) for part in command]
    if sys.platform == "linux" and os.geteuid() == 0:
        return [sys.executable, "-c", _DROP_RIGHTS, *plain]
    return plain


def with_small_files(command: Sequence[str | Path], most_bytes: int) -> list[str]:
    """The command, whose writes fail once a file has that size."""
    plain = [os.fspath(part) for part in command]
    return [sys.executable, "-c", _LIMIT_FILES, str(most_bytes), *plain]
