"""Fits the model that ranks readings of questions about rows: a log-linear one over named features,
with one more choice for "none of them is right", trained on which readings come to the answer."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from secondlook.evaluation.metrics import denotations_said as said
from secondlook.evaluation.metrics import right
from secondlook.tables.understand.drafts import of_nothing
from secondlook.tables.understand.rows import parse, ranked_drafts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.analyst_wikitables_data import Asked, Tables

LEAST_SEEN = 5
"""Questions in which a feature must occur to be kept."""
RIDGE = 2.0
FOLDS = 4
SEED = 9
SMALLEST = 0.01
"""Weights below it are left out."""
EVERY = 1_000_000
NOTHING = ("nothing",)


@dataclass(frozen=True, slots=True)
class Option:
    features: Mapping[str, float]
    outcome: tuple[str, ...]
    right: bool


@dataclass(frozen=True, slots=True)
class Chosen:
    likelihood: float
    right: bool


def options(asked: Asked, tables: Tables) -> list[Option]:
    """Every reading of a question, and that none is right."""
    parsed = parse(asked.question, tables[asked.table])
    found = []
    for one in ranked_drafts(parsed, most=EVERY):
        answers = tuple(said(value) for value in one.outcome or ())
        found.append(Option(dict(one.features), answers, right(answers, asked.answers)))
    none = not any(one.right for one in found)
    return [*found, Option(of_nothing(parsed), NOTHING, none)]


def fitted(questions: Sequence[list[Option]]) -> dict[str, float]:
    import numpy as np
    from scipy.optimize import minimize
    from scipy.sparse import csr_matrix

    seen = Counter(
        name
        for each in questions
        for name in {name for one in each for name, value in one.features.items() if value}
    )
    names = sorted(name for name, times in seen.items() if times >= LEAST_SEEN)
    places = {name: place for place, name in enumerate(names)}
    flat = [(group, one) for group, each in enumerate(questions) for one in each]
    cells = [
        (row, places[name], float(value))
        for row, (_, one) in enumerate(flat)
        for name, value in one.features.items()
        if value and name in places
    ]
    rows, columns, values = zip(*cells, strict=True)
    matrix = csr_matrix((values, (rows, columns)), shape=(len(flat), len(names)))
    groups = np.array([group for group, _ in flat])
    wanted = np.array([one.right for _, one in flat], float)

    def loss(weights: Any) -> tuple[float, Any]:
        scores = matrix @ weights
        most = np.full(len(questions), -np.inf)
        np.maximum.at(most, groups, scores)
        raised = np.exp(scores - most[groups])
        total = np.bincount(groups, raised, len(questions))
        shares = raised / total[groups]
        hit = np.bincount(groups, shares * wanted, len(questions)) + 1e-12
        gradient = matrix.T @ (shares - shares * wanted / hit[groups])
        return -np.log(hit).sum() + RIDGE / 2 * weights @ weights, gradient + RIDGE * weights

    start = np.zeros(len(names))
    best = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200}).x
    return {
        name: round(float(weight), 3)
        for name, weight in zip(names, best, strict=True)
        if abs(weight) >= SMALLEST
    }


def chosen(each: Sequence[Option], weights: Mapping[str, float]) -> Chosen:
    """The likeliest outcome of one question."""
    from secondlook.tables.understand.drafts import score, shares

    together: dict[tuple[str, ...], float] = defaultdict(float)
    correct: dict[tuple[str, ...], bool] = {}
    for one, likelihood in zip(
        each, shares([score(one.features, weights) for one in each]), strict=True
    ):
        together[one.outcome] += likelihood
        correct[one.outcome] = one.right
    for nothing in (NOTHING, ()):
        together.pop(nothing, None)
    if not together:
        return Chosen(0.0, right=False)
    best = max(together, key=lambda outcome: together[outcome])
    return Chosen(together[best], correct[best])


def held_out(questions: Sequence[list[Option]]) -> list[Chosen]:
    """Each question answered by weights that were fitted without it."""
    order = list(range(len(questions)))
    random.Random(SEED).shuffle(order)
    found: list[Chosen] = []
    for fold in range(FOLDS):
        out = set(order[fold::FOLDS])
        weights = fitted([each for place, each in enumerate(questions) if place not in out])
        found += [chosen(questions[place], weights) for place in sorted(out)]
    return found


def sweep(found: Sequence[Chosen], doubts: Sequence[float]) -> list[dict[str, float]]:
    """For each bound on the doubt: the share answered, and the share of those that is wrong."""
    made = []
    for doubt in doubts:
        answered = [one for one in found if 1 - one.likelihood <= doubt]
        wrong = sum(not one.right for one in answered)
        made.append(
            {
                "most_doubt": doubt,
                "answered": round(len(answered) / len(found), 3),
                "wrong_among_answered": round(wrong / max(1, len(answered)), 3),
            }
        )
    return made
