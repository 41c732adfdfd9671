"""Runs Python that nobody trusts. Usable alone: it knows nothing of questions or libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from secondlook.errors import SandboxError
from secondlook.sandbox.port import Limits, Sandbox, Verdict  # noqa: TC001

if TYPE_CHECKING:
    from secondlook.sandbox.seccomp import Kind

# Chooses a backend. There is no way to run code unconfined: where none works, none is opened.

Choice: TypeAlias = Literal["auto", "namespaces", "plain"]
BACKENDS: tuple[Kind, ...] = ("namespaces", "plain")

_OPTIONS = (
    "Run it on Linux 5.13 or later with Landlock or user namespaces (a container or WSL 2 will "
    "do). `secondlook sandbox check` says what is missing. Questions that need no generated code "
    "are answered without it."
)


def available() -> tuple[Verdict, ...]:
    from secondlook.sandbox.forked import verdict

    return tuple(verdict(kind) for kind in BACKENDS)


def open_sandbox(backend: Choice = "auto", *, limits: Limits | None = None) -> Sandbox:
    """A sandbox for many jobs; close it when done. `limits` hold for jobs that name none."""
    from secondlook.sandbox.forked import ForkingSandbox, verdict
    from secondlook.sandbox.port import Limits, missing_packages

    candidates = [kind for kind in BACKENDS if backend in ("auto", kind)]
    if not candidates:
        raise SandboxError(f"There is no sandbox backend {backend!r}.", hint=_OPTIONS)
    if lacking := missing_packages():
        raise SandboxError(f"Generated code cannot be run: {lacking}.")
    refusals = []
    for kind in candidates:
        found = verdict(kind)
        if found.usable:
            return ForkingSandbox(kind, limits or Limits())
        refusals.append(f"{kind}: {found.why}")
    raise SandboxError(
        f"Generated code cannot be confined here ({'; '.join(refusals)}).", hint=_OPTIONS
    )
