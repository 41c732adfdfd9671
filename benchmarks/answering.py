"""Bare answers ("No.", "7.8 metres"): are they judged better together with their question?

    export SECONDLOOK_DATA=FOLDER
    python -m benchmarks.answering [--save]

Right answers of the everyday exam and of our worlds, in three styles, are put to a passage that has
them, and to one that does not; wrong ones are another number or name of the same passage, or the
opposite of yes or no. Even threads fit the probability, odd ones are kept aside. Writes
benchmarks/results/answering.json; `--save` also "answer" of src/secondlook/reading/head.json.
"""

from __future__ import annotations

import json
import math
import random
import re
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.common import parser, save
from benchmarks.double import KINDS, RIGHT, asked_of, held_by, inside, opened, text_of
from benchmarks.groundedness import HEAD, figures
from secondlook.evaluation.judging import contains, words
from secondlook.library.library import Shelf
from secondlook.nodes.cite import Checker
from secondlook.reading.logistic import Outcome, fit_logistic
from secondlook.reading.support import DEFAULT_MIN_SUPPORT, SupportHead, load_support, shipped_head
from secondlook.roles.sentences import Sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from secondlook.library.library import Library
    from secondlook.passage import Passage

STYLES = ("terse", "wordy", "German")
RIGHT_AMONG_WRITTEN = 0.7
"""How often what a model writes is held to be right, where the passage has been found."""
_NUMBER = re.compile(r"[€£$]?\d[\d.,:]*\d|\b\d\b")
_NAME = re.compile(r"\b[A-Z][a-z]{2,}(?: [A-Z][a-z]+)*")


@dataclass(frozen=True, slots=True)
class Said:
    question: str
    claim: str
    passage: Passage
    kind: str
    kept_aside: bool


class Row(NamedTuple):
    said: Said
    alone: float  # how well the passage supports it by itself
    asked: float  # the same as an answer to its question
    logit: float | None  # that it answers


def said(name: str, library: Library) -> Iterator[Said]:
    data = asked_of(name)
    chance = random.Random(3)
    for case in data.cases:
        if case.type not in KINDS or not case.answerable:
            continue
        files = [text_of(data.path, one) for one in case.gold]
        hits = [hit.passage for hit in library.search(case.question, k=8)]
        own = {at: hit.text for at, hit in enumerate(hits) if any(map(inside(hit.text), files))}
        held = held_by(own, case)
        if not held or (
            case.need == "all" and len(max(held.values(), key=len)) < len(case.answers)
        ):
            continue
        at = max(held, key=lambda one: len(held[one]))
        right = ", ".join(case.answers) if case.need == "all" else held[at][0]
        tried = [(right, hits[at], "right")]
        tried += [(right, hit, "other passage") for n, hit in enumerate(hits) if n not in held][:1]
        if case.type == "yes_no":
            others = ["no" if right == "yes" else "yes"]
        else:
            found = (_NUMBER if _NUMBER.search(right) else _NAME).findall(hits[at].text)
            known = [*map(words, (case.question, right, *case.answers))]
            others = [one for one in dict.fromkeys(found) if not _known(words(one), known)]
            chance.shuffle(others)
        tried += [(one, hits[at], "other value") for one in others[:2]]
        odd = int(re.sub(r"\D", "", case.thread) or 0) % 2 == 1
        for answer, passage, kind in tried:
            for style in STYLES:
                claim = RIGHT[style].format(answer=answer, n=1).replace(" [1]", "")
                yield Said(case.question, claim, passage, kind, odd)


def _known(one: Any, known: list[Any]) -> bool:
    return any(contains(other, one) or contains(one, other) for other in known)


def logit(probability: float, head: SupportHead) -> float | None:
    """None where a missing number decided."""
    if not 0 < probability < 1:
        return None
    return (math.log(probability / (1 - probability)) - head.answer[0]) / head.answer[1]


def fitted(rows: Sequence[Row]) -> list[float]:
    """On even threads, as if so many of what is written were right."""
    ours = [(row.logit, row.said.kind == "right") for row in rows if not row.said.kept_aside]
    known = [(value, right) for value, right in ours if value is not None]
    share = fmean(right for _, right in known)
    worth = RIGHT_AMONG_WRITTEN / (1 - RIGHT_AMONG_WRITTEN) * (1 - share) / share
    outcomes = [Outcome({"logit": value}, right, worth if right else 1) for value, right in known]
    found = fit_logistic(outcomes, ["logit"])
    return [round(found.bias, 3), round(found.weights["logit"], 3)]


def measured(rows: Sequence[Row]) -> dict[str, Any]:
    """Right answers against each kind of wrong ones."""
    found = {}
    for kind in sorted({row.said.kind for row in rows} - {"right"}):
        some = [row for row in rows if row.said.kind in {"right", kind}]
        right = [row.said.kind == "right" for row in some]
        found[kind] = {
            "right": sum(right),
            "wrong": len(right) - sum(right),
            "alone": figures(np.array([row.alone for row in some]), right, DEFAULT_MIN_SUPPORT),
            "with its question": figures(
                np.array([row.asked for row in some]), right, DEFAULT_MIN_SUPPORT
            ),
        }
    return found


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--save", action="store_true", help="let the product go by it")
    chosen = options.parse_args()
    judge, head = load_support(), shipped_head()
    rows: list[Row] = []
    for name in ("everyday", "worlds"):
        with opened(name) as library:
            shelf = Shelf(library)
            for one in said(name, library):
                context = partial(shelf.in_context, one.question)
                alone = Checker([one.passage], judge, DEFAULT_MIN_SUPPORT)
                asked = replace(alone, question=one.question, in_context=context, known={})
                before, now = (each.check(Sentence(one.claim, (1,))) for each in (alone, asked))
                value = max(quote.support for quote in asked.answering(one.claim, [one.passage]))
                rows.append(
                    Row(one, before["support"] or 0.0, now["support"] or 0.0, logit(value, head))
                )
    halves = {
        "even": [row for row in rows if not row.said.kept_aside],
        "kept aside": [row for row in rows if row.said.kept_aside],
    }
    answer = fitted(rows)
    save("answering", {"answer": answer, **{name: measured(half) for name, half in halves.items()}})
    if chosen.save:
        form = json.loads(HEAD.read_text("utf-8"))
        HEAD.write_text(json.dumps({**form, "answer": answer}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
