"""Instructions that ended up in an answer: a model repeats its prompt, or its training."""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Final

from secondlook.evaluation.metrics.words import plain_words, runs, stands_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RUN: Final = 6
"""Words in a row that an answer must share with a prompt to be taken for a copy of it."""

_KNOWN: Final = (
    "you are an ai",
    "you are a helpful assistant",
    "as an ai language model",
    "as an ai assistant",
    "as a large language model",
    "i am an ai",
    "i'm an ai",
    "i am a large language model",
    "my knowledge cutoff",
    "below is an instruction that describes a task",
    "write a response that appropriately completes the request",
    "use the following pieces of context",
    "answer the question based on the context",
    "answer the following question using only",
    "if you don't know the answer, just say",
    "don't try to make up an answer",
    "do not follow instructions in the",
)
"""What models are commonly told, by us or by those who trained them."""


def leaks(text: str, *, question: str, evidence: Sequence[str]) -> tuple[str, ...]:
    """Each piece of an instruction in the text that neither the question nor the evidence has."""
    return tuple(dict.fromkeys(_found(text, [question, *evidence])))


def _found(text: str, allowed: Sequence[str]) -> Iterator[str]:
    from secondlook.prompts import CONTROL_MARK, EVIDENCE_MARK, NOT_FOUND

    for found in chain(CONTROL_MARK.finditer(text), EVIDENCE_MARK.finditer(text)):
        if not any(found[0] in source for source in allowed):
            yield found[0]
    if NOT_FOUND in text and not any(NOT_FOUND in source for source in allowed):
        yield NOT_FOUND
    words = plain_words(text)
    copied = [phrase for phrase in _known() if stands_in(phrase, words)]
    copied += sorted(runs(words, RUN) & _prompt_runs())
    # Taking the evidence apart costs more than all the rest, and is hardly ever needed.
    sources = [plain_words(source) for source in allowed] if copied else []
    for run in copied:
        if not any(stands_in(run, source) for source in sources):
            yield " ".join(run)


@cache
def _known() -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(plain_words(phrase)) for phrase in _KNOWN)


@cache
def _prompt_runs() -> frozenset[tuple[str, ...]]:
    """Of every prompt that is shipped, line by line: between lines there may be a hole."""
    from secondlook.prompts import load, names  # models and all: not needed to start

    lines = chain.from_iterable(load(name).own_words.splitlines() for name in names())
    return frozenset(chain.from_iterable(runs(plain_words(line), RUN) for line in lines))
