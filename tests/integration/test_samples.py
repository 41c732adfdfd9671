"""The sample documents: made by their script, and found by what a person would ask."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from examples.make_samples import build, main
from secondlook.library.library import Library, samples_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.passage import Hit

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS: dict[str, Any] = json.loads((ROOT / "examples" / "questions.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with Library.open(tmp_path_factory.mktemp("samples") / "library") as made:
        assert not made.add([samples_folder()]).failed
        yield made


def test_are_what_their_script_writes(tmp_path: Path) -> None:
    main([str(tmp_path)])
    for name, data in build().items():
        assert (tmp_path / name).read_bytes() == data
        assert (samples_folder() / name).read_bytes() == data, f"run the script: {name}"
    assert {file.name for file in samples_folder().iterdir()} == set(build())


def test_each_is_read_with_its_title_and_date(library: Library) -> None:
    found = {Path(info.paths[0]).name: info for info in library.documents()}
    assert set(found) == set(build())
    assert found["harbour-survey-2024.pdf"].pages == 6
    assert found["tides-and-berths-2024.xlsx"].pages == 2
    assert {info.language for info in found.values()} == {"en"}
    dates = {name: info.date for name, info in found.items()}
    assert dates.pop("lighthouse-log-2023.txt") is None, "plain text has no date of its own"
    assert all(dates.values()), dates


@pytest.mark.parametrize("asked", QUESTIONS["answered"], ids=lambda asked: asked["question"])
def test_best_hit_is_the_right_document_page_and_section(
    library: Library, asked: dict[str, Any]
) -> None:
    best = library.search(asked["question"], k=3)[0]
    assert (_file(library, best), best.passage.page) == (asked["file"], asked["page"])
    assert (best.passage.heading or (None,))[-1] == asked["heading"]
    assert asked["says"] in _page_text(library, best)


def _file(library: Library, hit: Hit) -> str:
    return Path(library.document(hit.passage.document).paths[0]).name


def _page_text(library: Library, hit: Hit) -> str:
    extracted = library.text(hit.passage.document)
    pages = [page for page in extracted.pages if page.number == hit.passage.page]
    if not pages:
        return _flat(hit.passage.text)
    return _flat(extracted.text[pages[0].start : pages[0].end])


def _flat(text: str) -> str:
    return " ".join(text.split())
