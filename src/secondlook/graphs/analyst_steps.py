"""Which steps of `analyst` the settings leave in, and where each of them may lead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from secondlook.settings import Settings


@dataclass(frozen=True, slots=True)
class Steps:
    understand: bool
    compute: bool
    align: bool
    retry: bool
    remediate: bool

    @classmethod
    def of(cls, settings: Settings) -> Steps:
        chosen = settings.analyst
        return cls(
            understand=chosen.enable_understanding,
            compute=chosen.enable_grammar,
            align=chosen.enable_alignment,
            retry=chosen.max_code_attempts > 1,
            remediate=chosen.enable_remediation and chosen.max_remediations > 0,
        )

    def first(self) -> str:
        return "understand" if self.understand else "requirements"

    def computing(self) -> list[str]:
        return [*(["compute"] if self.compute else []), "code"]

    def after_align(self) -> list[str]:
        return [*self.computing(), "requirements", "profile", "limitation"]

    def after_code(self) -> list[str]:
        return ["evaluate", *(["code"] if self.retry else [])]

    def after_remediate(self) -> list[str]:
        return ["code", "requirements", "profile", "explain"]

    def after_evaluate(self) -> list[str]:
        return ["explain", *(["remediate"] if self.remediate else [])]
