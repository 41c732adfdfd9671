"""The small web that looking on the web is measured with, sets with gaps, and the studies."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.common import (
    RESULTS,
    answered,
)
from benchmarks.eval_results import (
    ADAPTIVE,
    LINEAR,
    WITH_WEB,
    configurations,
    moved,
)
from benchmarks.web_server import CorpusServer, Page
from secondlook.retrieval.web import open_web
from secondlook.settings.sections import WebSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.evaluation.study import Evaluated

PAGES = [
    Page("berths", "Berths", "Berth 4 is the deepest berth, at 7.8 metres.\nBerth 2 is shallow."),
    Page("light/1", "The <light>", "The lighthouse was lit in 1877. It is 43 metres high."),
    Page("bread", "Bread", "Sourdough rests for eighteen hours at 21 degrees before baking."),
    Page("ferry", "Ferry", "The ferry to Skerry Island leaves every Tuesday at 6:40."),
]


@pytest.fixture(scope="module")
def server() -> Iterator[CorpusServer]:
    with CorpusServer(PAGES) as running:
        yield running


def test_own_web_client_reads_what_the_server_serves(server: CorpusServer) -> None:
    web = open_web(WebSettings(url=server.url, allow_private=True))

    async def find() -> Any:
        try:
            return await web.find("How deep is the deepest berth?")
        finally:
            await web.aclose()

    passages = asyncio.run(find())
    assert not any(passage.is_snippet for passage in passages)
    assert "7.8 metres" in passages[0].text
    assert "No cookies" not in " ".join(passage.text for passage in passages)


# The whole study, small


HARBOUR = [{"id": page.id, "title": page.title, "text": page.text} for page in PAGES]
QUESTIONS = [
    {"id": key, "question": question, "answers": [right], "gold": [key], "answerable": True}
    for key, question, right in (
        ("berths", "How deep is the deepest berth?", "7.8 metres"),
        ("light/1", "When was the lighthouse lit?", "1877"),
        ("bread", "How long does sourdough rest?", "eighteen hours"),
        ("ferry", "Where does the ferry leave for every Tuesday?", "Skerry Island"),
    )
]


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Evaluated]]:
    """A library of harbours with a gap that the web fills."""
    folder = tmp_path_factory.mktemp("study")
    sets = moved(HARBOUR, QUESTIONS, {"ferry"}, folder)
    with pytest.MonkeyPatch.context() as patch, CorpusServer([PAGES[-1]]) as web:
        patch.setenv("SECONDLOOK_CACHE", str(folder))
        plans = configurations(web.url)
        yield {
            name: answered(path, plans, folder / name, memory=folder) for name, path in sets.items()
        }


def row_of(evaluated: Evaluated, name: str, case: str) -> Any:
    return next(row for row in evaluated.rows[name] if row.case == case)


def test_web_is_asked_where_the_library_has_a_gap_and_fills_it(
    studied: dict[str, Evaluated],
) -> None:
    rows = {name: row_of(studied["moved"], name, "ferry") for name in (LINEAR, ADAPTIVE, WITH_WEB)}
    assert not rows[ADAPTIVE].web
    assert rows[ADAPTIVE].short != "Skerry Island"
    assert rows[WITH_WEB].web
    assert rows[WITH_WEB].short == "Skerry Island"
    assert row_of(studied["as is"], LINEAR, "ferry").short == "Skerry Island"


def test_results_hold_figures_alone() -> None:
    for file in RESULTS.glob("eval_*.json"):
        found = json.loads(file.read_text("utf-8"))
        assert not {"rows", "questions_asked", "texts"} & set(found), file.name
        assert "/" not in found["command"].replace("python -m", ""), file.name
