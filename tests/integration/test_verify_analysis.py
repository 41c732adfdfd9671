"""An answer over tables is done again: what is true stands, and every falsification is caught."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from secondlook import sandbox as opening
from secondlook.cli.main import main
from secondlook.errors import SandboxError
from secondlook.library.library import Library, passing_library
from secondlook.settings import load
from secondlook.store.tables import run_folder, share, write_names
from secondlook.verify import examine, verify
from tests.support.analyst import CUSTOMERS, Script, desk_of, run, sandbox
from tests.support.tampering_analysis import analysis_cases

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from secondlook.answer import Answer
    from secondlook.settings.sections import Settings

CODE = "result = {'mean age': df['age'].mean(), 'oldest': int(df['age'].max())}\nprint('done')"
FRAME = "result = df.groupby('region', as_index=False)['sales'].sum()"
BY_MODEL: dict[str, Any] = {"enable_grammar": False}
AT_LEAST = 25


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("verify-analysis")
    made = load().settings
    return made.model_copy(
        update={"runs": made.runs.model_copy(update={"path": folder / "runs.db"})}
    )


@pytest.fixture(scope="module")
def held(settings: Settings) -> Iterator[Library]:
    """An empty library, for its worker: starting one for each check would take minutes."""
    with passing_library(settings) as made:
        yield made


def kept(answer: Answer, settings: Settings) -> Answer:
    """With its tables beside the record of runs, as the engine keeps them."""
    desk = desk_of({"customers": CUSTOMERS})
    folder = run_folder(settings.runs.path, answer.run)
    folder.mkdir(parents=True, exist_ok=True)
    for table in desk.tables():
        share(desk.file(table.id), folder)
    write_names(folder, desk.tables())
    return answer


@pytest.fixture(scope="module")
def computed(settings: Settings) -> Answer:
    answer = kept(run("What is the mean of age?").answer, settings)
    assert answer.analysis is not None
    assert answer.analysis.kind == "computed"
    return answer


@pytest.fixture(scope="module")
def generated(settings: Settings) -> Answer:
    ran = run(
        "How old are the customers on average, and the oldest?", Script(code=CODE), **BY_MODEL
    )
    answer = kept(ran.answer, settings)
    assert answer.analysis is not None
    assert answer.analysis.kind == "generated"
    return answer


def test_what_is_true_stands(
    computed: Answer, generated: Answer, held: Library, settings: Settings
) -> None:
    ran = run("Sum the sales of the regions", Script(code=FRAME), **BY_MODEL)
    with_table = kept(ran.answer, settings)
    assert with_table.analysis is not None
    assert with_table.analysis.table is not None
    for answer in (computed, generated, with_table):
        report = examine(answer, held, settings=settings)
        assert (report.problems, report.notes) == ([], []), answer.text


def test_what_claims_nothing_stands(held: Library, settings: Settings) -> None:
    withheld = run("What is the airspeed of a swallow?").answer
    concept = run("What is a p-value?").answer
    assert withheld.status == "abstained"
    assert concept.analysis is not None
    assert not concept.analysis.grounded
    for answer in (withheld, concept):
        assert examine(answer, held, settings=settings).problems == []


def test_unmarked_knowledge_does_not_stand(held: Library, settings: Settings) -> None:
    concept = run("What is a p-value?").answer
    cut = concept.model_copy(update={"text": concept.text.partition("\n\n(General")[0]})
    assert {one.kind for one in verify(cut, held, settings=settings)} == {"text"}
    sure = concept.confidence.model_copy(update={"value": 0.9})
    surer = concept.model_copy(update={"confidence": sure})
    assert {one.kind for one in verify(surer, held, settings=settings)} == {"status"}


@pytest.mark.parametrize("kind", ["computed", "generated"])
def test_every_falsification_is_caught(
    kind: str, request: pytest.FixtureRequest, held: Library, settings: Settings
) -> None:
    answer: Answer = request.getfixturevalue(kind)
    tried = 0
    for case in analysis_cases(answer):
        kinds = {one.kind for one in verify(case.answer, held, settings=settings)}
        assert kinds & case.kinds, f"{case.name}: {kinds or 'not caught'}"
        tried += 1
    assert tried >= AT_LEAST


@pytest.fixture(autouse=True)
def _one_sandbox(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening one takes seconds: dozens of checks share it, and one test opens its own."""
    if "opens_its_own" not in request.node.name:
        monkeypatch.setattr(opening, "open_sandbox", _shared)


def _shared(backend: str) -> Any:
    assert backend == "auto"

    class Shared:
        run = sandbox().run

        def close(self) -> None:
            pass

    return Shared()


def test_numbers_of_a_model_are_in_the_result(held: Library, settings: Settings) -> None:
    script = Script(code="result = df['age'].mean()", explain="The customers are 42.3 years old.")
    answer = kept(run("How old are they?", script, **BY_MODEL, explain="model").answer, settings)
    assert verify(answer, held, settings=settings) == []
    claim = answer.claims[0].model_copy(update={"text": "The customers are 47.9 years old."})
    forged = answer.model_copy(update={"claims": (claim,), "text": claim.text})
    assert [one.kind for one in verify(forged, held, settings=settings)] == ["number"]


def test_without_a_sandbox_it_says_what_is_unproven(
    generated: Answer, held: Library, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: str) -> Any:
        raise SandboxError("no sandbox works here", hint="see docs/sandbox.md")

    monkeypatch.setattr(opening, "open_sandbox", refused)
    found = verify(generated, held, settings=settings)
    assert [one.kind for one in found] == ["result"]
    assert "cannot be run again here" in found[0].message


def test_a_table_that_is_gone_is_named(computed: Answer, held: Library, tmp_path: Path) -> None:
    made = load().settings
    elsewhere = made.runs.model_copy(update={"path": tmp_path / "runs.db"})
    moved = made.model_copy(update={"runs": elsewhere})
    report = examine(computed, held, settings=moved)
    assert [one.kind for one in report.problems] == ["table"]
    assert "it is gone" in report.problems[0].message
    assert "not computed again" in report.notes[0].message
    odd = computed.model_copy(update={"run": "../../etc"})
    assert {one.kind for one in verify(odd, held, settings=moved)} == {"table"}


# From the command line


@pytest.fixture
def sales(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    file = tmp_path / "sales.csv"
    file.write_text("region,price\nnorth,10\nsouth,20\nnorth,30\neast,41\n", encoding="utf-8")
    return file


@pytest.fixture
def library(sales: Path) -> Iterator[Library]:
    with Library.open(sales.with_name("library")) as made:
        made.add(sales)
        yield made


def test_a_file_is_followed(sales: Path, capsys: pytest.CaptureFixture[str]) -> None:
    question = ["ask", "what is the mean of price", "--table", str(sales)]
    assert main([*question, "--json"]) == 0
    answer = sales.with_name("answer.json")
    answer.write_text(capsys.readouterr().out, encoding="utf-8")

    assert main(["verify", str(answer)]) == 0
    assert "computed again over 1 table with the same result" in capsys.readouterr().out

    assert main(["runs", "remove", "last", "--yes"]) == 0
    capsys.readouterr()
    assert main(["verify", str(answer), "--json"]) == 0  # read again from its file
    assert json.loads(capsys.readouterr().out)["verified"] is True

    sales.write_text("region,price\nnorth,11\n", encoding="utf-8")
    assert main(["verify", str(answer)]) == 1
    assert "has changed since" in capsys.readouterr().out

    sales.unlink()
    assert main(["verify", str(answer)]) == 1
    assert "there is no file to read it from" in capsys.readouterr().out


def test_tables_of_a_library_are_found(
    library: Library, sales: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--library", str(library.path)]
    asked = "what is the mean of price"
    assert main(["ask", asked, "--workflow", "analyst", "--json", *place]) == 0
    answer = sales.with_name("answer.json")
    answer.write_text(capsys.readouterr().out, encoding="utf-8")
    sales.unlink()
    assert main(["verify", str(answer), *place]) == 0
    printed = capsys.readouterr()
    assert "is not there any more" in printed.err
    assert "with the same result" in printed.out
