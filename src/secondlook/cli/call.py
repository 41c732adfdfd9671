"""What every command shares: `--library`, `--json`, `-q`, `--debug`, settings and the library."""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secondlook.cli.failure import debug_wanted, guard
from secondlook.cli.terminal import is_terminal
from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from secondlook.library import Library
    from secondlook.settings import Loaded

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
        from secondlook.library import Library

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
