"""How far a text gives orders to a model: by code, the same every time, in under a millisecond.

Signs are joined as independent evidence: what is left of the doubt is the product of what each
sign leaves of it. So two weak signs make a strong one, and no sign is ever counted against another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from secondlook.nodes.screening.code import HARMFUL
from secondlook.nodes.screening.hidden import payloads, signs_in
from secondlook.nodes.screening.mention import mentions, stance
from secondlook.nodes.screening.plain import plain
from secondlook.nodes.screening.sign import CODE
from secondlook.nodes.screening.signs import SIGNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from secondlook.nodes.screening.mention import Stance
    from secondlook.nodes.screening.plain import Plain
    from secondlook.nodes.screening.sign import Sign

Kind = Literal["question", "passage"]
Verdict = Literal["safe", "unclear", "refused"]

REFUSED = 0.75
UNCLEAR = 0.4
"""From here on it is worth asking somebody who can read."""
LONGEST = 20_000
"""Characters that are looked at, half of them from the end; a question is never so long."""
_STANCE: dict[Stance, float] = {"direct": 1.0, "joined": 0.6, "loose": 0.3}
_MENTIONED = 0.15
_HIDDEN_PAYLOAD = 0.95
_HIDDEN_DOUBTFUL = 0.6
_COMMENTED = "in markup that a page does not show"
_HARMFUL_WORTH = 0.55


@dataclass(frozen=True, slots=True)
class Signals:
    score: float
    reasons: tuple[str, ...]
    """Strongest first; empty where there is nothing to tell."""
    verdict: Verdict


def screened(text: str, *, kind: Kind) -> Signals:
    """What the signs say of a text. `unclear` is for a model to settle, where there is one."""
    looked = text if len(text) <= LONGEST else text[: LONGEST // 2] + "\n" + text[-LONGEST // 2 :]
    return _joined(_found(looked, kind=kind))


def _found(text: str, *, kind: Kind) -> dict[str, float]:
    """Reasons, and what each is worth."""
    shown = plain(text)
    worths: dict[str, float] = {}
    for reason, worth in (
        *_said(shown, kind=kind),
        *((one.reason, getattr(one, kind)) for one in signs_in(text, shown)),
        *_inside(text, shown),
    ):
        worths[reason] = max(worth, worths.get(reason, 0.0))
    return worths


def _said(shown: Plain, *, kind: Kind) -> Iterator[tuple[str, float]]:
    quoted = mentions(shown.text)
    for sign in SIGNS:
        worth: float = getattr(sign, kind)
        if not worth or not any(cue in shown.text for cue in sign.cues):
            continue
        places = (found.span() for found in sign.pattern.finditer(shown.text))
        share = max((_share(sign, shown.text, at, quoted) for at in places), default=0.0)
        if share and sign.reason == CODE and HARMFUL.search(shown.text):
            yield "the code fetches, sends or destroys", _HARMFUL_WORTH
        if share:
            yield sign.reason, worth * share


def _share(
    sign: Sign, text: str, place: tuple[int, int], quoted: Sequence[tuple[int, int]]
) -> float:
    """What of a sign's worth holds where it stands."""
    if any(first <= place[0] and place[1] <= last for first, last in quoted):
        return _MENTIONED
    return _STANCE[stance(text, place[0])] if sign.is_order else 1.0


def _inside(text: str, shown: Plain) -> Iterator[tuple[str, float]]:
    """Orders that are hidden in the text weigh more than those that stand there openly."""
    for hidden, payload in payloads(text, shown):
        inner = plain(payload)
        score = _score(dict(_said(inner, kind="question")).values())
        if score >= UNCLEAR:
            strong = score >= REFUSED or hidden != _COMMENTED
            yield f"holds an order {hidden}", _HIDDEN_PAYLOAD if strong else _HIDDEN_DOUBTFUL


def _joined(worths: dict[str, float]) -> Signals:
    score = _score(worths.values())
    ordered = sorted(worths, key=lambda reason: (-worths[reason], reason))
    verdict: Verdict = "refused" if score >= REFUSED else "unclear" if score >= UNCLEAR else "safe"
    told = () if verdict == "safe" else tuple(one for one in ordered if worths[one] >= UNCLEAR / 2)
    return Signals(round(score, 4), told, verdict)


def _score(worths: Iterable[float]) -> float:
    return 1 - math.prod(1 - worth for worth in worths)
