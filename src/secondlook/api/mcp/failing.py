"""Our errors as errors of a tool: what happened, and what to do."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from mcp.server.mcpserver.exceptions import ToolError

from secondlook.api.problems import Problem, problem_of
from secondlook.errors import SecondlookError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def told() -> Iterator[None]:
    try:
        yield
    except (SecondlookError, Problem) as error:
        raise ToolError(said(error)) from error


def said(error: SecondlookError | Problem) -> str:
    problem = problem_of(error)
    return f"{problem.detail} ({problem.hint})" if problem.hint else problem.detail
