"""Fits the small head that tells, from the vectors of the understander as it is shipped, whether a
question is put to every document of a set, what is made of the answers, and which of its words name
the set, the field and the condition. Linear, some seconds on a processor. To be dropped once the
understander writes `survey` forms itself.

    python -m training.understander.surveys --out src/secondlook/roles/surveys.npz
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from secondlook.reading.understander import understander
from secondlook.retrieval.terms import query_terms, terms
from secondlook.roles.surveys import ACTS, TAGS, heard
from secondlook.roles.wants import read_form
from training.data.asked import wants

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from secondlook.roles.wants import Survey

ASKED = Path(__file__).parents[1] / "asked"
STRENGTHS = {"gate": 0.01, "act": 0.03, "tag": 0.01}
"""Of the regularisation; chosen by training without one of `wants-12` and `wants-13` each time."""


def rows(files: Sequence[str]) -> Iterator[tuple[str, Survey | None]]:
    for name in files:
        for question, form in wants((ASKED / name).read_text("utf-8")):
            want = read_form(form)
            if want is not None:
                yield question, want.survey


def tags_of(words: Sequence[str], survey: Survey) -> list[str]:
    """What each word is part of, by the words of the form."""
    which, field, condition = set(query_terms(survey.which)), set[str](), set[str]()
    for one in survey.fields:
        (condition if one.sign else field).update(query_terms(one.question))
        condition.update(query_terms(one.value))
    sets = {"which": which, "condition": condition - which, "field": field - which - condition}
    stems = [(terms(one) or [""])[0] for one in words]
    return [next((name for name, held in sets.items() if one in held), "none") for one in stems]


def fitted(vectors: Any, labels: Sequence[str], names: Sequence[str], strength: float) -> Any:
    """Weights of each name, the bias last, with the scaling within them."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(vectors)
    # Few of the questions ask for a mean, or for what several have in common.
    weight = "balanced" if len(names) == len(ACTS) else None
    model = LogisticRegression(C=strength, max_iter=500, class_weight=weight)
    model.fit(scaler.transform(vectors), labels)
    weights, bias = model.coef_, model.intercept_
    if len(weights) == 1:  # of two classes the second
        weights, bias = np.vstack([0 * weights, weights]), np.array([0.0, bias[0]])
    order = [list(model.classes_).index(name) for name in names]
    scaled = weights[order] / scaler.scale_
    return np.hstack([scaled, (bias[order] - scaled @ scaler.mean_)[:, None]])


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--out", type=Path, required=True)
    asked.add_argument("--without", default="test-wants.txt", help="files kept aside, with commas")
    given = asked.parse_args()
    aside = given.without.split(",")
    files = [one.name for one in sorted(ASKED.glob("*wants*.txt")) if one.name not in aside]
    wholes, gates, acted, acts, each, tags = [], [], [], [], [], []
    for question, survey in rows(files):
        words, vectors, whole = heard(question)
        wholes.append(whole)
        gates.append("no" if survey is None else "yes")
        if survey is not None:
            acted.append(whole)
            acts.append(survey.act)
            each += list(vectors)
            tags += tags_of(words, survey)
    np.savez_compressed(
        given.out,
        understander=np.array(understander().name),
        gate=fitted(np.array(wholes), gates, ("no", "yes"), STRENGTHS["gate"])[1].astype("f4"),
        act=fitted(np.array(acted), acts, ACTS, STRENGTHS["act"]).astype("f4"),
        tag=fitted(np.array(each), tags, TAGS, STRENGTHS["tag"]).astype("f4"),
    )


if __name__ == "__main__":
    main()
