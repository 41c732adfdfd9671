"""`secondlook ask`: one question, one answer with its evidence."""

from __future__ import annotations

import shlex
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secondlook.cli.answers import (
    ChartOption,
    ExportTableOption,
    ShowCodeOption,
    check_names,
    held_back,
    save_parts,
    show_nearest,
)
from secondlook.cli.command import Call, command, parse_pairs
from secondlook.cli.search import TableOption, explain_nothing, library_for, parse_tables
from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from secondlook.answer import Answer
    from secondlook.engine.secondlook import Secondlook
    from secondlook.library.library import Library
    from secondlook.settings import Loaded
    from secondlook.settings.sections import Settings

EXAMPLES = """\
\b
Examples:
  secondlook ask "how deep is berth 4"
  secondlook ask how deep is berth 4        quotes are optional
  secondlook ask "what does it cost" --doc offer.eml --trace
  secondlook ask "who voted against it" --model ollama:qwen2.5
  secondlook ask "who voted against it" --model gguf:~/models/qwen.gguf
  secondlook ask "when did she leave" --workflow corrective
  secondlook ask "may he claim? (A) Yes. (B) No." --workflow research
  secondlook ask "may he claim? (A) Yes. (B) No." --profile law --guess
  secondlook ask "mean price by region" --table sales.csv --show-code
  secondlook ask "plot price by region" --table sales.csv --chart c.html
  secondlook ask "how deep is berth 4" --max-risk 0.05
  secondlook ask "who voted against it" --max-calls 3 --timeout 20
  secondlook ask "how deep is berth 4" --json > answer.json
  secondlook verify answer.json             check it again, offline

\b
--workflow auto, the default, looks at the question and at what the library
holds, picks one of the others and says why (docs/workflows.md). A question
that needs a document and a table is put to both and gets one answer.

\b
--workflow corrective looks a second time where the first is not enough, says
what an unclear word was taken for, and asks back where it cannot tell.

\b
--workflow analyst computes with tables: those of the library, or files that
are named by --table and need no library. Several files: --table a.csv
--table b.csv; --table old=2023.csv calls one by another name.

\b
--workflow research looks up a hard question step by step and chooses where it
has options. What it found before for the same question is taken up again;
--fresh looks anew. Where nothing is found it chooses nothing; with --guess
the model may choose from its own knowledge, and the choice is marked.
--profile general, law or seed-001 sets it up for a field.

\b
Without a model the answer is taken word for word from a passage. It is
withheld when no passage answers well enough. --max-risk 0.05 withholds so
many that at most 5 % of those given are wrong (docs/confidence.md).

\b
--max-calls, --max-tokens, --max-cost and --timeout cap what a question may
take. What cannot be paid for is not begun: the best answer so far is given,
and says that it was cut short.

\b
Exit codes: 0 answered, 3 withheld, 4 refused (the question gives a model
orders), 1 failed, 2 wrong call.
"""

ModelOption = Annotated[
    str | None,
    typer.Option(metavar="MODEL", help="Language model: provider:model, gguf:PATH, or none."),
]
WorkflowOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="How to answer: auto, linear, adaptive, corrective, research, analyst, summary.",
    ),
]
WebOption = Annotated[
    bool | None,
    typer.Option("--web/--no-web", help="Look on the web where the library looks poor."),
]
PresetOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="A named set of settings, such as seed004.")
]
ProfileOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The same, for research: general, law, seed-001."),
]
GuessOption = Annotated[
    bool | None,
    typer.Option(
        "--guess", help="Let the model choose an option where nothing was found; it is marked."
    ),
]
FreshOption = Annotated[
    bool, typer.Option("--fresh", help="Do not take up earlier research: look anew.")
]
RiskOption = Annotated[
    float | None,
    typer.Option(
        "--max-risk", metavar="SHARE", help="Largest share of answers that may be wrong: 0.05."
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="A setting (secondlook config lists them); repeatable."
    ),
]
FilterOption = Annotated[
    list[str] | None,
    typer.Option("--filter", metavar="KEY=VALUE", help="Only such documents; repeatable."),
]
DocOption = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Only this document; repeatable.")
]
CallsOption = Annotated[
    int | None, typer.Option("--max-calls", metavar="N", help="Model calls at most; 0 = any.")
]
TokensOption = Annotated[
    int | None,
    typer.Option("--max-tokens", metavar="N", help="Tokens at most, in and out; 0 = any."),
]
CostOption = Annotated[
    float | None, typer.Option("--max-cost", metavar="USD", help="US dollars at most; 0 = any.")
]
TimeoutOption = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="The most time an answer may take.")
]


def register(app: typer.Typer) -> None:
    app.command("ask", epilog=EXAMPLES)(ask)


@command()
def ask(  # one parameter per flag
    call: Call,
    *,
    question: Annotated[
        list[str], typer.Argument(metavar="QUESTION", help="What you want to know.")
    ],
    table: TableOption = None,
    workflow: WorkflowOption = None,
    model: ModelOption = None,
    k: Annotated[
        int | None, typer.Option("-k", "--k", metavar="N", help="Passages an answer may rest on.")
    ] = None,
    filter_: FilterOption = None,
    doc: DocOption = None,
    web: WebOption = None,
    timeout: TimeoutOption = None,
    max_calls: CallsOption = None,
    max_tokens: TokensOption = None,
    max_cost: CostOption = None,
    max_risk: RiskOption = None,
    preset: PresetOption = None,
    profile: ProfileOption = None,
    guess: GuessOption = None,
    fresh: FreshOption = False,
    set_: SetOption = None,
    chart: ChartOption = None,
    export_table: ExportTableOption = None,
    show_code: ShowCodeOption = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown with references.")
    ] = False,
    trace: Annotated[
        bool, typer.Option("--trace", help="Show each step and what it decided.")
    ] = False,
) -> int:
    """Answer a question from your documents, with its evidence."""
    filters = parse_pairs(filter_, "--filter")
    check_names(chart, export_table)
    loaded = load_for_asking(
        call,
        preset=preset_of(preset, profile),
        workflow=workflow,
        model=model,
        k=k,
        web=web,
        budget=budget_of(max_calls, max_tokens, max_cost, timeout),
        max_risk=max_risk,
        guess=guess,
        fresh=fresh,
        texts=parse_pairs(set_, "--set"),
    )
    asked = " ".join(question)
    warm_up(loaded.settings)
    tell_what_has_no_effect(call, loaded.settings, asked, guess=bool(guess), fresh=fresh)
    tables = parse_tables(table)
    with (
        library_for(call, loaded, over_tables=tables is not None) as library,
        opened_engine(library) as engine,
    ):
        documents = [engine.library.document(name).id for name in doc] if doc else None
        answer = answer_live(
            call,
            engine,
            asked,
            trace=trace,
            workflow=workflow,
            tables=tables,
            filters=filters or None,
            documents=documents,
        )
        nearest = held_back(engine, answer) and not (call.quiet or call.as_json or markdown)
        show_answer(call, answer, markdown=markdown, passing=nearest, code=show_code)
        save_parts(call, answer, chart=chart, table=export_table)
        if nearest:
            show_nearest(engine, answer)
        if not answer.passages and answer.analysis is None:
            explain_nothing(call, engine.library, filters)
    return answer.exit_code


def load_for_asking(
    call: Call,
    *,
    preset: str | None,
    workflow: str | None,
    model: str | None,
    k: int | None,
    web: bool | None,
    budget: Mapping[str, float | None],
    max_risk: float | None,
    guess: bool | None = None,
    fresh: bool = False,
    texts: Mapping[str, str] | None = None,
) -> Loaded:
    check_max_risk(max_risk)
    return call.load(
        {
            "answer.workflow": workflow,
            "models.default": model,
            "answer.k": k,
            "web.enable_web_search": web,
            **budget,
            "answer.max_risk": max_risk,
            "research.guess": guess or None,
            "research.enable_recall": False if fresh else None,
        },
        texts=texts,
        preset=preset,
    )


def tell_what_has_no_effect(
    call: Call, settings: Settings, question: str, *, guess: bool, fresh: bool
) -> None:
    """What was asked for and is not done is said, not passed over."""
    from secondlook.engine.request import AUTO, CHOOSING

    chosen, choices = settings.answer.workflow, _has_choices(question)
    if chosen not in {CHOOSING, AUTO}:
        for name, given in (("--guess", guess), ("--fresh", fresh)):
            if given:
                call.say(f"hint: {name} has no effect without --workflow {CHOOSING}")
        if choices:
            call.say(f"hint: --workflow {CHOOSING} chooses among the choices of this question")
    elif guess and chosen == AUTO and not choices:
        call.say("hint: --guess has no effect: the question has no choices")
    elif guess and settings.models.default == "none" and not settings.models.roles:
        call.say("hint: --guess needs a model (--model): without one nobody guesses")


def _has_choices(question: str) -> bool:
    from secondlook.nodes.choices import parsed

    return bool(parsed(question).choices)


def preset_of(preset: str | None, profile: str | None) -> str | None:
    """A profile is a preset for research; there is one of them."""
    if preset is not None and profile is not None:
        raise UsageError(
            f"--preset {preset!r} and --profile {profile!r} are both given",
            hint="a profile is a preset: give one of them",
        )
    return preset if profile is None else profile


def check_max_risk(given: float | None) -> None:
    if given is not None:
        from secondlook.reading.risk import check_share

        check_share("--max-risk", given)


def opened_engine(library: Library) -> Secondlook:
    from secondlook.engine.secondlook import Secondlook

    return Secondlook(library)


def warm_up(settings: Settings) -> None:
    """Models load on one core while the engines are imported on the other."""
    from secondlook.reading import warm_up as start

    if settings.embedding.model == "embedded":
        start(threads=settings.embedding.threads or None, reader=settings.search.rerank)


def answer_live(
    call: Call, engine: Secondlook, question: str, *, trace: bool, **options: Any
) -> Answer:
    """The answer; what happens on the way is shown as it happens."""
    from secondlook.cli.progress import run_watched

    try:
        starting = "reading the tables" if options.get("tables") else "starting"
        with draining(engine), run_watched(call, trace=trace, starting=starting) as see:
            for event in engine.stream(question, **options):
                see(event)
                if event.type == "answered":
                    answer = event.answer
        if not trace:
            tell_choice(call, answer)
    except KeyboardInterrupt:
        if engine.settings.runs.keep:
            call.say("hint: secondlook runs resume last goes on where it stopped")
        raise
    return answer


def tell_choice(call: Call, answer: Answer) -> None:
    """Which workflow was chosen, where nobody named one."""
    from secondlook.cli.answers import choice_of

    if (choice := choice_of(answer)) is not None:
        call.say(f"auto: {choice}")


def show_answer(
    call: Call,
    answer: Answer,
    *,
    markdown: bool = False,
    passing: bool = False,
    code: bool = False,
) -> None:
    """`passing`: the library is gone when this command has ended, or the passages are shown."""
    if call.as_json:
        typer.echo(answer.model_dump_json(indent=2))
    elif markdown:
        from secondlook.export import to_markdown

        typer.echo(to_markdown(answer))
    else:
        from secondlook.cli.answers import print_answer

        library = f" --library {shlex.quote(str(call.library))}" if call.library else ""
        search = None if passing else f"secondlook search{library}"
        print_answer(answer, quiet=call.quiet, search=search, code=code)


# The flags that cap what one question may take.


def budget_of(
    calls: int | None, tokens: int | None, cost: float | None, seconds: float | None
) -> dict[str, float | None]:
    """As settings; None = as they are set."""
    return {
        "budget.calls": calls,
        "budget.tokens": tokens,
        "budget.money": cost,
        "budget.seconds": seconds,
    }


# SIGTERM while a question is worked on: the step that it is at is finished first.


@contextmanager
def draining(engine: Secondlook) -> Iterator[None]:
    """The first SIGTERM stops the run after its step, so that it can be taken up; a second one
    ends the process as ever."""
    if threading.current_thread() is not threading.main_thread():  # no signal comes here
        yield
        return
    before = signal.getsignal(signal.SIGTERM)

    def stop(*_: object) -> None:
        signal.signal(signal.SIGTERM, before)
        engine.drain()

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
