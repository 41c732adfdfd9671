"""The attacks themselves: each can succeed, and its judge says so when it does. `make soak` proves
all of them, `make test` those of the product's own check."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from secondlook.errors import SandboxError
from secondlook.sandbox.port import Failure, Limits, Outcome, Supplied
from secondlook.sandbox.self_check import PROBES, Attack, Attacked, World, attacked, judged
from tests.support.attacks import ATTACKS

_RUN = """
import json, os, sys
found = {"tables": {}}
numbers = [os.open(place, os.O_RDWR) for place in sys.argv[2:]]
try:
    exec(compile(sys.stdin.read(), "script", "exec"), found)
    reply = {"result": found.get("result")}
except BaseException as error:
    reply = {"failure": [type(error).__name__, str(error)]}
with open(sys.argv[1], "w") as file:
    json.dump(reply, file, default=str)
"""


class Unconfined:
    """`Sandbox`, but for everything that one is for."""

    name = "unconfined"

    def run(
        self, code: str, tables: Sequence[Supplied] = (), *, limits: Limits | None = None
    ) -> Outcome:
        with tempfile.TemporaryDirectory() as folder:
            reply = Path(folder) / "reply"
            done = subprocess.run(
                [sys.executable, "-c", _RUN, reply, *(table.file for table in tables)],
                input=code,
                capture_output=True,
                text=True,
                cwd=folder,
                close_fds=False,
                env=dict(os.environ),
                timeout=60,
                check=False,
            )
            said = json.loads(reply.read_text("utf-8")) if reply.exists() else {}
        failure = Failure(*said["failure"]) if "failure" in said else None
        status = "crashed" if not said else "error" if failure else "ok"
        return Outcome(
            status,  # type: ignore[arg-type]
            result=said.get("result"),
            failure=failure,
            stdout=done.stdout,
        )

    def close(self) -> None:
        pass


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux")
CHOSEN = ATTACKS if os.environ.get("SECONDLOOK_SOAK") else PROBES
MEGABYTE = 1_048_576
HARMLESS = {
    "forks": 3,
    "daemon_seconds": 20,
    "bytes": 64 * MEGABYTE,
    "piece": MEGABYTE,
    "span": 0.1,
    "letters": 4,
    "threads": 100,
    "thread_seconds": 1,
    "megabytes": 20,
    "files": 150,
    "file_megabytes": 1,
}


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World() as made:
        yield made


def harmless(attack: Attack) -> Attack:
    """The same on a scale that hurts nobody."""
    small = {name: HARMLESS.get(name, size) for name, size in attack.sizes.items()}
    return replace(attack, sizes=small)


@pytest.mark.parametrize(
    "attack", [each for each in CHOSEN if each.provable], ids=lambda attack: attack.name
)
def test_an_attack_succeeds_where_nothing_confines_it(
    attack: Attack, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(world.secret_name, world.secret)  # each test begins without it
    verdict = judged(world.attack(Unconfined(), harmless(attack)))
    assert not verdict.blocked, verdict
    assert "it has a mistake" not in verdict.how
    assert "could not be tried" not in verdict.how
    assert "itself broke" not in verdict.how  # such as by a wait that its time limit ended


class Told:
    """A sandbox that says the same of every script, or breaks."""

    name = "told"

    def __init__(self, outcome: Outcome | Exception) -> None:
        self.outcome = outcome

    def run(self, *_: object, **__: object) -> Outcome:
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome

    def close(self) -> None:
        pass


def named(name: str) -> Attack:
    return next(attack for attack in ATTACKS if attack.name == name)


def verdict_on(world: World, name: str, outcome: Outcome | Exception) -> Attacked:
    if isinstance(outcome, Outcome):
        outcome = replace(outcome, stdout=outcome.stdout.replace("MARK", world.mark))
    return judged(world.attack(Told(outcome), named(name)))


@pytest.mark.parametrize(
    ("name", "outcome", "how"),
    [
        ("tcp", Outcome("crashed"), "it could not be tried: crashed"),
        ("tcp", ValueError("no"), "the sandbox itself broke: ValueError: no"),
        (
            "tcp",
            Outcome("ok", stdout="MARK begun\nMARK refused a: NameError: x"),
            "it has a mistake",
        ),
        ("infinite loop", Outcome("ok", stdout="MARK begun"), "it ran to its end"),
        (
            "long error",
            Outcome("error", stdout="MARK begun", failure=Failure("E", "x" * 2_000_000)),
            "its error has 2,000,000 characters",
        ),
    ],
)
def test_what_does_not_count_as_blocked(
    world: World, name: str, outcome: Outcome | Exception, how: str
) -> None:
    verdict = verdict_on(world, name, outcome)
    assert not verdict.blocked
    assert verdict.how.startswith(how)


def test_a_sandbox_that_runs_nothing_holds_nothing(world: World) -> None:
    with pytest.raises(SandboxError, match="does not run honest code"):
        attacked(Told(Outcome("crashed")), world, PROBES)
