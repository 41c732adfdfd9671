"""Every attack on every backend that this machine can run, as whoever we are and as a user without
rights. `make soak` makes all of them everywhere, `make test` all on the default backend."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from secondlook.sandbox import available
from secondlook.sandbox.self_check import self_check
from tests.support.attacks import ATTACKS
from tests.support.ordinary_user import as_ordinary_user, home_of_ordinary_user
from tests.support.sandbox import usable

if TYPE_CHECKING:
    from secondlook.sandbox.self_check import Which

SOAK = bool(os.environ.get("SECONDLOOK_SOAK"))
BACKENDS = usable()


def test_this_machine_has_a_sandbox() -> None:
    assert BACKENDS, available()


@pytest.mark.parametrize("backend", BACKENDS)
def test_attacks_are_blocked(backend: str) -> None:
    which: Which = "all" if SOAK or backend == BACKENDS[0] else "quick"
    report = self_check(backend, which=which)  # type: ignore[arg-type]
    assert report.backend == backend
    assert report.succeeded == ()
    wanted = [attack.name for attack in ATTACKS if which == "all" or attack.quick]
    assert [attack.name for attack in report.attacks] == wanted


@pytest.mark.parametrize("backend", BACKENDS if SOAK else BACKENDS[:2])
def test_attacks_are_blocked_for_an_ordinary_user(backend: str) -> None:
    options = [] if SOAK else ["--quick"]
    command = [sys.executable, "-m", "secondlook", "sandbox", "check", "--json", *options]
    with home_of_ordinary_user() as environment:
        done = subprocess.run(
            as_ordinary_user([*command, "--backend", backend]),
            env=environment,
            cwd="/",
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    report = json.loads(done.stdout)
    assert report["backend"] == backend
    assert all(attack["blocked"] for attack in report["attacks"])
    assert len(report["attacks"]) == sum(SOAK or attack.quick for attack in ATTACKS)
