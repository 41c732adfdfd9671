"""Landlock: which files a process may open, enforced by the kernel for the rest of its life."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.sandbox.confining.system import supported, syscall

if TYPE_CHECKING:
    from collections.abc import Sequence

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _REMOVE_DIR, _REMOVE_FILE = (
    1 << bit for bit in range(6)
)
_MAKE_DIR, _MAKE_REG, _TRUNCATE = 1 << 7, 1 << 8, 1 << 14
_RIGHTS_BY_VERSION = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many file rights each version of Landlock knows; later ones know those of version 5."""
_TCP_BY_VERSION, _SCOPES_BY_VERSION = 4, 6
_TCP_RIGHTS = 0b11
_SCOPES = 0b11  # abstract unix sockets and signals stay among the confined
READ = _READ_FILE | _READ_DIR
WRITE = READ | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _TRUNCATE
USE_FILE = _READ_FILE | _WRITE_FILE


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scopes", ctypes.c_uint64),
    )


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("rights", ctypes.c_uint64), ("parent", ctypes.c_int32))


@dataclass(frozen=True, slots=True)
class Allowed:
    path: str
    rights: int = READ


def version() -> int:
    """0 where the kernel has none, or it is switched off."""
    if not supported():
        return 0
    try:
        return syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG, call="landlock")
    except OSError:
        return 0


def restrict(allowed: Sequence[Allowed]) -> None:
    """Everything but this is closed from now on. Needs `forbid_new_privileges` before."""
    known = version()
    handled = (1 << _RIGHTS_BY_VERSION.get(known, 16)) - 1
    ruleset = _Ruleset(
        handled,
        _TCP_RIGHTS if known >= _TCP_BY_VERSION else 0,
        _SCOPES if known >= _SCOPES_BY_VERSION else 0,
    )
    size = ctypes.sizeof(ruleset) if known >= _SCOPES_BY_VERSION else 16
    size = size if known >= _TCP_BY_VERSION else 8
    descriptor = syscall(_CREATE_RULESET, ctypes.byref(ruleset), size, 0, call="landlock ruleset")
    try:
        for each in allowed:
            _add(descriptor, each, handled)
        syscall(_RESTRICT_SELF, descriptor, 0, call="landlock restrict")
    finally:
        os.close(descriptor)


def _add(ruleset: int, allowed: Allowed, handled: int) -> None:
    try:
        parent = os.open(allowed.path, os.O_PATH | os.O_CLOEXEC)  # type: ignore[attr-defined,unused-ignore]
    except FileNotFoundError:
        return
    try:
        # Rights on the content of folders cannot be given to a file.
        of_files = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
        most = handled if os.path.isdir(allowed.path) else handled & of_files  # noqa: PTH112
        rule = _PathBeneath(allowed.rights & most, parent)
        syscall(
            _ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0, call=f"allow {allowed.path}"
        )
    finally:
        os.close(parent)
