"""Answers of the real engine, told again in other words, and falsified in what they say alone.

Hashes, spans, quotes and numbers of citations stay valid: only the claim no longer follows.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.groundedness_changes import Surroundings, changed, is_fit, reworded
from benchmarks.groundedness_sets import sentences_of
from benchmarks.reading_answers import SEED, rows
from secondlook.engine.secondlook import Secondlook
from secondlook.library.library import Library, samples_folder
from secondlook.verify import verify
from training.data.statements import statement

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from secondlook.answer import Answer
    from secondlook.reading.support import Support

SEEN_BY_MEANING = frozenset(("support", "number"))


@dataclass(frozen=True, slots=True)
class Told:
    """An answer, how it came to be, and whether it still says what its quotes say."""

    how: str
    answer: Answer
    true: bool


def library_in(folder: Path) -> Path:
    return folder / "library"


def engine_answers(
    folder: Path, samples: Sequence[str], size: int
) -> list[tuple[Answer, list[str]]]:
    """What the engine answers without any language model over the sample documents and passages
    of squad2-dev, each with the reference answers that are known."""
    draw = random.Random(SEED)
    texts = {row["id"]: row for row in rows("squad2-dev", "corpus")}
    asked = [row for row in rows("squad2-dev", "queries") if row["answerable"]]
    asked = draw.sample(asked, min(size, len(asked)))
    papers = folder / "papers"
    papers.mkdir()
    for key in sorted({row["gold"][0] for row in asked}):
        name = f"{texts[key]['title'].replace('/', ' ')} {key[:6]}.txt"
        (papers / name).write_text(texts[key]["text"], encoding="utf-8")
    with Library.open(library_in(folder)) as library:
        library.add([papers, samples_folder()])
        settings = library.settings.model_copy(
            update={"runs": library.settings.runs.model_copy(update={"keep": False})}
        )
        with Secondlook(library, settings=settings) as engine:
            questions = [(row["question"], row["answers"]) for row in asked]
            questions += [(one, []) for one in samples]
            answers = [(engine.ask(question), known) for question, known in questions]
    return [
        (answer, known)
        for answer, known in answers
        if answer.status == "answered" and answer.method == "extractive"
    ]


def retold(answer: Answer, known: Sequence[str] = ()) -> list[Told]:
    """The answer as it is, and true answers as a model would write them from the same quotes."""
    made = [Told("extracted", answer, true=True)]
    quotes = " ".join(citation.quote for citation in answer.citations)
    shorter = [one for said in _claimed(answer) if is_fit(said) for one in reworded(said)]
    made += [Told("abridged", _saying(answer, one), true=True) for one in shorter[:1]]
    right = next((one for one in known if one in quotes), None)
    said = statement(answer.question, right) if right else None
    if said is not None:
        made.append(Told("question and answer", _saying(answer, said), true=True))
    return made


def tampered(told: Told, others: Iterable[str], draw: random.Random) -> list[Told]:
    """The same answer with one sentence of its first claim changed, in every way that fits."""
    around = Surroundings(
        " ".join(citation.quote for citation in told.answer.citations), list(others)
    )
    made = []
    for sentence in _claimed(told.answer):
        if not is_fit(sentence):
            continue
        for one in changed(sentence, around, draw):
            text = " ".join(told.answer.claims[0].text.split()).replace(sentence, one.text, 1)
            made.append(Told(one.how, _saying(told.answer, text), true=False))
    return made


def _claimed(answer: Answer) -> list[str]:
    return sentences_of(" ".join(answer.claims[0].text.split()))


def _saying(answer: Answer, said: str) -> Answer:
    """The answer with another first claim, in its text too."""
    was = " ".join(answer.claims[0].text.split())
    claim = answer.claims[0].model_copy(update={"text": said})
    text = " ".join(answer.text.split()).replace(was, said, 1)
    return answer.model_copy(update={"claims": (claim, *answer.claims[1:]), "text": text})


def objections(told: Told, library: Library, judge: Support, min_support: float) -> set[str]:
    found = verify(told.answer, library, support=judge, min_support=min_support)
    return {problem.kind for problem in found}


def judged(
    answers: Sequence[tuple[Answer, Sequence[str]]],
    library: Library,
    judges: dict[str, Support],
    *,
    each: int,
    min_support: float,
) -> dict[str, Any]:
    """For each judge how many falsified answers are caught and how many true ones are not let by.
    `each`: falsified copies that are made of one true answer at most."""
    draw = random.Random(SEED)
    said = [sentences_of(answer.citations[0].quote) for answer, _ in answers]
    seen: dict[str, dict[tuple[str, bool], list[bool]]] = {
        name: defaultdict(list) for name in judges
    }
    for at, (answer, known) in enumerate(answers):
        others = [one for number, some in enumerate(said) if number != at for one in some]
        for told in retold(answer, known):
            false = tampered(told, others, draw)
            for one in [told, *draw.sample(false, min(each, len(false)))]:
                for name, judge in judges.items():
                    kinds = objections(one, library, judge, min_support)
                    seen[name][one.how, one.true].append(bool(kinds & SEEN_BY_MEANING))
    return {"engine answers": len(answers)} | {name: _figures(one) for name, one in seen.items()}


def _figures(seen: dict[tuple[str, bool], list[bool]]) -> dict[str, Any]:
    def share(*, true: bool) -> dict[str, Any]:
        kinds = {how: found for (how, kind), found in sorted(seen.items()) if kind is true}
        every = [one for found in kinds.values() for one in found]
        return {
            "n": len(every),
            "share": round(sum(every) / max(1, len(every)), 3),
            "by_kind": {
                how: {"n": len(found), "share": round(sum(found) / len(found), 3)}
                for how, found in kinds.items()
            },
        }

    return {"falsified_caught": share(true=False), "false_alarms": share(true=True)}
