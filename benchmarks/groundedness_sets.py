"""The claims that a judge of support is fitted on, and those that it is measured with.

Fitted on: the held-out part of the training data. Measured with: people's judgements (BEGIN, QAGS),
HaluEval rows that were not trained on, and changed sentences of passages that were not trained on.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.groundedness_changes import MINIMAL, Surroundings, changed, is_fit
from benchmarks.reading_answers import SEED, rows
from secondlook.errors import UsageError
from secondlook.roles.sentences import sentence_bounds
from training.data.chance import is_dev
from training.data.rows import read_claims, read_passages
from training.data.statements import statement
from training.data.support import matched_pair, tidy
from training.data.texts import word_count

if TYPE_CHECKING:
    from collections.abc import Sequence

PREPARED = Path(".cache/training/in")
DEV_SHARE = 0.02
TRAINING_SEED = 0
MINIMAL_PAIRS = 700
_TORN = re.compile(r"(?<=\d)([.,]) (?=\d)")
_NO_SPACE = re.compile(r"(?<=[a-z0-9)]\.)(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Claims:
    """Pairs of claim and evidence, with what is known of each."""

    pairs: Sequence[tuple[str, str]]
    supported: Sequence[bool]
    groups: Sequence[str] = field(default=())


def fitting(size: int = 0, prepared: Path = PREPARED) -> Claims:
    """The held-out part of the training claims, or so many of them: inference sets and changed
    sentences."""
    if not (prepared / "dev_support.jsonl.gz").is_file():
        raise UsageError(
            f"no claims to fit on in {str(prepared)!r}",
            hint="python -m training.prepare makes them from SECONDLOOK_DATA",
        )
    passages = read_passages(prepared)
    found = list(read_claims(prepared, "dev"))
    if size:
        found = random.Random(SEED).sample(found, min(size, len(found)))
    return Claims(
        [(one.hypothesis, one.premise_text(passages)) for one in found],
        [one.label == 1 for one in found],
        ["changed" if one.source.startswith("own") else "inference" for one in found],
    )


def begin(size: int = 0) -> Claims:
    """A response counts as supported where people called it fully attributable; generic ones claim
    nothing that the text says, so they are not."""
    listed = list(rows("faithfulness-human", "begin"))
    if size:
        listed = random.Random(SEED).sample(listed, min(size, len(listed)))
    return Claims(
        [(tidy(row["response"]), tidy(row["knowledge"])) for row in listed],
        [row["begin_label"] == "Fully attributable" for row in listed],
        [row["begin_label"] for row in listed],
    )


def qags() -> Claims:
    """Each sentence of a summary against its article; the majority of those asked decides."""
    pairs, supported = [], []
    for row in rows("faithfulness-human", "qags_cnndm"):
        for sentence in row["summary_sentences"]:
            said = [one["response"] == "yes" for one in sentence["responses"]]
            pairs.append((_whole_numbers(sentence["sentence"]), _whole_numbers(row["article"])))
            supported.append(2 * sum(said) > len(said))
    return Claims(pairs, supported)


def _whole_numbers(text: str) -> str:
    """Numbers as they are written: the articles have "235, 000" for 235,000."""
    return _TORN.sub(r"\1", text)


def halueval() -> Claims:
    """Rows that were not trained on. The right answer is put into a sentence with its question;
    for each number of words as many right as hallucinated sentences are taken, so that length
    tells nothing."""
    bins: dict[tuple[int, bool], list[tuple[str, str]]] = defaultdict(list)
    for row in rows("halueval-qa", "rows"):
        knowledge = " ".join(_NO_SPACE.sub(" ", row["knowledge"]).split())
        pair = matched_pair({**row, "knowledge": knowledge}, seed=TRAINING_SEED)
        if pair is not None and not is_dev(TRAINING_SEED, knowledge, DEV_SHARE):
            continue  # trained on
        right = statement(row["question"], row["right_answer"])
        wrong = row["hallucinated_answer"].strip()
        if right is not None:
            bins[word_count(right), True].append((right, knowledge))
        if wrong.endswith("."):
            bins[word_count(wrong), False].append((wrong, knowledge))
    draw = random.Random(SEED)
    pairs, supported = [], []
    for length in sorted({length for length, _ in bins}):
        each = min(len(bins[length, True]), len(bins[length, False]))
        for is_right in (True, False):
            pairs += draw.sample(bins[length, is_right], each)
            supported += [is_right] * each
    return Claims(pairs, supported)


@dataclass(frozen=True, slots=True)
class Minimal:
    """A true sentence and the same with one thing changed, with the passage it is from."""

    how: str
    true: str
    changed: str
    passage: str


def minimal_pairs(most: int = MINIMAL_PAIRS) -> list[Minimal]:
    """Of every kind of change as many as of the others, as far as there are."""
    draw = random.Random(SEED)
    kinds: dict[str, list[Minimal]] = defaultdict(list)
    for text, others in passages_about_the_same():
        around = Surroundings(text, others)
        fit = [one for one in sentences_of(text) if is_fit(one)]
        for sentence in draw.sample(fit, min(2, len(fit))):
            for one in changed(sentence, around, draw):
                if one.how in MINIMAL:
                    kinds[one.how].append(Minimal(one.how, sentence, one.text, text))
    each = -(-most // len(kinds))
    return [one for found in kinds.values() for one in draw.sample(found, min(each, len(found)))]


def passages_about_the_same() -> list[tuple[str, list[str]]]:
    """The passages of squad2-dev, each with the sentences of others of the same article."""
    corpus = list(rows("squad2-dev", "corpus"))
    articles: dict[str, list[tuple[str, list[str]]]] = defaultdict(list)
    for row in corpus:
        articles[row["title"]].append((row["id"], sentences_of(row["text"])))
    return [
        (
            row["text"],
            [one for key, said in articles[row["title"]] if key != row["id"] for one in said],
        )
        for row in corpus
    ]


def sentences_of(text: str) -> list[str]:
    return [text[start:end].strip() for start, end in sentence_bounds(text)]
