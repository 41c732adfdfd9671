"""A made-up evaluation: three configurations on the same questions, with fallbacks, unanswerable
questions, types, retries, a failure and an ablation. Rows follow from a seed,
everything else from the rows."""

import random

from secondlook.evaluation.ablation import ablate
from secondlook.evaluation.comparison import compare_all
from secondlook.evaluation.questions import by_configuration
from secondlook.evaluation.records import Configuration, Results, Row
from secondlook.evaluation.summary import summarise

CONFIGURATIONS = ("linear", "adaptive", "adaptive+web")
TRIGGER_BELOW = -2.0
_TYPES = ("person", "number", "place", "reason")
_NODES = {"retrieve": 0.05, "rerank": 0.22, "answer": 0.12, "check": 0.03}


def make_results(*, questions: int = 120, seed: int = 7) -> Results:
    rows = make_rows(questions=questions, seed=seed)
    grouped = by_configuration(rows)
    changes = {"adaptive+web": {"web.enable_web_search": True}}
    left_out = {"web.enable_web_search": "no web server is set up"}
    return Results(
        command="secondlook eval questions --workflow linear,adaptive --ablate",
        data={
            "name": "questions",
            "documents": 300,
            "asked": questions,
            "problems": [{"file": "queries.jsonl", "line": 17, "reason": "no question in it"}],
            "problem_count": 1,
        },
        settings={"retrieval": {"candidates": 20}, "models": {"default": None}},
        versions={"secondlook": "0.1.0", "python": "3.11.9"},
        summaries={
            name: summarise(
                those, configuration=Configuration(name, name.split("+")[0], changes.get(name, {}))
            )
            for name, those in grouped.items()
        },
        comparisons=compare_all(grouped, metric="f1"),
        ablation=ablate(grouped, reference="linear", metric="f1", left_out=left_out),
        passes={"reader_seconds": 88.1, "reader_pairs": 7200, "total_seconds": 104.9},
        rows=tuple(rows),
    )


def make_rows(*, questions: int = 120, seed: int = 7) -> list[Row]:
    draw = random.Random(seed)
    asked = [(at, draw.random(), draw.gauss(-1.5, 2.0)) for at in range(questions)]
    return [
        _row(name, *question, random.Random(f"{seed} {name} {question[0]}"))
        for name in CONFIGURATIONS
        for question in asked
    ]


def _row(name: str, at: int, ease: float, lowest: float, draw: random.Random) -> Row:
    answerable, kind = at % 6 != 5, _TYPES[at % len(_TYPES)]
    fallback = name != "linear" and lowest < TRIGGER_BELOW
    lift = 0.12 + draw.gauss(0, 0.15) if fallback else 0.0
    f1 = round(min(1.0, max(0.0, ease + lift)), 3)
    withheld = f1 < 0.15 if answerable else ease < 0.6
    failed = name == "adaptive" and at == 40
    answered = not failed and not withheld
    found = 1.0 if ease > 0.2 else 0.0
    figures: dict[str, float] = {}
    if answerable:
        told = f1 if answered else 0.0
        figures |= {"recall@5": found, "ndcg@10": found * 0.85, "contains": found}
        figures |= {"em": float(told > 0.9), "f1": told, "rouge_l": told * 0.95}
    if answered:
        figures |= {"faithfulness": round(draw.uniform(0.6, 1.0), 3), "citation_precision": found}
    seconds = {
        node: round(mean * (1.6 if fallback else 1.0) * draw.uniform(0.7, 1.5), 4)
        for node, mean in _NODES.items()
    }
    return Row(
        configuration=name,
        case=f"q{at:03d}",
        question=f"Which {kind} is meant in passage {at}?",
        expected=(f"{kind} {at}",) if answerable else (),
        type=kind,
        answerable=answerable,
        scored=answerable,
        status="failed" if failed else "abstained" if withheld else "answered",
        stop_reason="error" if failed else "low_confidence" if withheld else "answered",
        method="extractive" if answered else "none",
        short=f"{kind} {at}" if answered else None,
        text=f"It is {kind} {at} [1]." if answered else "I do not know.",
        confidence=round(min(0.99, max(0.01, f1 * 0.8 + draw.uniform(0, 0.25))), 3),
        right=(f1 > 0.4 if answerable else False) if answered else None,
        metrics=figures,
        read=tuple((int(rank == 0), lowest + 4.0 - rank) for rank in range(6)),
        fallback=fallback,
        web=fallback and name == "adaptive+web",
        retries=int(fallback) + int(fallback and at % 3 == 0),
        trigger=None if name == "linear" else lowest,
        trigger_below=None if name == "linear" else TRIGGER_BELOW,
        llm_calls=1,
        cost=0.0004,
        seconds=round(sum(seconds.values()) + 0.01, 4),
        seconds_by_node=seconds,
        error="ModelTimeout: it did not answer within 60 s" if failed else None,
    )
