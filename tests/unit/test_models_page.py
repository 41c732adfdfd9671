"""docs/models.md: its profile can be used."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from secondlook.models.specs import Cast
from secondlook.settings.sections import ModelSettings

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "models.md").read_text("utf-8")


def test_the_profile_gives_every_role_its_model() -> None:
    blocks = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (block,) = [text for text in blocks if ".code=" in text]
    cast = Cast(ModelSettings(**tomllib.loads(block)["models"]))
    assert cast.part("code", "analyst").spec.text == "openai:gpt-5.1-codex"
    assert cast.part("understand", "analyst").spec.text == "openai:gpt-5-nano"
    assert cast.part("explain", "linear").spec.text == "openai:gpt-5.1"
