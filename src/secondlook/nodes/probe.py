"""Measures how well a model grades, on a small labelled set and with the product's own prompts.
Precision is the share of right ones among those it accepts, recall the share of right ones that it
accepts; what it says nothing usable about is not accepted. A model that accepts too much is shown
examples and measured again."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from secondlook.errors import BudgetExceeded, ModelError
from secondlook.models.probe import GradingFigures
from secondlook.nodes.grade import ModelGrader, speaks_of_the_model
from secondlook.nodes.state import unread
from secondlook.roles import verdicts
from secondlook.roles.prompts import load
from secondlook.roles.prompts.marks import evidence_marks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from secondlook.models.calls import Asker
    from secondlook.passage import Passage
    from secondlook.roles.verdicts import AnswerCase, PassageCase

MIN_PRECISION = 0.80
MIN_RECALL = 0.70
_HOPELESS = 3  # after so many questions without one usable grade the rest is not asked


async def probe_passages(
    models: Asker, on_progress: Callable[[str], None] = lambda _: None
) -> GradingFigures:
    """How well the model that serves `grade` tells passages apart. Raises the error of a model that
    is away; replies that cannot be used are part of the figures."""
    cases = verdicts.passage_cases()
    for few_shot in (False, True):
        counted: Counter[str] = Counter()
        for number, case in enumerate(cases, 1):
            said = f"grading{', with examples' if few_shot else ''}: {number} of {len(cases)}"
            on_progress(said)
            hopeless = number > _HOPELESS and counted["ungraded"] == counted["pairs"]
            accepted = {} if hopeless else await _accepted(models, case, few_shot=few_shot)
            taken = {name for name, is_accepted in accepted.items() if is_accepted}
            counted.update(
                right_accepted=len(taken & case.relevant),
                wrong_accepted=len(taken - case.relevant),
                right=len(case.relevant),
                pairs=len(case.passages),
                ungraded=len(case.passages) - len(accepted),
            )
        figures = _figures(counted, verdicts.passages_identity(), few_shot=few_shot)
        if figures.precision is not None and figures.precision >= MIN_PRECISION:
            break
    return figures


async def probe_answers(
    models: Asker, on_progress: Callable[[str], None] = lambda _: None
) -> GradingFigures:
    """The same of answers. False rejection of right ones is what recall lacks of 1."""
    counted: Counter[str] = Counter()
    cases = verdicts.answer_cases()
    for number, case in enumerate(cases, 1):
        on_progress(f"judging answers: {number} of {len(cases)}")
        hopeless = number > _HOPELESS and counted["ungraded"] == counted["pairs"]
        verdict = None if hopeless else await _judged(models, case)
        counted.update(
            right_accepted=int(case.right and verdict is True),
            wrong_accepted=int(not case.right and verdict is True),
            right=int(case.right),
            pairs=1,
            ungraded=int(verdict is None),
        )
    return _figures(counted, verdicts.answers_identity())


def _figures(counted: Counter[str], identity: str, *, few_shot: bool = False) -> GradingFigures:
    accepted = counted["right_accepted"] + counted["wrong_accepted"]
    precision = counted["right_accepted"] / accepted if accepted else None
    recall = counted["right_accepted"] / counted["right"]
    return GradingFigures(
        pairs=counted["pairs"],
        precision=precision,
        recall=recall,
        ungraded=counted["ungraded"],
        few_shot=few_shot,
        fit=precision is not None and precision >= MIN_PRECISION and recall >= MIN_RECALL,
        made_with=identity,
        measured=datetime.now(UTC).isoformat(timespec="seconds"),
    )


async def _judged(models: Asker, case: AnswerCase) -> bool | None:
    """As the product asks; None where the reply cannot be used."""
    prompt = load("grade_answer")
    evidence = evidence_marks(models.run).wrap(case.evidence)
    messages = prompt.render(question=case.question, answer=case.answer, evidence=evidence)
    try:
        reply = await models.ask(
            "grade", messages, verdicts.Verdict, node=prompt.name, max_tokens=prompt.max_tokens
        )
    except (ModelError, BudgetExceeded) as error:
        if speaks_of_the_model(error):
            raise
        return None
    return None if reply.value is None else reply.value.verdict == "yes"


async def _accepted(models: Asker, case: PassageCase, *, few_shot: bool) -> dict[str, bool]:
    """As the product asks: all passages of a question together."""
    by_id = {passage.id: passage for passage in case.passages}

    async def texts(names: Sequence[str]) -> dict[str, Passage]:
        return {name: by_id[name] for name in names}

    grader = ModelGrader(models, texts=texts, few_shot=few_shot)
    await grader.grade(case.question, [unread(passage) for passage in case.passages])
    if grader.error is not None and speaks_of_the_model(grader.error):
        raise grader.error
    return {name: grade != "irrelevant" for name, grade in grader.grades.items()}
