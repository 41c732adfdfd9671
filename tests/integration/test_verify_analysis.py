"""An answer over tables is done again: what is true stands, and every falsification is caught."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest

from secondlook import sandbox as opening
from secondlook.answer import Answer
from secondlook.cli.main import main
from secondlook.errors import SandboxError
from secondlook.library.library import Library, passing_library
from secondlook.settings import load
from secondlook.store.tables import run_folder, share, write_names
from secondlook.verify import examine, verify
from tests.support.analyst import CUSTOMERS, Script, desk_of, run, sandbox
from tests.support.tampering import Case, Draft

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from secondlook.settings.sections import Settings

Change = tuple[str, str, "Callable[[Draft], None]"]


def analysis_cases(answer: Answer) -> Iterator[Case]:
    whole = answer.model_dump(mode="json")
    how = _computed() if whole["analysis"]["kind"] == "computed" else _generated()
    for name, kinds, change in (*_wholes(), *_results(), *_sources(), *how):
        draft = copy.deepcopy(whole)
        change(draft)
        if draft != whole:
            yield Case(name, frozenset(kinds.split()), Answer.model_validate(draft))


def _wholes() -> Iterator[Change]:
    yield "no analysis", "status result", _set(analysis=None)
    yield "abstained", "status", _set(status="abstained", stop_reason="no_evidence")
    yield "no claims", "status", _set(claims=[])
    yield "short form", "text", _set(short="7713")
    yield "other words", "text", _said("Entirely made up.")
    yield "a number more", "text number", _said("{} In 7713 cases.")
    yield "words after the claims", "text", _text("{}\n\nThe mean of all is 7713.")
    yield "text of its own", "text", _text("The mean is 7713.")
    yield "called a limitation", "status result", _analysed(kind="limitation")
    yield "called a concept", "text result", _analysed(kind="concept", grounded=False)


def _results() -> Iterator[Change]:
    yield "result", "result", _on("analysis", lambda one: {"result": _other(one["result"])})
    yield "values", "result", lambda draft: draft.update(values=_other(draft["values"]))
    yield "no values", "result", _set(values={})
    yield "a table", "result", _analysed(table={"columns": ["a"], "rows": [[1]], "total_rows": 1})

    def first_cell(draft: Draft) -> None:
        if draft["analysis"]["table"]:
            draft["analysis"]["table"]["rows"][0][-1] = 7713

    yield "a cell", "result", first_cell
    figure = {"kind": "plotly", "title": "", "data": {"data": [{"y": [1]}]}}
    yield "a figure more", "figure", lambda draft: draft["analysis"]["figures"].append(figure)

    def no_figure(draft: Draft) -> None:
        draft["analysis"]["figures"] = []

    yield "no figure", "figure", no_figure


def _sources() -> Iterator[Change]:
    def input_(**values: Any) -> Callable[[Draft], None]:
        return lambda draft: draft["analysis"]["inputs"][0].update(values)

    yield "hash of the table", "table", input_(sha256="0" * 64)
    yield "rows of the table", "table", input_(rows=7)
    yield "id of the table", "table", input_(id="0" * 64)
    yield "no table", "table", _analysed(inputs=[])

    def column(draft: Draft) -> None:
        for one in draft["analysis"]["columns"]:
            one["column"] = "nowhere"

    yield "column", "table text", column


def _computed() -> Iterator[Change]:
    yield "no query", "code", _analysed(query=None)
    yield "odd query", "code", _analysed(query={"query": [], "said": 3})
    yield "SQL", "code", _analysed(sql="SELECT 7713")
    yield "reading", "code text", _analysed(reading="sum of everything")

    def statistic(draft: Draft) -> None:
        draft["analysis"]["query"]["query"]["measures"][0]["statistic"] = "max"

    def stranger(draft: Draft) -> None:
        draft["analysis"]["query"]["query"]["table"] = "f" * 64

    yield "statistic", "code result", statistic
    yield "query over another table", "table", stranger


def _generated() -> Iterator[Change]:
    yield "no code", "code", _analysed(code=None)
    yield "code that knows the result", "code", _analysed(code="result = 42.0")
    yield "code that reads files", "code", _analysed(code="result = open('/etc/passwd').read()")
    yield "broken code", "code", _analysed(code="result = (")
    yield "other code", "result", _analysed(code="result = df['age'].max() * 2")
    yield "code that fails", "result", _analysed(code="result = df['age'].mean() / int(0)")


def _set(**values: Any) -> Callable[[Draft], None]:
    return lambda draft: draft.update(values)


def _analysed(**values: Any) -> Callable[[Draft], None]:
    return lambda draft: draft["analysis"].update(values)


def _on(part: str, change: Callable[[Draft], Draft]) -> Callable[[Draft], None]:
    return lambda draft: draft[part].update(change(draft[part]))


def _text(form: str) -> Callable[[Draft], None]:
    return lambda draft: draft.update(text=form.format(draft["text"]))


def _said(form: str) -> Callable[[Draft], None]:
    """A claim changed, in the text too."""

    def apply(draft: Draft) -> None:
        was = draft["claims"][0]["text"]
        now = form.format(was)
        draft["claims"][0]["text"] = now
        draft["text"] = draft["text"].replace(was, now, 1)

    return apply


def _other(value: Any) -> Any:
    """Every number somewhat larger."""
    if isinstance(value, dict):
        return {name: _other(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_other(one) for one in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value * 1.001 + 0.001
    return value


CODE = "result = {'mean age': df['age'].mean(), 'oldest': int(df['age'].max())}\nprint('done')"
FRAME = "result = df.groupby('region', as_index=False)['sales'].sum()"
BY_MODEL: dict[str, Any] = {"enable_grammar": False, "explain": "template"}
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
    answer = kept(
        run("How old are they?", script, **BY_MODEL | {"explain": "model"}).answer, settings
    )
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
    assert main([*["ask", "what is the mean of price", "--table", str(sales)], "--json"]) == 0
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
