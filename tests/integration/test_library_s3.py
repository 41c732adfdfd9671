"""A library in object storage: written by one process, read by others that share no disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from secondlook.cli.doctor import _library
from secondlook.cli.main import app
from secondlook.engine.services import own_memory
from secondlook.errors import LibraryError, LibraryMissing, LibraryUnreachable, UsageError
from secondlook.evaluation import confidence as calibrating
from secondlook.library.library import Library
from secondlook.library.publish import Bucket
from secondlook.settings import load
from secondlook.settings.mistakes import place_of
from secondlook.store.answers import AnswerMemory
from tests.support import s3
from tests.support.serving import client_of

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def variables() -> Iterator[dict[str, str]]:
    with s3.served() as found:
        yield found


@pytest.fixture(autouse=True)
def environment(
    variables: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    set_here = variables | {"SECONDLOOK_CACHE": str(tmp_path / "cache")}
    for name, value in set_here.items():
        monkeypatch.setenv(name, value)
    return set_here


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "harbour.txt").write_text("The harbour was dredged in 1843 by order of the council.")
    (folder / "orchard.txt").write_text("Apples of the orchard are picked in late September.")
    (folder / "ships.csv").write_text("ship,tons\nAnna,120\nBerta,80\nClara,95\n")
    return folder


@pytest.fixture
def source(tmp_path: Path, papers: Path) -> Iterator[Library]:
    with Library.open(tmp_path / "library") as library:
        library.add(papers)
        yield library


def elsewhere(tmp_path: Path, environment: dict[str, str], *arguments: str) -> dict[str, object]:
    """A command as another machine runs it: a home and a cache of its own."""
    home = tmp_path / "elsewhere"
    home.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "secondlook", *arguments, "--json"],
        cwd=home,
        env=os.environ
        | environment
        | {
            "HOME": str(home),
            "SECONDLOOK_CACHE": str(home / "cache"),
            "SECONDLOOK_RUNS_PATH": str(home / "runs.db"),
            "PYTHONPATH": str(ROOT / "src"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, object] = json.loads(done.stdout)
    return said


def test_what_one_machine_publishes_others_search_ask_and_verify(
    source: Library, tmp_path: Path, environment: dict[str, str]
) -> None:
    address = f"s3://{s3.BUCKET}/asked"
    source.publish(address)
    options = ("--library", address)
    asked = elsewhere(tmp_path, environment, "ask", "When was the harbour dredged?", *options)
    assert "1843" in json.dumps(asked)
    file = tmp_path / "answer.json"
    file.write_text(json.dumps(asked))
    verified = elsewhere(tmp_path, environment, "verify", str(file), *options)
    assert verified["problems"] == []
    found = elsewhere(tmp_path, environment, "search", "orchard apples", *options)
    assert "late September" in json.dumps(found)
    assert "s3cret" not in json.dumps([asked, verified, found])


def test_readers_follow_to_the_next_publication(source: Library, papers: Path) -> None:
    address = f"s3://{s3.BUCKET}/followed"
    first = source.publish(address)
    with Library.open(address) as reader:
        assert reader.status().path == address
        assert reader.status().passages == source.status().passages
        assert [table.name for table in reader.tables()] == ["ships"]
        assert reader.text(reader.document("harbour.txt").id).text.startswith("The harbour")
        (papers / "harbour.txt").unlink()
        (papers / "mill.txt").write_text("The mill by the river grinds rye.")
        source.add(papers, prune=True)
        second = source.publish(address)
        assert (first.number, second.number) == (1, 2)
        assert second.sent < first.sent + 5
        titles = {hit.passage.title for hit in reader.search("mill river", rerank=False)}
        assert "mill" in titles
        assert "harbour" not in titles
        source.compact(purge=True)
        source.publish(address)
        assert reader.search("mill river", rerank=False)[0].passage.title == "mill"


def test_a_published_copy_is_read_and_not_changed(source: Library, papers: Path) -> None:
    address = f"s3://{s3.BUCKET}/fixed"
    source.publish(address)
    with Library.open(address) as reader:
        for change in (
            lambda: reader.add(papers),
            lambda: reader.remove("harbour.txt"),
            reader.compact,
            lambda: reader.backup(papers / "all"),
            lambda: reader.publish(f"s3://{s3.BUCKET}/again"),
            lambda: Library.rebuild(address),
            lambda: calibrating.remove(reader.path),
        ):
            with pytest.raises(LibraryError, match="can be read, not changed"):
                change()
    with pytest.raises(UsageError, match="not into object storage"):
        Library.restore(papers / "all", address, force=True)


def test_places_that_hold_something_else_are_left_alone(source: Library, tmp_path: Path) -> None:
    strange = Bucket(f"s3://{s3.BUCKET}/strange")
    strange.write("photo.jpg", b"x")
    with pytest.raises(UsageError, match="not empty"):
        source.publish(strange.address)
    source.publish(f"s3://{s3.BUCKET}/taken")
    with (
        Library.open(tmp_path / "other") as other,
        pytest.raises(UsageError, match="another library"),
    ):
        other.publish(f"s3://{s3.BUCKET}/taken")
    assert strange.sizes() == {"photo.jpg": 1}


def test_it_is_served_and_refuses_what_would_change_it(source: Library, tmp_path: Path) -> None:
    address = f"s3://{s3.BUCKET}/served"
    source.publish(address)
    harbour = source.document("harbour.txt").id
    api, own = "/api/libraries/default", {"X-Secondlook": "1"}
    with client_of(tmp_path, library={"path": Path(address)}) as client:
        (shown,) = client.get("/api/libraries").json()
        assert (shown["path"], shown["documents"], shown["tables"]) == ("served", 3, 1)
        body = {"question": "When was the harbour dredged?", "workflow": "linear"}
        answer = client.post("/api/ask", json=body).json()
        assert answer["short"] == "1843"
        (run,) = client.get("/api/runs").json()["runs"]
        assert (run["id"], run["library"]) == (answer["run"], "default")
        text = client.get(f"{api}/documents/{harbour}/text").json()
        assert "1843" in json.dumps(text)
        for reply in (
            client.post(f"{api}/documents", files={"files": ("a.txt", b"a")}, headers=own),
            client.post(f"{api}/reindex", headers=own),
            client.delete(f"{api}/documents/{harbour}", headers=own),
        ):
            assert (reply.status_code, reply.json()["code"]) == (409, "library_read_only")
            assert address in reply.json()["detail"]


def test_commands_tell_its_address(source: Library) -> None:
    address = f"s3://{s3.BUCKET}/told"
    source.publish(address)
    chosen = load({"library.path": address}).settings
    assert place_of(chosen.library.path) == address
    with Library.open(address) as reader:
        memory = own_memory(reader, chosen)
        assert memory is not None
        assert memory.library == AnswerMemory.own(chosen.runs, chosen.library.path).library
        assert memory.library == address, "whoever reads it, from whatever cache"
    (finding,) = _library(chosen, "s3")
    assert (finding.name, finding.state) == (address, "ok")
    done = CliRunner().invoke(app, ["config", "--json", "--library", address])
    assert json.loads(done.stdout)["settings"]["library.path"]["value"] == address


@pytest.mark.parametrize("address", ["s3://", "s3:///x", "s3://Upper/x", "s3:x"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="not an address in object storage"):
        Library.open(address)


def test_nothing_there_and_nobody_there_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LibraryMissing, match="no library at s3://papers/none"):
        Library.open(f"s3://{s3.BUCKET}/none")
    with pytest.raises(LibraryError, match=r"refused|no library"):
        Library.open("s3://no-such-bucket/none")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(LibraryUnreachable, match="does not answer"):
        Library.open(f"s3://{s3.BUCKET}/none")


def test_an_address_in_the_settings_stays_one(tmp_path: Path) -> None:
    loaded = load(cwd=tmp_path, environ={"SECONDLOOK_LIBRARY": "s3://papers/library"})
    assert Bucket(loaded.settings.library.path).address == "s3://papers/library"
