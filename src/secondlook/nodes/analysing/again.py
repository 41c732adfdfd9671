"""What whoever tries again is told of the last try."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.state import AttemptData, RemedyData

_LONGEST_CODE = 3000


def after_remedy(
    remedies: Sequence[RemedyData], attempts: Sequence[AttemptData], issues: Sequence[str]
) -> str:
    """The failed code, what is held against it and what to do about it; empty before a remedy."""
    if not remedies:
        return ""
    last = remedies[-1]
    lines = ["", "", "An earlier try could not stand."]
    if attempts:
        lines += ["Its code:", fenced(attempts[-1]["code"])]
    lines += ["What was wrong:", *(f"- {issue}" for issue in issues)]
    lines += [f"Cause: {last['cause']}", f"Do this: {last['guidance']}"]
    return "\n".join(lines)


def fenced(code: str) -> str:
    return f"```python\n{code[:_LONGEST_CODE]}\n```"
