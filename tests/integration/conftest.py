from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from secondlook.engine.secondlook import Secondlook
from secondlook.library.library import Library
from secondlook.settings import load
from tests.support.answers import sample_library

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from secondlook.settings.sections import Settings

HARBOUR = """# Harbour survey

The north quay was measured in spring. Its deepest berth is 14.2 metres at low tide.

## Dredging

Dredging of the inner basin was finished in October 2021 and cost 3.4 million euros.
"""
BAKERY = """# Bakery handbook

Sourdough rests for eighteen hours at 21 degrees before it is shaped and baked.
"""


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """The sample documents in a library that all tests share: look, do not change."""
    with sample_library(tmp_path_factory.mktemp("samples")) as made:
        yield made


@pytest.fixture
def settings(samples: Library, tmp_path: Path) -> Settings:
    """Of the sample documents, with a record of runs that is new for each test."""
    return load({"library.path": samples.path, "runs.path": tmp_path / "runs.db"}).settings


@pytest.fixture
def engine(settings: Settings) -> Iterator[Secondlook]:
    with Secondlook.open(settings=settings) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "papers"
    (made / "recipes").mkdir(parents=True)
    (made / "harbour.md").write_text(HARBOUR, encoding="utf-8")
    (made / "recipes" / "bakery.md").write_text(BAKERY, encoding="utf-8")
    return made


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with Library.open(tmp_path / "library") as opened:
        yield opened
