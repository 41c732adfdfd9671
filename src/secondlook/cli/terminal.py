"""What goes to the screen: UTF-8 streams, colours only where a person looks, and JSON."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

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
