"""The shipped presets by name, and what each comes to."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from secondlook.errors import SettingsError
from secondlook.models.specs import Cast
from secondlook.settings import load, presets
from secondlook.settings.sections import ModelSettings

_SHAPE: dict[str, dict[str, Any]] = {
    "linear": {"answer.workflow": "linear", "search.candidates": 20, "answer.k": 5},
    "doc-grading": {
        "answer.workflow": "corrective",
        "search.candidates": 20,
        "answer.k": 5,
        "models.servers.grade": "llm-batch",
        "corrective.graded": 5,
        "corrective.min_relevant": 3,
        "corrective.max_rewrites": 3,
        "corrective.enable_decomposition": False,
        "corrective.enable_readings": False,
        "answer.enable_grounded_check": False,
        "corrective.enable_useful_check": False,
        "corrective.enable_regeneration": False,
        "answer.enable_answer_grading": False,
    },
    "answer-grading": {"answer.workflow": "linear", "answer.enable_answer_grading": True},
    "rerank-control": {
        "answer.workflow": "adaptive",
        "adaptive.enable_adaptive_retrieval": False,
        "web.enable_web_search": False,
    },
    "adaptive": {
        "answer.workflow": "adaptive",
        "adaptive.enable_adaptive_retrieval": True,
        "adaptive.candidates": 40,
        "web.enable_web_search": False,
    },
    "adaptive-web": {
        "answer.workflow": "adaptive",
        "adaptive.enable_adaptive_retrieval": True,
        "web.enable_web_search": True,
    },
    "corrective": {
        "answer.workflow": "corrective",
        "search.candidates": 50,
        "corrective.graded": 10,
        "answer.k": 5,
        "models.servers.grade": "reader",
        "corrective.max_rewrites": 3,
        "corrective.max_regenerations": 2,
    },
    "general": {
        "answer.workflow": "research",
        "answer.k": 5,
        "research.evaluator": "calibrated",
        "research.calls": "merged",
    },
    "law": {
        "answer.workflow": "research",
        "research.structure": ("Rule", "Elements", "Exceptions and defences", "Application"),
        "research.memory_similarity": 0.95,
    },
    "seed-001": {
        "answer.workflow": "research",
        "answer.k": 5,
        "models.servers.classify": "llm",
        "research.evaluator": "cosine",
        "research.calls": "separate",
        "research.rerank_against": "query",
        "research.enable_synthesis_of_failed": True,
        "research.enable_escalation": False,
        "answer.enable_grounded_check": False,
        "research.enable_screen": False,
        "answer.enable_quarantine": False,
        "research.memory_similarity": 0.92,
        "research.max_steps": 3,
        "research.max_cycles": 4,
    },
}


@pytest.mark.parametrize("name", _SHAPE)
def test_a_preset_comes_to_what_its_name_says(name: str) -> None:
    loaded = load(preset=name, environ={})
    assert {key: loaded.value(key) for key in _SHAPE[name]} == _SHAPE[name]
    assert loaded.origin["answer.workflow"] == f"preset {name}"


def test_an_unknown_preset_is_named() -> None:
    with pytest.raises(SettingsError, match="no preset 'seed005'") as failure:
        load(preset="seed005")
    assert "seed004" in (failure.value.hint or "")


def test_the_page_of_settings_lists_every_preset() -> None:
    page = (Path(__file__).parents[2] / "docs" / "settings.md").read_text("utf-8")
    assert all(load(preset=name).settings for name in presets())
    assert [name for name in presets() if f"| `{name}` |" not in page] == []


PAGE = (Path(__file__).resolve().parents[2] / "docs" / "models.md").read_text("utf-8")


def test_the_profile_gives_every_role_its_model() -> None:
    blocks = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (block,) = [text for text in blocks if ".code=" in text]
    cast = Cast(ModelSettings(**tomllib.loads(block)["models"]))
    assert cast.part("code", "analyst").spec.text == "openai:gpt-5.1-codex"
    assert cast.part("understand", "analyst").spec.text == "openai:gpt-5-nano"
    assert cast.part("explain", "linear").spec.text == "openai:gpt-5.1"
