"""An answer that was researched in steps, with a choice: as the workflow leaves it."""

from typing import Any

from secondlook.answer import (
    Answer,
    Choice,
    Citation,
    Claim,
    Confidence,
    Recalled,
    Research,
    ResearchStep,
    Screening,
    SeenPassage,
)
from secondlook.nodes.options import choice_text, step_heading

STEM = (
    "A skipper moors at berth 4 overnight without calling the harbour office. In the morning his "
    "boat touches the ground. May he claim damages from the harbour?"
)
OPTIONS = {
    "A": "Yes, because the harbour owes every boat a safe berth.",
    "B": "Yes, because the berth had lost depth.",
    "C": "No, because he did not call the harbour office before mooring.",
    "D": "No, because boats are moored at the risk of the weather.",
}
RIGHT = "C"
SAID = (
    "A boat whose skipper did not call the harbour office before mooring has no claim.",
    "The harbour office listens on channel 12.",
    "The harbour answers for depths that it has told a skipper.",
)
ASKED = f"{STEM}\n" + "\n".join(f"({letter}) {text}" for letter, text in OPTIONS.items())
RECALLED = Recalled(
    entry=3,
    question="May a skipper who did not call claim damages?",
    similarity=0.9712,
    created="2026-01-02T03:04:05+00:00",
    run="20260102-aa",
)


def choice(**given: Any) -> Choice:
    fact = "without calling the harbour office"
    right = ({"element": 1, "met": "met", "fact": fact}, {"element": 2, "met": "met"})
    wrong = ({"element": 1, "met": "not met"}, {"element": 2, "met": "unknown"})
    options = [
        {
            "letter": letter,
            "text": text,
            "verdicts": right if letter == RIGHT else wrong,
            "reason": f"Reason for {letter}.",
        }
        for letter, text in OPTIONS.items()
    ]
    values: dict[str, Any] = {
        "letter": RIGHT,
        "text": OPTIONS[RIGHT],
        "options": options,
        "elements": (
            {"text": "He must have called", "citations": (1,)},
            {"text": "The harbour told him the depth", "citations": (3,)},
        ),
        "model": "ollama:function",
        "confidence": 0.64,
        "why": "all that must hold is met for C alone",
    }
    return Choice.model_validate(values | given)


def steps() -> tuple[ResearchStep, ...]:
    asked: tuple[tuple[str, str, Any, float, dict[str, Any]], ...] = (
        ("Rule", "When has a skipper a claim?", "completed", 0.82, {"claims": (1, 2), "cut": 1}),
        ("Weather", "Who bears storms?", "failed", 0.21, {}),
        (
            "Duty",
            "What does the harbour answer for?",
            "weak",
            0.55,
            {"claims": (3,), "attempt": 2, "retry_of": 2},
        ),
    )
    return tuple(
        ResearchStep(id=at, phase=phase, question=question, status=status, confidence=sure, **more)
        for at, (phase, question, status, sure, more) in enumerate(asked, 1)
    )


def research(**given: Any) -> Research:
    values: dict[str, Any] = {
        "query_type": "multi_hop",
        "classified_by": "understander",
        "cycles": 3,
        "completed": 1,
        "weak": 1,
        "failed": 1,
        "steps": steps(),
        "screen": Screening(verdict="safe", by="rules", score=0.1),
        "stopped": "enough steps were completed",
    }
    return Research(**values | given)


def _citation(number: int) -> Citation:
    quote = SAID[number - 1]
    return Citation(
        number=number,
        passage=f"rules.{number}",
        document="rules",
        sha256="rules" + "0" * 59,
        title="Harbour rules",
        page=number + 1,
        start=100 * number,
        end=100 * number + len(quote),
        quote=quote,
        path="/papers/rules.pdf",
    )


def researched(**given: Any) -> Answer:
    """Two steps with findings, one of them failed in between, and the choice at the end."""
    cited = ((1,), (2,), (3, 1))
    claims = tuple(
        Claim(text=text, citations=numbers, support=1.0, supported=True)
        for text, numbers in zip(SAID, cited, strict=True)
    )
    chosen = given.get("choice", choice())
    citations = tuple(map(_citation, (1, 2, 3)))
    values: dict[str, Any] = {
        "run": "20260103-bb",
        "question": ASKED,
        "asked": STEM,
        "workflow": "research",
        "method": "generative",
        "model": "ollama:function",
        "text": text_of(claims, chosen),
        "short": chosen.letter if chosen else None,
        "status": "answered",
        "stop_reason": "answered",
        "claims": claims,
        "citations": citations,
        "confidence": Confidence(value=0.64, reasons=("of the steps and the choice",)),
        "choice": chosen,
        "research": research(),
        "passages": tuple(
            SeenPassage(
                **one.model_dump(include={"document", "title", "page", "start", "end"}),
                id=one.passage,
                score=1.0,
                kept=True,
                why="among the best",
            )
            for one in citations
        ),
        "queries": ("claim skipper", "storm", "depth told"),
        "created": "2026-01-03T00:00:00+00:00",
        "version": "0.1.0",
    }
    return Answer(**values | given)


def text_of(claims: tuple[Claim, ...], chosen: Choice | None, note: str = "") -> str:
    said = [_marked(claim) for claim in claims]
    blocks = [
        f"{step_heading(1, 'Rule')}\n\n{said[0]} {said[1]}",
        f"{step_heading(3, 'Duty')}\n\n{said[2]}",
        choice_text(chosen) if chosen else "",
        note,
    ]
    return "\n\n".join(block for block in blocks if block)


def _marked(claim: Claim) -> str:
    return f"{claim.text} {''.join(f'[{number}]' for number in claim.citations)}"


def refused() -> Answer:
    """An attack in option C."""
    screen = Screening(
        verdict="refused", by="rules", score=0.97, where="C", reasons=("it orders a model about",)
    )
    return researched(
        text="Refused: option C gives orders to a model.",
        status="refused",
        stop_reason="refused",
        method="none",
        model=None,
        short=None,
        claims=(),
        citations=(),
        passages=(),
        choice=None,
        research=research(
            cycles=0, completed=0, weak=0, failed=0, steps=(), screen=screen, stopped=""
        ),
    )


def guess() -> Answer:
    """Nothing found, and the model chose by itself."""
    chosen = choice(
        grounded=False,
        confidence=None,
        elements=(),
        options=tuple(one.model_copy(update={"verdicts": ()}) for one in choice().options),
        why="the research found nothing to choose on; C is the model's own guess",
    )
    failed = tuple(
        one.model_copy(update={"status": "failed", "claims": (), "cut": 0}) for one in steps()
    )
    return researched(
        text=f"I couldn't find a clear answer.\n\n{choice_text(chosen)}",
        status="abstained",
        stop_reason="no_evidence",
        method="none",
        claims=(),
        citations=(),
        choice=chosen,
        research=research(completed=0, weak=0, failed=3, steps=failed),
    )
