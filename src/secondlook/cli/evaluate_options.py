"""What every command that answers the questions of a set takes: the set and how to go about it."""

from __future__ import annotations

import inspect
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secondlook.cli.ask import ModelOption, PresetOption, RiskOption, check_max_risk
from secondlook.cli.call import Call, command, parse_pairs
from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from secondlook.evaluation.evaluating import Request

FOLDER = "folder"
_OPTIONS: dict[str, tuple[Any, object]] = {
    "model": (ModelOption, None),
    "set_": (
        Annotated[
            list[str] | None,
            typer.Option("--set", metavar="KEY=VALUE", help="A setting for all; repeatable."),
        ],
        None,
    ),
    "preset": (PresetOption, None),
    "max_risk": (RiskOption, None),
    "limit": (
        Annotated[
            int | None,
            typer.Option(min=1, metavar="N", help="So many questions, drawn by the seed."),
        ],
        None,
    ),
    "seed": (
        Annotated[int, typer.Option(metavar="S", help="Of the draw and of the statistics.")],
        0,
    ),
    "repeat": (
        Annotated[int, typer.Option(min=1, metavar="R", help="Ask each question so many times.")],
        1,
    ),
    "jobs": (
        Annotated[
            int,
            typer.Option(min=1, metavar="J", help="Questions at once, for models elsewhere."),
        ],
        1,
    ),
    "out": (
        Annotated[
            Path | None,
            typer.Option(
                metavar="DIR", file_okay=False, help="Where results go (secondlook-eval/NAME)."
            ),
        ],
        None,
    ),
    "metric": (
        Annotated[
            str | None,
            typer.Option(metavar="NAME", help="Which metric decides (docs/metrics.md)."),
        ],
        None,
    ),
    "only": (
        Annotated[
            str | None,
            typer.Option(metavar="KIND", help="Only the answerable, or the unanswerable."),
        ],
        None,
    ),
    "split": (
        Annotated[
            str | None, typer.Option(metavar="NAME", help="Of a BEIR folder: test, dev or train.")
        ],
        None,
    ),
    "fresh": (
        Annotated[bool, typer.Option("--fresh", help="Ask again what an earlier run has asked.")],
        False,
    ),
}
_FOLDER = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="The questions and their documents.")
]


def over_a_set(study: str = "") -> Callable[[Callable[..., int]], Callable[..., int]]:
    """A command `(call, request, ...)` with its own options and those of every evaluation."""

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        def run(call: Call, **given: Any) -> int:
            shared = {name: given.pop(name) for name in (FOLDER, *_OPTIONS)}
            return function(call, _request(study, **shared), **given)

        # `Request` is a name for people and mypy: to import it would make every --help wait.
        read = inspect.signature(function, eval_str=True, locals={"Request": object})
        own = list(read.parameters.values())
        run.__name__, run.__doc__ = function.__name__, function.__doc__
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [own[0], _parameter(FOLDER, _FOLDER), *own[2:], *_shared()]
        )
        return command(library=False)(run)

    return decorate


def _shared() -> list[inspect.Parameter]:
    return [_parameter(name, kind, default) for name, (kind, default) in _OPTIONS.items()]


def _parameter(
    name: str, annotation: Any, default: object = inspect.Parameter.empty
) -> inspect.Parameter:
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword, annotation=annotation, default=default)


def _request(
    study: str,
    *,
    folder: Path,
    model: str | None,
    set_: list[str] | None,
    max_risk: float | None,
    **options: Any,
) -> Request:
    from secondlook.evaluation.evaluating import Request

    check_max_risk(max_risk)
    if (only := options["only"]) not in {None, "answerable", "unanswerable"}:
        raise UsageError(
            f"--only {only!r} is no kind of question", hint="use answerable or unanswerable"
        )
    return Request(
        folder.expanduser(),
        flags={"models.default": model, "answer.max_risk": max_risk},
        texts=parse_pairs(set_, "--set"),
        command=shlex.join(["secondlook", *sys.argv[1:]]),
        study=study,
        **options,
    )
