"""Where the small real models of the tests lie. `scripts/fetch_test_model.py` brings them."""

import os
from pathlib import Path

import pytest

from scripts.fetch_test_model import MODELS

_ROOT = Path(__file__).resolve().parents[2]
# Read when the tests are collected: each of them runs without our variables.
_CACHE = Path(os.environ.get("SECONDLOOK_CACHE") or _ROOT / ".cache")


def smollm2() -> Path:
    """SmolLM2-135M-Instruct: its replies have the right form and the wrong content. The file, or a
    skip (in CI a failure) that says how to get it."""
    path = _CACHE / "models" / MODELS["smollm2"].file
    if not path.is_file():
        pytest.skip(f"{path.name} is missing: python scripts/fetch_test_model.py smollm2")
    return path
