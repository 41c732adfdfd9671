from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from secondlook.reading import load_reader
from secondlook.reading.reader import OnnxReader

if TYPE_CHECKING:
    from secondlook.reading.port import Reader

QUESTION = "When was the observatory founded?"
ANSWER = "1847"
GOLD = f"The observatory was founded in {ANSWER} by a group of merchants, and burned down later."
OFF_TOPIC = "Bread rises because yeast turns sugar into carbon dioxide, which the gluten holds."
FILLER = "The harbour master kept a careful diary of every ship and its cargo. "


@pytest.fixture(scope="module")
def reader() -> Reader:
    return load_reader()


def test_it_finds_the_answer_and_its_characters(reader: Reader) -> None:
    passage = "😀 Ünïcode first. " + GOLD
    (reading,) = reader.read(QUESTION, [passage])
    assert passage[reading.start : reading.end] == ANSWER
    assert reading.span_score > reading.null_score
    assert reading.answerable > 0
    assert reading.windows == 1


def test_the_passage_that_answers_is_most_relevant_and_order_is_kept(reader: Reader) -> None:
    readings = reader.read(QUESTION, [OFF_TOPIC, GOLD, FILLER])
    scores = [reading.relevance for reading in readings]
    assert scores.index(max(scores)) == 1
    assert readings[1].answerable > readings[0].answerable
    assert readings[0].span_score < readings[0].null_score


def test_a_reading_does_not_depend_on_the_other_passages(reader: Reader) -> None:
    passages = [OFF_TOPIC, GOLD, FILLER * 40, ""]
    together = reader.read(QUESTION, passages)
    assert together == [reader.read(QUESTION, [passage])[0] for passage in passages]
    assert together == reader.read(QUESTION, passages[::-1])[::-1]
    assert together == OnnxReader(threads=1).read(QUESTION, passages)


@pytest.mark.parametrize("before", [60, 30, 0])
def test_an_answer_anywhere_in_a_long_passage_is_found(reader: Reader, before: int) -> None:
    passage = FILLER * before + GOLD + " " + FILLER * (60 - before)
    (reading,) = reader.read(QUESTION, [passage])
    assert reading.windows > 2
    assert passage[reading.start : reading.end] == ANSWER


@pytest.mark.parametrize(
    "passage", ["\ud83d half a pair", "x" * 5_000, "\x00\x01", "👩‍👩‍👧‍👦" * 50]
)
def test_odd_text_gives_offsets_inside_the_passage(reader: Reader, passage: str) -> None:
    (reading,) = reader.read("what is it? \udc00", [passage])
    assert 0 <= reading.start <= reading.end <= len(passage)
