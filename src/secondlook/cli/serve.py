"""`secondlook serve`: the page, the API and the doors for other programs, on this machine."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import sys
from typing import TYPE_CHECKING, Final

import typer

from secondlook.cli.ask import ModelOption  # noqa: TC001 - read when the command is made
from secondlook.cli.command import Call, command, flag, option
from secondlook.errors import UsageError

if TYPE_CHECKING:
    from secondlook.settings.sections import Settings

_SHORTEST_TOKEN: Final = 16


@command(
    """\
\b
Only this machine can reach it, unless --host says otherwise; then clients must
send a token: yours (SECONDLOOK_TOKEN), or one that is made up and printed.
The API is described at /docs of the server. Example:
  secondlook serve --port 0 --no-open       on a free port, which is printed
"""
)
def serve(
    call: Call,
    *,
    host: str | None = option(None, "Address to listen on [127.0.0.1].", None, "--host"),
    port: int | None = option(None, "Port to listen on [8765]; 0 = a free one.", None, "--port"),
    token: str | None = option(None, "What clients must send.", None, "--token"),
    model: ModelOption = None,
    no_open: bool = flag("--no-open", "Do not open the browser."),
    stdio: bool = flag("--stdio", "Serve an assistant (MCP) on standard input instead."),
) -> int:
    """Open the page in your browser; programs find the API there."""
    settings = call.load({"serve.host": host, "serve.port": port, "models.default": model}).settings
    if stdio:
        _serve_mcp(call, settings)
        return 0
    if call.shows_progress:
        call.say("Starting ...")
    from secondlook.models.calls import open_models
    from secondlook.server import app as serving

    open_models(settings)  # one that cannot be used is told now, not to the first who asks
    chosen = chosen_token(settings, token)
    # What stands in the environment is known to who put it there, and logs may hold the screen.
    shown = None if token is None and os.environ.get("SECONDLOOK_TOKEN") else chosen
    listening = serving.listen(settings.serve.host, settings.serve.port)
    opens = not (no_open or call.as_json or call.quiet) and has_display()

    def started() -> None:
        from secondlook.server.security import is_loopback
        from secondlook.settings.sections import place_of

        if call.as_json:
            typer.echo(json.dumps({"url": listening.url, "token": shown}))
        else:
            typer.echo(f"Secondlook is at {listening.url}")
        sys.stdout.flush()
        call.say(f"The library is {place_of(settings.library.path)}. Ctrl-C stops the server.")
        if chosen is not None:
            said = shown or "in SECONDLOOK_TOKEN"
            call.say(f"The page asks for the token {said}; programs send it as a Bearer")
        if not is_loopback(settings.serve.host):
            call.say(f"It listens on {settings.serve.host}: other machines can reach it.")
            call.say("Nothing is encrypted: put a proxy with TLS before it in foreign networks.")
        if opens:
            import threading
            import webbrowser

            # Some browsers keep the call until they are closed.
            threading.Thread(target=webbrowser.open, args=(listening.url,), daemon=True).start()

    with listening.socket:
        serving.serve(settings, listening, token=chosen, debug=call.debug, started=started)
    return 0


def chosen_token(settings: Settings, given: str | None) -> str | None:
    """The one given, the one in the environment, or where others could reach us one made up."""
    from secondlook.server.security import is_loopback, made_up

    token = given if given is not None else os.environ.get("SECONDLOOK_TOKEN") or None
    if token is not None and len(token.strip()) < _SHORTEST_TOKEN:
        said = f"a token needs {_SHORTEST_TOKEN} characters at least"
        raise UsageError(said, hint="leave it out, and one is made up; or: openssl rand -hex 16")
    if token is None and not is_loopback(settings.serve.host):
        return made_up()
    return token.strip() if token is not None else None


def has_display() -> bool:
    if sys.platform in {"darwin", "win32"}:
        return "SSH_CONNECTION" not in os.environ
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


@command(
    """\
\b
Started by an assistant, not by hand. Its settings say (docs/api.md):
  {"mcpServers": {"secondlook": {"command": "secondlook", "args": ["mcp"]}}}
""",
    json=False,
)
def mcp(call: Call) -> None:
    """Serve your library to an assistant (Model Context Protocol)."""
    _serve_mcp(call, call.load().settings)


def _serve_mcp(call: Call, settings: Settings) -> None:
    if importlib.util.find_spec("mcp") is None:
        raise UsageError("the MCP server is not installed", hint="pip install mcp")
    call.say("secondlook mcp: waiting for a client on standard input (Ctrl-C ends it)")
    # Standard output carries the protocol alone.
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(name)s: %(message)s")
    from secondlook.server.mcp_server import serve_on_stdio

    serve_on_stdio(settings)
