"""Scores of judges and of what anybody could do without one, thresholds and how good they are."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.reading_answers import auroc
from secondlook.reading import load_embedder
from secondlook.reading.logistic import Outcome, fit_logistic
from secondlook.reading.reader import OnnxReader
from secondlook.reading.support import CoverageSupport, SupportHead, supporting_logits
from secondlook.reading.weights import find_weights, read_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from benchmarks.groundedness_sets import Claims
    from secondlook.reading.support import Cap

    Pairs = Sequence[tuple[str, str]]
    Scores = NDArray[np.float64]

REMEMBERED = Path(".cache/groundedness")
UNSUPPORTED_COSTS = 2.0
"""To let an unsupported sentence pass is held to be twice as bad as to stop a supported one."""
CAPS: tuple[Cap, ...] = ("number",)
"""The caps on names and on "not" stop more true sentences than false ones that the head lets by;
the figures are in the results. A number must be there, or `verify` would object later."""
_AT_ONCE = 200
_WORD = re.compile(r"\w+")


@dataclass(slots=True)
class RememberingReader:
    """The reader, with its judgements kept in a file by the hash of what was judged."""

    reader: OnnxReader
    known: dict[str, float] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: Path | None) -> RememberingReader:
        made = cls(OnnxReader(read_weights(folder) if folder else find_weights("reader")))
        if made._file.exists():
            made.known = json.loads(made._file.read_text("utf-8"))
        return made

    @property
    def name(self) -> str:
        return self.reader.name

    @property
    def judges(self) -> bool:
        return self.reader.judges

    @property
    def _file(self) -> Path:
        return REMEMBERED / f"{self.name}.json"

    def judge(self, claims: Pairs) -> list[float]:
        keys = [_key(*pair) for pair in claims]
        new = {key: pair for key, pair in zip(keys, claims, strict=True) if key not in self.known}
        listed = list(new.items())
        for first in range(0, len(listed), _AT_ONCE):
            some = listed[first : first + _AT_ONCE]
            logits = self.reader.judge([pair for _, pair in some])
            self.known |= {key: logit for (key, _), logit in zip(some, logits, strict=True)}
            self._keep()
        return [self.known[key] for key in keys]

    def _keep(self) -> None:
        REMEMBERED.mkdir(parents=True, exist_ok=True)
        self._file.write_text(json.dumps(self.known), "utf-8")


def _key(claim: str, evidence: str) -> str:
    return blake2b(f"{claim}\0{evidence}".encode(), digest_size=12).hexdigest()


def fit_head(reader: RememberingReader, claims: Claims) -> SupportHead:
    """Logistic regression on the logit; inference sets and changed sentences weigh alike."""
    logits = supporting_logits(reader, claims.pairs)
    outcomes = [
        Outcome({"logit": logit}, right, weight)
        for logit, right, weight in zip(logits, claims.supported, weights(claims), strict=True)
    ]
    found = fit_logistic(outcomes, ["logit"])
    return SupportHead(reader.name, found.bias, found.weights["logit"], CAPS)


def weights(claims: Claims) -> list[float]:
    """Every group weighs alike, and in it unsupported claims UNSUPPORTED_COSTS times as much."""
    kinds = list(zip(claims.groups, claims.supported, strict=True))
    counts = {kind: kinds.count(kind) for kind in set(kinds)}
    total = len(kinds) / len(counts)
    return [total / counts[kind] * (1 if kind[1] else UNSUPPORTED_COSTS) for kind in kinds]


def best_threshold(scores: Scores, claims: Claims) -> float:
    """The threshold with the fewest mistakes, each weighed as for the head."""
    right = np.array(claims.supported)
    heavy = np.array(weights(claims))
    tried = np.unique(scores)
    values = [heavy[(scores >= at) == right].sum() for at in tried]
    return float(tried[int(np.argmax(values))])


def balanced(scores: Scores, supported: Sequence[bool], threshold: float) -> float:
    right = np.array(supported)
    kept, stopped = (scores[right] >= threshold).mean(), (scores[~right] < threshold).mean()
    return float(kept + stopped) / 2


def oracle(scores: Scores, supported: Sequence[bool]) -> float:
    """The best balanced accuracy that any threshold reaches: found on the test set itself."""
    return max(balanced(scores, supported, float(at)) for at in np.unique(scores))


def figures(scores: Scores, supported: Sequence[bool], threshold: float) -> dict[str, Any]:
    right = np.array(supported)
    return {
        "balanced_accuracy": _r(balanced(scores, supported, threshold)),
        "supported_kept": _r((scores[right] >= threshold).mean()),
        "unsupported_stopped": _r((scores[~right] < threshold).mean()),
        "threshold": _r(threshold),
        "auroc": _r(auroc(scores[right].tolist(), scores[~right].tolist())),
        "balanced_accuracy_with_oracle_threshold": _r(oracle(scores, supported)),
    }


def _r(value: float) -> float:
    return round(float(value), 3)


def overlap(pairs: Pairs) -> Scores:
    """Share of the claim's words that the evidence has."""
    return np.array([_overlap(*pair) for pair in pairs])


def _overlap(claim: str, evidence: str) -> float:
    said = _WORD.findall(claim.lower())
    there = set(_WORD.findall(evidence.lower()))
    return sum(word in there for word in said) / max(1, len(said))


def similarity(pairs: Pairs) -> Scores:
    """Cosine of the embedder's vectors of claim and evidence."""
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    vectors = np.asarray(load_embedder().embed_passages(texts), dtype=np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    place = {text: at for at, text in enumerate(texts)}
    return np.array([vectors[place[one]] @ vectors[place[other]] for one, other in pairs])


def coverage(pairs: Pairs) -> Scores:
    return np.array(CoverageSupport().support(pairs))


def length(pairs: Pairs) -> Scores:
    """Shorter claims first: what the answers of HaluEval give away."""
    return np.array([-len(claim.split()) for claim, _ in pairs], dtype=np.float64)


BASELINES: dict[str, Callable[[Pairs], Scores]] = {
    "word overlap": overlap,
    "embedding similarity": similarity,
}
