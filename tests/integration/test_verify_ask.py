"""What `secondlook ask` says, `secondlook verify` accepts, until one sign of a source changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from secondlook.answer import Answer
from secondlook.cli.main import main
from tests.support import answers

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
