"""Follow-ups over tables that speak of the last result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.answer import ResultTable
from secondlook.engine.run import last_result
from secondlook.engine.secondlook import Conversation, Secondlook
from secondlook.library.library import Library
from secondlook.roles.follow_up import Turn
from tests.support.engine import settings_of

if TYPE_CHECKING:
    from pathlib import Path

SALES = [
    {"region": "east", "price": 10.0},
    {"region": "east", "price": 20.0},
    {"region": "west", "price": 40.0},
    {"region": "north", "price": 5.0},
]
TABLE = ResultTable(columns=("region", "mean"), rows=(("east", 15.0),), total_rows=1)


def test_only_a_question_that_speaks_of_the_result_is_about_it() -> None:
    turns = [Turn(asked="mean price by region", table=TABLE)]
    assert last_result("which of these is the highest", turns) == {
        "last_result": {"region": ["east"], "mean": [15.0]}
    }
    assert last_result("what is the mean price", turns) is None
    assert last_result("which of these is the highest", [Turn(asked="who")]) is None
    assert last_result("which of these is the highest", []) is None


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
