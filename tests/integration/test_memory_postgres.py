"""PostgreSQL itself: a server that goes and comes back, doors that stay shut, and who is told."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from secondlook.cli.main import main
from secondlook.engine.checkpoints import run_checkpoints
from secondlook.engine.record import Recorder
from secondlook.errors import RunError
from secondlook.events import NodeFinished
from secondlook.settings import load
from secondlook.settings.sections import RunSettings, StoreAddress
from secondlook.store.database import RUNS, PostgresDatabase
from tests.support.memory_runs import CREATED, entry, full_answer
from tests.support.postgres import GUARDED, PASSWORD, Postgres


@pytest.fixture
def settings(postgres: Postgres, tmp_path: Path) -> RunSettings:
    return RunSettings(path=tmp_path / "runs.db", store=StoreAddress(postgres.new_database()))


def opened(address: str) -> None:
    PostgresDatabase(StoreAddress(address), kind=RUNS).close()


# A server that goes


def test_checkpoints_outlive_a_restart(postgres: Postgres, settings: RunSettings) -> None:
    from tests.contracts.test_checkpoints_conformance import NODES, config, graph_of, step

    def node(name: str) -> Any:
        usual = step(name)

        async def run(state: Any) -> Any:
            if name == "node2":
                await asyncio.to_thread(postgres.stop, at_once=True)
                await asyncio.to_thread(postgres.start)
            return await usual(state)

        return run

    async def gone_through() -> Any:
        async with run_checkpoints(settings, "r") as saver:
            begin = {"question": "q", "steps": []}
            return await graph_of(node, saver).ainvoke(begin, config("r"), durability="sync")

    assert len(asyncio.run(gone_through())["steps"]) == len(NODES)


def test_a_run_goes_on_without_a_server(
    postgres: Postgres, settings: RunSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secondlook.store.database._RESTART_SECONDS", 0.0)
    recorder = Recorder(settings)
    try:
        recorder.start("r", question="q", workflow="linear", created=CREATED)
        postgres.stop()
        try:
            recorder.append(NodeFinished(run="r", node="n", said="done"))
            recorder.journal("r").put("k", entry())
            assert recorder.journal("r").get("k") == entry()
            answer = recorder.finish(full_answer("r"))
        finally:
            postgres.start()
        assert answer.text == full_answer("r").text
        assert "cannot be reached" in answer.warnings[-1].message
        recorder.start("next", question="q", workflow="linear", created=CREATED)
        assert recorder.finish(full_answer("next")) == full_answer("next")
    finally:
        recorder.close()


# Doors that stay shut


def test_who_may_not_enter_is_told_why_and_not_the_password(postgres: Postgres) -> None:
    guarded = postgres.address(user=GUARDED)
    wrong = postgres.address(user=f"{GUARDED}:opensesame")
    unknown = postgres.address(user="mallory"), postgres.address("nowhere")
    for address in (wrong, guarded, *unknown):
        with pytest.raises(RunError, match="cannot be entered") as caught:
            opened(address)
        assert caught.value.hint
        assert "opensesame" not in f"{caught.value} {caught.value.hint} {caught.value.__cause__}"
    opened(postgres.address(user=f"{GUARDED}:{PASSWORD}"))


# The password


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:swordfish@host/db",
        "postgresql://me@/db?host=/run/pg&password=swordfish&options=swordfish",
    ],
)
def test_a_password_is_shown_nowhere(
    address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SECONDLOOK_RUNS_STORE", address)
    settings = load().settings
    assert settings.runs.store is not None
    assert settings.runs.store.get_secret_value() == address
    for shown in (repr(settings), str(settings), settings.model_dump_json(), str(settings.runs)):
        assert "swordfish" not in shown
    assert main(["config"]) == 0
    assert main(["config", "--json"]) == 0
    said = capsys.readouterr()
    assert "host" in said.out
    assert "swordfish" not in said.out + said.err
