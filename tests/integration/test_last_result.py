"""Follow-ups over tables that speak of the last result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.engine.secondlook import Conversation, Secondlook
from secondlook.library.library import Library
from tests.support.engine import settings_of

if TYPE_CHECKING:
    from pathlib import Path

SALES = [
    {"region": "east", "price": 10.0},
    {"region": "east", "price": 20.0},
    {"region": "west", "price": 40.0},
    {"region": "north", "price": 5.0},
]


def test_a_conversation_goes_on_from_its_last_result(tmp_path: Path) -> None:
    settings = settings_of(
        library={"path": tmp_path / "library"}, runs={"path": tmp_path / "runs.db"}
    )
    library = Library.open(tmp_path / "library", create=True, settings=settings)
    with Secondlook(library, settings=settings) as engine:
        talk = Conversation(engine, tables={"sales": SALES})
        first = talk.ask("mean price by region")
        assert first.values == {"mean of price": {"east": 15.0, "north": 5.0, "west": 40.0}}
        then = talk.ask("what is the highest mean of price in that result?")
        assert then.analysis is not None
        assert [table.name for table in then.analysis.inputs] == ["last_result"]
        assert list(then.values.values()) == [40.0]
        assert talk.ask("what is the highest price?").short == "40"
