"""Attacks on the backends that this machine can run, as whoever we are and as a user without
rights. `make soak` makes all of them on every backend, `make test` the product's own probes on the
default one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from secondlook.sandbox import available
from secondlook.sandbox.self_check import PROBES, self_check
from tests.support.attacks import ATTACKS
from tests.support.ordinary_user import as_ordinary_user, home_of_ordinary_user
from tests.support.sandbox import chosen_backends

SOAK = bool(os.environ.get("SECONDLOOK_SOAK"))
ROOT = Path(__file__).parents[2]
CHOSEN = ATTACKS if SOAK else PROBES
BACKENDS = chosen_backends()


def test_this_machine_has_a_sandbox() -> None:
    assert BACKENDS, available()


@pytest.mark.parametrize("backend", BACKENDS)
def test_attacks_are_blocked(backend: str) -> None:
    report = self_check(backend, CHOSEN)  # type: ignore[arg-type]
    assert report.backend == backend
    assert report.succeeded == ()
    assert [attack.name for attack in report.attacks] == [attack.name for attack in CHOSEN]


@pytest.mark.parametrize("backend", BACKENDS)
def test_attacks_are_blocked_for_an_ordinary_user(backend: str) -> None:
    check = ["tests.support.attacks"] if SOAK else ["secondlook", "sandbox", "check", "--json"]
    command = [sys.executable, "-m", *check, *([] if SOAK else ["--backend"]), backend]
    with home_of_ordinary_user() as environment:
        environment["PYTHONPATH"] += f":{ROOT}"
        done = subprocess.run(
            as_ordinary_user(command, needed=[str(ROOT)]),
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
    assert len(report["attacks"]) == len(CHOSEN)
