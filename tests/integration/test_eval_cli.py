"""`secondlook eval` as a person uses it: each command, its output, its exit code."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any

import pytest

from secondlook.cli.main import main
from secondlook.evaluation.report import plots
from tests.support.eval_set import QUESTIONS, UNANSWERABLE, write_set

if TYPE_CHECKING:
    from pathlib import Path

ALL = len(QUESTIONS) + len(UNANSWERABLE)


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
    assert main(["eval", data, "--workflow", "linear, adaptive"]) == 0
    said = capsys.readouterr()
    assert "recall@5" in said.out
    assert "refused_unanswerable" in said.out
    assert "secondlook-eval/harbour/report.html" in said.err
    assert (tmp_path / "secondlook-eval" / "harbour" / "results.json").exists()


def test_options_may_stand_before_the_folder(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "--limit", "4", "--json", "-q", data]) == 0
    assert printed(capsys)["data"]["asked"] == 4


def test_json_holds_the_summaries_and_not_the_rows(
    data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", data, "--json", "--set", "answer.k=3", "--model", "none"]) == 0
    found = printed(capsys)
    assert found["summaries"]["linear"]["metrics"]["f1"].keys() == {"value", "low", "high", "n"}
    assert found["settings"]["answer"]["k"] == 3
    assert "rows" not in found
    assert found["command"].startswith("secondlook")


def test_the_settings_of_all_may_come_from_a_preset(
    data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", data, "--json", "--preset", "seed004", "--limit", "3"]) == 0
    assert printed(capsys)["settings"]["search"]["dense"] == 0.9


def test_a_report_is_drawn_again_without_a_question(
    data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["eval", data, "--out", "out"]) == 0
    page = (tmp_path / "out" / "report.html").read_bytes()
    (tmp_path / "out" / "report.html").unlink()
    monkeypatch.setattr("secondlook.evaluation.runner.run", lambda *_, **__: pytest.fail("asked"))
    assert main(["eval", "report", "out"]) == 0
    assert (tmp_path / "out" / "report.html").read_bytes() == page
    assert "Summary" in capsys.readouterr().out


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


def test_thresholds_show_rate_and_effect(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "thresholds", data, "--json"]) == 0
    found = printed(capsys)["sweep"]
    rates = [point["fallback_rate"] for point in found["points"]]
    assert rates == sorted(rates)
    assert found["param"] == "adaptive.min_rerank_score"
    assert main(["eval", "thresholds", data, "--param", "answer.k", "--values", "1,3", "-q"]) == 0
    assert "answer.k" in capsys.readouterr().out
    assert main(["eval", "thresholds", data, "--values", "few"]) == 2
    assert main(["eval", "thresholds", data, "--param", "answer.kk"]) == 2


def test_hypotheses_say_what_was_not_tested(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "hypotheses", data, "--json"]) == 0
    told = printed(capsys)
    found = {item["name"]: item["verdict"] for item in told["hypotheses"]}
    assert found["H1 as first stated"] == found["H2 model"] == "not tested"
    assert any(name.startswith("H2") for name in found)
    assert {item["name"] for item in told["criteria"]} >= {"recall@5", "faithfulness", "success"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "nowhere"),
        (["DATA", "--workflow", "linnear"], "linnear"),
        (["DATA", "--set", "answer.k=many"], "answer.k"),
        (["DATA", "--set", "answer.kk=3"], "answer.kk"),
        (["DATA", "--set", "answer.k"], "key=value"),
        (["DATA", "--metric", "f11"], "f11"),
        (["DATA", "--only", "hard"], "hard"),
        (["DATA", "--limit", "0"], "limit"),
        (["DATA", "--preset", "nobody"], "nobody"),
        (["DATA", "--model", "gguf:no.gguf"], "no.gguf"),
        (["report", "nowhere"], "nowhere"),
        (["compare", "nowhere", "nowhere"], "nowhere"),
    ],
)
def test_a_wrong_call_is_told_what_to_do(
    data: str, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", *[data if item == "DATA" else item for item in arguments]]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert "hint:" in told


def test_a_folder_that_cannot_be_written_is_told(
    data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    assert main(["eval", data, "--out", "file/below", "--limit", "2"]) == 2
    assert "--out" in capsys.readouterr().err


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


def test_help_teaches_and_shows_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "--help"]) == 0
    said = capsys.readouterr().out
    for word in ("--ablate", "--limit", "thresholds", "compare", "questions.csv", "FOLDER"):
        assert word in said


def test_a_model_that_cannot_be_reached_is_told(
    data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        model = f"ollama:x@http://127.0.0.1:{free.getsockname()[1]}"
        call = [
            "eval",
            data,
            "--limit",
            "2",
            "--model",
            model,
            "--set",
            "models.options=all.retries=0",
        ]
        assert main(call) == 0
    said = capsys.readouterr().err
    assert "warning: 2 of 2 answers: answer: " in said
    assert "cannot be reached" in said
    assert "--fresh asks again" in said


def test_nothing_at_all_is_a_question_for_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("Usage: secondlook eval [OPTIONS] FOLDER")
    assert "\n  --ablate " in said.out
    assert said.err == ""


def test_a_hint_names_the_command_as_it_is_typed(
    data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", data, "--limit", "0"]) == 2
    assert "hint: secondlook eval --help shows" in capsys.readouterr().err


def test_the_forms_of_a_set_are_listed_line_by_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", str(tmp_path)]) == 2
    error, hint, *forms = capsys.readouterr().err.splitlines()
    assert error.startswith("error: ")
    assert hint.startswith("hint: an evaluation set is one of these")
    assert len(forms) == 4
    assert forms[0].startswith("  - your own documents in a folder, and in it questions.csv")


def test_each_setting_that_is_varied_has_results_of_its_own(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for param in ("answer.k", "search.blend"):
        call = ["eval", "thresholds", data, "--param", param, "--values", "1", "--limit", "2"]
        assert main(call) == 0
    kept = {folder.name.partition("-")[2] for folder in (tmp_path / "secondlook-eval").iterdir()}
    assert kept == {"thresholds-answer.k", "thresholds-search.blend"}


def test_without_the_extra_everything_is_measured_and_it_says_so(
    data: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("secondlook.evaluation.report.plots.can_draw", lambda: False)
    assert main(["eval", data, "--limit", "4"]) == 0
    said = capsys.readouterr()
    assert "recall@5" in said.out
    assert "pip install matplotlib" in said.err


def test_an_ablation_leaves_the_plain_results_alone(data: str, tmp_path: Path) -> None:
    assert main(["eval", data, "--limit", "2", "-q"]) == 0
    plain = tmp_path / "secondlook-eval" / "harbour" / "results.json"
    before = plain.read_bytes()
    assert main(["eval", data, "--limit", "2", "-q", "--ablate"]) == 0
    assert plain.read_bytes() == before
    assert (tmp_path / "secondlook-eval" / "harbour-ablation" / "results.json").exists()


def test_a_document_that_cannot_be_read_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "survey.txt").write_text("Berth 4 is the deepest berth, at 7.8 metres.\n")
    (papers / "broken.pdf").write_bytes(b"%PDF-1.4 nothing of a PDF follows")
    (papers / "questions.csv").write_text("question,answer\nHow deep is berth 4?,7.8 metres\n")
    for _ in range(2):  # also where nothing is indexed or asked again
        assert main(["eval", str(papers), "--json"]) == 0
        assert list(printed(capsys)["data"]["not_indexed"]) == ["broken.pdf"]
    assert main(["eval", str(papers)]) == 0
    assert "not indexed: broken.pdf" in capsys.readouterr().err
