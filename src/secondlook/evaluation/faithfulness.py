"""Whether an answer keeps to its evidence, one question at a time; docs/metrics.md defines it."""

from __future__ import annotations

from functools import cache, cached_property
from itertools import chain
from typing import TYPE_CHECKING, Final

import numpy as np

from secondlook.evaluation.metrics import (
    is_answered,
    plain_words,
    runs,
    said,
    split_sentences,
    stands_in,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from secondlook.answer import Answer
    from secondlook.evaluation.records import Case
    from secondlook.reading.port import Embedder


SIMILAR: Final = 0.65
_ROUND: Final = 8  # sentences that are embedded at a time, those that share most words first
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


class Truth:
    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def metrics(
        self, case: Case, answer: Answer, *, evidence: Sequence[str], cited: Sequence[str]
    ) -> dict[str, float]:
        """`evidence`: the passages it was made from; `cited`: documents, named as in `gold`."""
        answered, figures = is_answered(answer), {}
        gold = {document for document, grade in case.gold.items() if grade > 0}
        # The gold of an unanswerable question is only what it seems to be about.
        if gold and case.answerable:
            given = cited if answered else ()
            if case.scored:
                figures["citation_recall"] = len(gold.intersection(given)) / len(gold)
            if answered:
                right = sum(document in gold for document in given)
                figures["citation_precision"] = right / len(given) if given else 0.0
        if not answered:
            return figures
        told = split_sentences(said(answer))
        figures["faithfulness"] = self.share(told, evidence)
        figures["faithfulness_cosine"] = self.share(told, evidence, cosine=SIMILAR)
        supports = [claim.support for claim in answer.claims if claim.support is not None]
        if supports:
            figures["support"] = sum(supports) / len(supports)
        return figures | self.leaked(case, answer, evidence=evidence)

    def leaked(
        self, case: Case, answer: Answer, *, evidence: Sequence[str] = ()
    ) -> dict[str, float]:
        if not is_answered(answer):
            return {}
        told = "\n".join([answer.short or "", answer.text])
        found = leaks(told, question=case.question, evidence=evidence)
        return {"prompt_leak": float(bool(found))}

    @cached_property
    def least_cosine(self) -> float:
        """From which on two sentences are alike to this embedder."""
        vectors = self._embedder.embed_passages(_UNRELATED)
        above = np.triu_indices(len(_UNRELATED), 1)
        unrelated = max(0.0, float((vectors @ vectors.T)[above].mean()))
        return unrelated + SIMILAR * (1 - unrelated)

    def share(
        self, sentences: Sequence[str], evidence: Sequence[str], *, cosine: float | None = None
    ) -> float:
        """Of the sentences that have words, how many are like some sentence of the evidence; 0
        where there are none. `cosine`: from which on they are, in place of `least_cosine`."""
        told = [sentence for sentence in sentences if plain_words(sentence)]
        if not told:
            return 0.0
        texts = [_padded(text) for text in evidence]
        others = [one for one in told if not any(_padded(one) in text for text in texts)]
        if not others:  # word for word: nothing needs to be embedded
            return 1.0
        known = list(dict.fromkeys(chain.from_iterable(map(split_sentences, evidence))))
        least = self.least_cosine if cosine is None else cosine
        like = sum(self._is_like_one(sentence, known, least) for sentence in others)
        return (len(told) - len(others) + like) / len(told)

    def _is_like_one(self, sentence: str, known: Sequence[str], least: float) -> bool:
        """The likeliest first, in rounds; where one is like the sentence, the rest is not read."""
        words = set(plain_words(sentence))
        order = sorted(known, key=lambda other: -len(words.intersection(plain_words(other))))
        if not order:
            return False
        wanted = self._embedder.embed_passages([sentence])[0]
        rounds = (order[first : first + _ROUND] for first in range(0, len(order), _ROUND))
        found = map(self._embedder.embed_passages, rounds)
        return any(float((vectors @ wanted).max()) >= least for vectors in found)


def _padded(text: str) -> str:
    return f" {' '.join(plain_words(text))} "


# Instructions that ended up in an answer: a model repeats its prompt, or its training.

RUN: Final = 6  # words in a row that an answer must share with a prompt to be a copy of it
_KNOWN: Final = (
    "you are an ai",
    "you are a helpful assistant",
    "as an ai language model",
    "i am an ai",
    "my knowledge cutoff",
    "use the following pieces of context",
    "answer the question based on the context",
    "if you don't know the answer, just say",
    "don't try to make up an answer",
)


def leaks(text: str, *, question: str, evidence: Sequence[str]) -> tuple[str, ...]:
    """Each piece of an instruction in the text that neither the question nor the evidence has."""
    return tuple(dict.fromkeys(_found(text, [question, *evidence])))


def _found(text: str, allowed: Sequence[str]) -> Iterator[str]:
    from secondlook.roles.prompts import NOT_FOUND
    from secondlook.roles.prompts.marks import CONTROL_MARK, EVIDENCE_MARK

    marks = chain(CONTROL_MARK.finditer(text), EVIDENCE_MARK.finditer(text))
    literal = [found[0] for found in marks] + ([NOT_FOUND] if NOT_FOUND in text else [])
    yield from (one for one in literal if not any(one in source for source in allowed))
    words = plain_words(text)
    phrases = (tuple(plain_words(phrase)) for phrase in _KNOWN)
    copied = [phrase for phrase in phrases if stands_in(phrase, words)]
    copied += sorted(runs(words, RUN) & _prompt_runs())
    # Taking the evidence apart costs more than all the rest, and is hardly ever needed.
    sources = [plain_words(source) for source in allowed] if copied else []
    for run in copied:
        if not any(stands_in(run, source) for source in sources):
            yield " ".join(run)


@cache
def _prompt_runs() -> frozenset[tuple[str, ...]]:
    """Of every prompt that is shipped, line by line: between lines there may be a hole."""
    from secondlook.roles.prompts import load, names

    lines = chain.from_iterable(load(name).own_words.splitlines() for name in names())
    return frozenset(chain.from_iterable(runs(plain_words(line), RUN) for line in lines))
