"""How near follow-ups come to what people make of them, and what the guard of rewrites lets pass.

    SECONDLOOK_DATA=... python -m benchmarks.rewriting [--look]

CANARD (Elgohary et al., EMNLP 2019) has conversations in which people rewrote each question so that
it stands alone. A conversation is played from its start, as in a chat: earlier questions are those
that the product made, answers are the ones given, the title is that of the page they are from. The
understander learned from the conversations of one half; the other half reports. Writes
benchmarks/results/rewriting.json.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secondlook.retrieval.terms import terms
from secondlook.roles.follow_up import Turn, names, stand_alone
from secondlook.roles.rewrite import accepted, content, normalised

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Row = dict[str, Any]
    Drift = tuple[str, str, str]
    """A reply, the question it was to rewrite, and what else was known."""

RESULTS = Path(__file__).parent / "results" / "rewriting.json"
SEED, RESAMPLES = 17, 2000
SHORT = 8
"""Words of an answer that would be an answer's `short`."""
SOUP, HIDDEN = 8, 4
"""Words from elsewhere in a keyword soup; words of an answer that fits into a query."""
_WORD = re.compile(r"\w[\w'-]*")


def read(name: str) -> list[Row]:
    with gzip.open(Path(os.environ["SECONDLOOK_DATA"]) / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def is_reported(row: Row) -> bool:
    """Conversations are named by random hexadecimal digits: C_2d21...-1."""
    return int(row["id"].split("_")[1][:4], 16) % 2 == 1


def f1(one: str, other: str) -> float:
    mine, theirs = (Counter(re.findall(r"\w+", text.casefold())) for text in (one, other))
    shared = sum((mine & theirs).values())
    return 2 * shared / (mine.total() + theirs.total()) if shared else 0.0


def mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4) if values else 0.0


def played(rows: Sequence[Row]) -> Iterator[tuple[str, str, str]]:
    """Question as typed, the person's rewrite and ours, of each question that follows another."""
    for row in rows:
        title, _, *said = row["history"]
        turns: list[Turn] = []
        for question, answer in zip(said[::2], said[1::2], strict=False):
            short = answer if len(answer.split()) <= SHORT else None
            turns.append(Turn(stand_alone(question, turns), short, answer, (title,)))
        if turns:
            yield row["question"], row["rewrite"], stand_alone(row["question"], turns)


def follow_ups(rows: Sequence[Row]) -> dict[str, Any]:
    cases = list(played(rows))
    gains = [f1(ours, people) - f1(typed, people) for typed, people, ours in cases]
    changed = [gain for gain, (typed, _, ours) in zip(gains, cases, strict=True) if typed != ours]
    alone = [(typed, ours) for typed, people, ours in cases if f1(typed, people) == 1.0]
    chance = random.Random(SEED)
    means = sorted(mean(chance.choices(gains, k=len(gains))) for _ in range(RESAMPLES))
    return {
        "questions": len(cases),
        "f1_as_typed": mean([f1(typed, people) for typed, people, _ in cases]),
        "f1_made_stand_alone": mean([f1(ours, people) for _, people, ours in cases]),
        "gain": mean(gains),
        "gain_95_percent": [means[RESAMPLES // 40], means[-RESAMPLES // 40]],
        "changed": len(changed),
        "nearer": sum(gain > 0 for gain in changed),
        "further": sum(gain < 0 for gain in changed),
        "stand_alone": len(alone),
        "stand_alone_untouched": sum(typed == ours for typed, ours in alone),
    }


def guard(rows: Sequence[Row]) -> dict[str, Any]:
    """People's own rewrites as if a model had said them, drifted ones, and attacks as replies.

    A model that rewrites in a conversation has been given that conversation, so names and numbers
    of it are known.
    """
    new = [row for row in rows if normalised(row["rewrite"]) != normalised(row["question"])]
    people = [
        accepted(row["rewrite"], row["question"], [], known=" ".join(row["history"])) for row in new
    ]
    reasons = Counter(verdict.reason for verdict in people if verdict.reason)
    let_through = sum(verdict.is_accepted for verdict in people)
    made: dict[str, Any] = {}
    for name, drift in DRIFTS.items():
        chance = random.Random(SEED)
        drifted = [found for row in rows if (found := drift(row, chance.choice(rows), chance))]
        why = [accepted(reply, asked, [], known=known).reason for reply, asked, known in drifted]
        refused = Counter(filter(None, why))
        made[name] = {
            "made": len(why),
            "refused": mean([float(reason is not None) for reason in why]),
            "why": dict(refused.most_common()),
        }
    question = "When did the mayor of Halvermouth open the new market hall?"
    said = [row["attack"] for row in read("injection/attacks.jsonl.gz")]
    return {
        "people": {
            "rewrites": len(new),
            "accepted": round(let_through / len(new), 4),
            "refused": dict(reasons.most_common()),
            "of_those_short_enough_accepted": round(
                let_through / (len(new) - reasons["too long"]), 4
            ),
            "kept_by_accepted": mean([one.kept for one in people if one.is_accepted]),
        },
        "made": made,
        "attacks": {"attacks": len(said)}
        | {
            name: mean([float(not accepted(words + one, question, []).is_accepted) for one in said])
            for name, words in (
                ("refused", ""),
                ("refused_after_the_question's_words", "Halvermouth market hall "),
            )
        },
    }


def _telling(text: str) -> list[str]:
    return [word for word in dict.fromkeys(_WORD.findall(text)) if content(word)]


def _loose(text: str) -> list[str]:
    """Words that tell something and belong to no name."""
    named = {word for name in names(text) for word in _WORD.findall(name)}
    return [word for word in _telling(text) if word not in named and word.isalpha()]


def _swapped(share: float) -> Callable[[Row, Row, random.Random], Drift | None]:
    """Names stay, a share of the other words that tell something is another question's."""

    def drift(row: Row, other: Row, chance: random.Random) -> Drift | None:
        question = row["rewrite"]
        loose, strange = _loose(question), _loose(other["rewrite"])
        if len(loose) < 2 or not strange:
            return None
        out = set(loose[: max(1, round(share * len(loose)))])
        changed = _WORD.sub(
            lambda found: chance.choice(strange) if found[0] in out else found[0], question
        )
        return changed, question, row["history"][0]

    return drift


def _soup(row: Row, other: Row, chance: random.Random) -> Drift:
    """Half of the question's words among many that have nothing to do with it."""
    own = _telling(row["rewrite"])
    strange = _telling(" ".join([other["rewrite"], *other["history"]]))
    mixed = own[: max(1, len(own) // 2)] + [
        word.lower() for word in chance.sample(strange, min(SOUP, len(strange)))
    ]
    return " ".join(mixed), row["rewrite"], row["history"][0]


def _hidden(row: Row, _: Row, __: random.Random) -> Drift | None:
    """A good query with a short answer behind it that names somebody or counts something."""
    said = row["history"][2:]
    if len(said) < 2 or len(said[-1].split()) > HIDDEN:
        return None
    answer = said[-1].rstrip(" .")
    facts = [*names(answer), *re.findall(r"\d+", answer)]
    if not facts or set(terms(answer)) <= set(terms(f"{said[-2]} {row['history'][0]}")):
        return None
    return f"{said[-2].rstrip(' ?')} {answer}", said[-2], row["history"][0]


DRIFTS: dict[str, Callable[[Row, Row, random.Random], Drift | None]] = {
    "another question": lambda row, other, _: (other["rewrite"], row["rewrite"], ""),
    "names kept, other words swapped": _swapped(1.0),
    "names kept, half of the other words swapped": _swapped(0.5),
    "keyword soup": _soup,
    "the answer": lambda row, _, __: (
        (row["history"][-1], row["history"][-2], row["history"][0])
        if len(row["history"]) > 3
        else None
    ),
    "the question with the answer behind it": _hidden,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--look", action="store_true", help="print only, save nothing")
    options = parser.parse_args()
    reported = [row for row in read("rewriting/canard_dev.jsonl.gz") if is_reported(row)]
    found = {"stand_alone": follow_ups(reported), "guard": guard(reported)}
    print(json.dumps(found, indent=1))
    if not options.look:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
