"""What a person sees when something goes wrong: one line, what to do, and an exit code.

0    done, also when nothing was found or nothing was to do
1    failed, or every file failed
2    the command or a setting is wrong
130  stopped with Ctrl-C
141  the reader of our output went away (`| head`)
143  told to end (SIGTERM) while a question was worked on: it can be taken up
"""

from __future__ import annotations

import os
import sys
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from secondlook.cli.terminal import one_line, print_json
from secondlook.errors import SecondlookError

if TYPE_CHECKING:
    from collections.abc import Callable

FAILED = 1
USAGE = 2
INTERRUPTED = 130
PIPE_CLOSED = 141

STOPPED = "Stopped."
STOPPED_ADDING = "Stopped. What is reported is kept; the same command completes the rest."


@dataclass(frozen=True, slots=True)
class Problem:
    code: str
    """Class of the error: what a program can tell it by."""
    message: str
    hint: str | None
    exit_code: int = FAILED


def guard(work: Callable[[], int | None], *, debug: bool, as_json: bool) -> int:
    """Run a command; whatever happens becomes an exit code, a line, and what to do."""
    try:
        code = work() or 0
        sys.stdout.flush()
    except KeyboardInterrupt:
        _say(STOPPED)
        return INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return PIPE_CLOSED
    except (typer.Exit, typer.Abort, typer.TyperException):
        raise  # typer's own way to say how a command ends
    except SecondlookError as error:
        problem = Problem(type(error).__name__, error.message, error.hint, error.exit_code)
        return _report(problem, debug=debug, as_json=as_json)
    except Exception as error:  # noqa: BLE001  # the last line of defence before a user's eyes
        message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        problem = Problem("Unexpected", message, "Run again with --debug to see where.")
        return _report(problem, debug=debug, as_json=as_json)
    return code


def usage_error(error: typer.TyperException, *, as_json: bool) -> int:
    """A command line that typer could not make sense of."""
    context = getattr(error, "ctx", None)
    while context and getattr(context.command, "hidden", False):
        context = context.parent  # what nobody types has no help that anybody looks for
    command = context.command_path if context else "secondlook"
    hint = f"{command} --help shows what it takes."
    problem = Problem("UsageError", error.format_message(), hint, error.exit_code)
    return _report(problem, debug=False, as_json=as_json)


def debug_wanted(flag: bool) -> bool:  # noqa: FBT001
    return flag or os.environ.get("SECONDLOOK_DEBUG", "") not in {"", "0"}


def _report(problem: Problem, *, debug: bool, as_json: bool) -> int:
    if debug:
        traceback.print_exc()
    _say(f"error: {one_line(problem.message)}")
    if problem.hint:
        _say("hint: " + "\n  ".join(one_line(line) for line in problem.hint.splitlines()))
    if as_json:
        about = {"code": problem.code, "message": problem.message, "hint": problem.hint}
        print_json({"error": about})
    return problem.exit_code


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")


def _silence_stdout() -> None:
    """Python flushes stdout once more at exit; give it somewhere to go."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # stdout is not a real file: nothing is flushed to a pipe
        return
