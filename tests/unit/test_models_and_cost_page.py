"""docs/models-and-cost.md: its profile can be used, and its figures are as they were measured."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from secondlook.models.roles import Cast
from secondlook.settings import ModelSettings

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "models-and-cost.md").read_text("utf-8")
MEASURED = json.loads((ROOT / "benchmarks" / "results" / "analyst_cost.json").read_text("utf-8"))
WAYS = ("one model", "one model, cached", "tiers", "tiers, cached")


def test_the_profile_gives_every_role_its_model() -> None:
    block = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert block is not None
    cast = Cast(ModelSettings(**tomllib.loads(block[1])["models"]))
    assert cast.part("code", "analyst").spec.text == "openai:gpt-5.1-codex"
    assert cast.part("understand", "analyst").spec.text == "openai:gpt-5-nano"
    assert cast.part("explain", "linear").spec.text == "openai:gpt-5.1"


def test_the_table_says_what_was_measured() -> None:
    lines = [line for line in PAGE.splitlines() if re.match(r"\| (?:table|the same|240)", line)]
    assert len(lines) == len(MEASURED["scenarios"])
    for line, found in zip(lines, MEASURED["scenarios"].values(), strict=True):
        cells = [cell.strip().replace(",", "") for cell in line.strip("|").split("|")[1:]]
        wanted = [len(found["calls"]), found["tokens_in"], found["tokens_out"]]
        assert [int(cell) for cell in cells[:3]] == wanted
        dollars = [found["dollars"][way] for way in WAYS]
        assert [float(cell) for cell in cells[3:]] == pytest.approx(dollars, abs=5.1e-5)


def test_a_cache_never_costs_more() -> None:
    for found in MEASURED["scenarios"].values():
        spent = found["dollars"]
        assert spent["one model, cached"] <= spent["one model"]
        assert spent["tiers, cached"] <= spent["tiers"] <= spent["one model"]
