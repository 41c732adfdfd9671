"""The steps by which a job gives up its rights: which, in what order, with what arguments."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.sandbox import kernel as landlock
from secondlook.sandbox import kernel as namespaces
from secondlook.sandbox import kernel as system
from secondlook.sandbox import seccomp
from secondlook.sandbox import seccomp as confinement
from secondlook.sandbox.port import Limits

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the steps taken, none of which happens."""
    import resource

    taken: list[str] = []

    def note(name: str) -> Callable[..., None]:
        return lambda *_: taken.append(name)

    for owner, name in (
        (namespaces, "take_own_spaces"),
        (namespaces, "unshare"),
        (system, "die_with_parent"),
        (system, "drop_capabilities"),
        (system, "forbid_new_privileges"),
        (landlock, "restrict"),
        (seccomp, "install"),
        (os, "setgroups"),
        (os, "setresgid"),
        (os, "setresuid"),
        (resource, "setrlimit"),
    ):
        monkeypatch.setattr(owner, name, note(name))
    monkeypatch.setattr(landlock, "version", lambda: 7)
    return taken


LAST = [
    "die_with_parent",
    "drop_capabilities",
    "forbid_new_privileges",
    "restrict",
    *["setrlimit"] * 5,
    "install",
]


def test_with_namespaces_as_root(steps: list[str]) -> None:
    confinement.confine(confinement.plan("namespaces", (), nobody=True), Limits())
    user = ["setgroups", "setresgid", "setresuid"]
    assert steps == ["take_own_spaces", *user, "unshare", *LAST]


def test_without_namespaces_as_an_ordinary_user(steps: list[str]) -> None:
    how = confinement.plan("plain", ("/usr/lib",), nobody=False)
    confinement.confine(how, Limits())
    assert steps == LAST
    assert how.scratch is None


def test_namespaces_do_without_landlock_but_plain_does_not(
    steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(landlock, "version", lambda: 0)
    confinement.confine(confinement.plan("namespaces", (), nobody=False), Limits())
    assert "restrict" not in steps
    confinement.confine(confinement.plan("plain", (), nobody=False), Limits())
    assert "restrict" in steps


def test_limits_never_exceed_those_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    set_to: dict[int, tuple[int, int]] = {}
    outer = {resource.RLIMIT_NOFILE: 10, resource.RLIMIT_AS: resource.RLIM_INFINITY}
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (0, outer.get(kind, 10**15)))
    monkeypatch.setattr(resource, "setrlimit", set_to.__setitem__)
    confinement.limit_resources(Limits(seconds=1.5))
    assert set_to[resource.RLIMIT_NOFILE] == (10, 10)
    assert set_to[resource.RLIMIT_AS] == (Limits().address_space,) * 2
    assert set_to[resource.RLIMIT_CPU] == (4, 4)
    assert set_to[resource.RLIMIT_CORE] == (0, 0)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (1, (13,)),
        (3, (15,)),
        (4, (15, 3)),
        (9, (16, 3, 3)),
    ],
)
def test_landlock_is_asked_for_all_that_it_knows(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    version: int,
    expected: tuple[int, ...],
) -> None:
    asked: list[tuple[Any, ...]] = []

    def syscall(number: int, *arguments: Any, call: str) -> int:
        asked.append((number, arguments, call))
        return os.open(os.devnull, os.O_RDONLY) if number == 444 else 0

    monkeypatch.setattr(landlock, "version", lambda: version)
    monkeypatch.setattr(landlock, "syscall", syscall)
    (tmp_path / "file").touch()
    landlock.restrict(
        [
            landlock.Allowed(str(tmp_path), landlock.WRITE),
            landlock.Allowed(str(tmp_path / "file")),
            landlock.Allowed(str(tmp_path / "missing")),
        ]
    )
    assert [number for number, _, _ in asked] == [444, 445, 445, 446]
    files, network, scopes = asked[0][1][0]._obj
    rights, known = files.bit_length(), asked[0][1][1] // 8  # the kernel reads so many of them
    assert (rights, *(network, scopes)[: known - 1]) == expected
    assert files == (1 << rights) - 1
    folder, file = (asked[position][1][2]._obj for position in (1, 2))
    assert folder.rights == landlock.WRITE & files
    assert file.rights == 1 << 2  # a file has no folder's rights
