"""A library whose passages lie in Milvus, from adding to rebuilding."""

from pathlib import Path
from typing import Any

import pytest

from secondlook.errors import LibraryError, LibraryFormat
from secondlook.library.library import Library
from secondlook.retrieval.index.milvus_server import Server
from secondlook.settings.sections import Settings
from tests.support import milvus


def settings(index: str | None = None) -> Settings:
    return Settings.model_validate({"library": {"index": index or f"milvus:{milvus.address()}"}})


def collections() -> set[str]:
    return set(Server(milvus.address()).names("secondlook_"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "harbour.txt").write_text("The harbour was dredged in 1843 by order of the council.")
    (papers / "orchard.txt").write_text("Apples of the orchard are picked in late September.")
    return papers


def test_a_library_in_milvus_is_searched_changed_rebuilt_and_brought_back(
    tmp_path: Path, folder: Path
) -> None:
    place, before = tmp_path / "library", collections()
    with Library.open(place, settings=settings()) as library:
        library.add(folder)
        found = library.search("When was the harbour dredged?", rerank=False)
        assert found[0].passage.text.startswith("The harbour was dredged")
        (folder / "harbour.txt").unlink()
        library.add(folder, prune=True)
        assert {hit.passage.title for hit in library.search("harbour", rerank=False)} == {"orchard"}
        with pytest.raises(LibraryError, match="lie in Milvus"):
            library.backup(tmp_path / "all")
    first = collections() - before
    with Library.rebuild(place, settings=settings()) as library:
        assert library.status().passages == 1
    assert collections() - before - first, "a rebuild makes collections of its own"
    assert not collections() & first, "and drops those that it takes the place of"
    with pytest.raises(LibraryFormat, match="lie in Milvus"):
        Library.open(place, settings=settings("embedded"))
    with Library.rebuild(place, settings=settings("embedded")) as library:
        assert library.search("apples", rerank=False)[0].passage.title == "orchard"
    with pytest.raises(LibraryFormat, match="lie in its folder"):
        Library.open(place, settings=settings())


def test_a_head_that_a_read_missed_is_looked_for_again(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, query = tmp_path / "library", Server.query
    missed: list[str] = []

    def hasty(server: Server, collection: str, *asked: Any) -> list[dict[str, Any]]:
        if collection.endswith("_head") and len(missed) < 2:
            missed.append(collection)
            return []
        return query(server, collection, *asked)

    with Library.open(place, settings=settings()) as library:
        library.add(folder)
    monkeypatch.setattr(Server, "query", hasty)
    with Library.open(place, settings=settings()) as library:
        assert library.search("apples", rerank=False)[0].passage.title == "orchard"
    assert len(missed) == 2
