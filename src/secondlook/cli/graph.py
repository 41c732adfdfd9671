"""`secondlook graph`: the workflows, and each one drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from secondlook.cli.ask import PresetOption, WebOption  # noqa: TC001  # typer reads them
from secondlook.cli.call import Call, command
from secondlook.cli.terminal import print_json

if TYPE_CHECKING:
    from secondlook.settings import Settings

EXAMPLES = """\
\b
Examples:
  secondlook graph                          which workflows there are
  secondlook graph adaptive                 one of them, as Mermaid
  secondlook graph adaptive --web           the same with a web search
  secondlook graph corrective               the one that corrects itself
  secondlook graph linear > linear.mmd

\b
A diagram has the steps that your settings switch on. Mermaid is drawn by
GitHub, GitLab, Obsidian and https://mermaid.live.
"""


def register(app: typer.Typer) -> None:
    app.command("graph", epilog=EXAMPLES)(graph)


@command()
def graph(
    call: Call,
    *,
    name: Annotated[
        str | None,
        typer.Argument(metavar="WORKFLOW", help="Which one to draw; left out: list them."),
    ] = None,
    web: WebOption = None,
    preset: PresetOption = None,
) -> int:
    """Draw a workflow as a Mermaid diagram, or list them all."""
    settings = call.load({"web.enable_web_search": web}, preset=preset).settings
    if name is None:
        _list(call, settings)
    else:
        _draw(call, name, settings)
    return 0


def _list(call: Call, settings: Settings) -> None:
    from secondlook.graphs.registry import WORKFLOWS

    chosen = settings.answer.workflow
    if call.as_json:
        listed = [{"name": item.name, "about": item.about} for item in WORKFLOWS.values()]
        print_json({"default": chosen, "workflows": listed})
        return
    width = max(map(len, WORKFLOWS))
    for item in WORKFLOWS.values():
        mark = " (default)" if item.name == chosen else ""
        typer.echo(f"{item.name:<{width}}  {item.about}{mark}")


def _draw(call: Call, name: str, settings: Settings) -> None:
    from secondlook.graphs.registry import workflow

    chosen = workflow(name)
    drawn = chosen.build(settings).compile().get_graph().draw_mermaid(with_styles=False).strip()
    if call.as_json:
        print_json({"name": chosen.name, "about": chosen.about, "mermaid": drawn})
    else:
        typer.echo(drawn)
