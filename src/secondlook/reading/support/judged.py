"""The trained judge: the reader's support head, and what a word for word look sees better."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secondlook.reading.support.coverage import cap, sentences_of, shared_terms
from secondlook.reading.support.port import without_marks
from secondlook.reading.support.verbatim import is_verbatim

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.reading.port import Judge
    from secondlook.reading.support.head import SupportHead

_OPENING = re.compile(
    r"(?:(?:yes|no|indeed|overall|in short|in summary"
    r"|(?:according to|based on) (?:the |this )?(?:given |provided )?"
    r"(?:text|passages?|documents?|evidence|context|sources?))[,:.]\s+)+",
    re.IGNORECASE,
)
"""What an answer may begin with and no document says."""
_FEWEST_LEFT = 2
_LONG = 6
"""Sentences. Quotes have one to three of them, each under a title."""
_LIKELY = 3


@dataclass(frozen=True, slots=True)
class ReaderSupport:
    """The probability that the reader's support head gives, sentence by sentence: a claim of
    several is worth what the weakest is worth. Verbatim sentences are supported by definition, so
    that the model is opened only where there is something to judge."""

    judge: Callable[[], Judge]
    head: SupportHead

    @property
    def name(self) -> str:
        return f"reader@1:{self.head.reader}"

    def support(self, claims: Sequence[tuple[str, str]]) -> list[float]:
        said = [(_said(claim, evidence), evidence) for claim, evidence in claims]
        asked = dict.fromkeys(
            (sentence, evidence) for sentences, evidence in said for sentence in sentences
        )
        known = self._sentences(list(asked))
        return [
            round(min((known[one, evidence] for one in sentences), default=0.0), 4)
            for sentences, evidence in said
        ]

    def _sentences(self, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], float]:
        found = {pair: 1.0 for pair in pairs if is_verbatim(*pair)}
        rest = [pair for pair in pairs if pair not in found and pair[1].strip()]
        logits = supporting_logits(self.judge(), [_asked(pair) for pair in rest]) if rest else []
        for pair, logit in zip(rest, logits, strict=True):
            found[pair] = min(self.head.probability(logit), cap(*pair, self.head.caps))
        return {pair: found.get(pair, 0.0) for pair in pairs}


def supporting_logits(judge: Judge, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """The judge's logit of each pair. Long evidence is looked at twice, as a whole and around the
    sentences that share most words with the claim, and the two views count alike: in a long text
    there is something that goes with nearly every claim."""
    near = [_neighbourhoods(*pair) for pair in pairs]
    asked = dict.fromkeys([*pairs, *(one for some in near for one in some)])
    known = dict(zip(asked, judge.judge(list(asked)), strict=True))
    return [
        (known[pair] + max(known[one] for one in some)) / 2 if some else known[pair]
        for pair, some in zip(pairs, near, strict=True)
    ]


def _neighbourhoods(claim: str, evidence: str) -> list[tuple[str, str]]:
    """The claim with each of the likeliest sentences and their neighbours; none where the evidence
    is short."""
    sentences = sentences_of(evidence)
    if len(sentences) < _LONG:
        return []
    shared = shared_terms(claim, sentences)
    likely = sorted(range(len(sentences)), key=lambda at: -shared[at])[:_LIKELY]
    return [(claim, " ".join(sentences[max(0, at - 1) : at + 2])) for at in sorted(likely)]


def _said(claim: str, evidence: str) -> list[str]:
    """The sentences of a claim, or all of it at once where it is verbatim."""
    whole = without_marks(claim)
    parts = [whole] if is_verbatim(whole, evidence) else sentences_of(whole)
    return [" ".join(one.split()) for one in parts if any(map(str.isalnum, one))]


def _asked(pair: tuple[str, str]) -> tuple[str, str]:
    claim = _OPENING.sub("", pair[0], count=1)
    return (claim if len(claim.split()) >= _FEWEST_LEFT else pair[0]), pair[1]
