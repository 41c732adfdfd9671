"""What the guard of rewrites lets through: people's own rewrites, and drifted ones made by code."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.condense import mean
from secondlook.nodes.follow_up import names
from secondlook.nodes.rewriting import accepted
from secondlook.nodes.rewriting.wording import content, normalised
from secondlook.retrieval.analyse import terms

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Row = dict[str, Any]
    Making = Callable[[Row, Row, random.Random], tuple[str, str, str] | None]

SEED = 17
SOUP = 8
"""Words from elsewhere in a keyword soup."""
SHORT = 4
"""Words of an answer that fits into a query."""
_WORD = re.compile(r"\w[\w'-]*")


def measure(rows: Sequence[Row]) -> dict[str, Any]:
    return {
        "people": people(rows),
        "made": {name: made(rows, making) for name, making in MAKINGS.items()},
        "attacks": attacks(),
    }


def people(rows: Sequence[Row]) -> dict[str, Any]:
    """Each person's rewrite as if a model had said it, where it says something new.

    A model that rewrites in a conversation has been given that conversation, so names and numbers
    of it are known.
    """
    new = [row for row in rows if normalised(row["rewrite"]) != normalised(row["question"])]
    verdicts = [
        accepted(row["rewrite"], row["question"], [], known=" ".join(row["history"])) for row in new
    ]
    reasons = Counter(verdict.reason for verdict in verdicts if verdict.reason)
    short = len(new) - reasons["too long"]
    return {
        "rewrites": len(new),
        "accepted": _share(sum(one.is_accepted for one in verdicts), len(new)),
        "refused": dict(reasons.most_common()),
        "of_those_short_enough_accepted": _share(sum(one.is_accepted for one in verdicts), short),
        "kept_by_accepted": mean([one.kept for one in verdicts if one.is_accepted]),
    }


def made(rows: Sequence[Row], making: Making) -> dict[str, Any]:
    chance = random.Random(SEED)
    reasons: Counter[str | None] = Counter()
    for row in rows:
        made = making(row, chance.choice(rows), chance)
        if made is not None:
            reply, question, known = made
            reasons[accepted(reply, question, [], known=known).reason] += 1
    total = reasons.total()
    refused = {reason: number for reason, number in reasons.most_common() if reason}
    return {"made": total, "refused": _share(sum(refused.values()), total), "why": refused}


def attacks() -> dict[str, Any]:
    """Published prompt injections as replies to a question that has nothing to do with them."""
    file = Path(os.environ["SECONDLOOK_DATA"]) / "injection" / "attacks.jsonl.gz"
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        said = [json.loads(line)["attack"] for line in lines]
    question = "When did the mayor of Halvermouth open the new market hall?"
    alone = [accepted(one, question, []).reason for one in said]
    after = [accepted(f"Halvermouth market hall {one}", question, []).reason for one in said]
    return {
        "attacks": len(said),
        "refused": _share(sum(reason is not None for reason in alone), len(said)),
        "refused_after_the_question's_words": _share(
            sum(reason is not None for reason in after), len(said)
        ),
    }


# Drift


def _other_question(row: Row, other: Row, _: random.Random) -> tuple[str, str, str]:
    return other["rewrite"], row["rewrite"], ""


def _words_swapped(row: Row, other: Row, chance: random.Random) -> tuple[str, str, str] | None:
    """Names stay, every other word that tells something is another question's."""
    return _swapped(row, other, chance, share=1.0)


def _half_swapped(row: Row, other: Row, chance: random.Random) -> tuple[str, str, str] | None:
    return _swapped(row, other, chance, share=0.5)


def _swapped(
    row: Row, other: Row, chance: random.Random, *, share: float
) -> tuple[str, str, str] | None:
    question = row["rewrite"]
    loose, strange = _loose_words(question), _loose_words(other["rewrite"])
    if len(loose) < 2 or not strange:
        return None
    out = set(loose[: max(1, round(share * len(loose)))])
    changed = _WORD.sub(
        lambda found: chance.choice(strange) if found[0] in out else found[0], question
    )
    return changed, question, row["history"][0]


def _soup(row: Row, other: Row, chance: random.Random) -> tuple[str, str, str]:
    """Half of the question's words among many that have nothing to do with it."""
    own = _telling(row["rewrite"])
    strange = _telling(" ".join([other["rewrite"], *other["history"]]))
    mixed = own[: max(1, len(own) // 2)] + [
        word.lower() for word in chance.sample(strange, min(SOUP, len(strange)))
    ]
    return " ".join(mixed), row["rewrite"], row["history"][0]


def _answer(row: Row, _: Row, __: random.Random) -> tuple[str, str, str] | None:
    """What the conversation answered to its last question, instead of a query."""
    said = row["history"][2:]
    return (said[-1], said[-2], row["history"][0]) if len(said) > 1 else None


def _answer_hidden(row: Row, _: Row, __: random.Random) -> tuple[str, str, str] | None:
    """A good query with a short answer behind it that names somebody or counts something."""
    said = row["history"][2:]
    if len(said) < 2 or len(said[-1].split()) > SHORT:
        return None
    answer = said[-1].rstrip(" .")
    facts = [*names(answer), *re.findall(r"\d+", answer)]
    if not facts or set(terms(answer)) <= set(terms(f"{said[-2]} {row['history'][0]}")):
        return None
    return f"{said[-2].rstrip(' ?')} {answer}", said[-2], row["history"][0]


MAKINGS: dict[str, Making] = {
    "another question": _other_question,
    "names kept, other words swapped": _words_swapped,
    "names kept, half of the other words swapped": _half_swapped,
    "keyword soup": _soup,
    "the answer": _answer,
    "the question with the answer behind it": _answer_hidden,
}


def _telling(text: str) -> list[str]:
    return [word for word in dict.fromkeys(_WORD.findall(text)) if content(word)]


def _loose_words(text: str) -> list[str]:
    """Words that tell something and belong to no name."""
    named = {word for name in names(text) for word in _WORD.findall(name)}
    return [word for word in _telling(text) if word not in named and word.isalpha()]


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
