"""What is stored is private, and its damage is found out: no figure and no quote comes of it."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
import zstandard

from secondlook.errors import LibraryDamaged, ModelError, SecondlookError
from secondlook.library import integrity
from secondlook.library.library import Library, samples_folder
from secondlook.reading.embedders import OnnxEmbedder
from secondlook.reading.reader import OnnxReader
from secondlook.reading.understander import Understander
from secondlook.reading.weights import ModelName, find_weights, read_weights, verify_weights
from secondlook.tables.query import Measure, Query, Term
from tests.support.library_http import LIBRARY, OWN
from tests.support.ordinary_user import as_ordinary_user, home_of_ordinary_user

if TYPE_CHECKING:
    from collections.abc import Iterator

FLIPS = 500 if os.environ.get("SECONDLOOK_SOAK") else 20
PARTS = ("texts", "tables", "g1/index", "g1/catalog.db", "g1/sums.json")
QUERIES = ("how deep is berth 4", "what did the council decide")


def told(library: Library) -> list[object]:
    """Passages and figures as an answer would quote them; the order of passages may differ."""
    passages = {
        hit.passage for query in QUERIES for hit in library.search(query, k=50, rerank=False)
    }
    found: list[object] = [*sorted(map(repr, passages))]
    desk = library.desk()
    for table in desk.tables():
        numbers = [column.name for column in table.columns if column.type in {"integer", "number"}]
        totals = tuple(Measure(name=one, statistic="sum", of=Term(column=one)) for one in numbers)
        found.append((table.title, desk.profile(table.id)))
        if totals:
            found.append(desk.compute(Query(table=table.id, measures=totals)).rows)
    return found


def flip(place: Path, chance: random.Random) -> None:
    files = [place] if place.is_file() else sorted(file for file in place.rglob("*"))
    file = chance.choice([file for file in files if file.is_file() and file.stat().st_size])
    held = bytearray(file.read_bytes())
    held[chance.randrange(len(held))] ^= 1 << chance.randrange(8)
    file.write_bytes(held)


def rows(library: Path) -> list[str]:
    with sqlite3.connect(library / "g1" / "catalog.db") as catalog:
        return list(catalog.iterdump())


def texts(library: Path) -> list[bytes]:
    files = sorted((library / "texts").rglob("*.zst"))
    return [zstandard.ZstdDecompressor().decompress(file.read_bytes()) for file in files]


def same(part: str, copy: Path, library: Path) -> bool:
    """Whether what was flipped says the same as before."""
    read = {"texts": texts, "g1/catalog.db": rows}.get(part)
    return read is not None and read(copy) == read(library)


@pytest.fixture(scope="module")
def closed(samples: Library, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Whose catalog lies in one file: what is in SQLite's log would count instead of it."""
    made = tmp_path_factory.mktemp("closed") / "library"
    shutil.copytree(samples.path, made)
    Library.open(made, create=False).close()
    return made


@pytest.mark.parametrize("part", PARTS)
def test_no_flipped_bit_gets_into_a_figure_or_a_quote(
    samples: Library, closed: Path, tmp_path: Path, part: str
) -> None:
    chance, right = random.Random(part), told(samples)
    for number in range(-(-FLIPS // (len(PARTS) + 1))):
        copy = tmp_path / str(number)
        shutil.copytree(closed, copy)
        flip(copy / part, chance)
        try:
            with Library.open(copy, create=False) as library:
                found = library.check()
            # Some bits of SQLite's files and of packed ones say nothing.
            assert found or same(part, copy, closed), number
        except SecondlookError:
            continue  # it does not even open
        try:
            with Library.open(copy, create=False) as library:
                # A flip in a vector may hide a passage; it makes none.
                assert [one for one in told(library) if one not in right] == [], number
        except SecondlookError:
            assert found, number
        shutil.rmtree(copy)


def test_a_bit_that_flips_while_a_library_is_open_is_found(
    samples: Library, tmp_path: Path
) -> None:
    """A bad disk leaves size and time of a file as they were."""
    shutil.copytree(samples.path, tmp_path / "library")
    with Library.open(tmp_path / "library", create=False) as library:
        told(library)
        assert library.check() == []
        for part in ("tables/*.parquet", "g1/index/data/*"):
            file = next(library.path.glob(part))
            status = file.stat()
            flip(file, random.Random(3))
            os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
            assert library.check(), part


def test_a_passage_that_its_document_does_not_say_is_refused(
    samples: Library, tmp_path: Path
) -> None:
    import lance

    shutil.copytree(samples.path, tmp_path / "library")
    index = lance.dataset(str(tmp_path / "library" / "g1" / "index"))
    index.update({"text": "replace(text, '7.8 metres', '7.5 metres')"})
    with Library.open(tmp_path / "library", create=False) as library:
        with pytest.raises(LibraryDamaged, match="not what the stored document says") as refused:
            library.search("how deep is berth 4")
        assert "rebuild" in (refused.value.hint or "")
        assert any("not what" in one.said for one in library.check())


def test_a_catalog_of_another_layout_is_found(closed: Path, tmp_path: Path) -> None:
    """SQLite reads it all the same where it still parses."""
    shutil.copytree(closed, tmp_path / "library")
    file = tmp_path / "library" / "g1" / "catalog.db"
    file.write_bytes(file.read_bytes().replace(b"parser TEXT NOT NULL", b"parser TEXT N_T NULL", 1))
    with Library.open(tmp_path / "library", create=False) as library:
        assert ["its layout was changed" in one.said for one in library.check()] == [True]


def test_an_index_without_some_passages_does_not_open(samples: Library, tmp_path: Path) -> None:
    import lance

    shutil.copytree(samples.path, tmp_path / "library")
    index = lance.dataset(str(tmp_path / "library" / "g1" / "index"))
    index.delete("id LIKE '%.0'")
    with pytest.raises(LibraryDamaged, match="passages that the catalog names"):
        Library.open(tmp_path / "library", create=False)


def test_a_library_of_an_older_version_opens_and_gets_its_checksums(
    samples: Library, tmp_path: Path
) -> None:
    copy = tmp_path / "library"
    shutil.copytree(samples.path, copy)
    (copy / "g1" / "sums.json").unlink()
    with sqlite3.connect(copy / "g1" / "catalog.db") as catalog:
        for table in ("documents", "files"):
            catalog.execute(f"ALTER TABLE {table} DROP COLUMN sum")
    with Library.open(copy, create=False) as library:
        assert told(library) == told(samples)
        library.add(samples_folder(), force=True)
        assert library.check() == []
    assert (copy / "g1" / "sums.json").is_file()
    assert any("sum" in line for line in rows(copy))


@pytest.mark.parametrize("name", ["embedder", "reader", "understander"])
def test_weights_with_another_hash_are_refused(
    samples: Library, tmp_path: Path, name: ModelName, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = {"embedder": OnnxEmbedder, "reader": OnnxReader, "understander": Understander}[name]
    known, chance = find_weights(name), random.Random(name)
    shutil.copytree(known.folder, tmp_path / name)
    weights = read_weights(tmp_path / name)
    monkeypatch.setattr(integrity, "find_weights", lambda _: weights)
    for number in range(-(-FLIPS // (len(PARTS) + 1) // 3)):
        file = chance.choice(sorted(known.sha256))
        flip(tmp_path / name / file, chance)
        with pytest.raises(ModelError, match="its manifest says"):
            load(weights) if number == 0 else verify_weights(weights)
        assert number or {one.what for one in samples.check()} == {"weights"}
        shutil.copy(known.folder / file, tmp_path / name / file)


def test_check_is_content_with_what_was_only_changed_and_finds_what_is_gone(
    tmp_path: Path,
) -> None:
    odd = tmp_path / os.fsdecode(b"caf\xe9")
    odd.mkdir()
    sales, note = tmp_path / "sales.csv", odd / "note.txt"
    sales.write_text("region,units\nNorth,3\nSouth,4\n", encoding="utf-8")
    with Library.open(tmp_path / "library") as library:
        for depth in (7.8, 7.9):
            note.write_text(f"Berth 4 is {depth} metres deep.", encoding="utf-8")
            library.add([sales, odd], meta={"shelf": odd.name})
            assert library.check() == []
        flip(library.path / "texts", random.Random(2))
        next(library.path.glob("tables/*.parquet")).unlink()
        assert {"stored text" in one.said or "is gone" in one.said for one in library.check()} == {
            True
        }
        library.add([sales, odd], force=True)
        assert library.check() == [], "what the remedy says has mended it"


# Other accounts


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A folder that every account may enter: what is private in it is so by its own rights."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        yield Path(place)


def serve_an_upload(environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "secondlook", "serve", "--port", "0", "--json"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        with httpx.Client(base_url=url, trust_env=False, timeout=120) as client:
            files = [("files", ("served.txt", b"The vault opens at noon."))]
            job = client.post(f"{LIBRARY}/documents", files=files, headers=OWN).json()["id"]
            client.get(f"{LIBRARY}/jobs/{job}/events")
            asked = {"question": "When does the vault open?", "stream": False}
            assert "noon" in client.post("/api/ask", json=asked).text
        server.terminate()


def test_no_other_account_can_read_what_commands_write(open_place: Path) -> None:
    table = open_place / "sales.csv"
    table.write_text("region,units\nNorth,3\nSouth,4\n", encoding="utf-8")
    library, home = (
        open_place / "library",
        {"HOME": str(open_place), "XDG_DATA_HOME": str(open_place)},
    )
    backup = ["library", "backup", str(open_place / "b.backup")]
    commands = [
        ["add", str(table), str(samples_folder() / "council-minutes-2024-06-11.md")],
        ["ask", "total units", "--export-table", str(open_place / "out.csv")],
        backup,
        ["--library", str(open_place / "again"), "library", "restore", backup[-1]],
        ["runs", "export", "--all", "--out", str(open_place / "runs.jsonl")],
    ]
    own = {**os.environ, **home, "SECONDLOOK_LIBRARY": str(library)}
    old = os.umask(0o022)
    try:
        for command in commands:
            subprocess.run(
                [sys.executable, "-m", "secondlook", *command],
                check=True,
                capture_output=True,
                env=own,
            )
        serve_an_upload(own)
    finally:
        os.umask(old)
    find = ["/usr/bin/find", str(open_place), "-type", "f", "-perm", "/077", "-readable"]
    found = subprocess.run(
        as_ordinary_user(find), check=False, capture_output=True, text=True
    ).stdout.split()
    assert found == [str(table)]
    written = {"b.backup", "out.csv", "runs.jsonl", "runs.db", "served.txt"}
    assert written <= {file.name for file in open_place.rglob("*")}


def test_a_library_that_may_only_be_read_still_answers(samples: Library, open_place: Path) -> None:
    library = open_place / "library"
    shutil.copytree(samples.path, library)
    for place in (library, *library.rglob("*")):
        place.chmod(0o555 if place.is_dir() else 0o444)
    ask = [sys.executable, "-m", "secondlook", "ask", "how deep is berth 4", "--quiet"]
    with home_of_ordinary_user() as environment:
        packages = str(Path(pytest.__file__).parents[1])
        told = subprocess.run(
            as_ordinary_user(ask, needed=[packages]),
            check=False,
            capture_output=True,
            text=True,
            env={**environment, "SECONDLOOK_LIBRARY": str(library)},
        )
    assert told.stdout.startswith("7.8 metres"), told.stderr
    for place in (library, *library.rglob("*")):
        place.chmod(0o755)


def test_an_older_library_is_closed_to_others_and_says_so_once(
    samples: Library, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    copy = tmp_path / "library"
    shutil.copytree(samples.path, copy)
    copy.chmod(0o755)
    for _ in range(2):
        Library.open(copy, create=False).close()
    assert copy.stat().st_mode & 0o077 == 0
    assert [line for line in caplog.messages if "yours alone" in line] == caplog.messages[:1]
