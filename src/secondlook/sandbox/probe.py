"""Whether this machine can confine code, found out by doing it to a small process."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from secondlook.sandbox import kernel
from secondlook.sandbox.inside.preload import PACKAGES, readable_to_others
from secondlook.sandbox.port import Limits, Verdict

if TYPE_CHECKING:
    from secondlook.sandbox.seccomp import Kind

_SECONDS = 30.0
_TRY = (
    "import sys; sys.path.append(sys.argv[2]); "
    "from secondlook.sandbox.probe import give_up_all_rights; give_up_all_rights(sys.argv[1])"
)


def probed(kind: Kind) -> Verdict:
    missing = missing_packages()
    return Verdict(kind, usable=False, why=missing) if missing else _of_the_machine(kind)


def missing_packages() -> str:
    """What jobs import and is not there, and how to get it; empty where all is."""
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if not missing:
        return ""
    needed = " ".join(missing).replace("sklearn", "scikit-learn")
    return f"not installed: {', '.join(missing)}; pip install {needed}"


@cache
def _of_the_machine(kind: Kind) -> Verdict:
    if not kernel.supported():
        why = f"it needs Linux on x86-64 or ARM64, this is {sys.platform} on {kernel.machine()}"
        return Verdict(kind, usable=False, why=why)
    known = kernel.version()
    if kind == "plain" and not known:
        return Verdict(kind, usable=False, why="the kernel has no Landlock, or it is switched off")
    problem = _problem(kind)
    if problem:
        return Verdict(kind, usable=False, why=problem)
    files = f"Landlock {known}" if known else "no Landlock"
    spaces = "namespaces" if kind == "namespaces" else "no namespaces, nothing to write to"
    return Verdict(kind, usable=True, why=f"{spaces}, {files}, seccomp")


def _problem(kind: Kind) -> str:
    """What a process says that confines itself as a job would; empty where it could."""
    ours = str(Path(__file__).parents[2])
    try:
        tried = subprocess.run(  # noqa: S603 - our own interpreter and code
            [sys.executable, "-I", "-c", _TRY, kind, ours],
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"it could not be tried ({error})"
    if tried.returncode == 0:
        return ""
    lines = tried.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"the trial ended with {tried.returncode}"


def give_up_all_rights(kind: Kind) -> None:
    """In a process of its own: takes every step that a job takes, and checks that they hold."""
    import os
    import socket

    from secondlook.sandbox import kernel, seccomp

    readable = (os.path.dirname(os.__file__), "/usr/lib")  # noqa: PTH120
    # The server asks the same of the places where the libraries are.
    nobody = kernel.may_change_user() and (kind == "namespaces" or readable_to_others(readable))
    if kind == "namespaces":
        nobody = not kernel.leave_the_machine() and nobody
        pid = os.fork()
        if pid:
            os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 1)
        home = kernel.process_space()
        kernel.move_into(readable)
        pid = kernel.fork_into_new_process_space(home)
        if pid:
            os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 1)
    seccomp.confine(seccomp.plan(kind, readable, nobody=nobody), Limits())
    try:
        socket.socket(socket.AF_INET)
    except PermissionError:
        os._exit(0)
    sys.exit("a socket could still be opened")
