"""docs/json.md and what the commands print are the same, key by key."""

import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from secondlook.cli.main import main
from secondlook.library.about import keep_in_step

PAGE = Path(__file__).parents[2] / "docs" / "json.md"
FREE_KEYS = {"metadata", "parts", "settings"}
"""Objects whose keys are not ours to list."""


def documented(command: str) -> list[str]:
    section = re.search(
        rf"^## {command}$(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert section, command
    return re.findall(r"^\| `([^`]+)` \|", section[1], re.MULTILINE)


def printed(value: Any, name: str = "") -> Iterator[str]:
    """Every key that holds a plain value, as the page writes it, in order."""
    if isinstance(value, dict):
        for key, inner in value.items():
            shown = "*" if name.rpartition(".")[2] in FREE_KEYS else key
            yield from printed(inner, f"{name}.{shown}" if name else shown)
    elif isinstance(value, list):
        assert value, f"{name} is empty, so its form is not tested"
        for inner in value:
            yield from printed(inner, f"{name}[]")
    else:
        yield name


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with a document that has all there is to print, and a file that failed."""
    folder = tmp_path_factory.mktemp("cli-json")
    documents = folder / "documents"
    documents.mkdir()
    (documents / "bees.html").write_text(
        "<html lang=en><head><title>Bees</title></head><body><h1>Bees</h1>"
        "<h2>Navigation</h2><p>Bees find their way home by polarised light.</p></body></html>"
    )
    (documents / "empty.txt").write_bytes(b"")
    (documents / "paged.txt").write_text("Wasps build nests of paper.\f\nThey sting when near.\n")
    assert main(["add", "-q", str(documents), "--library", str(folder / "lib")]) == 0
    keep_in_step(folder / "lib", [documents])
    return folder


def test_search_status_and_add(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = _printed(library, capsys, "search", "how do bees find home", "-k", "1")
    assert found["hits"][0]["heading"]
    _agree("search", found)
    _agree("status", _printed(library, capsys, "status"))
    _agree("add", _printed(library, capsys, "add", str(library / "documents")))


def test_remove(library: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    extra = tmp_path / "extra.txt"
    extra.write_text("Hornets are large wasps.")
    _printed(library, capsys, "add", str(extra))
    _agree("remove", _printed(library, capsys, "remove", str(extra)))


def test_list_and_show(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    documents = _printed(library, capsys, "list")["documents"]
    top = {key.split(".")[1].removesuffix("[]") for key in documented("list")}
    assert all(set(document) == top for document in documents)
    shown = _printed(library, capsys, "show", "bees.html")
    own = {key.split("[")[0] for key in documented("show")}
    assert set(shown) == own | top
    headings = {f"headings[].{key}" for heading in shown["headings"] for key in heading}
    assert headings == {key for key in documented("show") if key.startswith("headings")}


def test_tables(library: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("region,price\nnorth,$10\nsouth,$20\n")
    (tmp_path / "none.csv").write_text("\n\n,\n")
    empty = sqlite3.connect(tmp_path / "empty.db")
    empty.execute("CREATE TABLE notes (text)")
    empty.close()
    lib = str(tmp_path / "lib")
    _printed(library, capsys, "add", str(tmp_path), "--library", lib)
    _agree("tables", _printed(library, capsys, "tables", "--library", lib))
    shown = _printed(library, capsys, "tables", "show", "sales", "--library", lib)
    assert shown.pop("profile")["rows"] == 2
    top = {key.split(".")[1].split("[")[0] for key in documented("tables") if key[0] == "t"}
    assert set(shown) == top


def test_backup_restore_and_rebuild(
    library: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    copy, other = str(tmp_path / "copy"), str(tmp_path / "other")
    _agree("backup", _printed(library, capsys, "backup", copy))
    _agree("restore", _printed(library, capsys, "restore", copy, "--library", other))
    _agree("rebuild", _printed(library, capsys, "rebuild", "--library", other))


def test_config_and_version(
    library: Path,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "secondlook.toml").write_text("[search]\nk = 3\n")
    monkeypatch.setenv("SECONDLOOK_INGEST_EXCLUDE", "x")
    monkeypatch.chdir(tmp_path)
    found = _printed(library, capsys, "config")
    for setting in found["settings"].values():
        assert list(setting) == ["value", "origin"]
        if isinstance(setting["value"], list):
            setting["value"] = "a list, but of no form of its own"
    _agree("config", found)
    _agree("version", _printed(library, capsys, "version"))


def test_failure(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["status", "--json", "--library", str(tmp_path / "none")]) == 1
    _agree("When a command fails", json.loads(capsys.readouterr().out))


def _printed(library: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    capsys.readouterr()
    given = arguments if "--library" in arguments else (*arguments, "--library", library / "lib")
    assert main([*map(str, given), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def _agree(command: str, value: Any) -> None:
    assert list(dict.fromkeys(printed(value))) == documented(command)
