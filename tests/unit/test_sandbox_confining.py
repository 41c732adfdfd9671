"""The steps by which a job gives up its rights: which, in what order, with what arguments."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.sandbox import kernel as landlock
from secondlook.sandbox import kernel as namespaces
from secondlook.sandbox import kernel as system
from secondlook.sandbox import seccomp
from secondlook.sandbox import seccomp as confinement
from secondlook.sandbox.inside import preload
from secondlook.sandbox.port import Limits

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the steps taken, none of which happens."""
    import resource

    taken: list[str] = []

    def note(name: str) -> Callable[..., None]:
        return lambda *_: taken.append(name)

    for owner, name in (
        (namespaces, "take_own_spaces"),
        (namespaces, "become_nobody_in_particular"),
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
    assert steps == ["take_own_spaces", *user, "become_nobody_in_particular", *LAST]


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
        (1, (8, 13, 0, 0)),
        (3, (8, 15, 0, 0)),
        (4, (16, 15, 3, 0)),
        (5, (16, 16, 3, 0)),
        (9, (24, 16, 3, 3)),
    ],
)
def test_landlock_is_asked_for_all_that_it_knows(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    version: int,
    expected: tuple[int, int, int, int],
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
    ruleset = asked[0][1][0]._obj
    rights = ruleset.files.bit_length()
    assert (asked[0][1][1], rights, ruleset.network, ruleset.scopes) == expected
    assert ruleset.files == (1 << rights) - 1
    folder, file = (asked[position][1][2]._obj for position in (1, 2))
    assert folder.rights == landlock.WRITE & ruleset.files
    assert file.rights == 1 << 2  # a file has no folder's rights


def test_own_spaces_with_and_without_the_right(monkeypatch: pytest.MonkeyPatch) -> None:
    flags: list[int] = []
    written: dict[str, str] = {}

    class Recorded:
        def __init__(self, path: str) -> None:
            self._path = path

        def write_text(self, content: str) -> None:
            written[self._path] = content

    def unshare(wanted: int) -> None:
        flags.append(wanted)
        if ordinary and not wanted & system.CLONE_NEWUSER:
            raise PermissionError

    monkeypatch.setattr(namespaces, "unshare", unshare)
    monkeypatch.setattr(namespaces, "Path", Recorded)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "getegid", lambda: 100)
    ordinary = False
    assert not namespaces.leave_the_machine()
    assert written == {}
    ordinary = True
    assert namespaces.leave_the_machine()
    assert written == {
        "/proc/self/setgroups": "deny",
        "/proc/self/uid_map": "1000 1000 1",
        "/proc/self/gid_map": "100 100 1",
    }
    both = system.CLONE_NEWPID | system.CLONE_NEWNET
    assert all(each & both == both for each in flags)


def test_only_the_server_returns_to_its_process_space(monkeypatch: pytest.MonkeyPatch) -> None:
    entered: list[tuple[int, int]] = []
    monkeypatch.setattr(namespaces, "unshare", lambda _: None)
    monkeypatch.setattr(namespaces, "enter_namespace", lambda *where: entered.append(where))
    monkeypatch.setattr(os, "fork", lambda: 0)
    assert namespaces.fork_into_new_process_space(9) == 0
    assert entered == []
    monkeypatch.setattr(os, "fork", lambda: 5)
    assert namespaces.fork_into_new_process_space(9) == 5
    assert entered == [(9, system.CLONE_NEWPID)]

    def refuse() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", refuse)
    with pytest.raises(BlockingIOError):
        namespaces.fork_into_new_process_space(9)
    assert len(entered) == 2


def test_root_holds_what_is_readable_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    site, machine = tmp_path / "site", tmp_path / "machine"
    site.mkdir()
    (machine / "lib" / "inner").mkdir(parents=True)
    (machine / "types").touch()
    (machine / "link").symlink_to("lib")
    mounts: list[tuple[Any, ...]] = []
    protected: list[tuple[str, int]] = []

    def syscall(
        _: int, __: int, path: bytes, recursive: int, wanted: Any, ___: int, **____: Any
    ) -> int:
        protected.append((os.fsdecode(path), wanted._obj.set))
        return recursive

    monkeypatch.setattr(namespaces, "_BUILDING_SITE", str(site))
    monkeypatch.setattr(namespaces, "mount", lambda *arguments: mounts.append(arguments))
    monkeypatch.setattr(namespaces, "syscall", syscall)
    monkeypatch.setattr(namespaces, "pivot_root", lambda root: mounts.append(("pivot", root)))
    names = ("lib", "lib/inner", "types", "link", "absent")
    namespaces.move_into([str(machine / name) for name in names])
    shown = str(site) + str(machine)
    assert [mounted[1] for mounted in mounts] == [
        "/",
        str(site),
        f"{shown}/lib",
        f"{shown}/types",
        f"{site}/dev/null",
        str(site),
    ]
    assert os.readlink(f"{shown}/link") == "lib"  # noqa: PTH115
    assert (site / "tmp").is_dir()
    read_only, no_devices = 1, 4
    assert all(flags & read_only for path, flags in protected if path != f"{site}/dev/null")
    assert dict(protected)[f"{site}/dev/null"] & (read_only | no_devices) == 0
    assert dict(protected)[f"{shown}/lib"] & no_devices


def test_scratch_is_in_memory_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(namespaces, "unshare", calls.append)
    monkeypatch.setattr(namespaces, "mount", lambda *arguments: calls.append(arguments))
    monkeypatch.setattr(os, "chdir", calls.append)
    namespaces.take_own_spaces(4096, 7)
    assert calls[0] & system.CLONE_NEWNET
    assert calls[1][1:3] == ("/scratch", "tmpfs")
    assert "size=4096,nr_inodes=7" in calls[1][4]
    assert calls[2] == "/scratch"
    namespaces.become_nobody_in_particular()
    assert calls[3] == system.CLONE_NEWUSER


def test_old_root_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    class Library:
        @staticmethod
        def umount2(*arguments: object) -> int:
            calls.append(arguments)
            return 0

    monkeypatch.setattr(system, "_libc", Library)
    monkeypatch.setattr(system, "syscall", lambda *arguments, **_: calls.append(arguments))
    monkeypatch.setattr(os, "chdir", calls.append)
    system.pivot_root("/new")
    assert calls[0] == "/new"
    assert calls[1][1:] == (b".", b".")
    assert calls[2:] == [(b".", 2), "/"]


def test_capabilities_are_dropped_from_every_set(monkeypatch: pytest.MonkeyPatch) -> None:
    options: list[int] = []
    emptied: list[int] = []

    def prctl(option: int, *arguments: object) -> int:
        options.append(option)
        if option == system.PR_CAPBSET_DROP and arguments == (41,):
            raise OSError(22, "no such capability")
        if option == system.PR_SET_SECUREBITS:
            raise PermissionError
        return 0

    class Library:
        @staticmethod
        def capset(_: object, data: Any) -> int:
            emptied.extend(data)
            return 0

    monkeypatch.setattr(system, "prctl", prctl)
    monkeypatch.setattr(system, "_libc", Library)
    system.drop_capabilities()
    assert options.count(system.PR_CAPBSET_DROP) == 42
    assert options[-1] == system.PR_CAP_AMBIENT
    assert emptied == [0] * 6
    system.forbid_new_privileges()
    system.die_with_parent(9)
    assert options[-2:] == [system.PR_SET_NO_NEW_PRIVS, system.PR_SET_PDEATHSIG]


def test_filter_is_handed_to_the_kernel_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setattr(seccomp, "prctl", lambda *arguments: given.extend(arguments))
    program = seccomp.program(may_write=True)
    seccomp.install(program)
    prepared = given[2]._obj
    assert given[:2] == [system.PR_SET_SECCOMP, 2]
    assert prepared.length == len(program) // 8
    address = ctypes.c_void_p.from_buffer(prepared, 8).value
    assert address is not None
    assert ctypes.string_at(address, len(program)) == program


def test_right_to_change_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for held, may in (("0000000000000000", False), ("00000000000000c0", True)):
        text = f"Name:\tx\nCapEff:\t{held}\nCapBnd:\t0\n"
        monkeypatch.setattr(Path, "read_text", lambda *_, text=text: text)
        assert system.may_change_user() is may


def test_machines_by_their_other_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, family in (("AMD64", "x86_64"), ("arm64", "aarch64"), ("riscv64", "riscv64")):
        monkeypatch.setattr(system.platform, "machine", lambda name=name: name)  # type: ignore[attr-defined]
        assert system.machine() == family


def test_libraries_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib.pyplot as plt
    import plotly.graph_objects as go
    import plotly.io
    from plotly.basedatatypes import BaseFigure

    for owner in (plotly.io, BaseFigure, plt):
        monkeypatch.setattr(owner, "show", owner.show)  # put back afterwards
    preload._quieten()
    assert go.Figure().show() is None
    assert plt.show() is None


def test_only_names_that_the_code_uses_are_bound() -> None:
    import numpy as np
    from scipy import stats

    assert preload.bindings("result = np.mean(stats.norm)") == {"np": np, "stats": stats}
