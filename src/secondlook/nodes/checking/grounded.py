"""Whether each sentence of a draft stands on what it cites: the rules that hold for every judge,
and what the verdicts amount to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from secondlook.nodes.checking.evidence import backed
from secondlook.nodes.checking.judges import Opinion, opinions
from secondlook.reading.numbers import missing_numbers
from secondlook.reading.support.coverage import Cap, cap
from secondlook.reading.support.verbatim import is_verbatim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Scalar
    from secondlook.context import Context
    from secondlook.nodes.checking.evidence import Backed
    from secondlook.settings import Settings
    from secondlook.state import DraftData, Sentence

_NAMES: Final[tuple[Cap, ...]] = ("name",)
_MOST = 0.5
"""The share of sentences of which more must pass where likeness of meaning judges."""


@dataclass(frozen=True, slots=True)
class Groundedness:
    """A draft with the verdicts on its sentences."""

    draft: DraftData
    complaints: tuple[str, ...]
    """The sentences that the evidence does not carry, those cut before the check included."""
    numbers: dict[str, Scalar]
    warnings: list[dict[str, Any]] = field(default_factory=list)


async def grounded(
    context: Context, question: str, draft: DraftData, cut: Sequence[str]
) -> Groundedness:
    """The draft as it was written, each sentence marked by whether it stands."""
    ones = await backed(context, draft["sentences"])
    open_ones = [one for one in ones if _is_open(one, draft)]
    heard = await opinions(context, question, open_ones)
    said = iter(heard.opinions)
    ruled = [
        _with_rules(one, next(said), question) if _is_open(one, draft) else _closed(one)
        for one in ones
    ]
    sentences = [_marked(one.sentence, opinion) for one, opinion in zip(ones, ruled, strict=True)]
    failing = [one["text"] for one in sentences if one["supported"] is False]
    numbers: dict[str, Scalar] = {
        "sentences": len(sentences) + len(cut),
        "unsupported": len(failing) + len(cut),
        "cut": len(cut),
        "absent": sum(opinion.absent for opinion in ruled),
        **heard.numbers,
    }
    complaints = tuple(dict.fromkeys([*cut, *failing]))
    return Groundedness({**draft, "sentences": sentences}, complaints, numbers, heard.warnings)


def share_grounded(
    draft: DraftData, complaints: Sequence[str], settings: Settings
) -> tuple[float | None, bool | None]:
    """The share of what was written that the evidence carries, and whether that is enough; None
    where nothing was written or nobody has checked it."""
    sentences = draft["sentences"]
    texts = {sentence["text"] for sentence in sentences}
    cut = sum(complaint not in texts for complaint in complaints)
    checked = cut or any(sentence["supported"] is not None for sentence in sentences)
    if not checked or not settings.corrective.enable_grounded_check:
        return None, None
    failing = cut + sum(sentence["supported"] is False for sentence in sentences)
    share = 1 - failing / (len(sentences) + cut)
    if settings.corrective.grounded_judge == "similarity":
        return round(share, 4), share > _MOST
    return round(share, 4), failing == 0


def _is_open(one: Backed, draft: DraftData) -> bool:
    """Whether somebody must judge it: not what is computed, was taken word for word from a
    passage, or cites nothing that is there."""
    computed = one.sentence.get("computation") is not None
    return bool(one.quotes) and not computed and draft["method"] != "extractive"


def _closed(one: Backed) -> Opinion:
    if one.quotes or one.sentence.get("computation") is not None:
        return Opinion(supported=True, support=one.sentence["support"])
    return Opinion(supported=False, support=0.0)


def _with_rules(one: Backed, opinion: Opinion, question: str) -> Opinion:
    """A number or a name that stands nowhere makes a sentence unsupported, whoever judges."""
    if opinion.supported is False or not _is_absent(one, question):
        return opinion
    return replace(opinion, supported=False, absent=True)


def _is_absent(one: Backed, question: str) -> bool:
    """Whether the sentence has a number that neither its quotes nor the question have, or a name
    that not even the passages around the quotes have: there "she" may stand in the quote."""
    if is_verbatim(one.text, one.evidence):
        return False
    known = f"{one.evidence}\n\n{question}"
    if missing_numbers(one.text, known):
        return True
    return cap(one.text, "\n\n".join([known, *one.around]), _NAMES) < 1


def _marked(sentence: Sentence, opinion: Opinion) -> Sentence:
    marked: Sentence = {**sentence, "supported": opinion.supported, "support": opinion.support}
    return marked
