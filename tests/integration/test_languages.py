"""A library in three languages, asked in each: what the embedded models, trained for English, make
of it, and that nobody is told how sure an answer is where that is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from secondlook.engine.secondlook import Secondlook
from secondlook.library.library import Library
from secondlook.settings import load
from tests.support.risk import calibrated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.answer import Answer
    from secondlook.settings.sections import Settings

GERMAN = """\
Die Fährstation Möwenhaken

Die Fährstation Möwenhaken wurde im Jahr 1907 von der Ingenieurin Frieda Lohmann erbaut. Sie liegt
am nördlichen Ufer der Bucht und ist das ganze Jahr über geöffnet. Im Sommer fährt die Fähre alle
zwanzig Minuten, im Winter nur einmal in der Stunde. Eine einfache Fahrt kostet vier Euro, Kinder
unter sechs Jahren fahren kostenlos mit.

Bei Sturm wird der Betrieb eingestellt. Die Entscheidung trifft der diensthabende Kapitän, und sie
wird an der roten Tafel neben dem Steg bekannt gegeben.
"""
SPANISH = """\
El molino de Valdeherrera

El molino de Valdeherrera fue construido en 1842 por el arquitecto Tomás Briceño junto al río
Arlanzón. Durante más de un siglo molió el trigo de toda la comarca, hasta que una inundación
destruyó la presa en 1961. Hoy alberga un pequeño museo que abre los sábados por la mañana, y la
entrada cuesta tres euros.

El mecanismo original, de madera de roble, todavía se conserva en la planta baja.
"""
ENGLISH = """\
The lighthouse at Carrow Point

The lighthouse at Carrow Point was built in 1878 by the engineer Margaret Ainsley. It stands on a
ledge of granite and is 31 metres tall. The lamp has been electric since 1934, and the last keeper
left in 1988.
"""


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("languages")
    papers = folder / "papers"
    papers.mkdir()
    for name, text in (("faehre", GERMAN), ("molino", SPANISH), ("lighthouse", ENGLISH)):
        (papers / f"{name}.txt").write_text(text, encoding="utf-8")
    chosen = load(
        {"library.path": folder / "library", "runs.path": folder / "runs.db"}, environ={}
    ).settings
    with Library.open(settings=chosen) as library:
        library.add(papers)
    return chosen


@pytest.fixture(scope="module")
def engine(settings: Settings) -> Iterator[Secondlook]:
    with Secondlook.open(settings=settings) as opened:
        yield opened


def reason(what: str, language: str) -> str:
    return (
        f"the {what} is in {language}; the reader was trained for English: "
        "how sure it is cannot be told"
    )


def cited(answer: Answer) -> str:
    (citation,) = answer.citations
    assert citation.path is not None
    return citation.path


@pytest.mark.parametrize(
    ("question", "file", "said", "language"),
    [
        ("Wer hat die Fährstation Möwenhaken erbaut?", "faehre", "Frieda Lohmann", "German"),
        ("Was kostet eine einfache Fahrt mit der Fähre?", "faehre", "vier Euro", "German"),
        ("¿Quién construyó el molino de Valdeherrera?", "molino", "Tomás Briceño", "Spanish"),
        ("Who built the mill of Valdeherrera?", "molino", "Tomás Briceño", "Spanish"),
    ],
)
def test_the_answer_comes_with_its_passage_and_without_a_probability(
    engine: Secondlook, question: str, file: str, said: str, language: str
) -> None:
    answer = engine.ask(question)
    assert (answer.status, answer.stop_reason) == ("answered", "answered")
    assert said in answer.claims[0].text
    assert cited(answer).endswith(f"{file}.txt")
    assert answer.confidence.value is None
    assert answer.confidence.reasons == (reason("passage", language),)


def test_a_named_risk_cannot_be_promised_for_it(engine: Secondlook) -> None:
    file = engine.library.path / "calibration.json"
    calibrated(file, engine.library.reader().name, threshold=0.4)
    answer = engine.ask("Wer hat die Fährstation Möwenhaken erbaut?", max_risk=0.5)
    assert (answer.status, answer.stop_reason) == ("abstained", "low_confidence")
    assert reason("passage", "German") in answer.confidence.reasons
    assert answer.passages
