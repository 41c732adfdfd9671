"""What `secondlook ask` says, `secondlook verify` accepts, until one sign of a source changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.answer import Answer
from secondlook.cli.main import main
from secondlook.verify import verify
from tests.support import answers
from tests.support.json_schema import mistakes
from tests.support.tampering import cases

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.library.library import Library

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


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with answers.sample_library(tmp_path_factory.mktemp("verify-ask")) as made:
        yield made


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
    assert mistakes(answer, SCHEMA, SCHEMA) == []
    assert main(["verify", str(file), "--library", str(library.path)]) == 0


def test_every_falsification_of_what_the_engine_said_is_caught(
    library: Library, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "answer.json"
    said = [
        Answer.model_validate(asked(library, question, file, capsys)[1]) for question in ANSWERED
    ]
    for at, answer in enumerate(said):
        for case in cases(answer, said[at - 1]):
            kinds = {problem.kind for problem in verify(case.answer, library)}
            assert kinds & case.kinds, (case.name, kinds)


def test_one_sign_of_the_source_and_it_falls(
    library: Library, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "answer.json"
    asked(library, ANSWERED[1], file, capsys)
    source = library.path.parent / "papers" / "lighthouse-log-2023.txt"
    before = source.read_text("utf-8")
    command = ["verify", str(file), "--library", str(library.path)]
    assert main(command) == 0
    source.write_text(before.replace("20:52", "20:53"), encoding="utf-8")
    assert main(command) == 1
    assert "has changed since" in capsys.readouterr().out
    assert main(["add", "-q", str(source.parent), "--library", str(library.path)]) == 0
    assert main(command) == 1
    assert "the library does not hold" in capsys.readouterr().out
    source.write_text(before, encoding="utf-8")
    assert main(["add", "-q", str(source.parent), "--library", str(library.path)]) == 0
    assert main(command) == 0


def test_a_stored_answer_is_named_by_its_run(
    library: Library, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, answer = asked(library, ANSWERED[0], tmp_path / "answer.json", capsys)
    for name in ("last", answer["run"]):
        assert main(["verify", name, "--library", str(library.path)]) == 0
        assert "It stands" in capsys.readouterr().out
    assert main(["verify", "20010101-ffffffffffff"]) == 2
    assert "20010101-ffffffffffff" in capsys.readouterr().err
