"""The order in which a job gives up its rights. After it, code that nobody trusts may run."""

from __future__ import annotations

import math
import os
import signal
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from secondlook.sandbox.confining import landlock, namespaces, seccomp, system

if TYPE_CHECKING:
    from secondlook.sandbox.port import Limits

Kind: TypeAlias = Literal["namespaces", "plain"]
NOBODY = 65534
_EXTRA_CPU_SECONDS = 2  # the wall clock, which the parent watches, comes first


@dataclass(frozen=True, slots=True)
class Confinement:
    kind: Kind
    readable: tuple[str, ...]
    """Folders and files of the machine that Python's libraries may still need."""
    nobody: bool
    """Whether to become another user, which only root can."""
    system_calls: bytes

    @property
    def scratch(self) -> str | None:
        return namespaces.SCRATCH if self.kind == "namespaces" else None


def plan(kind: Kind, readable: tuple[str, ...], *, nobody: bool) -> Confinement:
    calls = seccomp.program(may_write=kind == "namespaces")
    return Confinement(kind, readable, nobody, calls)


def confine(how: Confinement, limits: Limits) -> None:
    """This process, for the rest of its life. Any step that fails raises, and no code must run."""
    if how.kind == "namespaces":
        namespaces.take_own_spaces(limits.scratch_bytes, limits.scratch_files)
    if how.nobody:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    if how.kind == "namespaces":
        namespaces.become_nobody_in_particular()
    system.die_with_parent(signal.SIGKILL)  # changing the user undid it
    system.drop_capabilities()
    system.forbid_new_privileges()
    _restrict_files(how)
    limit_resources(limits)
    seccomp.install(how.system_calls)


def _restrict_files(how: Confinement) -> None:
    if how.kind == "plain":
        landlock.restrict([landlock.Allowed(path) for path in how.readable])
    elif landlock.version():
        landlock.restrict(
            [
                landlock.Allowed("/"),  # which holds only what was put there
                landlock.Allowed("/dev/null", landlock.USE_FILE),
                landlock.Allowed(namespaces.SCRATCH, landlock.WRITE),
            ]
        )


def limit_resources(limits: Limits) -> None:
    if sys.platform == "win32":
        return
    import resource

    seconds = math.ceil(limits.seconds) + _EXTRA_CPU_SECONDS
    for kind, most in (
        (resource.RLIMIT_AS, limits.address_space),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_FSIZE, limits.scratch_bytes),
        (resource.RLIMIT_CORE, 0),
    ):
        outer = resource.getrlimit(kind)[1]
        allowed = most if outer == resource.RLIM_INFINITY else min(most, outer)
        resource.setrlimit(kind, (allowed, allowed))
