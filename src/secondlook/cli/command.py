"""What every command shares: its options, how it reports errors, and what goes to the screen."""

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
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    from secondlook.library.library import Library
    from secondlook.settings import Loaded

FAILED = 1
INTERRUPTED = 130
PIPE_CLOSED = 141
STOPPED = "Stopped."

_QUIET = "Print results and errors, nothing else."
LibraryOption = Annotated[
    Path | None, typer.Option("--library", metavar="PATH", help="The library to use, or its name.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help=_QUIET)]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON (docs/json.md).")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
FilterOption = Annotated[
    list[str] | None, typer.Option("--filter", metavar="KEY=VALUE", help="Only such; repeatable.")
]
DocOption = Annotated[
    list[str] | None, typer.Option("--doc", metavar="NAME", help="Only this document; repeatable.")
]


def option(default: Any, about: str, metavar: str | None = None, *names: str, **more: Any) -> Any:
    return typer.Option(default, *names, metavar=metavar, help=about, **more)


def flag(name: str, about: str) -> Any:
    return typer.Option(False, name, help=about)  # noqa: FBT003


def argument(default: Any, about: str, metavar: str) -> Any:
    return typer.Argument(default, metavar=metavar, help=about)


@dataclass(frozen=True, slots=True)
class Common:
    """Options that may also stand before the command's name."""

    library: Path | None = None
    quiet: bool = False
    debug: bool = False


@dataclass(frozen=True, slots=True)
class Call(Common):
    as_json: bool = False

    def load(self, flags: Mapping[str, object] | None = None, **how: Any) -> Loaded:
        """`how`: texts and a preset."""
        from secondlook.settings import load

        given = self.library
        if given is not None and len(given.parts) == 1 and not given.exists():
            from secondlook.library.about import named_library

            usual = load(**how).settings.library.path
            given = named_library(usual, str(given)) or given
        return load({"library.path": given, **(flags or {})}, **how)

    def open(self, loaded: Loaded | None = None, *, create: bool = False) -> Library:
        from secondlook.library.library import Library

        settings = (loaded or self.load()).settings
        return Library.open(settings.library.path, create=create, settings=settings)

    def say(self, line: str) -> None:
        """A remark for a person: not a result, so never on stdout."""
        if not self.quiet:
            sys.stderr.write(line + "\n")

    def tell(self, data: Mapping[str, object], line: str) -> None:
        """What was done: as JSON where that is wanted, else as a remark."""
        if self.as_json:
            print_json(data)
        else:
            self.say(line)

    def confirm(self, question: str, *, yes: bool) -> None:
        """Ask a person at a terminal; a program is not asked."""
        if not yes and not self.as_json and is_terminal(sys.stdin):
            typer.confirm(question, abort=True, err=True)

    @property
    def shows_progress(self) -> bool:
        return not self.quiet and is_terminal(sys.stderr)


def command(
    epilog: str = "",
    *,
    json: bool = True,
    library: bool = True,
    shared: Mapping[str, tuple[Any, object]] | None = None,
    read: Callable[..., Any] | None = None,
) -> Callable[[Callable[..., int | None]], Callable[..., int]]:
    """Give a function `(call, ...)` the options that every command has, and guard it. With `read`
    it is `(call, what, ...)`, and `read` makes `what` of the `shared` options."""

    def decorate(function: Callable[..., int | None]) -> Callable[..., int]:
        def run(ctx: typer.Context, **given: Any) -> int:
            before: Common = ctx.obj or Common()
            debug = given.pop("debug") or before.debug
            call = Call(
                library=given.pop("library", None) or before.library,
                quiet=given.pop("quiet") or before.quiet,
                debug=debug or os.environ.get("SECONDLOOK_DEBUG", "") not in {"", "0"},
                as_json=given.pop("json", False),
            )

            def work() -> int | None:
                if read is None:
                    return function(call, **given)
                taken = {name: given.pop(name) for name in shared or ()}
                return function(call, read(call, **taken), **given)

            return guard(work, debug=call.debug, as_json=call.as_json)

        if read is not None:  # the type of `what` is not imported for --help
            del function.__annotations__[list(inspect.signature(function).parameters)[1]]
        own = list(inspect.signature(function, eval_str=True).parameters.values())
        parameters = [
            parameter("ctx", typer.Context),
            *own[1 if read is None else 2 :],
            *(parameter(name, kind, default) for name, (kind, default) in (shared or {}).items()),
            *([parameter("json", JsonOption, default=False)] if json else []),
            *([parameter("library", LibraryOption, None)] if library else []),
            parameter("quiet", QuietOption, default=False),
            parameter("debug", DebugOption, default=False),
        ]
        run.__name__, run.__doc__ = function.__name__, function.__doc__
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {item.name: item.annotation for item in parameters}
        run.epilog = epilog  # type: ignore[attr-defined]
        return run

    return decorate


def parameter(
    name: str, annotation: Any, default: object = inspect.Parameter.empty
) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default
    )


def add_commands(
    app: typer.Typer, functions: Mapping[str, Callable[..., int]], *, hidden: bool = False
) -> None:
    for name, function in functions.items():
        app.command(name, epilog=getattr(function, "epilog", None), hidden=hidden)(function)


def group_of(
    about: str, epilog: str, default: Callable[..., int], **functions: Callable[..., int]
) -> typer.Typer:
    """Commands under one name; without one of them named it does what `default` does."""

    def run(ctx: typer.Context, **given: Any) -> int:
        if ctx.invoked_subcommand is None:
            return default(ctx, **given)
        if given["json"]:  # better an error than lost
            raise typer.BadParameter(f"--json goes after {ctx.invoked_subcommand!r}")
        before: Common = ctx.obj or Common()
        names = ("library", "quiet", "debug")
        ctx.obj = Common(**{name: given[name] or getattr(before, name) for name in names})
        return 0

    run.__signature__ = inspect.signature(default)  # type: ignore[attr-defined]
    run.__annotations__ = default.__annotations__
    group = typer.Typer(help=about)
    group.callback(invoke_without_command=True, epilog=epilog)(run)
    add_commands(group, functions)
    return group


def parse_pairs(pairs: Iterable[str] | None, option: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs or ():
        key, equals, value = pair.partition("=")
        key = key.strip()
        if not equals or not key:
            hint = f"For example: {option} project=harbour"
            raise UsageError(f"{option} {pair!r} is not of the form key=value", hint=hint)
        if key in found:
            raise UsageError(f"{option} gives {key!r} twice")
        found[key] = value
    return found


# Errors: one line, what to do, and an exit code.


def guard(work: Callable[[], int | None], *, debug: bool, as_json: bool) -> int:
    """Run a command; whatever happens becomes an exit code, a line, and what to do."""
    try:
        code = work() or 0
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.stderr.write(f"{STOPPED}\n")
        return INTERRUPTED
    except BrokenPipeError:
        # Python flushes stdout once more at exit; give it somewhere to go.
        with contextlib.suppress(OSError, ValueError):  # stdout may not be a real file
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
        return PIPE_CLOSED
    except (typer.Exit, typer.Abort, typer.TyperException):
        raise  # typer's own way to say how a command ends
    except Exception as error:  # noqa: BLE001  # the last line of defence before a user's eyes
        if debug:
            traceback.print_exc()
        if isinstance(error, SecondlookError):
            report(type(error).__name__, error.message, error.hint, as_json=as_json)
            return error.exit_code
        hint = "Run again with --debug to see where."
        said = ": ".join(filter(None, (type(error).__name__, str(error))))
        report("Unexpected", said, hint, as_json=as_json)
        return FAILED
    return code


def report(code: str, message: str, hint: str | None, *, as_json: bool, indent: int = 2) -> None:
    sys.stderr.write(f"error: {one_line(message)}\n")
    if hint:
        said = "\n  ".join(one_line(line) for line in hint.splitlines())
        sys.stderr.write(f"hint: {said}\n")
    if as_json:
        about = {"error": {"code": code, "message": message, "hint": hint}}
        sys.stdout.write(json.dumps(about, indent=indent or None) + "\n")


def usage_error(error: typer.TyperException, *, as_json: bool) -> int:
    context = getattr(error, "ctx", None)
    while context and getattr(context.command, "hidden", False):
        context = context.parent  # the help of a hidden command is of no use
    name = context.command_path if context else "secondlook"
    hint = f"{name} --help shows its options."
    report("UsageError", error.format_message(), hint, as_json=as_json)
    return error.exit_code


# The screen: UTF-8, colours only for a person, JSON, tables.

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and newline
UNWRAPPED = 10_000  # width for output that goes to a file or a pipe


def use_utf8() -> None:
    """UTF-8 whatever the locale says; a character that cannot be written never ends a command."""
    for stream in (sys.stdout, sys.stderr, sys.stdin):
        # A stream may have been replaced (by a notebook, a test) with one that cannot change.
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]


def messages() -> Console:
    """Where progress, warnings and errors go, so that stdout holds results alone."""
    return output(sys.stderr)


def output(stream: TextIO | None = None) -> Console:
    from rich.console import Console

    class GuardedConsole(Console):
        """Raises where the reader of a pipe went away, and lets no text control the terminal."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                # Its own control codes, such as those of a progress bar, stand apart from text.
                ours = segment.control or not _CONTROL.search(segment.text)
                yield segment if ours else segment._replace(text=harmless(segment.text))

    console = GuardedConsole(file=stream or sys.stdout, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = UNWRAPPED
    return console


def is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):  # closed, or not a real stream
        return False


def harmless(text: str) -> str:
    """The text without control characters: documents, models and questions may hold some."""
    return _CONTROL.sub("\ufffd", text)


def one_line(text: str) -> str:
    return " ".join(harmless(text).split())


def shortened(text: str, most: int) -> str:
    """The text in one line; of a longer one its beginning."""
    flat = one_line(text)
    return flat if len(flat) <= most else f"{flat[: most - 3].rstrip()}..."


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def print_json(value: Mapping[str, object]) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=2)
    try:
        text.encode()
    except UnicodeEncodeError:  # a file name that is not valid Unicode: escape it, lose nothing
        text = json.dumps(value, indent=2)
    sys.stdout.write(text + "\n")


def print_rows(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()
) -> None:
    """A table for a person; for other programs one row a line, cells separated by tabs."""
    if is_terminal(sys.stdout):
        print_table(head, rows, right=right)
    else:
        for row in rows:
            sys.stdout.write("\t".join(map(one_line, row)) + "\n")


def print_table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Sequence[str] = (),
    console: Console | None = None,
) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in head:
        table.add_column(Text(one_line(name)), justify="right" if name in right else "left")
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    if table.row_count:
        (console or output()).print(table)
