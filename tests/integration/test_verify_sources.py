"""A source that changes by one sign takes the answers down that rest on it, and no others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from secondlook.answer import Answer
from secondlook.cli.main import main
from secondlook.verify import examine, verify
from tests.support import answers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.library.library import Library

SOURCES = {
    "lighthouse-log-2023.txt": ("When did the mains fail?", "The mains failed at 20:52"),
    "annual-report-2023.html": ("How much timber was handled in 2023?", "71,000 tonnes"),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with answers.sample_library(tmp_path_factory.mktemp("sources")) as made:
        yield made


def papers(library: Library) -> Path:
    return library.path.parent / "papers"


def kinds(answer: Answer, library: Library) -> set[str]:
    return {problem.kind for problem in verify(answer, library)}


@pytest.mark.parametrize(
    ("name", "where"),
    [*((name, "in the quote") for name in SOURCES), ("lighthouse-log-2023.txt", "elsewhere")],
)
def test_one_sign_of_the_source(library: Library, name: str, where: str) -> None:
    file = papers(library) / name
    question, words = SOURCES[name]
    answer = answers.extractive(library, question, words)
    untouched = answers.extractive(library, "How thick is the sheet piling?", "9.5 millimetres")
    before = file.read_bytes()
    at = before.index(words.encode() if where == "in the quote" else b"Halvermouth") + 1
    changed = before[:at] + (b"x" if before[at : at + 1] != b"x" else b"y") + before[at + 1 :]

    file.write_bytes(changed)
    assert kinds(answer, library) == {"file"}, "the library still holds what was read"
    library.add([papers(library)])
    assert {"document", "file"} <= kinds(answer, library)
    assert verify(untouched, library) == []

    file.write_bytes(before)
    library.add([papers(library)])
    assert verify(answer, library) == []


def test_a_file_that_moved_or_went_is_a_note(library: Library) -> None:
    answer = answers.extractive(library, "Which boat sank in the storm?", "Silver Tern")
    file = papers(library) / "annual-report-2023.html"
    moved = file.rename(file.with_name("report.html"))
    report = examine(answer, library)
    assert (report.problems, [note.kind for note in report.notes]) == ([], ["file"])
    library.add([papers(library)], prune=True)
    report = examine(answer, library)
    assert report.problems == []
    assert "a copy is at" in report.notes[0].message
    moved.rename(file)
    library.add([papers(library)], prune=True)
    assert examine(answer, library).notes == []


def test_a_removed_document_takes_its_answers_down(library: Library) -> None:
    answer = answers.generative(library)
    library.remove("dredging-offer.eml")
    found = verify(answer, library)
    assert {problem.kind for problem in found} == {"document"}
    assert [problem.where for problem in found] == ["citation [2]"]
    library.add([papers(library)])
    assert verify(answer, library) == []


def test_passages_that_are_cut_anew_are_a_note(library: Library, tmp_path: Path) -> None:
    answer = answers.generative(library)
    old = answer.model_copy(update={"created": "2020-01-01T00:00:00+00:00"})
    shifted = tuple(
        passage.model_copy(update={"start": passage.start - 1}) if passage.start else passage
        for passage in old.passages
    )
    report = examine(old.model_copy(update={"passages": shifted}), library)
    assert report.problems == []
    assert any("rebuilt since" in note.message for note in report.notes)
    assert verify(answer.model_copy(update={"passages": shifted}), library) != []
    odd = old.model_copy(update={"passages": shifted, "created": "some day"})
    assert verify(odd, library) != []


# What `secondlook ask` says, `secondlook verify` accepts, until one sign of a source changes.

SCHEMA: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "docs" / "answer.schema.json").read_text("utf-8")
)
QUESTIONS = [
    "How thick is the sheet piling of the south quay?",
    "When did the mains fail at the lighthouse?",
    "What is the handbook about?",
    "How many calls did the harbour have in 2023?",
    "Who designed the lighthouse on Cape Varn?",
]
ANSWERED = QUESTIONS[:3]


def asked(
    library: Library, question: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON of an answer, which is left in `file`."""
    code = main(["ask", question, "--json", "-q", "--library", str(library.path)])
    text = capsys.readouterr().out
    file.write_text(text, encoding="utf-8")
    return code, json.loads(text)


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_are_of_the_published_form_and_stand(
    library: Library, tmp_path: Path, capsys: pytest.CaptureFixture[str], question: str
) -> None:
    file = tmp_path / "answer.json"
    code, answer = asked(library, question, file, capsys)
    assert code == Answer.model_validate(answer).exit_code
    assert bool(answer["claims"]) is (code == 0)
    jsonschema.validate(answer, SCHEMA)
    assert main(["verify", str(file), "--library", str(library.path)]) == 0


def test_a_stored_answer_is_named_by_its_run(
    library: Library, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, answer = asked(library, ANSWERED[0], tmp_path / "answer.json", capsys)
    for name in ("last", answer["run"]):
        assert main(["verify", name, "--library", str(library.path)]) == 0
        assert "It stands" in capsys.readouterr().out
    assert main(["verify", "20010101-ffffffffffff"]) == 2
    assert "20010101-ffffffffffff" in capsys.readouterr().err
