"""The places that can hold a record of runs, for tests that must hold for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from secondlook.settings.sections import RunSettings, StoreAddress

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

Engine = Literal["sqlite", "postgres"]
ENGINES: tuple[Engine, ...] = ("sqlite", "postgres")


def settings_on(engine: Engine, folder: Path, request: pytest.FixtureRequest) -> RunSettings:
    """An empty record; the server is started when first asked for."""
    if engine == "sqlite":
        return RunSettings(path=folder / "runs.db")
    server = request.getfixturevalue("postgres")
    return RunSettings(path=folder / "runs.db", store=StoreAddress(server.new_database()))
