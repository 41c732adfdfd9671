"""Evidence within a budget: the right sentences first, none cut, every piece from its passage."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secondlook.nodes.evidence import GAP, EvidenceItem, Mode, Packed, pack
from secondlook.roles.prompts.marks import evidence_marks

HARBOUR = (
    "The harbour was built in 1860. It has three basins. The north basin is 7.8 metres deep. "
    "It was dredged in 2019. A light stands at its mouth."
)
TOWN = "The town lies on a hill. Its market is old. Fish is sold there. People come from afar."
MARKS = evidence_marks("run")


def words(text: str) -> int:
    return len(re.findall(r"\w+|[^\w\s]", text))


def item(name: str, text: str = HARBOUR, answer: str | None = None) -> EvidenceItem:
    at = text.find(answer) if answer else -1
    span = (at, at + len(answer)) if answer and at >= 0 else None
    return EvidenceItem(passage=name, title="Guide", text=text, heading=("Depths",), span=span)


def packed(
    *items: EvidenceItem, budget: int = 1000, mode: Mode = "sentences", question: str = "How deep?"
) -> Packed:
    return pack(question, items, mode=mode, budget_tokens=budget, count=words)


def shown(found: Packed) -> list[str]:
    return [block.text.removeprefix("Guide. Depths\n") for block in found.blocks]


def names(found: Packed) -> list[str]:
    return [block.passage for block in found.blocks]


def test_with_room_for_all_everything_is_shown_in_order_below_its_title() -> None:
    found = packed(item("a", HARBOUR, "7.8 metres"), item("b", TOWN, "market"))
    assert (names(found), shown(found)) == (["a", "b"], [HARBOUR, TOWN])
    assert found.blocks[0].text == f"Guide. Depths\n{HARBOUR}"
    assert found.tokens == words(MARKS.wrap([block.text for block in found.blocks]))
    assert packed() == Packed((), 0)


def test_the_sentence_with_the_span_comes_first_then_its_neighbours() -> None:
    one = item("a", HARBOUR, "7.8 metres")
    growing = list(dict.fromkeys(shown(packed(one, budget=at))[0] for at in range(30, 70)))
    assert growing[:2] == [
        "The north basin is 7.8 metres deep.",
        "It has three basins. The north basin is 7.8 metres deep.",
    ]
    assert growing[-1] == HARBOUR
    assert all(earlier in later for earlier, later in pairwise(growing))


def test_each_passage_shows_its_sentence_before_the_best_shows_all() -> None:
    items = [item("a", HARBOUR, "7.8 metres"), item("b", TOWN, "old"), item("c", "Gulls cry. " * 2)]
    first, second, third = shown(packed(*items, budget=75))
    assert len(first) > len(second)
    assert first != HARBOUR
    assert "Its market is old." in second
    assert third


def test_whole_passages_or_the_sentences_of_one_that_is_too_long() -> None:
    items = [item("a", HARBOUR, "7.8 metres"), item("b", TOWN, "old"), item("c", TOWN + " Yes.")]
    found = packed(*items, mode="passages", budget=95)
    assert shown(found)[:2] == [HARBOUR, TOWN]
    assert found.tokens <= 95
    small = packed(items[0], mode="passages", budget=31)
    assert shown(small) == ["The north basin is 7.8 metres deep."]


def test_duplicates_and_empty_passages_are_left_out_and_a_shared_sentence_is_shown_once() -> None:
    items = [item("a", HARBOUR), item("b", f"  {HARBOUR}\n"), item("a", TOWN), item("c", " \n")]
    assert names(packed(*items)) == ["a"]
    shared = "The north basin is 7.8 metres deep."
    items = [
        item("a", f"It is old. {shared}", "7.8"),
        item("b", f"{shared} It was dredged in 2019.", "2019"),
        item("c", f"{shared} Boats lie there.", "7.8"),
    ]
    assert shown(packed(*items)) == [items[0].text, "It was dredged in 2019."]


def test_a_sentence_longer_than_the_budget_is_cut_around_the_span() -> None:
    text = "alpha " * 300 + "the answer is 42 here " + "omega " * 300
    found = packed(item("a", text, "42"), budget=60)
    (piece,) = shown(found)
    assert "the answer is 42 here" in piece
    assert 40 <= found.tokens <= 60
    assert re.fullmatch(r"(?:alpha )+the answer is 42 here(?: omega)+", piece)
    unbroken = EvidenceItem("a", "", "漢" * 1500 + "字" * 2 + "漢" * 1500, span=(1500, 1502))
    found = pack("?", [unbroken], mode="sentences", budget_tokens=100, count=len)
    assert "字字" in found.blocks[0].text
    assert found.tokens <= 100


@pytest.mark.parametrize("budget", [-5, 10])
@pytest.mark.parametrize("answer", ["7.8 metres", None])
@pytest.mark.parametrize("mode", ["sentences", "passages"])
def test_there_is_always_something(budget: int, answer: str | None, mode: Mode) -> None:
    (block,) = packed(item("a", HARBOUR, answer), item("b", TOWN), budget=budget, mode=mode).blocks
    assert block.text.strip()
    assert (answer or "") in block.text


SENTENCES = st.lists(
    st.sampled_from(
        ["It is deep.", "Dr. No left.", "Why?", "Boats lie\nat night.", "a\tb\n", "漢字。", ""]
    ),
    max_size=12,
)


@settings(max_examples=100, deadline=None)
@given(
    texts=st.lists(SENTENCES, max_size=6),
    spans=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 200)), min_size=6, max_size=6),
    budget=st.integers(0, 200),
    mode=st.sampled_from(["sentences", "passages"]),
)
def test_what_always_holds(
    texts: list[list[str]], spans: list[tuple[int, int]], budget: int, mode: Mode
) -> None:
    items = [
        EvidenceItem(passage=f"p{at}", title="T", text=" ".join(parts), span=spans[at])
        for at, parts in enumerate(texts)
    ]
    found = packed(*items, budget=budget, mode=mode)
    by_name = {one.passage: " ".join(one.text.split()) for one in items}
    assert names(found) == sorted(names(found))
    assert bool(found.blocks) == any(by_name.values())
    assert found.tokens <= budget or len(found.blocks) == 1
    for block in found.blocks:
        for piece in block.text.removeprefix("T\n").split(GAP):
            assert " ".join(piece.split()) in by_name[block.passage]
