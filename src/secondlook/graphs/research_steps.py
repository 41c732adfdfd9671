"""Which steps of `research` the settings leave in, and what comes after each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from secondlook.settings import Settings

_ORDER = (
    ("separate", "screen", "recall", "classify", "issues", "plan"),
    ("search_step", "quarantine", "synthesise"),
    ("choose", "remember", "finish"),
)


@dataclass(frozen=True, slots=True)
class Steps:
    screen: bool
    recall: bool
    classify: bool
    issues: bool
    quarantine: bool
    replan: bool
    choose: bool
    remember: bool

    @classmethod
    def of(cls, settings: Settings) -> Steps:
        chosen = settings.research
        return cls(
            screen=chosen.enable_screen,
            recall=chosen.enable_memory and chosen.enable_recall,
            classify=chosen.enable_classification,
            issues=chosen.enable_issues,
            quarantine=chosen.enable_quarantine,
            replan=chosen.enable_replanning and chosen.max_cycles > 1,
            choose=chosen.enable_choosing,
            remember=chosen.enable_memory,
        )

    def after(self, node: str) -> str:
        """The next one of its line that is not switched off."""
        line = next(line for line in _ORDER if node in line)
        return next(later for later in line[line.index(node) + 1 :] if getattr(self, later, True))

    def after_evaluate(self) -> list[str]:
        return ["aggregate", *(["replan"] if self.replan else [])]
