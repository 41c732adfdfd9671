"""Does a text support a claim? Pairs from natural language inference and from HaluEval.

In HaluEval the length of the bare answer tells right from wrong in 94 % of rows. Right and
hallucinated answers are therefore put into sentences of like length, or left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from training.data.chance import chance, is_dev
from training.data.rows import Claim, read_lines
from training.data.statements import quoted, statement
from training.data.texts import normalised, sentences, word_count

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from training.data.leakage import Guard
    from training.data.rows import Part

NLI_FILES = (
    "snli_train100k",
    "cad_snli_train",
    "mnli_dev",
    "fever_validation",
    "rte_train",
    "scitail_dev",
)
"""Not qnli_dev: its questions and sentences are those of the SQuAD development set."""
CLOSEST_WORDS, CLOSEST_SHARE = 2, 0.15
"""Right and hallucinated claims differ at most by so many words, or by this share."""
LONGEST_PREMISE = 2400

_TREEBANK = (
    ("-LRB-", "("),
    ("-RRB-", ")"),
    ("-LSB-", "["),
    ("-RSB-", "]"),
    ("``", '"'),
    ("''", '"'),
)
_SPACE_BEFORE = re.compile(r" (?=[,.;:!?)\]%]|'s\b|n't\b)")
_SPACE_AFTER = re.compile(r"(?<=[(\[]) ")
_NO_SPACE = re.compile(r"(?<=[a-z0-9)]\.)(?=[A-Z])")
"""Where HaluEval put two sentences together."""
_FEWEST_IN_SENTENCE = 4


def nli_claims(
    folder: Path, *, most: int, guard: Guard, dropped: Counter[str], seed: int, dev_share: float
) -> Iterator[tuple[Part, Claim]]:
    """Entailed or not, as many of one as of the other from every source."""
    for name in NLI_FILES:
        groups: dict[int, list[Claim]] = {0: [], 1: []}
        for row in read_lines(folder / f"{name}.jsonl.gz"):
            claim = _inferred(row)
            if guard.leaks(row["premise"], row["hypothesis"]):
                dropped[f"{row['source']}: text of a test set"] += 1
            elif claim.premise and claim.hypothesis:
                groups[claim.label].append(claim)
        each = min(most // 2, *map(len, groups.values()))
        for label, claims in groups.items():
            drawn = chance(seed, f"{name} {label}").sample(claims, each)
            yield from parted(drawn, seed=seed, dev_share=dev_share)


def _inferred(row: dict[str, Any]) -> Claim:
    return Claim(
        hypothesis=tidy(row["hypothesis"]),
        label=1 if row["label"] == "entailment" else 0,
        source=row["source"],
        premise=tidy(row["premise"])[:LONGEST_PREMISE],
    )


def tidy(text: str) -> str:
    """Words as they are written, where a source kept them apart for a parser."""
    for code, sign in _TREEBANK:
        text = text.replace(code, sign)
    text = _SPACE_AFTER.sub("", _SPACE_BEFORE.sub("", " ".join(text.split())))
    return re.sub(r'" ([^"]+?) "', r'"\1"', text)


def hallucination_claims(
    rows: Iterable[dict[str, Any]],
    *,
    guard: Guard,
    dropped: Counter[str],
    seed: int,
    dev_share: float,
) -> Iterator[tuple[Part, Claim]]:
    for row in rows:
        knowledge = " ".join(_NO_SPACE.sub(" ", row["knowledge"]).split())
        if guard.leaks(row["question"], knowledge):
            dropped["halueval: text of a test set"] += 1
            continue
        pair = matched_pair({**row, "knowledge": knowledge}, seed=seed)
        if pair is None:
            dropped["halueval: no pair of like length"] += 1
            continue
        right, wrong = pair
        claims = [
            Claim(hypothesis=right, label=1, source="halueval", premise=knowledge),
            Claim(hypothesis=wrong, label=0, source="halueval", premise=knowledge),
        ]
        yield from parted(claims, seed=seed, dev_share=dev_share)


def matched_pair(row: dict[str, Any], *, seed: int) -> tuple[str, str] | None:
    """A right and a hallucinated claim whose lengths do not tell which is which."""
    right, wrong = row["right_answer"], row["hallucinated_answer"]
    trues = [*_said(row["question"], right), *_stating(row["knowledge"], right)]
    falses = _said(row["question"], wrong)
    draw = chance(seed, row["question"])
    pairs = [(true, false) for true in trues for false in falses if _alike(true, false)]
    if not pairs or normalised(right) == normalised(wrong):
        return None
    return draw.choice(pairs)


def _said(question: str, answer: str) -> list[str]:
    """The ways to say an answer: as given where it is a sentence; else made of the question."""
    if word_count(answer) >= _FEWEST_IN_SENTENCE and answer.rstrip().endswith("."):
        return [answer.strip()]
    return list(filter(None, (statement(question, answer), quoted(question, answer))))


def _stating(knowledge: str, answer: str) -> list[str]:
    """Sentences of the knowledge that hold the answer."""
    wanted = normalised(answer)
    said = (knowledge[start:end].strip() for start, end in sentences(knowledge))
    return [text for text in said if wanted in normalised(text)]


def _alike(true: str, false: str) -> bool:
    """Of like length, and both quoted or neither: the form must not tell either."""
    quoting = true.startswith("The answer to")
    if quoting != false.startswith("The answer to"):
        return False
    one, other = word_count(true), word_count(false)
    share = 0 if quoting else CLOSEST_SHARE * min(one, other)
    return abs(one - other) <= max(CLOSEST_WORDS, share)


def parted(claims: Sequence[Claim], *, seed: int, dev_share: float) -> Iterator[tuple[Part, Claim]]:
    """By premise, so that no premise is in both parts."""
    for claim in claims:
        held = is_dev(seed, claim.premise or "", dev_share)
        yield ("dev" if held else "train"), claim


def length_tells(claims: Iterable[Claim]) -> float:
    """How often the longer of a supported and an unsupported claim is the supported one."""
    lengths: dict[int, list[int]] = {0: [], 1: []}
    for claim in claims:
        lengths[claim.label].append(len(claim.hypothesis))
    if not lengths[0] or not lengths[1]:
        return 0.5
    import numpy as np
    from scipy.stats import rankdata

    ranks = rankdata(np.asarray(lengths[1] + lengths[0]))
    above = ranks[: len(lengths[1])].sum() - len(lengths[1]) * (len(lengths[1]) + 1) / 2
    return float(above / (len(lengths[1]) * len(lengths[0])))
