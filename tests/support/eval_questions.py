"""Questions and rows in a few words, for tests of metrics and the examples of docs/metrics.md."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from secondlook.answer import Answer, Claim, Method, Status
from secondlook.evaluation.faithfulness import Truth
from secondlook.evaluation.metrics import answer_metrics, recall, retrieval_metrics
from secondlook.evaluation.records import Case, Configuration, Row
from secondlook.evaluation.summary import summarise
from secondlook.reading import load_embedder


def case(
    *,
    right: Sequence[str] = (),
    question: str = "What is it?",
    gold: Mapping[str, int] | Sequence[str] = (),
    answerable: bool = True,
    choices: Mapping[str, str] | None = None,
    choice: str | None = None,
    table: str | None = None,
    wanted: Mapping[str, str] | None = None,
) -> Case:
    return Case(
        id="q",
        question=question,
        answers=tuple(right),
        gold=dict(gold) if isinstance(gold, dict) else dict.fromkeys(gold, 1),
        answerable=answerable,
        choices=choices,
        choice=choice,
        table="t" if wanted else table,
        values=tuple((wanted or {}).items()),
    )


def answer(
    short: str | None = None,
    text: str | None = None,
    *,
    status: Status = "answered",
    method: Method = "generative",
    support: Sequence[float | None] = (),
    values: Mapping[str, Any] | None = None,
) -> Answer:
    """Claims only where their `support` is given: the sentences of the text, one for each."""
    said = (short or "") if text is None else text
    claims = tuple(
        Claim(text=sentence.strip(" .") + ".", citations=(), support=value)
        for sentence, value in zip(said.split(". "), support, strict=bool(support))
    )
    return Answer(
        run="20260101-000000-abcdef",
        question="What is it?",
        asked="What is it?",
        workflow="linear",
        method=method,
        text=said,
        short=short,
        status=status,
        stop_reason="answered" if status in {"answered", "partial"} else "no_evidence",
        claims=claims,
        values=dict(values or {}),
        created="2026-01-01T00:00:00+00:00",
        version="0.1.0",
    )


@cache
def truth() -> Truth:
    return Truth(load_embedder())


def question(
    *,
    ranked: Sequence[str] = (),
    ranked_before: Sequence[str] = (),
    shown: Sequence[str] = (),
    cited: Sequence[str] = (),
    evidence: Sequence[str] = (),
    **given: Any,
) -> dict[str, float]:
    """Every figure of one question."""
    of_case = {"right", "question", "gold", "answerable", "choices", "choice", "table", "wanted"}
    asked = case(**{name: value for name, value in given.items() if name in of_case})
    said = answer(**{name: value for name, value in given.items() if name not in of_case})
    return (
        answer_metrics(asked, said)
        | truth().metrics(asked, said, evidence=evidence, cited=cited)
        | retrieval_metrics(asked.gold, ranked)
        | retrieval_metrics(asked.gold, ranked_before, suffix="_before")
        | {"recall_shown": recall(asked.gold, shown)}
    )


def row(*, status: Status = "answered", **given: Any) -> dict[str, Any]:
    return {"status": status, **given}


def of_all(*rows: dict[str, Any]) -> dict[str, float | None]:
    """What a configuration amounts to whose questions ended so."""
    made = [
        Row(
            configuration="c",
            case=str(at),
            stop_reason="answered",
            scored=given.get("answerable", True),
            **given,
        )
        for at, given in enumerate(rows)
    ]
    summary = summarise(made, configuration=Configuration("c", "linear"))
    return {name: estimate.value for name, estimate in summary.metrics.items()}
