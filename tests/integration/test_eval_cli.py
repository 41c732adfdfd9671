"""`secondlook eval` as a person uses it: each command, its output, its exit code."""

import json
from pathlib import Path
from typing import Any

import pytest

from secondlook.cli.main import main
from secondlook.evaluation.report import plots
from tests.support.eval_set import write_set


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("eval")


@pytest.fixture(autouse=True)
def _here(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECONDLOOK_CACHE", str(shared / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(plots, "can_draw", lambda: False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def data(shared: Path) -> str:
    return str(write_set(shared / "harbour"))


def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_a_folder_is_enough(data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nowhere = "web.url=http://127.0.0.1:9"
    assert main(["eval", data, "--workflow", "linear, adaptive", "--web", "--set", nowhere]) == 0
    said = capsys.readouterr()
    assert "adaptive+web" in said.out
    assert "linear+web" not in said.out
    assert "recall@5" in said.out
    assert "refused_unanswerable" in said.out
    assert "secondlook-eval/harbour/report.html" in said.err
    assert (tmp_path / "secondlook-eval" / "harbour" / "results.json").exists()


def test_a_loss_closes_the_gate_and_chance_does_not(
    data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", data, "--out", "a", "-q"]) == 0
    assert main(["eval", data, "--out", "b", "-q", "--set", "answer.k=4"]) == 0
    assert main(["eval", "compare", "a/results.json", "b", "--gate"]) == 0
    told = capsys.readouterr().out
    assert "no significant loss" in told
    assert "answer.k" in told
    lost = json.loads((tmp_path / "b" / "results.json").read_text())
    for row in lost["rows"]:
        row["metrics"] = dict.fromkeys(row["metrics"], 0.0)
    (tmp_path / "b" / "results.json").write_text(json.dumps(lost))
    assert main(["eval", "compare", "a", "b", "--gate", "--json"]) == 1
    assert printed(capsys)["lost"] == ["linear"]
    assert main(["eval", "compare", "a", "b"]) == 0


def test_an_ablation_names_what_is_cheapest(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", data, "--ablate", "--json", "--margin", "0.9"]) == 0
    found = printed(capsys)["ablation"]
    tried = {item["other"] for item in found["comparisons"]}
    assert {"linear", "adaptive without rerank", "adaptive without abstention"} <= tried
    assert "web.enable_web_search" in found["left_out"]
    assert found["reference"] == "adaptive"
    assert {item["verdict"] for item in found["verdicts"]} <= {
        "reference",
        "non-inferior",
        "worse",
        "undecided",
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "nowhere"),
        (["DATA", "--workflow", "linnear"], "linnear"),
        (["DATA", "--set", "answer.k=many"], "answer.k"),
        (["DATA", "--metric", "f11"], "f11"),
        (["DATA", "--model", "gguf:no.gguf"], "no.gguf"),
        (["report", "nowhere"], "nowhere"),
    ],
)
def test_a_wrong_call_is_told_what_to_do(
    data: str, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", *[data if item == "DATA" else item for item in arguments]]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert "hint:" in told


def test_a_person_s_own_documents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "survey.txt").write_text("Berth 4 is the deepest berth, at 7.8 metres.\n")
    (papers / "minutes.txt").write_text("Ms Orr voted against the dredging on 12 May.\n")
    (papers / "questions.csv").write_text(
        "question,answer,document\n"
        "How deep is berth 4?,7.8 metres|7.8,survey.txt\n"
        "Who voted against the dredging?,Ms Orr,minutes.txt\n"
        "What is missing?,nothing,gone.txt\n"
    )
    assert main(["eval", str(papers), "--json"]) == 0
    found = printed(capsys)
    assert found["summaries"]["linear"]["metrics"]["recall@1"]["value"] == 1.0
    assert found["summaries"]["linear"]["metrics"]["contains"]["value"] > 0.5
    assert "gone.txt" in json.dumps(found["data"]["problems"])


# An exam as people write one: two files in a folder, five questions, one conversation.

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
def exam(tmp_path: Path) -> Path:
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
    found = printed(capsys)
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
