"""What speaks for or against an answer, in a few words each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.reading.calibration.candidates import BEST, sound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.reading.calibration.candidates import Candidate

_CLEAR_LEAD = 3.0


def explained(candidates: Sequence[Candidate], chosen: int) -> tuple[str, ...]:
    """About an answer from the chosen passage."""
    return (
        *_about_passage(candidates[chosen]),
        *_about_rivals(candidates, chosen),
        _about_searches(candidates[chosen]),
    )


def _about_passage(one: Candidate) -> tuple[str, str]:
    relevant = "reads as relevant" if one.relevance > 0 else "does not read as relevant"
    found = "seems to hold an answer" if one.margin > 0 else "may hold no answer"
    return f"the passage {relevant} ({one.relevance:.1f})", f"it {found} ({one.margin:+.1f})"


def _about_rivals(candidates: Sequence[Candidate], chosen: int) -> tuple[str, ...]:
    """Nothing where the passage itself is beside the point, or the only one."""
    own = candidates[chosen].relevance
    rivals = [candidates[at].relevance for at in sound(candidates) if at != chosen]
    if not rivals or own <= 0:
        return ()
    if own - max(rivals) >= _CLEAR_LEAD:
        return (f"no other passage comes near it ({max(rivals):.1f})",)
    return (f"another passage is about as relevant ({max(rivals):.1f})",)


def _about_searches(one: Candidate) -> str:
    if one.in_both:
        return "both searches rank it high"
    if one.dense_rank is not None and one.dense_rank <= BEST:
        return "it is found by meaning rather than by words"
    if one.lexical_rank is not None and one.lexical_rank <= BEST:
        return "it is found by words rather than by meaning"
    return "neither search ranks it high"
