"""`secondlook mcp`: the library as tools of an assistant, over standard input and output."""

from __future__ import annotations

import importlib.util
import logging
import sys
from typing import TYPE_CHECKING

from secondlook.cli.call import Call, command
from secondlook.errors import UsageError

if TYPE_CHECKING:
    import typer

EXAMPLES = """\
\b
Started by an assistant, not by hand. Its settings say (docs/api.md):
  {"mcpServers": {"secondlook": {"command": "secondlook", "args": ["mcp"]}}}

\b
Examples:
  secondlook mcp                        your own library
  secondlook mcp --library ~/papers.lib another one
"""
INSTALL = 'pip install "secondlook[mcp]"'


def register(app: typer.Typer) -> None:
    app.command("mcp", epilog=EXAMPLES)(mcp)


@command(json=False)
def mcp(call: Call) -> None:
    """Serve your library to an assistant (Model Context Protocol)."""
    if importlib.util.find_spec("mcp") is None:
        raise UsageError("the MCP server is not installed", hint=INSTALL)
    settings = call.load().settings
    call.say("secondlook mcp: waiting for a client on standard input (Ctrl-C ends it)")
    # Standard output carries the protocol alone.
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(name)s: %(message)s")
    from secondlook.api.mcp.stdio import serve_on_stdio

    serve_on_stdio(settings)
