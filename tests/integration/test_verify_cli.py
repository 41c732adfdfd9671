"""`secondlook verify` from the outside: exit codes, lines, JSON and what is no answer at all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.cli.main import main
from tests.support import answers

if TYPE_CHECKING:
    from pathlib import Path

    from secondlook.library.library import Library


def run(*arguments: object) -> int:
    return main(["verify", *map(str, arguments)])


@pytest.fixture
def file(samples: Library, tmp_path: Path) -> Path:
    made = tmp_path / "answer.json"
    made.write_text(answers.generative(samples).model_dump_json(indent=2), encoding="utf-8")
    return made


def test_a_true_answer_is_one_line(
    samples: Library, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(file, "--library", samples.path) == 0
    out, err = capsys.readouterr()
    assert out == "It stands: 3 claims, 4 citations, all in place.\n"
    assert err == ""


def test_each_problem_is_one_line(
    samples: Library, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _changed(file, 0, quote="A\nstranger's \x1b[31mquote")
    _changed(file, 1, page=44)
    assert run(file, "--library", samples.path) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("citation [1]: ") for line in lines)
    assert "citation [2]: the quote stands on no page, not on page 44" in lines
    assert all("\x1b" not in line for line in lines)


def test_json_says_the_same(
    samples: Library, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(file, "--library", samples.path, "--json") == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["verified"] is True
    assert (found["claims"], found["citations"], found["problems"]) == (3, 4, [])
    _changed(file, 0, sha256="0" * 64)
    assert run(file, "--library", samples.path, "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert found["verified"] is False
    assert {"document", "file"} <= {problem["kind"] for problem in found["problems"]}
    assert all(set(problem) == {"kind", "where", "message"} for problem in found["problems"])


def _changed(file: Path, citation: int, **fields: Any) -> None:
    answer = json.loads(file.read_text("utf-8"))
    answer["citations"][citation].update(fields)
    file.write_text(json.dumps(answer), encoding="utf-8")


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"{", "Invalid JSON"),
        (b"[1, 2]", "is not an answer"),
        (b"{}", "'run': Field required (and "),
        (b'"\xff\xfe"', "not text in UTF-8"),
        (b"[" * 200_000, "Invalid JSON"),
        (b'{"run": "\\ud800"}', "Invalid JSON"),
    ],
)
def test_what_is_no_answer_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], data: bytes, told: str
) -> None:
    file = tmp_path / "answer.json"
    file.write_bytes(data)
    assert run(file) == 2
    err = capsys.readouterr().err
    assert told in err
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 2
    assert "Traceback" not in err
