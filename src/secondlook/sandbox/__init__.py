"""Runs Python that nobody trusts. Usable alone: it knows nothing of questions or libraries."""

from __future__ import annotations

from importlib import import_module
from typing import Literal, NamedTuple, TypeAlias, cast

from secondlook.errors import SandboxError
from secondlook.sandbox.port import Limits, Sandbox, Verdict  # noqa: TC001

# Chooses a backend. There is no way to run code unconfined: where none works, none is opened.

Choice: TypeAlias = Literal["auto", "namespaces", "plain", "bubblewrap"]

_OPTIONS = (
    "Run it on Linux 5.13 or later with Landlock or user namespaces (a container or WSL 2 will "
    "do), or install bubblewrap. `secondlook sandbox check` says what is missing. Questions that "
    "need no generated code are answered without it."
)


class Backend(NamedTuple):
    """A module with `verdict` and `start`; where it serves two kinds, the kind comes first."""

    name: str
    module: str
    kind: tuple[str, ...] = ()

    def verdict(self) -> Verdict:
        return cast("Verdict", import_module(self.module).verdict(*self.kind))


BACKENDS = (
    Backend("namespaces", "secondlook.sandbox.forked", ("namespaces",)),
    Backend("plain", "secondlook.sandbox.forked", ("plain",)),
    Backend("bubblewrap", "secondlook.sandbox.bubblewrap"),
)


def available() -> tuple[Verdict, ...]:
    return tuple(backend.verdict() for backend in BACKENDS)


def open_sandbox(backend: Choice = "auto", *, limits: Limits | None = None) -> Sandbox:
    """A sandbox for many jobs; close it when done. `limits` hold for jobs that name none."""
    from secondlook.sandbox.port import Limits, missing_packages

    candidates = [each for each in BACKENDS if backend in ("auto", each.name)]
    if not candidates:
        raise SandboxError(f"There is no sandbox backend {backend!r}.", hint=_OPTIONS)
    if lacking := missing_packages():
        raise SandboxError(f"Generated code cannot be run: {lacking}.")
    refusals = []
    for candidate in candidates:
        verdict = candidate.verdict()
        if verdict.usable:
            start = import_module(candidate.module).start
            return cast("Sandbox", start(*candidate.kind, limits or Limits()))
        refusals.append(f"{verdict.name}: {verdict.why}")
    raise SandboxError(
        f"Generated code cannot be confined here ({'; '.join(refusals)}).", hint=_OPTIONS
    )
