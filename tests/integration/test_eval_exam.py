"""An exam as people write one: two files in a folder, five questions, one conversation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.cli.main import main
from secondlook.evaluation.report import plots

if TYPE_CHECKING:
    from pathlib import Path

QUESTIONS: list[dict[str, Any]] = [
    {"thread": "t002", "turn": 2, "question": "And who built it?", "kind": "follow_up",
     "answers": ["Thomas Webb", "Webb"], "files": ["harbour/light.txt"]},
    {"thread": "t002", "turn": 1, "question": "When was the lighthouse built?", "kind": "fact",
     "answers": ["1843"], "files": ["harbour/light.txt"]},
    {"thread": "t001", "turn": 1, "question": "How many boats are there?", "kind": "table_compute",
     "answers": ["4", "four"], "files": ["harbour/boats.csv"]},
    {"thread": "t003", "turn": 1, "question": "What is the name of the keeper's dog?",
     "kind": "unanswerable", "answerable": False},
    {"thread": "t005", "turn": 1, "question": "hello", "kind": "meta", "note": "greets"},
]  # fmt: skip


@pytest.fixture
def exam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SECONDLOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(plots, "can_draw", lambda: False)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "exam"
    (folder / "harbour").mkdir(parents=True)
    (folder / "README.md").write_text("The keeper's dog is called Rex.\n")
    (folder / "harbour" / "light.txt").write_text(
        "The lighthouse was built in 1843 by Thomas Webb. Its lamp is seen for 18 miles.\n"
    )
    (folder / "harbour" / "boats.csv").write_text("boat,berth\nMaria,1\nOrr,2\nWebb,3\nLena,4\n")
    lines = [json.dumps({"id": f"q{at}", **one}) for at, one in enumerate(QUESTIONS)]
    (folder / "questions.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def rows(out: Path) -> list[dict[str, Any]]:
    lines = (out / "rows.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["row"] for line in lines]


def test_an_exam_is_asked_judged_and_continued(
    exam: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    call = ["eval", str(exam), "--out", str(out)]
    assert main([*call, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["data"]["documents"], found["data"]["problem_count"]) == (2, 0)
    made = {one["case"]: one["outcome"] for one in rows(out)}
    assert made == dict.fromkeys(("q0", "q1", "q2", "q3"), "right") | {"q4": None}
    assert [one["case"] for one in rows(out)][:2] == ["q1", "q0"]  # as the conversation went
    judged = found["summaries"]["auto"]["judged"]
    assert judged["all kinds"]["n"] == 4
    assert judged["all kinds"]["counts"]["right"] == 4
    assert judged["plain documents"]["n"] == 2
    assert judged["all kinds"]["shares"]["right"]["low"] < 1

    # A conversation that was cut off is had again from its first question on; nothing else is.
    kept = [line for line in (out / "rows.jsonl").read_text().splitlines() if '"q0"' not in line]
    (out / "rows.jsonl").write_text("\n".join(kept) + "\n")
    assert main(call) == 0
    assert [one["case"] for one in rows(out)][4:] == ["q1", "q0"]
    said = capsys.readouterr().out
    assert "auto: answers by kind" in said
    assert "wrong under a" in said


def test_threads_are_chosen_by_their_numbers(
    exam: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["eval", str(exam), "--out", str(tmp_path / "even"), "--workflow", "linear"]
    assert main([*call, "--threads", "even", "-q"]) == 0
    assert {one["case"] for one in rows(tmp_path / "even")} == {"q0", "q1"}
    assert main([*call, "--threads", "first"]) == 2
    assert "odd or even" in capsys.readouterr().err
