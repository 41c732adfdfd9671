"""Honest code runs; code that invents, reads files or answers without the tables does not."""

from __future__ import annotations

import pytest

from secondlook.nodes.code.guard import check
from tests.support.coding_snippets import (
    CHEATS,
    HONEST,
    HONEST_WITH_TWO,
    SHOP,
    TITANIC,
)


@pytest.mark.parametrize("name", HONEST)
def test_honest_code_may_run(name: str) -> None:
    assert check(HONEST[name], TITANIC, question="How many in 1912?") is None


@pytest.mark.parametrize("name", HONEST_WITH_TWO)
def test_honest_code_over_two_tables_may_run(name: str) -> None:
    assert check(HONEST_WITH_TWO[name], SHOP) is None


@pytest.mark.parametrize("name", CHEATS)
def test_other_code_is_refused(name: str) -> None:
    rule, code = CHEATS[name]
    refusal = check(code, TITANIC)
    assert refusal is not None
    assert refusal.rule == rule
    assert refusal.message.endswith((".", "`"))
