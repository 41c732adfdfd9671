"""Which steps of `corrective` the settings leave in, and where each of them may lead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from secondlook.settings import Settings


@dataclass(frozen=True, slots=True)
class Steps:
    split: bool
    follow: bool
    grading: bool
    readings: bool
    rewrite: bool
    web: bool
    check_grounded: bool
    check_useful: bool
    regenerate: bool
    grade_answer: bool

    @classmethod
    def of(cls, settings: Settings) -> Steps:
        chosen = settings.corrective
        rewrites = chosen.enable_rewriting and chosen.max_rewrites > 0
        return cls(
            split=chosen.enable_decomposition,
            follow=chosen.enable_following and settings.search.rerank,
            grading=chosen.enable_grading,
            readings=chosen.enable_readings,
            rewrite=rewrites and (chosen.enable_grading or chosen.enable_useful_check),
            web=settings.web.enable_web_search and chosen.enable_grading,
            check_grounded=chosen.enable_grounded_check,
            check_useful=chosen.enable_useful_check,
            regenerate=chosen.enable_grounded_check
            and chosen.enable_regeneration
            and chosen.max_regenerations > 0,
            grade_answer=settings.answer.enable_answer_grading,
        )

    def after_grade(self) -> list[str]:
        return [
            "answer",
            *(["settle"] if self.grading or self.rewrite else []),
            *(["rewrite"] if self.grading and self.rewrite else []),
            *(["search_web"] if self.web else []),
            *(["readings"] if self.readings else []),
        ]

    def after_rewrite(self) -> list[str]:
        return [
            "search_again",
            *(["grade"] if self.grading else []),
            *(["settle"] if self.check_useful else []),
        ]

    def after_answer(self) -> str:
        if self.check_grounded:
            return "check_grounded"
        return "check_useful" if self.check_useful else "settle"

    def after_grounded(self) -> list[str]:
        onward = "check_useful" if self.check_useful else "settle"
        return [onward, *(["answer"] if self.regenerate else [])]

    def after_useful(self) -> list[str]:
        return ["settle", *(["rewrite"] if self.rewrite else [])]
