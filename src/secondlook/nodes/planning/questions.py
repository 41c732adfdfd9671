"""Whether a question that a model proposes may become a step.

It is one question, can be understood by itself, is about what was asked, and is new. A question
that fails is refused whole; who asked goes on without it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from secondlook.nodes.planning.diversity import LEAST_LIKE, asks_the_same, likeness
from secondlook.nodes.rewriting.wording import Stems, content, is_telling, normalised, word_count
from secondlook.prompts import CONTROL_MARK, EVIDENCE_MARK, load
from secondlook.retrieval.analyse import terms
from secondlook.retrieval.stopwords import STOP_WORDS
from secondlook.state import trouble

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from secondlook.context import Context
    from secondlook.state import StepData

Reason = Literal[
    "no reply", "empty", "too long", "marks", "example", "leans", "off the subject", "repeat"
]
"""`example`: it is copied from the prompt; `leans`: it cannot be understood by itself."""

MOST_WORDS: Final = 45
MOST_WORDS_OF_PHASE: Final = 6
LONGEST_PHASE: Final = 60
"""Characters of a heading."""
_UNFINISHED: Final = frozenset(STOP_WORDS["english"])
_MARKUP = re.compile(r"https?://|```|[{}<>|]")
_LABEL = re.compile(r"\A[\s*_#>-]*(?:question|q|step \d+)\s*[:.]\s*", re.IGNORECASE)
_QUOTES: Final = "\"'“”‘’`*_ "  # noqa: RUF001
_POINTS_BACK = re.compile(
    r"\bsteps?\s+(?:\d+|one|two|three|four)\b"
    r"|\b(?:previous|preceding|prior|earlier|above|aforementioned|said|former|latter|first|last)\s+"
    r"(?:steps?|questions?|answers?|findings?|results?|passages?|scenario|fact pattern)\b"
    r"|\b(?:mentioned|described|given|found|stated|listed|as)\s+(?:above|before|earlier)\b"
    r"|\bthe\s+(?:above|foregoing|previous|preceding|latter|former)\b"
    r"|\b(?:option|choice|answer|alternative)s?\s+\(?(?-i:[A-J])\b"
    r"|\b(?:which|any|one|each|all)\s+of\s+(?:the\s+)?(?:following|these|those|options|choices)\b"
    r"|\b(?:in|under|on)\s+(?:this|that|these|those)\s+"
    r"(?:case|situation|scenario|facts?|circumstances?|question|context)\b",
    re.IGNORECASE,
)
_POINTING = re.compile(
    r"\b(?:it|its|itself|he|him|his|she|her|hers|they|them|their|theirs|this|that|these|those|"
    r"such|one|ones)\b",
    re.IGNORECASE,
)
# "When is it lawful to", "how long does it take": it stands for what comes after it.
_EMPTY_IT = re.compile(
    r"\b(?:is|was|be|would|will|can|could|may)\s+it\s+(?:be\s+)?(?:\w+ly\s+)?\w+(?<!ed)\s+"
    r"(?:to|that|for|if|when|whether)\b|\b(?:does|did)\s+it\s+(?:take|mean|matter|follow)\b",
    re.IGNORECASE,
)
_MODAL: Final = frozenset(terms("must may might shall ought need dare"))
_PLURAL_OF_ALL = re.compile(r"\b(?:those|one|ones)\s+(?:who|that|whose|which)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Checked:
    """A question that may be asked, or why not."""

    question: str | None
    reason: Reason | None = None
    repeats: int | None = None
    """The step that asks the same; of a question that may be asked, the failed one."""
    warnings: tuple[dict[str, Any], ...] = ()


def tidy(said: str) -> str:
    """The first question of what a model said, without what stands around it."""
    text = " ".join(said.split())
    text = _LABEL.sub("", text, count=1).strip(_QUOTES)
    first, mark, _ = text.partition("?")
    asked = (first if mark else text.rstrip(" .:;,")).strip(_QUOTES)
    return f"{asked[:1].upper()}{asked[1:]}?" if asked else ""


def tidy_phase(said: str, *, otherwise: str) -> str:
    """A few words that can stand as a heading."""
    text = re.split(r"[,:;.?!\n]", said.strip(_QUOTES), maxsplit=1)[0].strip(_QUOTES)
    words = text.split()[:MOST_WORDS_OF_PHASE]
    if not words or _MARKUP.search(text) or not text.replace(" ", "").isprintable():
        return otherwise
    while len(words) > 1 and words[-1].casefold() in _UNFINISHED:
        words.pop()
    phase = " ".join(words)
    if len(phase) > LONGEST_PHASE:
        return otherwise
    return f"{phase[:1].upper()}{phase[1:]}"


async def checked(
    context: Context,
    said: str,
    *,
    asked: str,
    known: str,
    earlier: Sequence[StepData],
    prompt: str,
) -> Checked:
    """`asked` is the whole question, `known` what else was told, `prompt` who was told it."""
    question = tidy(said)
    language = context.settings.library.language
    if wrong := _fault_of_form(question, asked, prompt):
        return Checked(None, wrong)
    others = [asked, *(step["question"] for step in earlier)]
    near, warnings = await _near(context, question, others)
    if near[0] < LEAST_LIKE and not _shares_words(question, f"{asked} {known}", language):
        return Checked(None, "off the subject", warnings=warnings)
    same = [
        step
        for step, like in zip(earlier, near[1:], strict=True)
        if asks_the_same(question, step["question"], like, language)
    ]
    if any(not _may_try_again(question, step, language) for step in same):
        return Checked(None, "repeat", same[0]["id"], warnings)
    return Checked(question, None, same[-1]["id"] if same else None, warnings)


def _may_try_again(question: str, step: StepData, language: str) -> bool:
    """A step that failed, in other words."""
    words = normalised(question, language)
    return step["status"] == "failed" and words != normalised(step["question"], language)


async def _near(
    context: Context, question: str, others: Sequence[str]
) -> tuple[list[float], tuple[dict[str, Any], ...]]:
    """Without an embedder words have to do."""
    try:
        return await likeness(context, question, others), ()
    except Exception as error:  # noqa: BLE001 - whatever an embedder does, the research goes on
        told = trouble("plan", error, "questions were compared by their words alone")
        return [0.0] * len(others), (told,)


def _fault_of_form(question: str, asked: str, prompt: str) -> Reason | None:
    if not word_count(question):
        return "empty"
    if word_count(question) > max(MOST_WORDS, word_count(asked)):
        return "too long"
    if CONTROL_MARK.search(question) or EVIDENCE_MARK.search(question) or _MARKUP.search(question):
        return "marks"
    if is_example(question, prompt) and tidy(asked) != question:
        return "example"
    return "leans" if leans(question) else None


def is_example(text: str, prompt: str) -> bool:
    """Whether it stands in the prompt itself: small models copy what they were shown."""
    bare = " ".join(text.split()).rstrip(" ?.").casefold()
    return bool(bare) and bare in " ".join(load(prompt).own_words.split()).casefold()


def leans(question: str) -> bool:
    """Whether it needs another question, a step or the choices to be understood."""
    if _POINTS_BACK.search(question):
        return True
    plain = _PLURAL_OF_ALL.sub(" ", _EMPTY_IT.sub(" ", question))
    pointing = _POINTING.search(plain)
    return pointing is not None and not _names_something(plain[: pointing.start()])


def _names_something(text: str) -> bool:
    return any(is_telling(stem) and stem not in _MODAL for stem in terms(text))


def _shares_words(question: str, told: str, language: str) -> bool:
    held = Stems(content(told, language))
    return any(stem in held for stem in content(question, language))
