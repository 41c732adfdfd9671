"""What a model is trained on, laid out by hand and compared; no torch needed."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from secondlook.reading.reader import _Window, window_starts
from secondlook.reading.weights import find_weights
from training.arrays import (
    MAX_TOKENS,
    NEGATIVE,
    NO_SPAN,
    POSITIVE,
    UNANSWERABLE,
    load_pairs,
    token_span,
    window_start,
)
from training.batches import NOTHING, Mix, Sampler, in_order, pack, right_and_wrong
from training.data.rows import Claim, Passage, Positive, Question, Unanswerable
from training.encode import (
    answer_spans,
    cached_pairs,
    collect,
    describe,
    every_nth_group,
    tokenise,
)

if TYPE_CHECKING:
    from pathlib import Path

    from training.arrays import Pairs

LONG = " ".join(f"Word{n} stands here." for n in range(400)) + " The last king was Harald."
PASSAGES = [
    Passage("Norway", "Harald ruled Norway. Later Harald fled; Haraldson did not."),
    Passage("Sweden", "Erik ruled Sweden for a while."),
    Passage("Denmark", "Nobody knows who ruled Denmark then."),
    Passage("Kings", LONG),
    Passage("Finland", "Finland had no king of its own."),
]
NORWAY = Question(
    id="1",
    source="squad",
    question="Who ruled Norway?",
    answers=("Harald",),
    positives=(Positive(0, (0, 6)),),
    negatives=(1, 2, 4),
    unanswerable=(
        Unanswerable("near miss", 1),
        Unanswerable("entity swapped", 0, question="Who ruled Iceland?"),
        Unanswerable("sentence removed", 0, cut=(0, 20)),
    ),
)
LAST_KING = Question(
    id="2",
    source="hotpot",
    question="Who was the last king?",
    answers=("Harald",),
    positives=(Positive(3, (LONG.rindex("Harald"), len(LONG) - 1)), Positive(0, None)),
    negatives=(2,),
)
CLAIM = Claim(hypothesis="Erik ruled Sweden.", label=1, source="fever", passage=1)
FALSE_CLAIM = Claim(hypothesis="Erik fled.", label=0, source="fever", premise="Erik ruled.")


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(find_weights("reader").tokenizer))


@pytest.fixture(scope="module")
def pairs(tokenizer: Tokenizer) -> Pairs:
    return tokenise(collect(PASSAGES, [NORWAY, LAST_KING], [CLAIM, FALSE_CLAIM]), tokenizer)


def row_text(tokenizer: Tokenizer, ids: Any) -> str:
    return tokenizer.decode([int(token) for token in ids], skip_special_tokens=False)


def test_a_group_holds_right_wrong_and_unanswerable_pairs(pairs: Pairs) -> None:
    assert pairs.groups.tolist() == [0, 7, 10, 11, 12]
    assert pairs.sources[pairs.source].tolist() == ["squad", "hotpot", "support", "support"]
    assert pairs.kind[:7].tolist() == [POSITIVE, *[NEGATIVE] * 3, *[UNANSWERABLE] * 3]
    assert pairs.details[pairs.detail[4:7]].tolist() == [
        "near miss",
        "entity swapped",
        "sentence removed",
    ]
    facts = describe(pairs)
    assert facts["positive without a span"] == 1
    assert facts["supported"] == facts["unsupported"] == 1


def test_every_occurrence_of_the_answer_is_right_but_no_part_of_a_word() -> None:
    text = PASSAGES[0].text
    assert answer_spans(text, (0, 6)) == [(0, 6), (27, 33)]
    assert answer_spans(text, (27, 33)) == [(27, 33), (0, 6)]
    assert answer_spans(text, (5, 5)) == []


def test_a_packed_row_is_what_the_product_feeds(pairs: Pairs, tokenizer: Tokenizer) -> None:
    batch = pack(pairs, [[0], [11]], tokens=64)
    question, passage = (
        tokenizer.encode(text, add_special_tokens=False).ids
        for text in (NORWAY.question, PASSAGES[0].text)
    )
    feed = _Window(b"", question, passage, []).feed
    size = int(batch.bounds[1])
    assert batch.ids[:size].tolist() == feed["ids"][0].tolist()
    assert batch.types[:size].tolist() == feed["types"][0].tolist()
    assert batch.position[:size].tolist() == list(range(size))
    second = slice(int(batch.bounds[1]), int(batch.bounds[2]))
    assert row_text(tokenizer, batch.ids[second]) == "[CLS] erik fled. [SEP] erik ruled. [SEP]"


def test_what_is_left_of_the_shape_is_rows_of_fill(pairs: Pairs) -> None:
    batch = pack(pairs, [[11]], tokens=1000)
    assert len(batch.ids) == batch.bounds[-1] == 1000
    assert np.diff(batch.bounds).max() <= MAX_TOKENS
    assert batch.longest == MAX_TOKENS
    assert not batch.ids[batch.row >= 1].any()
    assert batch.pair.tolist() == [11]


def test_labels_point_at_the_answer(pairs: Pairs, tokenizer: Tokenizer) -> None:
    batch = pack(pairs, [[0, 1, 5], [7, 8]], tokens=1024)
    for first, last in batch.spans[0, :2]:
        assert row_text(tokenizer, batch.ids[first : last + 1]) == "harald"
    assert batch.spans[0, 2:].tolist() == [[NOTHING, NOTHING]] * 2
    # Nothing to find: the first token says so. Relevant without an answer: not known.
    assert batch.spans[1, 0].tolist() == batch.spans[2, 0].tolist() == [0, 0]
    assert (batch.spans[4] == NOTHING).all()


def test_an_answer_far_back_is_read_in_the_window_the_product_would_use(
    pairs: Pairs, tokenizer: Tokenizer
) -> None:
    batch = pack(pairs, [[7]], tokens=512)
    first, last = batch.spans[0, 0]
    assert row_text(tokenizer, batch.ids[first : last + 1]) == "harald"
    tokens = len(tokenizer.encode(LONG, add_special_tokens=False).ids)
    room = MAX_TOKENS - 3 - int(pairs.question_tokens(np.array([7]))[0])
    assert pairs.offset[7] in window_starts(tokens, room)


@pytest.mark.parametrize("last", [0, 99, 100, 103, 104, 150, 299])
def test_a_window_holds_the_token_it_is_chosen_for(last: int) -> None:
    start = window_start(300, 100, last)
    assert start in window_starts(300, 100)
    assert start <= last < start + 100


def test_a_span_touches_every_token_of_its_characters() -> None:
    offsets = np.array([(0, 3), (4, 6), (6, 9), (10, 12)])
    assert token_span(offsets, 4, 9) == (1, 2)
    assert token_span(offsets, 5, 11) == (1, 3)
    assert token_span(offsets, 9, 10) is None
    assert token_span(offsets[:0], 0, 1) is None


def test_near_misses_are_ranked_last_but_damaged_passages_are_not_ranked(pairs: Pairs) -> None:
    right, wrong = right_and_wrong(pairs, np.arange(7))
    assert np.flatnonzero(right).tolist() == [0]
    assert np.flatnonzero(wrong).tolist() == [1, 2, 3, 4]
    batch = pack(pairs, [[11], [0, 2, 4, 6], [7, 8, 9]], tokens=2048)
    assert batch.members.tolist() == [[1, 2, 3], [5, 6, 7]]


def test_a_group_without_anything_to_compare_is_left_out(pairs: Pairs) -> None:
    assert pack(pairs, [[0], [1, 2]], tokens=512).members.shape[0] == 0


def sampler(pairs: Pairs, **changes: Any) -> Sampler:
    options: dict[str, Any] = {"negatives": 2, "harder": 2, "unanswerable": 1, **changes}
    shares = options.pop("shares", {"squad": 0.5, "support": 0.5})
    return Sampler(pairs, Mix(shares=shares, **options), tokens=1024, seed=3)


def test_only_the_hardest_negatives_are_drawn(pairs: Pairs) -> None:
    made = sampler(pairs)
    assert {row for _ in range(20) for row in made.choose(0)[1:3]} == {1, 2}
    made.hardness = np.array([0, -5, 1, 7, *[0] * 8], np.float32)
    assert {row for _ in range(20) for row in made.choose(0)[1:3]} == {2, 3}
    made.hardness = np.array([0, -1e9, -1e9, 7, *[0] * 8], np.float32)
    assert made.choose(0)[1] == 3
    assert pairs.kind[made.choose(0)].tolist() == [POSITIVE, NEGATIVE, UNANSWERABLE]


def test_sources_get_their_shares_of_the_tokens(pairs: Pairs) -> None:
    lengths = pairs.lengths
    spent = {"squad": 0, "support": 0}
    for batch in islice(sampler(pairs), 20):
        for pair in batch.pair:
            group = int(np.searchsorted(pairs.groups, pair, side="right")) - 1
            spent[str(pairs.sources[pairs.source[group]])] += int(lengths[pair])
    assert 0.45 < spent["squad"] / sum(spent.values()) < 0.55


def test_the_same_seed_gives_the_same_steps(pairs: Pairs) -> None:
    first, second = ([batch.pair.tolist() for batch in islice(sampler(pairs), 5)] for _ in range(2))
    assert first == second


def test_a_mix_of_nothing_is_refused(pairs: Pairs) -> None:
    with pytest.raises(ValueError, match="no rows of"):
        sampler(pairs, shares={"elsewhere": 1.0})


def test_scoring_reads_every_pair_once(pairs: Pairs) -> None:
    rows = np.arange(len(pairs.kind))
    batches = list(in_order(pairs, rows, tokens=int(pairs.lengths.max())))
    assert sorted(int(pair) for batch in batches for pair in batch.pair) == rows.tolist()
    assert len(batches) > 1


def test_arrays_survive_the_disk(pairs: Pairs, tmp_path: Path) -> None:
    pairs.save(tmp_path / "train.npz")
    again = load_pairs(tmp_path / "train.npz")
    assert np.array_equal(again.tokens, pairs.tokens)
    assert again.details.tolist() == pairs.details.tolist()
    # What lies in the working folder is not made again: the data folder need not even exist.
    assert len(cached_pairs(tmp_path, tmp_path / "nowhere", "train").kind) == len(pairs.kind)
    assert len(cached_pairs(tmp_path / "nowhere", tmp_path, "train").kind) == len(pairs.kind)


def test_a_trial_takes_whole_groups(pairs: Pairs) -> None:
    few = every_nth_group(pairs, 2)
    assert few.groups.tolist() == [0, 7, 8]
    assert few.kind[:7].tolist() == pairs.kind[:7].tolist()
    assert few.spans[7, 0, 0] == NO_SPAN
