"""Faithfulness: the share of an answer's sentences that are like some sentence of the evidence.

"Like" is a similarity of 0.65 on a scale where 0 is two sentences that have nothing to do with each
other and 1 is the same sentence. The cosine itself is not such a scale: many embedders give 0.7 and
more to any two sentences, and everything would pass. What unrelated sentences are to an embedder is
measured once, with sentences of which no two have a subject in common.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from secondlook.evaluation.metrics.said import sentences as split
from secondlook.evaluation.metrics.words import plain_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from secondlook.reading.port import Embedder, Vectors

SIMILAR: Final = 0.65
_ROUND: Final = 8
"""Sentences of the evidence that are embedded at a time, those that share most words first."""
_REMEMBERED: Final = 20_000
"""Vectors: about 30 MB at 384 dimensions."""

_UNRELATED: Final = (
    "The bakery on the corner sells rye bread until noon.",
    "Photosynthesis turns carbon dioxide and water into sugar.",
    "The treaty was signed by eleven states in 1648.",
    "She scored twice in the last minutes of the match.",
    "Interest rates rose by a quarter of a percent.",
    "A violin has four strings tuned in fifths.",
    "The glacier has retreated by two kilometres since 1900.",
    "Restart the server after changing its configuration file.",
    "The tenant must give three months' notice in writing.",
    "Whales breathe air through a hole on top of their heads.",
    "The cathedral's tower collapsed during the storm.",
    "Take one tablet twice a day after meals.",
    "The train to the coast leaves from platform nine.",
    "Every prime number above two is odd.",
    "His second novel is told by a retired lighthouse keeper.",
    "Steel rusts where its coating of zinc is scratched.",
)


class Faithfulness:
    def __init__(self, embedder: Embedder, *, least_cosine: float | None = None) -> None:
        """`least_cosine`: in place of the one that stands for `SIMILAR` with this embedder."""
        self._embedder = embedder
        self._vectors: dict[str, Vectors] = {}
        self._least = least_cosine

    @property
    def least_cosine(self) -> float:
        """From which on two sentences are alike."""
        if self._least is None:
            import numpy as np

            vectors = self._embedder.embed_passages(_UNRELATED)
            above = np.triu_indices(len(_UNRELATED), 1)
            unrelated = max(0.0, float((vectors @ vectors.T)[above].mean()))
            self._least = unrelated + SIMILAR * (1 - unrelated)
        return self._least

    def share(
        self, sentences: Sequence[str], evidence: Sequence[str], *, cosine: float | None = None
    ) -> float:
        """Of the sentences that have words; 0 where there are none. `cosine`: from which on two
        sentences are alike, in place of `least_cosine`."""
        said = [sentence for sentence in sentences if plain_words(sentence)]
        if not said:
            return 0.0
        texts = [_padded(text) for text in evidence]
        others = [one for one in said if not any(_padded(one) in text for text in texts)]
        if not others:  # word for word: nothing needs to be embedded
            return 1.0
        known = list(dict.fromkeys(sentence for text in evidence for sentence in split(text)))
        least = self.least_cosine if cosine is None else cosine
        like = sum(self._is_like_one(sentence, known, least) for sentence in others)
        return (len(said) - len(others) + like) / len(said)

    def _is_like_one(self, sentence: str, known: Sequence[str], least: float) -> bool:
        if not known:
            return False
        wanted = self._embedded([sentence])[0]
        return any(
            float((vectors @ wanted).max()) >= least
            for vectors in map(self._embedded, _likeliest_first(sentence, known))
        )

    def _embedded(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        known = self._vectors
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if len(known) + len(new) > _REMEMBERED:
            known, new = {}, list(dict.fromkeys(texts))
        if new:
            known.update(zip(new, self._embedder.embed_passages(new), strict=True))
        self._vectors = known
        return np.stack([known[text] for text in texts])


def _padded(text: str) -> str:
    return f" {' '.join(plain_words(text))} "


def _likeliest_first(sentence: str, known: Sequence[str]) -> Iterator[Sequence[str]]:
    """All of them, in rounds; where one of the first is like the sentence, the rest is not read."""
    words = set(plain_words(sentence))
    order = sorted(known, key=lambda other: -len(words.intersection(plain_words(other))))
    for first in range(0, len(order), _ROUND):
        yield order[first : first + _ROUND]
