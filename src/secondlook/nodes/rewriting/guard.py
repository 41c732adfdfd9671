"""Decides whether what a model made of a question may be searched for.

A rewrite is one short line that keeps what the question is about, brings no facts of its own, is no
repeat and no instruction. What is wrong is refused whole, never cut to fit: half of a wrong reply
is a wrong query. Each rewrite is held against the user's own question, not against the rewrite
before it, so that small steps away from it do not add up.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from secondlook.nodes.rewriting.drift import brings_facts, is_soup, subject
from secondlook.nodes.rewriting.wording import most_words, normalised, word_count
from secondlook.prompts import CONTROL_MARK, without_evidence_marks
from secondlook.retrieval.analyse import terms

if TYPE_CHECKING:
    from collections.abc import Sequence

Reason = Literal[
    "empty",
    "several lines",
    "too long",
    "marks",
    "instruction",
    "repeat",
    "drift",
    "new words",
    "answers",
]
"""Why a rewrite is refused. `drift`: it lost what the question is about; `new words`: most of it is
from elsewhere; `answers`: it states something, or brings a name or number that nobody gave."""

_LABEL = re.compile(
    r"\A[\s*_#>-]*(?:(?:here(?: is|['’]s)|sure|okay|certainly)\b[^:\n]{0,60}:|"  # noqa: RUF001
    r"(?:(?:the|a|my|new|better|improved|revised|rewritten|rephrased|alternative|alternate|final|"
    r"optimi[sz]ed|next|second|search|stand-?alone|web|reformulated|possible)\s+){0,4}"
    r"(?:query|question|search|rewrite|keywords|terms)[*_ ]*(?:\s+is)?\s*:)[\s*_]*",
    re.IGNORECASE,
)
_QUOTES = "\"'“”‘’`«»*_ "  # noqa: RUF001
_MARKUP = re.compile(r"https?://|```|[{}]|</?\w+[^<>]*>", re.IGNORECASE)
_PRINTED_SIGNS = frozenset("\t\u200c\u200d")
_ORDER = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:above|before|earlier|previous|"
    r"prior|instructions?|rules?|prompts?|everything|context)\b"
    r"|\b(?:you|assistant)\s+(?:are\s+now|must|should|shall|have\s+to|will)\b"
    r"|\b(?:system|developer)\s+(?:prompt|message)\b|\bas\s+an?\s+(?:ai|language\s+model)\b"
    r"|\A(?:please\s+)?(?:answer|reply|respond|output|print|repeat|pretend|act\s+as|translate|"
    r"rewrite|rephrase|execute|run|click|visit|delete|reveal|do\s+not|don['’]t|never)\b"  # noqa: RUF001
    r"|\b(?:i\s+(?:can|could|will|would|am|do|don|need|think|cannot)|i['’]m|sorry|"  # noqa: RUF001
    r"unfortunately|let\s+me)\b",
    re.IGNORECASE,
)
_SECOND_SENTENCE = re.compile(r"[.!?][\"'”’)]*\s+[^\W\d_a-z]")  # noqa: RUF001
_ABBREVIATED = re.compile(r"\b(?:[A-Z]|[A-Z][a-z]{1,3})\.(?=\s)")
_ASKING = re.compile(
    r"\b(?:who|whom|whose|what|which|when|where|why|how|that|whether|if)\b", re.IGNORECASE
)
_STATING = re.compile(
    r"\S\s+(?:is|are|was|were|has|have|had|did|does|do|can|could|will|would|should|became)\b",
    re.IGNORECASE,
)
_INVERTED = re.compile(
    r"\A(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|"
    r"should|in|on|at|for|to|of|from|by|with|besides|other)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a rewrite: either a query to search with, or why there is none."""

    query: str | None
    reason: Reason | None = None
    words: int = 0
    kept: float = 0.0
    """Share of what the question is about that the rewrite keeps, names and numbers twice;
    0 where its form alone is wrong."""

    @property
    def is_accepted(self) -> bool:
        return self.query is not None


def accepted(
    reply: str,
    question: str,
    earlier: Sequence[str],
    *,
    known: str = "",
    language: str = "english",
) -> Verdict:
    """The query that a model's reply is, or why it is none.

    `question` is the user's own, `earlier` the queries that were searched with, and `known` what
    else the model was given: names and numbers may come from it.
    """
    query = bare(reply)
    words = word_count(query)
    if wrong := _fault_of_form(reply, query, question):
        return Verdict(None, wrong, words)
    reason = _fault_of_content(query, question, earlier, known=known, language=language)
    kept = subject(question, language).kept_by(query, language)
    return Verdict(None if reason else query, reason, words, kept)


def bare(reply: str) -> str:
    """The reply without the label and the quotation marks around the query."""
    line = reply.strip()
    return _LABEL.sub("", line, count=1).strip(_QUOTES)


def _fault_of_form(reply: str, query: str, question: str) -> Reason | None:
    if not word_count(query):
        return "empty"
    if len([line for line in reply.splitlines() if line.strip()]) > 1:
        return "several lines"
    if _has_marks(query):
        return "marks"
    if word_count(query) > most_words(question):
        return "too long"
    return None


def _fault_of_content(
    query: str, question: str, earlier: Sequence[str], *, known: str, language: str
) -> Reason | None:
    if _is_order(query, question):
        return "instruction"
    if _is_repeat(query, [question, *earlier], language):
        return "repeat"
    if not subject(question, language).is_kept_by(query, language):
        return "drift"
    if _states(query, question) or brings_facts(query, question, known, language):
        return "answers"
    return "new words" if is_soup(query, question, known, language) else None


def _has_marks(query: str) -> bool:
    """Anything that is no plain text: marks of prompts, of programs, or for the eye alone."""
    if CONTROL_MARK.search(query) or without_evidence_marks(query) != query:
        return True
    return _MARKUP.search(query) is not None or any(
        unicodedata.category(sign)[0] == "C" and sign not in _PRINTED_SIGNS for sign in query
    )


def _is_order(query: str, question: str) -> bool:
    """Whether it tells somebody to do something, in words that are not the question's own."""
    own = set(terms(question))
    return any(not own.issuperset(terms(order[0])) for order in _ORDER.finditer(query))


def _is_repeat(query: str, earlier: Sequence[str], language: str) -> bool:
    return normalised(query, language) in {normalised(one, language) for one in earlier}


def _states(query: str, question: str) -> bool:
    """Whether it says something where the question asks: then it is an answer, right or wrong."""
    if _sentences(query) > max(1, _sentences(question)):
        return True
    return _is_statement(query) and not _is_statement(question)


def _is_statement(text: str) -> bool:
    if text.endswith("?") or _INVERTED.match(text):
        return False
    stating = _STATING.search(text)
    return stating is not None and not _ASKING.search(text[: stating.end()])


def _sentences(text: str) -> int:
    return 1 + len(_SECOND_SENTENCE.findall(_ABBREVIATED.sub("", text)))
