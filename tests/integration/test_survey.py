"""Surveys over real files with exact truth, by Python and the command line."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import pytest

from secondlook.cli.main import main
from secondlook.engine.secondlook import Secondlook
from secondlook.library.library import Library
from secondlook.settings import load
from secondlook.verify import verify
from tests.support.survey_files import LEASES, TOTALS, estate, workshop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("papers")
    for name, write in (("workshop", workshop), ("estate", estate)):
        write(made / name)
        with Library.open(made / f"library-{name}", settings=load().settings) as library:
            library.add([made / name])
    return made


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[Secondlook]:
    with Library.open(folder / "library-workshop", create=False) as library:
        yield Secondlook(library)


def test_the_total_of_invoices_in_two_layouts_is_the_truth(engine: Secondlook) -> None:
    answer = engine.ask("what do the invoices come to altogether?")
    assert answer.workflow == "survey", answer.steps  # `auto` saw that it is one
    assert answer.short is not None
    assert answer.short.replace("2,550", "2,550.00") == f"{TOTALS['£']} and {TOTALS['€']}".replace(
        "7,", "£7,"
    ).replace("2,550", "€2,550")
    assert "Asked 12 documents; 12 answered." in answer.text
    assert verify(answer, engine.library) == []


def test_a_name_in_the_question_narrows_the_set(engine: Secondlook) -> None:
    answer = engine.ask("sum of all invoices from Tarn Timber", workflow="survey")
    assert answer.short == "£2,484"
    assert answer.analysis is not None
    assert answer.analysis.table is not None
    assert len(answer.analysis.table.rows) == 3


def test_a_question_about_one_document_is_no_survey(engine: Secondlook) -> None:
    answer = engine.ask("who is the contact at Bexley Glass?")
    assert answer.workflow != "survey"
    assert answer.short == "Jonas Reith"


def test_a_table_of_leases_from_the_command_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = folder / "leases.csv"
    place = ("--library", str(folder / "library-estate"))
    fields = ("survey", "tenant, rent, end", "--documents", "lease", "--csv", str(saved))
    assert main([*fields, *place]) == 0
    assert "Asked 4 documents; 4 answered." in capsys.readouterr().out
    with saved.open(encoding="utf-8-sig", newline="") as stream:
        header, *rows = csv.reader(stream)
    assert header == ["document", "tenant", "rent", "end"]
    truth = {(tenant, f"£{rent}", end) for _, tenant, _, end, rent, *_ in LEASES}
    assert {tuple(row[1:]) for row in rows} == truth
    assert main(["survey", " , ", "--documents", "lease", *place]) == 2
