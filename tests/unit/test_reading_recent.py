"""What the reader remembers of late."""

from __future__ import annotations

from secondlook.reading.port import Reading, glimpse
from secondlook.reading.reader import Recent, key_of


def look(relevance: float) -> Reading:
    return Reading(relevance, 0.0, 0, 0, 0.0, 0.0)


def test_a_look_does_not_stand_for_a_glance() -> None:
    recent = Recent(10)
    recent.put({b"a": look(1.0)})
    assert recent.get([b"a"], looked=False) == {}
    recent.put({b"a": glimpse(2.0, windows=3)})
    assert recent.get([b"a", b"b"], looked=True) == {b"a": look(1.0)}
    assert recent.get([b"a"], looked=False) == {b"a": glimpse(2.0, windows=3)}


def test_the_longest_unused_goes_first() -> None:
    recent = Recent(2)
    recent.put({b"a": look(1.0), b"b": look(2.0)})
    recent.get([b"a"], looked=True)
    recent.put({b"c": look(3.0)})
    assert recent.get([b"a", b"b", b"c"], looked=True).keys() == {b"a", b"c"}
    recent.put({bytes([at]): look(0.0) for at in range(9)})
    assert len(recent.get([bytes([at]) for at in range(9)], looked=True)) == 2


def test_nothing_is_kept_where_nothing_may_be() -> None:
    recent = Recent(0)
    recent.put({b"a": look(1.0)})
    assert recent.get([b"a"], looked=True) == {}


def test_keys_tell_question_and_passage_apart() -> None:
    keys = {key_of("ab", "c"), key_of("a", "bc"), key_of("abc", ""), key_of("c", "ab")}
    assert len(keys) == 4
    assert key_of("\ud800", "\udc00") == key_of("\ud800", "\udc00")
