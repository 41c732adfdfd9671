"""How a form is recognised, refused, described and sampled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from secondlook.errors import UsageError
from secondlook.evaluation.datasets import load
from secondlook.evaluation.datasets.evalset import sample
from secondlook.evaluation.records import Case
from secondlook.library.library import Library
from tests.support.eval_sets import CORPUS, lines_set

if TYPE_CHECKING:
    from pathlib import Path


def _refused(path: Path) -> UsageError:
    with pytest.raises(UsageError) as caught:
        load(path)
    return caught.value


def test_nothing_there_lists_the_forms(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    (tmp_path / "other.json").write_text('{"a": 1}', encoding="utf-8")
    for path, message in (
        (tmp_path / "nowhere", "there is nothing at"),
        (tmp_path / "empty", "is empty"),
        (tmp_path, "holds none of the forms"),
        (tmp_path / "notes.txt", "is a file of no form"),
    ):
        error = _refused(path)
        assert message in error.message
        for form in ("corpus.jsonl", "questions.jsonl", "questions.csv"):
            assert form in (error.hint or "")


CASES = [Case(f"q{number}", f"Question {number}?") for number in range(200)]


def test_a_sample_is_random_repeatable_and_in_order() -> None:
    drawn = sample(CASES, limit=50, seed=1)
    assert len(drawn) == 50
    assert drawn == sample(CASES, limit=50, seed=1)
    assert drawn != sample(CASES, limit=50, seed=2)
    assert list(drawn) == [case for case in CASES if case in drawn]
    assert drawn != tuple(CASES[:50])
    more = sample(CASES, limit=80, seed=1)
    assert all(case in more for case in drawn), "more keeps what is done"


def test_a_library_holds_every_text_of_a_set(tmp_path: Path) -> None:
    """Also one that is a title alone, one twice under two ids, and none that is blank."""
    corpus = [
        *CORPUS,
        {**CORPUS[0], "id": "copy"},
        {"id": "bare", "title": "The drowned bell of Eastmere", "text": ""},
        {"id": "blank", "title": "", "text": "\n"},
    ]
    data = load(lines_set(tmp_path / "set", corpus=corpus))
    with Library.open(tmp_path / "library") as library:
        report = library.add_texts(data.texts())
        assert report.failed == []
        held = library.paths([document.id for document in library.documents()])
        assert sorted(sorted(paths) for paths in held.values()) == [
            ["text:3"],
            ["text:bare"],
            ["text:copy", "text:p1"],
            ["text:p2"],
        ]
        assert len([path for paths in held.values() for path in paths]) == data.passages
        assert library.add_texts(data.texts()).count("unchanged") == data.passages
        best = library.search("Which bell was drowned?")[0].passage
        assert held[best.document] == ("text:bare",)
