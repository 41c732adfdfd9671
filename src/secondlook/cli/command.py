"""What goes to the screen: UTF-8 streams, colours only where a person looks, and JSON."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import re
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from secondlook.errors import SecondlookError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    from secondlook.library.library import Library
    from secondlook.settings import Loaded

_COMMANDS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters but for tab and newline."""
UNWRAPPED = 10_000
"""Width for output that goes to a file or a pipe: whoever reads it breaks the lines."""


def use_utf8() -> None:
    """UTF-8 whatever the locale says; a character that cannot be written never ends a command."""
    for stream in (sys.stdout, sys.stderr, sys.stdin):
        # A stream may have been replaced (by a notebook, a test) with one that cannot change.
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]


def output() -> Console:
    return _console(sys.stdout)


def messages() -> Console:
    """Where progress, warnings and errors go, so that stdout holds results alone."""
    return _console(sys.stderr)


def is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):  # closed, or not a real stream
        return False


def one_line(text: str) -> str:
    return " ".join(harmless(text).split())


def shortened(text: str, most: int) -> str:
    """The text in one line; of a longer one its beginning."""
    flat = one_line(text)
    return flat if len(flat) <= most else f"{flat[: most - 3].rstrip()}..."


def harmless(text: str) -> str:
    """The text without what makes a terminal do something: documents, models and questions may
    hold commands that colour, move, retitle."""
    return _COMMANDS.sub("\ufffd", text)


def counted(number: int, noun: str) -> str:
    """`1 passage`, `1,204 passages`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def print_json(value: Mapping[str, object]) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=2)
    try:
        text.encode()
    except UnicodeEncodeError:  # a file name that is not valid Unicode: escape it, lose nothing
        text = json.dumps(value, indent=2)
    sys.stdout.write(text + "\n")


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    class GuardedConsole(Console):
        """One that leaves it to the guard of all commands what a reader that went away means, and
        that no text can command."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                # Its own commands, such as those of a progress bar, stand apart from text.
                ours = segment.control or not _COMMANDS.search(segment.text)
                yield segment if ours else segment._replace(text=harmless(segment.text))

    console = GuardedConsole(file=stream, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = UNWRAPPED
    return console


# What a person sees when something goes wrong: one line, what to do, and an exit code.

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


# What every command shares: `--library`, `--json`, `-q`, `--debug`, settings and the library.

LibraryOption = Annotated[
    Path | None,
    typer.Option("--library", metavar="PATH", help="The library to use, instead of your own."),
]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print results and errors, nothing else.")
]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON (docs/json.md).")]


@dataclass(frozen=True, slots=True)
class Common:
    """Options that may also stand before the command's name."""

    library: Path | None = None
    quiet: bool = False
    debug: bool = False


@dataclass(frozen=True, slots=True)
class Call(Common):
    """One use of the command line."""

    as_json: bool = False

    def load(
        self,
        flags: Mapping[str, object] | None = None,
        *,
        texts: Mapping[str, str] | None = None,
        preset: str | None = None,
    ) -> Loaded:
        from secondlook.settings import load

        return load({"library.path": self.library, **(flags or {})}, texts=texts, preset=preset)

    def open(self, loaded: Loaded | None = None, *, create: bool = False) -> Library:
        from secondlook.library.library import Library

        settings = (loaded or self.load()).settings
        return Library.open(settings.library.path, create=create, settings=settings)

    def say(self, line: str) -> None:
        """A remark for a person: not a result, so never on stdout."""
        if not self.quiet:
            sys.stderr.write(line + "\n")

    @property
    def shows_progress(self) -> bool:
        return not self.quiet and is_terminal(sys.stderr)


def command(
    *, json: bool = True, library: bool = True
) -> Callable[[Callable[..., int | None]], Callable[..., int]]:
    """Give a function `(call, ...)` the options that every command has, and guard it. Without
    `library`: one that has nothing to do with a person's own."""

    def decorate(function: Callable[..., int | None]) -> Callable[..., int]:
        def run(ctx: typer.Context, **given: Any) -> int:
            call = _call(ctx.obj or Common(), given)
            return guard(lambda: function(call, **given), debug=call.debug, as_json=call.as_json)

        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        shared = _common_parameters(json=json, library=library)
        parameters = [_parameter("ctx", typer.Context), *own, *shared]
        run.__name__ = function.__name__
        run.__doc__ = function.__doc__
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {item.name: item.annotation for item in parameters}
        return run

    return decorate


def parse_pairs(pairs: Iterable[str] | None, option: str) -> dict[str, str]:
    """`["project=harbour", "year=1843"]` as a dictionary."""
    found: dict[str, str] = {}
    for pair in pairs or ():
        key, equals, value = pair.partition("=")
        key = key.strip()
        if not equals or not key:
            raise UsageError(
                f"{option} {pair!r} is not of the form key=value",
                hint=f"For example: {option} project=harbour",
            )
        if key in found:
            raise UsageError(f"{option} gives {key!r} twice: {found[key]!r} and {value!r}")
        found[key] = value
    return found


def _call(common: Common, given: dict[str, Any]) -> Call:
    """Take what is common out of the given options; the command's own win over those before it."""
    return Call(
        library=given.pop("library", None) or common.library,
        quiet=given.pop("quiet") or common.quiet,
        debug=debug_wanted(given.pop("debug") or common.debug),
        as_json=given.pop("json", False),
    )


def _common_parameters(*, json: bool, library: bool) -> list[inspect.Parameter]:
    return [
        *([_parameter("json", JsonOption, default=False)] if json else []),
        *([_parameter("library", LibraryOption, None)] if library else []),
        _parameter("quiet", QuietOption, default=False),
        _parameter("debug", DebugOption, default=False),
    ]


def _parameter(
    name: str, annotation: Any, default: object = inspect.Parameter.empty
) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default
    )


def unless_named(function: Callable[..., int]) -> Callable[..., int]:
    """What the group itself does: `function`, unless one of its commands was named."""

    def run(ctx: typer.Context, **given: Any) -> int:
        if ctx.invoked_subcommand is None:
            return function(ctx, **given)
        if given["json"]:  # better told than lost
            raise typer.BadParameter(f"--json goes after {ctx.invoked_subcommand!r}")
        before: Common = ctx.obj or Common()
        ctx.obj = Common(
            library=given["library"] or before.library,
            quiet=given["quiet"] or before.quiet,
            debug=given["debug"] or before.debug,
        )
        return 0

    run.__signature__ = function.__signature__  # type: ignore[attr-defined]
    run.__annotations__ = function.__annotations__
    return run
