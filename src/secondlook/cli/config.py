"""`secondlook config` and `version`: what is in effect here, and where it came from."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from secondlook import __version__
from secondlook.cli.call import Call, command
from secondlook.cli.terminal import print_json

if TYPE_CHECKING:
    from secondlook.settings import Loaded

EXAMPLES = """\
\b
Later places win: defaults, your config.toml, the nearest secondlook.toml from
here upward, SECONDLOOK_* variables, flags (docs/settings.md). Examples:
  secondlook config
  secondlook config --path                   where the files are looked for
  SECONDLOOK_SEARCH_K=5 secondlook config
"""
_PARTS_THAT_MATTER = ("secondlook-weights", "pylance", "onnxruntime", "pypdfium2")


def register(app: typer.Typer) -> None:
    app.command("config", epilog=EXAMPLES)(config)
    app.command("version")(version)


@command()
def config(
    call: Call,
    *,
    path: Annotated[
        bool, typer.Option("--path", help="Print where settings files are looked for.")
    ] = False,
) -> None:
    """Show every setting in effect, and where its value came from."""
    from secondlook.settings import PROJECT_FILE, find_project_file, user_file

    project = find_project_file(Path.cwd())
    if path and not call.as_json:
        sys.stdout.write(f"user     {_with_state(user_file())}\n")
        sys.stdout.write(f"project  {project or f'no {PROJECT_FILE} from here upward'}\n")
        return
    loaded = call.load()
    if call.as_json:
        print_json(
            {
                "settings": {key: _form(loaded, key) for key in loaded.origin},
                "user_file": str(user_file()),
                "project_file": str(project) if project else None,
                "files": [str(file) for file in loaded.files],
            }
        )
    else:
        _print_settings(loaded)


@command()
def version(call: Call) -> None:
    """Print the versions of Secondlook and its main parts."""
    import platform
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as version_of

    parts: dict[str, str | None] = {}
    for name in _PARTS_THAT_MATTER:
        try:
            parts[name] = version_of(name)
        except PackageNotFoundError:
            parts[name] = None
    facts = {"python": platform.python_version(), "platform": platform.platform()}
    if call.as_json:
        print_json({"version": __version__, **facts, "parts": parts})
        return
    sys.stdout.write(f"secondlook {__version__}\n")
    for name, value in {**facts, **parts}.items():
        sys.stdout.write(f"{name:<20}{value or 'not installed'}\n")


def _form(loaded: Loaded, key: str) -> dict[str, object]:
    from secondlook.settings import StoreAddress

    value = loaded.value(key)
    if isinstance(value, StoreAddress):
        value = str(value)
    return {"value": _plain(value), "origin": loaded.origin[key]}


def _with_state(file: Path) -> str:
    return str(file) if file.is_file() else f"{file} (not there)"


def _print_settings(loaded: Loaded) -> None:
    from rich.text import Text

    from secondlook.cli.terminal import output

    console = output()
    shown = {key: _as_toml(loaded.value(key)) for key in loaded.origin}
    left = max(map(len, shown))
    middle = min(40, max(map(len, shown.values())))
    for key, value in shown.items():
        origin = loaded.origin[key]
        style = "dim" if origin == "default" else "bold"
        console.print(
            Text.assemble(f"{key:<{left}}  ", (f"{value:<{middle}}  ", style), (origin, "dim")),
            soft_wrap=True,
        )


def _plain(value: object) -> object:
    from secondlook.settings.places import place_of

    return place_of(value) if isinstance(value, Path) else value


def _as_toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(_as_toml(item) for item in value)}]"
    if value is None:
        return "not set"
    return str(value) if isinstance(value, int | float) else f'"{_plain(value)}"'
