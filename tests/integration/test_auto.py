"""`auto` as people meet it: a plan and a table, asked from Python and the command line."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.answer import Answer
from secondlook.cli.main import main
from secondlook.engine.record import RunStore
from secondlook.engine.secondlook import Secondlook
from secondlook.library.library import Library
from secondlook.settings import load
from secondlook.verify import verify

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.events import Event
    from secondlook.settings.sections import Settings

PLAN = (
    "Plan of the Northwind company\n\n"
    "The sales target in the plan is 1,200 units for each month. "
    "The plan was approved by Ms Orr in January 2024.\n\n"
    "The warehouse is in Bergen and employs 14 people.\n"
)
MONTHS = {"January": 940, "February": 1010, "March": 1310, "April": 1180}
BOTH = "What is the sales target in the plan, and what were the sales in March?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("northwind")
    (made / "plan.txt").write_text(PLAN, encoding="utf-8")
    with (made / "sales.csv").open("w", encoding="utf-8", newline="") as stream:
        rows = [("month", "sales", "price"), *((m, n, 9.5) for m, n in MONTHS.items())]
        csv.writer(stream).writerows(rows)
    with Library.open(made / "library", settings=load().settings) as library:
        library.add([made / "plan.txt", made / "sales.csv"])
    return made


@pytest.fixture
def settings(folder: Path, tmp_path: Path) -> Settings:
    return load({"library.path": folder / "library", "runs.path": tmp_path / "runs.db"}).settings


def test_both_kinds_of_evidence_in_one_answer(engine: Secondlook) -> None:
    answer = engine.ask(BOTH)
    assert answer.status == "answered"
    assert answer.short == "1,200 units; 1310"
    of_plan, of_table = answer.claims
    assert of_plan.citations == (1,)
    assert of_table.citations == ()
    assert "1310" in of_table.text
    assert answer.analysis is not None
    assert [one.title for one in answer.analysis.inputs] == ["sales.csv"]
    assert [part.kind for part in answer.parts] == ["documents", "tables"]
    assert verify(answer, engine.library) == []
    assert Answer.model_validate_json(answer.model_dump_json()) == answer


@pytest.mark.parametrize(
    "changed",
    [
        {"text": "The target is 9,999 units. [1]"},
        {"short": "1,200 units; 1311"},
        {"values": {"sales": 1}},
        {"parts": ()},
    ],
)
def test_what_was_tampered_with_does_not_pass(engine: Secondlook, changed: dict[str, Any]) -> None:
    assert verify(engine.ask(BOTH).model_copy(update=changed), engine.library)


def test_events_name_the_workflow_and_the_run_is_recorded_as_auto(
    engine: Secondlook, settings: Settings
) -> None:
    events: list[Event] = list(engine.stream(BOTH))
    assert next(event for event in events if event.type == "run_started").workflow == "auto"
    routed = next(event for event in events if event.type == "routed")
    assert (routed.source, routed.to, routed.workflow) == ("consider", "linear", None)
    inner = [event.workflow for event in events if event.type == "node_finished"]
    assert {name for name in inner if name} == {"linear", "analyst"}
    assert len([event for event in events if event.type == "node_started"]) == len(inner)
    answer = events[-1].answer if events[-1].type == "answered" else None
    assert answer is not None
    assert answer.steps[0].node == "consider"
    engine.close()
    with RunStore.open(settings.runs.path) as store:
        assert store.get("last").workflow == "auto"
        assert store.get("last").answer == answer


def test_a_run_of_both_kinds_is_taken_up_where_it_stopped(settings: Settings) -> None:
    with Secondlook.open(settings=settings) as engine:
        whole = engine.ask(BOTH)
    for workflow, node in (
        (None, "consider"),
        ("linear", "rerank"),
        (None, "look_again"),
        ("analyst", "compute"),
        (None, "finish"),
    ):
        with Secondlook.open(settings=settings) as engine:
            run = _stopped(engine, workflow, node)
        with Secondlook.open(settings=settings) as engine:
            resumed = engine.resume(run)
        assert (resumed.text, resumed.parts) == (whole.text, whole.parts), node
        assert [_place(step) for step in resumed.steps] == [_place(step) for step in whole.steps]


def _place(step: Any) -> tuple[str | None, str, str]:
    return step.workflow, step.node, step.said


def _stopped(engine: Secondlook, workflow: str | None, node: str) -> str:
    events = engine.stream(BOTH)
    for event in events:
        if event.type == "node_started" and (event.workflow, event.node) == (workflow, node):
            events.close()
            return event.run
    raise AssertionError(f"{workflow} {node} never began")


def test_the_command_line_says_what_was_chosen(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--library", str(folder / "library")]
    assert main(["ask", "Who approved the plan?", *where]) == 0
    printed = capsys.readouterr()
    assert "auto: Searched your documents." in printed.err
    assert "auto: linear" in printed.out
    assert main(["ask", BOTH, "--json", "--quiet", *where]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["steps"][0]["node"] == "consider"
    assert "auto:" not in printed.err
    assert main(["ask", BOTH, "--trace", *where]) == 0
    printed = capsys.readouterr()
    assert "-> linear: It needs documents and a table" in printed.err
    assert "  retrieve" in printed.err
    assert "word for word from a passage" in printed.out
    assert "computed from the table, no model" in printed.out


def test_hello_is_replied_to_recorded_and_passes_verification(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--library", str(folder / "library")]
    assert main(["ask", "hello", *where]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("Hello. I have 2 documents and 1 table. I answer questions")
    assert "from the list of your documents; nothing was searched" in printed.out
    assert "confidence" not in printed.out
    assert main(["verify", "last", *where]) == 0
    assert "Nothing to check" in capsys.readouterr().out
    assert main(["runs", "list", *where]) == 0
    assert "hello" in capsys.readouterr().out


def test_a_word_for_the_rows_of_the_only_table_is_said_and_not_vouched_for(tmp_path: Path) -> None:
    (tmp_path / "race.csv").write_text(
        "Rank,Name,Nation,Time\n1,Ann Berg,Norway,9.8\n2,Bo Lind,Sweden,9.9\n3,Cy Roe,Norway,10.1\n"
    )
    settings = load({"library.path": tmp_path / "library", "runs.path": tmp_path / "r.db"}).settings
    with Library.open(tmp_path / "library", settings=settings) as library:
        library.add([tmp_path / "race.csv"])
    with Secondlook.open(settings=settings) as engine:
        answer = engine.ask("how many athletes are from Norway?")
        assert (answer.short, answer.tier, answer.grounded.value) == ("2", "likely", "not checked")
        assert "with no condition for 'athletes'" in answer.text
        assert verify(answer, engine.library) == []
        for absent in ("how many athletes are from Peru?", "how many peruvian athletes are there"):
            assert engine.ask(absent).status == "abstained"


def test_they_of_a_second_part_are_not_all_rows(tmp_path: Path) -> None:
    """`Sold by phone ..., and what did they bring in?`: the total of all rows is no answer."""
    channels = ["web", "phone", "box office", "web"] * 10
    head = "ticket_id,sold_on,event,event_date,price_category,price_eur,channel,buyer_town,refunded"
    rows = [
        f"T{at:05},2023-11-{at % 28 + 1:02},Winter,2024-01-19,A,{10 + at}.50,{channel},Ferring,no"
        for at, channel in enumerate(channels)
    ]
    (tmp_path / "ticket_sales_2024.csv").write_text("\n".join([head, *rows]))
    (tmp_path / "plan.txt").write_text(PLAN, encoding="utf-8")
    settings = load({"library.path": tmp_path / "library", "runs.path": tmp_path / "r.db"}).settings
    with Library.open(tmp_path / "library", settings=settings) as library:
        library.add([tmp_path / "ticket_sales_2024.csv", tmp_path / "plan.txt"])
    everything = str(sum(10 + at for at in range(len(channels))) + len(channels) // 2)
    with Secondlook.open(settings=settings) as engine:
        for question in (
            "How many tickets were sold by phone and what did they bring in?",
            "How many tickets were sold by phone, and what was their total price?",
            "How many were sold at the box office and how much did they bring in?",
        ):
            answer = engine.ask(question)
            assert everything not in answer.text, question
