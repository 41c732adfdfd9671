"""The `secondlook` command: each group of commands has a file, this one joins them."""

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from secondlook import __version__
from secondlook.cli import ask, chat, doctor, evaluate, library, models, runs, sandbox, search
from secondlook.cli import serve as serving
from secondlook.cli.command import (
    INTERRUPTED,
    STOPPED,
    Common,
    DebugOption,
    LibraryOption,
    QuietOption,
    add_commands,
    usage_error,
    use_utf8,
)
from secondlook.cli.verify import verify

PROGRAM = "secondlook"
HELP_OPTIONS = frozenset({"-h", "--help"})
EXAMPLES = """\
\b
Start here:
  secondlook demo                       try it on sample documents
  secondlook add ~/papers               make a folder searchable
  secondlook ask "how do bees see"      an answer with its evidence
  secondlook serve                      all of it in your browser
  secondlook search "bees and light"    the passages themselves
  secondlook ask "mean price" --table sales.csv   a number out of a table
  secondlook eval ~/papers              how good the answers are (questions.csv)
  secondlook doctor                     what is installed, found and missing

\b
`secondlook COMMAND --help` has examples for each command.
"""
CHAPTERS = {
    "Every day": ("demo", "add", "ask", "chat", "survey", "search", "serve"),
    "Upkeep": ("library", "watch", "runs", "models", "config", "trust", "doctor", "sandbox"),
    "Checking and measuring": ("verify", "eval", "calibrate", "graph"),
}


class Chapters(TyperGroup):
    """Commands under what they are for."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        most = formatter.width - 6 - max(map(len, self.list_commands(ctx)))
        for title, names in CHAPTERS.items():
            with formatter.section(title):
                shown = [(name, self.commands[name].get_short_help_str(most)) for name in names]
                formatter.write_dl(shown)


app = typer.Typer(
    name=PROGRAM,
    cls=Chapters,
    help="Answers over your own documents, with evidence, checked twice.",
    epilog=EXAMPLES,
    # Plain help: formatting it with rich would double the time that --help takes.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": sorted(HELP_OPTIONS), "max_content_width": 100},
)
add_commands(app, {"demo": chat.demo, "add": library.add, "ask": ask.ask, "chat": chat.chat})
add_commands(app, {"survey": ask.survey, "watch": library.watch})
add_commands(app, {"search": search.search, "serve": serving.serve, "verify": verify})
add_commands(app, {"calibrate": evaluate.calibrate, "models": models.models})
add_commands(app, {"doctor": doctor.doctor, "graph": doctor.graph, "trust": doctor.trust})
app.add_typer(doctor.config_group(), name="config")
app.add_typer(library.group(), name="library")
app.add_typer(runs.group(), name="runs")
app.add_typer(evaluate.group(), name="eval")
app.add_typer(sandbox.group(), name="sandbox")
# Shorter and earlier spellings.
add_commands(app, {"mcp": serving.mcp, "version": doctor.version, **library.COMMANDS}, hidden=True)
app.add_typer(search.tables_group(), name="tables", hidden=True)
app.add_typer(runs.memory_group(), name="memory", hidden=True)


def _print_version(wanted: bool) -> None:  # noqa: FBT001  # typer calls it so
    if wanted:
        typer.echo(f"{PROGRAM} {__version__}")
        raise typer.Exit


_SAID = "Print the version."
_VERSION = typer.Option("--version", is_eager=True, callback=_print_version, help=_SAID)


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    *,
    version: Annotated[bool, _VERSION] = False,
    library: LibraryOption = None,
    quiet: QuietOption = False,
    debug: DebugOption = False,
) -> None:
    ctx.obj = Common(library=library, quiet=quiet, debug=debug)
    if ctx.invoked_subcommand is None and not version:
        typer.echo(ctx.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    use_utf8()
    if arguments is None:
        os.umask(0o077)  # what a command writes, exports too, is nobody else's
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _run(given)
    except typer.TyperException as error:
        return usage_error(error, as_json="--json" in given)
    except (typer.Abort, KeyboardInterrupt):
        sys.stderr.write(f"{STOPPED}\n")
        return INTERRUPTED
    return code if isinstance(code, int) else 0


def _run(given: list[str]) -> object:
    options = given[: given.index("--")] if "--" in given else given
    if not HELP_OPTIONS.isdisjoint(options[1:]):
        # typer imports pydantic to check the options before a command's name, which would
        # triple the time that its help takes; there are none here.
        chosen: Any = typer.main.get_command(app)
        names = [PROGRAM]
        for name in given:
            if name not in getattr(chosen, "commands", {}):
                break
            chosen = chosen.commands[name]
            names.append(name)
        if len(names) > 1:
            return chosen.main(["--help"], prog_name=" ".join(names), standalone_mode=False)
    return app(given, prog_name=PROGRAM, standalone_mode=False)
