"""`secondlook ask`: one question, one answer with its evidence."""

from __future__ import annotations

import shlex
import signal
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secondlook.cli.answers import choice_of, held_back, print_answer, save_parts, show_nearest
from secondlook.cli.command import (
    Call,
    DocOption,
    FilterOption,
    argument,
    command,
    flag,
    option,
    parse_pairs,
)
from secondlook.cli.search import TableOption, explain_nothing, library_for, parse_tables, warm_up
from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.answer import Answer
    from secondlook.engine.secondlook import Secondlook
    from secondlook.library.library import Library
    from secondlook.settings import Loaded

ModelOption = Annotated[
    str | None,
    typer.Option(metavar="MODEL", help="Language model: provider:model, gguf:PATH, or none."),
]
WebOption = Annotated[
    bool | None, typer.Option("--web/--no-web", help="Search the web where the library has little.")
]
PresetOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="A named set of settings, such as seed004.")
]
_RISK = "Largest share of answers that may be wrong: 0.05."
RiskOption = Annotated[float | None, typer.Option("--max-risk", metavar="SHARE", help=_RISK)]
_WORKFLOWS = "auto, linear, adaptive, corrective, research, analyst, summary or survey."
OPTIONS: dict[str, tuple[Any, object]] = {
    "table": (TableOption, None),
    "workflow": (str | None, option(None, _WORKFLOWS, "NAME")),
    "model": (ModelOption, None),
    "filter_": (FilterOption, None),
    "doc": (DocOption, None),
    "trust": (list[str] | None, option(None, "Read it although it gives orders.", "DOCUMENT")),
    "web": (WebOption, None),
    "timeout": (float | None, option(None, "The most time an answer may take.", "SECONDS")),
    "max_calls": (int | None, option(None, "Model calls at most; 0 = any.", "N")),
    "max_tokens": (int | None, option(None, "Tokens at most, in and out; 0 = any.", "N")),
    "max_cost": (float | None, option(None, "US dollars at most; 0 = any.", "USD")),
    "max_risk": (RiskOption, None),
    "preset": (PresetOption, None),
    "profile": (str | None, option(None, "For research: general, law, seed-001.", "NAME")),
    "guess": (bool, flag("--guess", "Choose an option where nothing was found; marked.")),
    "fresh": (bool, flag("--fresh", "Do not use earlier research.")),
    "set_": (list[str] | None, option(None, "A setting; repeatable.", "KEY=VALUE", "--set")),
    "trace": (bool, flag("--trace", "Show each step and what it decided.")),
}
"""What `ask` and `chat` share."""


@dataclass(frozen=True, slots=True)
class Asking:
    loaded: Loaded
    workflow: str | None
    tables: dict[str, Path] | None
    filters: dict[str, str]
    doc: list[str]
    trust: list[str]
    trace: bool

    def scope(self, library: Library) -> dict[str, Any]:
        return {
            "workflow": self.workflow,
            "tables": self.tables,
            "filters": self.filters or None,
            "documents": [library.document(name).id for name in self.doc] or None,
            "trust": [library.document(name).id for name in self.trust] or None,
        }


def asking(call: Call, *, k: int | None = None, **given: Any) -> Asking:
    """Read the options of `OPTIONS`; models begin to load meanwhile."""
    preset, profile = given["preset"], given["profile"]
    if preset is not None and profile is not None:
        said = f"--preset {preset!r} and --profile {profile!r} are both given"
        raise UsageError(said, hint="a profile is a preset: give one of them")
    check_max_risk(given["max_risk"])
    loaded = call.load(
        {
            "answer.workflow": given["workflow"],
            "models.default": given["model"],
            "answer.k": k,
            "web.enable_web_search": given["web"],
            "budget.calls": given["max_calls"],
            "budget.tokens": given["max_tokens"],
            "budget.money": given["max_cost"],
            "budget.seconds": given["timeout"],
            "answer.max_risk": given["max_risk"],
            "research.guess": given["guess"] or None,
            "research.enable_recall": False if given["fresh"] else None,
        },
        texts=parse_pairs(given["set_"], "--set"),
        preset=preset or profile,
    )
    warm_up(loaded.settings)
    return Asking(
        loaded,
        given["workflow"],
        parse_tables(given["table"]),
        parse_pairs(given["filter_"], "--filter"),
        given["doc"] or [],
        given["trust"] or [],
        trace=given["trace"],
    )


@command(
    """\
\b
Examples:
  secondlook ask "how deep is berth 4"
  secondlook ask "who voted against it" --model ollama:qwen2.5
  secondlook ask "may he claim? (A) Yes. (B) No." --workflow research
  secondlook ask "mean price by region" --table sales.csv --show-code

\b
--workflow auto, the default, picks one of the others (docs/workflows.md).
Without a model the answer is taken word for word from a passage. It is
withheld when no passage answers well enough. --max-risk 0.05 withholds so
many that at most 5 % of those given are wrong (docs/confidence.md).
--max-calls, --max-tokens, --max-cost and --timeout cap what a question may
take: the best answer so far is given, and says that it was cut short.

\b
Exit codes: 0 answered, 3 withheld, 4 refused (the question gives a model
orders), 1 failed, 2 wrong call.
""",
    shared=OPTIONS | {"k": (int | None, option(None, "Passages to rest on.", "N", "-k", "--k"))},
    read=asking,
)
def ask(
    call: Call,
    how: Asking,
    *,
    question: list[str] = argument(..., "What you want to know.", "QUESTION"),
    chart: Path | None = option(None, "Save the chart: .html, .json or .png.", "FILE"),
    export_table: Path | None = option(None, "Save the table: .csv, .parquet or .json.", "FILE"),
    show_code: bool = flag("--show-code", "Show the SQL or the code that computed the answer."),
    markdown: bool = flag("--markdown", "Print Markdown with references."),
) -> int:
    """Answer a question from your documents, with its evidence."""
    from secondlook.export.charts import check_chart_name, check_table_name

    if chart is not None:
        check_chart_name(chart)
    if export_table is not None:
        check_table_name(export_table)
    with (
        library_for(call, how.loaded, over_tables=how.tables is not None) as library,
        opened_engine(library) as engine,
    ):
        answer = answer_live(
            call, engine, " ".join(question), trace=how.trace, **how.scope(engine.library)
        )
        nearest = held_back(engine, answer) and not (call.quiet or call.as_json or markdown)
        show_answer(call, answer, markdown=markdown, passing=nearest, code=show_code)
        save_parts(call, answer, chart=chart, table=export_table)
        if nearest:
            show_nearest(engine, answer)
        if not answer.passages and answer.analysis is None:
            explain_nothing(call, engine.library, how.filters)
    return answer.exit_code


@command(
    """\
\b
Examples:
  secondlook survey "rent, start, end, deposit" --documents lease
  secondlook survey "total, due date" --documents invoices --csv invoices.csv

\b
Each document is read by itself, without a chat model; a value that is not
stated is left empty, and a doubtful one is named. Questions such as "what is
the total of all invoices" go to ask.
"""
)
def survey(
    call: Call,
    *,
    fields: list[str] = argument(..., "What each document is asked, with commas.", "FIELDS"),
    documents: str = option("documents", "Which ones, as you call them.", "NAME", "--documents"),
    csv: Path | None = option(None, "Save the table.", "FILE", "--csv"),
    timeout: float | None = option(None, "The most time it may take.", "SECONDS"),
) -> int:
    """A table with a row for each document of a set, each cell cited."""
    from secondlook.export.charts import check_table_name

    asked = [one.strip(" ?") for one in " ".join(fields).split(",") if one.strip(" ?")]
    if not asked or not documents.strip():
        hint = 'such as secondlook survey "rent, end" --documents lease'
        raise UsageError("there is nothing to ask, or nobody to ask it of", hint=hint)
    if csv is not None:
        check_table_name(csv)
    question = f"survey list: {' || '.join(f'{one}?' for one in asked)} || {documents.strip()}"
    loaded = call.load({"budget.seconds": timeout})
    with library_for(call, loaded, over_tables=False) as library, opened_engine(library) as engine:
        answer = answer_live(call, engine, question, trace=False, workflow="survey")
        show_answer(call, answer)
        save_parts(call, answer, chart=None, table=csv)
    return answer.exit_code


def check_max_risk(given: float | None) -> None:
    if given is not None:
        from secondlook.reading.risk import check_share

        check_share("--max-risk", given)


def opened_engine(library: Library) -> Secondlook:
    from secondlook.engine.secondlook import Secondlook

    return Secondlook(library)


def answer_live(
    call: Call, engine: Secondlook, question: str, *, trace: bool, **options: Any
) -> Answer:
    from secondlook.cli.progress import run_watched

    try:
        starting = "reading the tables" if options.get("tables") else "starting"
        with draining(engine), run_watched(call, trace=trace, starting=starting) as see:
            for event in engine.stream(question, **options):
                see(event)
                if event.type == "answered":
                    answer = event.answer
        if not trace and (choice := choice_of(answer)) is not None:
            call.say(f"auto: {choice}")
    except KeyboardInterrupt:
        if engine.settings.runs.keep:
            call.say("hint: secondlook runs resume last goes on where it stopped")
        raise
    return answer


def show_answer(
    call: Call, answer: Answer, *, markdown: bool = False, passing: bool = False, code: bool = False
) -> None:
    """`passing`: there is no library to search afterwards, or the passages are shown."""
    if call.as_json:
        typer.echo(answer.model_dump_json(indent=2))
    elif markdown:
        from secondlook.export import to_markdown

        typer.echo(to_markdown(answer))
    else:
        library = f" --library {shlex.quote(str(call.library))}" if call.library else ""
        search = None if passing else f"secondlook search{library}"
        print_answer(answer, quiet=call.quiet, search=search, code=code)


@contextmanager
def draining(engine: Secondlook) -> Iterator[None]:
    """The first SIGTERM stops the run after its step; a second one ends the process as ever."""
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
