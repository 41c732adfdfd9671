"""A library in object storage: written by one process, read by others that share no disk."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from secondlook.errors import LibraryError, LibraryMissing, LibraryUnreachable, UsageError
from secondlook.evaluation import calibration as calibrating
from secondlook.library.library import Library
from secondlook.library.publish import Bucket
from tests.support import s3
from tests.support.serving import client_of

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


def test_what_one_machine_publishes_others_ask_and_verify(
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
    assert "s3cret" not in json.dumps([asked, verified])


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
        assert "1843" in json.dumps(client.get(f"{api}/documents/{harbour}/text").json())
        for reply in (
            client.post(f"{api}/documents", files={"files": ("a.txt", b"a")}, headers=own),
            client.post(f"{api}/reindex", headers=own),
            client.delete(f"{api}/documents/{harbour}", headers=own),
        ):
            assert (reply.status_code, reply.json()["code"]) == (409, "library_read_only")
            assert address in reply.json()["detail"]


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


def test_a_place_that_holds_something_else_is_not_overwritten(source: Library) -> None:
    address = f"s3://{s3.BUCKET}/mine"
    bucket = Bucket(address)
    bucket.write("thesis.txt", b"precious")
    with pytest.raises(UsageError, match="not empty"):
        source.publish(address)
    assert bucket.sizes() == {"thesis.txt": 8}
