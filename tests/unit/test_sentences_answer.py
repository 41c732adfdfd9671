"""What a model writes, read sentence by sentence: citations, refusals, leaks and loops."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secondlook.roles.prompts import NOT_FOUND, load
from secondlook.roles.sentences import (
    LONGEST_SENTENCE,
    REPEATS_OF_A_LOOP,
    Sentence,
    Sentences,
    review,
)

OWN = load("answer").own_words


def read(text: str, numbers: int = 3) -> list[tuple[str, tuple[int, ...]]]:
    found = review(text, numbers, own_words=OWN)
    return [(sentence.text, sentence.citations) for sentence in found.sentences]


def streamed(text: str, step: int, numbers: int = 3) -> list[Sentence]:
    reading = Sentences(numbers, own_words=OWN)
    found = []
    for at in range(0, len(text), step):
        found += reading.feed(text[at : at + step])
    return found + reading.finish()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is 7.8 metres deep [2][3].", [("It is 7.8 metres deep.", (2, 3))]),
        ("It is 7.8 metres deep [2, 3].", [("It is 7.8 metres deep.", (2, 3))]),
        ("It is 7.8 metres deep [1-3].", [("It is 7.8 metres deep.", (1, 2, 3))]),
        ("It is deep 【2】.", [("It is deep.", (2,))]),
        ("It is deep <<evidence-0a0b0c0d 2>>.", [("It is deep.", (2,))]),
        ("In [1990] it was deep [1].", [("In [1990] it was deep.", (1,))]),
        ("It is deep. [2] It is wide [1].", [("It is deep.", (2,)), ("It is wide.", (1,))]),
        ("It is deep.[2] It is wide.[1]", [("It is deep.", (2,)), ("It is wide.", (1,))]),
        ("[1] It is deep. [2] It is wide.", [("It is deep.", (1,)), ("It is wide.", (2,))]),
        ("[1] It is deep\n[2] It is wide", [("It is deep", (1,)), ("It is wide", (2,))]),
        ('She said "no." [1] He left [2].', [('She said "no."', (1,)), ("He left.", (2,))]),
        ("深さは七メートル。[1]次は五。[2]", [("深さは七メートル。", (1,)), ("次は五。", (2,))]),
    ],
)
def test_marks_are_taken_off_and_kept_with_their_sentence(
    text: str, expected: list[tuple[str, tuple[int, ...]]]
) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Smith of No. 5 measured 3.5 m [1].",
        "Tools, e.g. pumps, were sold by the U.S. Army [1].",
        "It grew by 3.5 to 4.5 m, cf. Fig. 2 of vol. 3 [1].",
        "It cost approx. three pounds [1].",
        "It lies\nnorth of the pier [1].",
    ],
)
def test_a_full_stop_inside_a_sentence_does_not_end_it(text: str) -> None:
    assert read(text) == [(" ".join(text[:-5].split()) + ".", (1,))]


def test_lists_are_read_item_by_item() -> None:
    text = "- one thing [1]\n* two things [2]\n\n3. third thing [3]\n**Answer:** done [1]"
    assert read(text) == [
        ("one thing", (1,)),
        ("two things", (2,)),
        ("third thing", (3,)),
        ("done", (1,)),
    ]


def test_numbers_that_do_not_exist_are_dropped_and_counted() -> None:
    found = review("It is deep [0][2][4]. It is wide [9, 12].", 3)
    assert [sentence.citations for sentence in found.sentences] == [(2,), ()]
    assert found.dropped == {"citation": 4}


@pytest.mark.parametrize(
    "text",
    [
        NOT_FOUND,
        "Not in the evidence.",
        f'"{NOT_FOUND}"',
        f"**{NOT_FOUND}** [1]",
        "I am sorry, but the answer is not in the evidence [1]. Ask me anything else!",
        f"Let me see. {NOT_FOUND}. I hope this helps.",
        "The answer was not found in the provided evidence",
        "The evidence does not mention the depth of the harbour.",
        "Unfortunately, the passages don't say how deep it is.",
    ],
)
def test_a_refusal_is_recognised(text: str) -> None:
    found = review(text, 3, own_words=OWN)
    assert found.not_found
    assert found.dropped["not_found"] == 1
    assert not any(sentence.citations for sentence in found.sentences)


@pytest.mark.parametrize(
    "text",
    [
        "The knife was not in the evidence room [1].",
        "It is 7.8 metres deep [2], while the width of the channel is not in the evidence.",
        "The text does not mention the war [1].",
    ],
)
def test_an_answer_is_no_refusal(text: str) -> None:
    found = review(text, 3)
    assert not found.not_found
    assert len(found.sentences) == 1


def test_a_refusal_after_a_cited_sentence_is_cut_and_the_answer_stays() -> None:
    found = review(f"It is 7.8 metres deep [1]. {NOT_FOUND}.", 3)
    assert [sentence.text for sentence in found.sentences] == ["It is 7.8 metres deep."]
    assert not found.not_found


def test_our_own_prompt_is_cut() -> None:
    text = (
        "You answer a question from numbered evidence and nothing else. It is deep [1]. "
        "After each put the number of its evidence. Question:"
    )
    found = review(text, 3, own_words=OWN)
    assert [sentence.text for sentence in found.sentences] == ["It is deep."]
    assert found.dropped == {"prompt": 3}


@pytest.mark.parametrize(
    "text",
    [
        "It is <|im_start|> deep [1].",
        "[INST] It is deep [1].",
        "<s>It is deep [1].",
        "assistant: It is deep [1].",
        "User: how deep is it?",
        "It is deep <end_of_turn> [1].",
        "### Instruction:",
    ],
)
def test_marks_of_chat_templates_are_cut(text: str) -> None:
    found = review(text, 1)
    assert found.sentences == ()
    assert found.dropped == {"control": 1}


@pytest.mark.parametrize("after", ["<|im_end|>", "\nuser\n", "\n<|im_start|>user\n", " </s> "])
def test_what_follows_the_end_of_a_turn_is_no_answer(after: str) -> None:
    reading = Sentences(1)
    found = reading.feed(f"It is deep [1].{after}How wide is it?\nIt is wide [1].\n")
    assert [sentence.text for sentence in found + reading.finish()] == ["It is deep."]
    assert reading.stopped
    assert reading.feed("More [1]. And more. ") == []


def test_a_loop_is_stopped() -> None:
    reading = Sentences(1)
    found = reading.feed("It is deep [1]. It is wide [1]. " + "It is deep. " * 1000)
    assert [sentence.text for sentence in found] == ["It is deep.", "It is wide."]
    assert reading.dropped == {"repeated": REPEATS_OF_A_LOOP}
    assert reading.stopped


def test_a_model_that_was_stopped_leaves_no_half_sentence() -> None:
    reading = Sentences(2)
    assert len(reading.feed("It is deep [1]. It is also")) == 1
    assert reading.finish(cut_short=True) == []
    assert reading.dropped == {"unfinished": 1}


def test_a_sentence_comes_as_soon_as_it_is_over() -> None:
    reading = Sentences(3)
    assert reading.feed("It is deep [1]. [") == []
    assert reading.feed("2] It") == []
    assert reading.feed(" is") == [Sentence("It is deep.", (1, 2))]


def test_memory_is_bounded() -> None:
    reading = Sentences(1)
    for number in range(20_000):
        reading.feed(f"some {number} words ")
        assert len(reading._pending) <= LONGEST_SENTENCE + 64


PIECES = st.sampled_from([
    "It is deep", " it ", "Dr. ", "e.g. ", "3.5", ". ", ".", "!", "…", "。", '"', ")", "\n",
    "\n\n", " ", "  ", "[1]", " [2]", "[1, 3]", "[9]", "[", "]", "<", "<|im_end|>", "[INST]",
    "<<evidence-0a0b0c0d 1>>", "- ", "1. ", "A", "b", "ß", "漢", "user", ":", NOT_FOUND,
])  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(pieces=st.lists(PIECES, max_size=40), step=st.integers(1, 7))
def test_how_the_stream_is_cut_does_not_matter(pieces: list[str], step: int) -> None:
    text = "".join(pieces)
    assert streamed(text, step) == streamed(text, len(text) or 1)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    for sentence in review(text, 2).sentences:
        assert sentence.text.strip()
        assert set(sentence.citations) <= {1, 2}
