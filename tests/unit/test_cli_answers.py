"""An answer on the screen, and the steps on the way to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from secondlook.answer import Answer, Scalar, Trouble, Usage
from secondlook.cli.answers import footer, print_answer
from secondlook.cli.command import Call
from secondlook.cli.progress import run_watched as watched
from secondlook.events import NodeFinished, NodeStarted
from tests.support.memory_runs import full_answer

if TYPE_CHECKING:
    from collections.abc import Callable

Printed = tuple[str, str]
FAILED = Trouble(
    node="answer",
    error="ModelError",
    message="it is\naway",
    consequence="the reader's own answer was given instead",
)
TOLD = "warning: answer: it is away; the reader's own answer was given instead"


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[..., Printed]:
    def show(*, quiet: bool = False, **given: Any) -> Printed:
        print_answer(answer(**given), quiet=quiet)
        return capsys.readouterr()

    return show


def answer(**given: Any) -> Answer:
    return full_answer("r").model_copy(update={"warnings": (), **given})


@pytest.mark.parametrize(
    ("cost", "told"),
    [
        (0.0, "1.5 s · 2 model calls · 900 tokens · linear · run r"),
        (None, "1.5 s · 2 model calls · 900 tokens · cost unknown · linear · run r"),
        (0.0125, "1.5 s · 2 model calls · 900 tokens · $0.0125 · linear · run r"),
        (0.00001, "1.5 s · 2 model calls · 900 tokens · under $0.0001 · linear · run r"),
    ],
)
def test_what_it_took(cost: float | None, told: str) -> None:
    usage = Usage(calls=2, tokens_in=800, tokens_out=100, cost=cost, seconds=1.5)
    assert footer(answer(usage=usage, workflow="linear")) == told


@pytest.mark.parametrize(
    ("asked", "quoted"),
    [
        ("who built\nit", '"who built it"'),
        ("what is $HOME", "'what is $HOME'"),
        ('who said "no"', "'who said \"no\"'"),
    ],
)
def test_a_withheld_answer_says_how_to_see_the_nearest(
    printed: Callable[..., Printed], asked: str, quoted: str
) -> None:
    hint = f"hint: secondlook search {quoted} shows the nearest passages\n"
    assert printed(status="abstained", asked=asked)[1] == hint
    assert not printed(status="abstained", asked=asked, quiet=True)[1]
    assert not printed(status="abstained", asked=asked, passages=())[1]
    assert not printed(asked=asked)[1]


def test_another_ones_answer_is_told_however_quiet(printed: Callable[..., Printed]) -> None:
    out, err = printed(quiet=True, method="extractive", warnings=(FAILED,))
    assert err == f"{TOLD}\n"
    assert "warning" not in out
    out, err = printed(method="extractive", warnings=(FAILED,))
    assert TOLD in out
    assert not err


def test_a_trace_tells_when_a_step_begins(capsys: pytest.CaptureFixture[str]) -> None:
    with watched(Call(quiet=True), trace=True) as see:
        see(NodeStarted(run="r", at=0.5, node="answer"))
        assert capsys.readouterr().err == "   0.50 s  answer ...\n"
        numbers: dict[str, Scalar] = {"best": -0.0, "kept": 5}
        see(NodeFinished(run="r", at=20.0, node="answer", said="Done.", numbers=numbers))
    assert capsys.readouterr().err == (f"  20.00 s  answer         Done.\n{'':26}best 0, kept 5\n")
