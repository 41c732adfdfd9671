"""The whole preparation on a small data folder: its rows, its bytes, and what it must refuse."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.support.training_sets import HIDDEN, squad_query, write_sets
from training import prepare
from training.data.hotpot import found_at
from training.data.leakage import Guard, gold_titles, guard_of
from training.data.lexical import best, lexical_index
from training.data.own_index import IndexMiner, kept_vectors
from training.data.report import Leak, report
from training.data.rows import (
    Claim,
    Passage,
    read_claims,
    read_lines,
    read_passages,
    read_questions,
    without,
)
from training.data.squad import mixed, sources
from training.data.support import length_tells, matched_pair

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a text of a test set hidden in each training source."""
    return write_sets(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def prepared(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out")
    assert prepare.main(["--data", str(data), "--out", str(out)]) == 0
    return out


def test_spans_say_the_answer_and_negatives_never_hold_it(prepared: Path) -> None:
    passages = read_passages(prepared)
    rows = list(read_questions(prepared)) + list(read_questions(prepared, "dev"))
    assert Counter(row.source for row in rows)["squad"] == 180
    for row in rows:
        for positive in row.positives:
            if positive.span:
                start, end = positive.span
                assert passages[positive.passage].text[start:end] == row.answers[0]
        if row.source == "squad":
            assert 2 <= len(row.negatives) <= 12
            assert row.positives[0].passage not in row.negatives
            texts = [passages[number].text for number in row.negatives]
            assert not any(row.answers[0] in text for text in texts)


def test_unanswerable_rows_do_not_say_the_answer_or_ask_something_else(prepared: Path) -> None:
    passages = read_passages(prepared)
    kinds: Counter[str] = Counter()
    for row in read_questions(prepared):
        for made in row.unanswerable:
            kinds[made.how] += 1
            text = without(passages[made.passage].text, made.cut)
            if made.question:
                assert made.question != row.question
            elif row.source == "squad":
                assert row.answers[0] not in text
    assert {"number changed", "sentence removed", "no such opinion"} <= set(kinds)


def test_held_out_articles_are_in_no_training_row(prepared: Path) -> None:
    passages = read_passages(prepared)
    dev = [row for row in read_questions(prepared, "dev") if row.source == "squad"]
    held = {passages[row.positives[0].passage].title for row in dev}
    assert held
    for row in read_questions(prepared):
        used = {p.passage for p in row.positives} | set(row.negatives)
        used |= {made.passage for made in row.unanswerable}
        assert not held & {passages[number].title for number in used}
    claims = [claim for claim in read_claims(prepared) if claim.passage is not None]
    assert not held & {passages[claim.passage].title for claim in claims if claim.passage}


def test_two_hop_questions_have_two_positives_and_lose_the_passages_of_the_test_set(
    prepared: Path,
) -> None:
    passages = read_passages(prepared)
    rows = [row for row in read_questions(prepared) if row.source == "hotpot"]
    assert rows
    assert all(len(row.positives) == 2 for row in rows)
    judged = [row for row in rows if row.answers == ("yes",)]
    assert judged
    assert all(p.span is None for row in judged for p in row.positives)
    assert any(p.span for row in rows for p in row.positives)
    assert "Lake 7" not in {passage.title for passage in passages}


def test_reviews_lose_the_mark_that_tells_the_label(prepared: Path) -> None:
    passages = read_passages(prepared)
    rows = [row for row in read_questions(prepared) if row.source == "subjqa"]
    assert {bool(row.positives) for row in rows} == {True, False}
    reviews = [p.text for p in passages if p.title == "Review (restaurants)"]
    assert len(reviews) == 40
    assert all(text.endswith("salty.") and "fine & warm" in text for text in reviews)


def test_claims_are_balanced_and_halueval_is_matched_in_length(prepared: Path) -> None:
    claims = list(read_claims(prepared)) + list(read_claims(prepared, "dev"))
    for source in ("snli", "mnli", "fever", "rte", "scitail", "cad_snli", "halueval"):
        labels = Counter(claim.label for claim in claims if claim.source == source)
        assert labels[0] == labels[1] > 0
    right = [c.hypothesis for c in claims if c.source == "halueval" and c.label == 1]
    assert "Otto Lang built bridge 3." in right


def test_no_text_of_a_test_set_is_in_it(prepared: Path, data: Path) -> None:
    texts = "".join(
        json.dumps(row) for file in prepared.glob("*.gz") for row in read_lines(file)
    ).lower()
    assert "lisbon" not in texts
    assert "hidden harbour" not in texts
    found = json.loads((prepared / prepare.REPORT_FILE).read_text("utf-8"))
    assert found["texts_of_test_sets"] == 0
    assert found["left_out"]["squad: passage with text of a test set"] == 1
    assert found["left_out"]["squad: question of a test set"] == 1
    assert found["left_out"]["squad: passage left out"] == 1
    assert found["left_out"]["squad: answer not at its place"] == 1
    assert found["left_out"]["snli: text of a test set"] == 1
    assert found["left_out"]["halueval: text of a test set"] == 1
    assert found["left_out"]["hotpot: needs a passage of a test set"] == 1


def test_the_report_stops_where_something_leaks(prepared: Path) -> None:
    guard = Guard()
    guard.forbid_question("Who built mill number 3 in 1803 near the river?")
    guard.forbid(next(iter(read_passages(prepared))).text)
    with pytest.raises(Leak, match="texts of test sets"):
        report(prepared, guard)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(
    data: Path, prepared: Path, tmp_path: Path
) -> None:
    assert prepare.main(["--data", str(data), "--out", str(tmp_path / "same")]) == 0
    assert prepare.main(["--data", str(data), "--out", str(tmp_path / "b"), "--seed", "1"]) == 0
    for file in sorted(prepared.iterdir()):
        assert (tmp_path / "same" / file.name).read_bytes() == file.read_bytes()
    changed = (tmp_path / "b" / "qa.jsonl.gz").read_bytes()
    assert changed != (prepared / "qa.jsonl.gz").read_bytes()


def test_a_limit_takes_so_many_of_each_source(data: Path, tmp_path: Path) -> None:
    assert prepare.main(["--data", str(data), "--out", str(tmp_path), "--limit", "10"]) == 0
    rows = list(read_questions(tmp_path)) + list(read_questions(tmp_path, "dev"))
    assert max(Counter(row.source for row in rows).values()) <= 10
    claims = list(read_claims(tmp_path)) + list(read_claims(tmp_path, "dev"))
    assert Counter(claim.source for claim in claims)["snli"] == 10


def test_a_folder_without_data_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert prepare.main(["--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    assert "squad-train" in capsys.readouterr().err


def test_the_guard_knows_a_sentence_whatever_its_spacing() -> None:
    guard = Guard()
    guard.forbid(f"First. {HIDDEN}")
    assert guard.leaks(f"Before it. {HIDDEN.replace(' ', '  ').lower()} After it.")
    assert not guard.leaks("The hidden harbour of Porto was dredged by Danish engineers in 1871.")
    assert not guard.leaks("First.")


def test_the_guard_reads_every_test_set(data: Path) -> None:
    guard = guard_of(data)
    assert guard.leaks("What is a very old clap?")
    assert guard.leaks("Bees dance in the hive to tell where flowers are.")
    assert guard.leaks("The minister of trade resigned on Monday over a letter.")
    assert gold_titles(data / "hotpot") == {"Lake 7"}
    assert not guard_of(data / "nowhere").texts


def test_the_best_passages_come_first_and_common_words_tell_nothing() -> None:
    passages = [Passage("", f"common word and {word}") for word in ("apple", "pear", "plum")]
    index = lexical_index([*passages, Passage("", "common word, a pear and a pear")])
    (scores,) = index.scores(["Is a pear common?"])
    assert best(scores, 4) == [3, 1]
    (nothing,) = index.scores(["zebra"])
    assert best(nothing, 4) == []


def test_negatives_come_from_anywhere_and_from_the_article() -> None:
    anywhere, own = list(range(20)), [3, 30, 31, 32, 33, 34]
    assert mixed(anywhere, own) == (*range(8), 30, 31, 32, 33)
    assert mixed([1], [2]) == (1, 2)


def test_an_answer_not_at_its_place_is_counted() -> None:
    dropped: Counter[str] = Counter()
    row = squad_query("k", "Who?", "Ann", 1)
    assert not list(sources([row], {"k": 0}, {0: Passage("", "Ann came.")}, dropped))
    assert dropped == {"squad: answer not at its place": 1}


def test_a_span_is_whole_words() -> None:
    assert found_at("In Annapolis Ann lived.", ["Bob", "Ann"]) == (13, 16)
    assert found_at("In Annapolis.", ["Ann"]) is None


def test_hallucinations_without_a_match_in_length_are_left_out() -> None:
    row = {
        "knowledge": "Otto Lang lived.",
        "question": "Why did he leave?",
        "right_answer": "war",
        "hallucinated_answer": "He left because of the long and very terrible war in his country.",
    }
    assert matched_pair(row, seed=0) is None
    same = {**row, "hallucinated_answer": "War"}
    assert matched_pair(same, seed=0) is None


def test_length_tells_as_a_rank_statistic() -> None:
    def claim(text: str, label: int) -> Claim:
        return Claim(hypothesis=text, label=1 if label else 0, source="s", premise="p")

    assert length_tells([claim("aaa", 1), claim("a", 0)]) == 1.0
    assert length_tells([claim("aa", 1), claim("aa", 0)]) == 0.5
    assert length_tells([claim("aa", 1)]) == 0.5


def test_a_claim_without_premise_is_refused() -> None:
    with pytest.raises(ValueError, match="without premise"):
        Claim(hypothesis="h", label=1, source="s").premise_text([])
    given = Claim(hypothesis="h", label=1, source="s", passage=0, keep=(0, 3))
    assert given.premise_text([Passage("", "One two.")]) == "One"


def test_our_own_search_finds_negatives_that_share_no_word(tmp_path: Path) -> None:
    passages = [
        Passage("Cats", "The kitten slept on a warm cushion all afternoon."),
        Passage("Rates", "The central bank raised its rates by a quarter point."),
        Passage("Dogs", "A puppy chased its tail in the yard."),
    ]
    question = "Where did the young feline nap?"
    words = lexical_index(passages).scores([question])
    assert best(next(words), 3) == []
    miner = IndexMiner(tmp_path)
    (found,) = miner.hardest(passages, [question], 2)
    assert found[0] == 0
    assert len(found) == 2


def test_vectors_are_kept_and_belong_to_their_texts(tmp_path: Path) -> None:
    embedder = CountingEmbedder()
    passages = [Passage("", "One."), Passage("", "Two.")]
    first = kept_vectors(passages, embedder, tmp_path)
    assert (kept_vectors(passages, embedder, tmp_path) == first).all()
    assert embedder.embedded == 2
    kept_vectors([Passage("", "Three.")], embedder, tmp_path)
    assert embedder.embedded == 3


class CountingEmbedder:
    name = "counting@1"
    dimensions = 2
    max_tokens = 512
    embedded = 0

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.embedded += len(texts)
        return np.tile(np.array([0.6, 0.8], np.float32), (len(texts), 1))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return np.array([0.6, 0.8], np.float32)

    def token_starts(self, text: str) -> list[int]:
        return [0]


def test_negatives_mined_by_our_own_search_never_hold_the_answer(
    data: Path, tmp_path: Path
) -> None:
    given = ["--data", str(data), "--out", str(tmp_path), "--limit", "6", "--mine", "index"]
    assert prepare.main(given) == 0
    passages = read_passages(tmp_path)
    rows = [row for row in read_questions(tmp_path) if row.negatives]
    assert {row.source for row in rows} >= {"squad", "hotpot"}
    for row in rows:
        held = [passages[number].text for number in row.negatives]
        assert not any(answer in text for answer in row.answers for text in held)
    assert list((tmp_path / "vectors").glob("*.npy"))
    assert json.loads((tmp_path / "report.json").read_text("utf-8"))["mine"] == "index"
