"""The small web that looking on the web is measured with, sets with gaps, and the studies."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from benchmarks.common import (
    RESULTS,
    answered,
    read_lines,
    write_set,
)
from benchmarks.eval_results import (
    ADAPTIVE,
    LINEAR,
    WITH_WEB,
    condition,
    configurations,
    main,
    moved,
    some_gold,
)
from benchmarks.web_server import CorpusServer, Page
from secondlook.retrieval.web import open_web
from secondlook.settings.sections import WebSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.evaluation.study import Evaluated

ROOT = Path(__file__).resolve().parents[2]
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


def get(server: CorpusServer, path: str, **asked: str) -> httpx.Response:
    return httpx.get(f"{server.url}{path}", params=asked, trust_env=False, verify=False)  # noqa: S501 - no TLS on loopback


def test_search_answers_in_the_form_of_searxng(server: CorpusServer) -> None:
    answer = get(server, "/search", q="how many metres high is the lighthouse", format="json")
    assert answer.headers["content-type"].startswith("application/json")
    first = answer.json()["results"][0]
    assert first["title"] == "The <light>"
    assert first["content"] == "It is 43 metres high."
    assert first["url"] == f"{server.url}/page/light%2F1"
    assert set(answer.json()) >= {"query", "results", "unresponsive_engines"}


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


# Sets with gaps

CORPUS = [
    {"id": f"d{at}", "title": f"Boat {at}", "text": f"Boat number {at} was built in {1900 + at}."}
    for at in range(10)
]
QUERIES = [
    {
        "id": f"q{at}",
        "question": f"When was boat number {at} built?",
        "answers": [f"{1900 + at}"] if at % 3 else [],
        "gold": [f"d{at}"],
        "answerable": bool(at % 3),
    }
    for at in range(10)
]


def test_sets_are_made_of_what_is_moved(tmp_path: Path) -> None:
    gone = some_gold(CORPUS, QUERIES)
    made = moved(CORPUS, QUERIES, gone, tmp_path)
    assert len(gone) == 3
    assert read_lines(made["as is"] / "corpus.jsonl") == CORPUS
    held = {row["id"] for row in read_lines(made["moved"] / "corpus.jsonl")}
    assert held == {row["id"] for row in CORPUS} - gone
    after = read_lines(made["moved"] / "queries.jsonl")
    for one, other in zip(QUERIES, after, strict=True):
        concerned = bool(set(one["gold"]) & gone)  # type: ignore[call-overload]
        assert other["type"] == ("moved" if concerned else "kept")
        assert other["gold"] == ([] if concerned else one["gold"])


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


def test_web_is_asked_where_the_library_has_a_gap_and_fills_it(
    studied: dict[str, Evaluated],
) -> None:
    rows = {name: row_of(studied["moved"], name, "ferry") for name in (LINEAR, ADAPTIVE, WITH_WEB)}
    assert not rows[ADAPTIVE].web
    assert rows[ADAPTIVE].short != "Skerry Island"
    assert rows[WITH_WEB].web
    assert rows[WITH_WEB].short == "Skerry Island"
    assert row_of(studied["as is"], LINEAR, "ferry").short == "Skerry Island"


def row_of(evaluated: Evaluated, configuration: str, case: str) -> Any:
    return next(row for row in evaluated.rows[configuration] if row.case == case)


def test_figures_hold_no_question_and_no_answer(studied: dict[str, Evaluated]) -> None:
    text = json.dumps({name: condition(one) for name, one in studied.items()})
    assert "Skerry" not in text
    assert "sourdough" not in text
    moved = json.loads(text)["moved"]
    assert moved["by_part"] == {"moved": 1, "kept": 3}
    assert moved["documents"] == 3
    assert moved["configurations"][WITH_WEB]["by_type"]["moved"]["web_rate"]["value"] == 1.0


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of evaluation sets with the names that the commands look for."""
    odd = {"id": "q-0", "question": "Who painted the ferry?", "answers": [], "answerable": False}
    queries = [row | {"id": f"q-{row['id']}"} for row in QUESTIONS]
    write_set(tmp_path / "squad2-dev", HARBOUR, [*queries, odd | {"gold": ["ferry"]}])
    write_set(tmp_path / "squad-train", CORPUS, [])
    monkeypatch.setenv("SECONDLOOK_DATA", str(tmp_path))
    monkeypatch.setenv("SECONDLOOK_CACHE", str(tmp_path))
    return tmp_path


def test_commands_measure(tiny: Path) -> None:
    results = tiny / "results"
    results.mkdir()
    for study in ("embedded", "web", "thresholds"):
        main([study, "--cache", str(tiny / "cache"), "--port", "0", "--results", str(results)])
    found = {file.stem: file.read_text("utf-8") for file in results.iterdir()}
    assert json.loads(found["eval_embedded"])["answerable"] == 4
    assert json.loads(found["eval_web"])["moved_passages"] == 1
    assert "adaptive.min_quality" in json.loads(found["eval_thresholds"])
    assert not [study for study, text in found.items() if "Skerry" in text]


def test_results_hold_figures_alone() -> None:
    for file in RESULTS.glob("eval_*.json"):
        found = json.loads(file.read_text("utf-8"))
        assert not {"rows", "questions_asked", "texts"} & set(found), file.name
        assert "/" not in found["command"].replace("python -m", ""), file.name
