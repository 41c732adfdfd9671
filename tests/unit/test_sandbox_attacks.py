"""The attacks themselves: each can succeed, and its judge says so when it does."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from secondlook.sandbox.attacks import ATTACKS, Attack
from secondlook.sandbox.attacks.world import World
from secondlook.sandbox.self_check import judged
from tests.support.unconfined import Unconfined

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sandboxes are for Linux")
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
    return replace(attack, sizes=small)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "attack", [each for each in ATTACKS if each.provable], ids=lambda attack: attack.name
)
def test_an_attack_succeeds_where_nothing_confines_it(
    attack: Attack, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(world.secret_name, world.secret)  # each test begins without it
    verdict = judged(world.attack(Unconfined(), harmless(attack)))
    assert not verdict.blocked, verdict
    assert "it has a mistake" not in verdict.how
    assert "could not be tried" not in verdict.how
