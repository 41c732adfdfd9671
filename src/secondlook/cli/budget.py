"""The flags that cap what one question may take."""

from __future__ import annotations

from typing import Annotated

import typer

CallsOption = Annotated[
    int | None, typer.Option("--max-calls", metavar="N", help="Model calls at most; 0 = any.")
]
TokensOption = Annotated[
    int | None,
    typer.Option("--max-tokens", metavar="N", help="Tokens at most, in and out; 0 = any."),
]
CostOption = Annotated[
    float | None, typer.Option("--max-cost", metavar="USD", help="US dollars at most; 0 = any.")
]
TimeoutOption = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="The most time an answer may take.")
]


def budget_of(
    calls: int | None, tokens: int | None, cost: float | None, seconds: float | None
) -> dict[str, float | None]:
    """As settings; None = as they are set."""
    return {
        "budget.calls": calls,
        "budget.tokens": tokens,
        "budget.money": cost,
        "budget.seconds": seconds,
    }
