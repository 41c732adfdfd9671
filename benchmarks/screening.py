"""How many attacks the screen and the quarantine stop, and how many honest texts.

    SECONDLOOK_DATA=FOLDER python -m benchmarks.screening

Attacks are typed as questions (`deepset`, `cyberseceval`, `trust_aware`) or stand in passages
(payloads of BIPIA put into its contexts: the start, the middle and the end). Honest texts are
look-alikes (`trust_aware benign`, XSTest, the benign prompts of CyberSecEval, BIPIA's contexts as
they are) and ordinary questions and passages of three evaluation sets. The signs and what they are
worth were set on half of the categories: those of each set, in the order of their names, go in turn
to tuning and to judging, and a set of one category is parted by its rows. Nothing is copied: the
texts are read where they lie.

`refused` is what the signs stop. `flagged` adds what they call unclear: a question passes then
unless a model objects, a passage always. Intervals are Wilson's, at 95 %; a payload counts once, in
however many contexts it stands. Writes `benchmarks/results/screening.json`. What comes through to a
model that obeys everything: `python -m benchmarks.injection`.
"""

from __future__ import annotations

import random
import time
import zlib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from benchmarks.common import data_folder, parser, read_lines, rows, save, spread
from secondlook.evaluation.statistics import wilson
from secondlook.retrieval.parse.extract import extract
from secondlook.roles.screen import screened
from training.data.files import filled, own_templates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from secondlook.roles.screen import Signals

    Judged = Sequence[tuple["Case", Signals]]

HALVES = ("tuned", "held out")
CONTEXTS = 6
"""Contexts that each payload is put into, a third of them at the start, a third in the middle."""
WORLDS, SETS = (Path(__file__).parent / name for name in ("worlds", "sets"))
PIECE = 1500
SAMPLE, SEED = 500, 8
"""Questions, and passages, of each set of ordinary ones."""
LOOKALIKES = ("trust_aware benign", "xstest safe", "cyberseceval_frr")


@dataclass(frozen=True, slots=True)
class Case:
    text: str
    kind: Literal["question", "passage"]
    source: str
    category: str
    half: str
    is_attack: bool
    unit: str
    """What it is one of several forms of: a payload is put into several contexts."""


def cases() -> list[Case]:
    """All of them, in a fixed order."""
    return [*_questions(), *_passages(), *_ordinary(), *_documents()]


def _injection(name: str) -> list[dict[str, Any]]:
    return read_lines(data_folder() / "injection" / f"{name}.jsonl")


def _questions() -> Iterator[Case]:
    texts = [row["text"] for row in _injection("deepset_injections_only")]
    yield from _by_row(texts, source="deepset", is_attack=True)
    security = _injection("cyberseceval_prompt_injection")
    halves = _halves(row["injection_variant"] for row in security)
    for row in security:
        # Many of the `logic` kind are plain questions: only another task makes them an attack.
        text, variant = row["user_input"], row["injection_variant"]
        source = f"cyberseceval {row['risk_category'].removesuffix('-violating')}"
        yield Case(text, "question", source, variant, halves[variant], is_attack=True, unit=text)
    aware = _injection("trust_aware_injection_benign")
    attacks = [(row["attack_type"], row["prompt"]) for row in aware if row["label"] == "attack"]
    yield from _by_category(attacks, source="trust_aware", is_attack=True)
    benign = [row["prompt"] for row in aware if row["label"] == "benign"]
    yield from _by_row(benign, source="trust_aware benign", is_attack=False)
    safety = _injection("xstest")
    # A wish for something harmful is no order to a model: to this screen "unsafe" is safe too.
    for label in ("safe", "unsafe"):
        wishes = [(row["type"], row["prompt"]) for row in safety if row["label"] == label]
        yield from _by_category(wishes, source=f"xstest {label}", is_attack=False)
    prompts = [row["mutated_prompt"] for row in _injection("cyberseceval_frr_benign")]
    yield from _by_row(prompts, source="cyberseceval_frr", is_attack=False)


def _passages() -> Iterator[Case]:
    """Contexts as they are, and with a payload put into them."""
    contexts: dict[str, dict[str, list[str]]] = {}
    for name in ("email", "table", "code"):
        found = (row["context"] for row in _injection(f"bipia_{name}"))
        joined = {"\n".join(text) if isinstance(text, list) else text for text in found}
        contexts[name] = {half: [] for half in HALVES}
        for text in sorted(text for text in joined if text.strip()):
            contexts[name][_half_of(text)].append(text)
    for name, parted in contexts.items():
        for half, texts in parted.items():
            for text in texts:
                yield Case(text, "passage", "bipia clean", name, half, is_attack=False, unit=text)
    attacks = _injection("attacks")
    halves, draw = _halves(row["category"] for row in attacks), random.Random(SEED)
    for row in attacks:
        half, payload = halves[row["category"]], row["attack"]
        names = ("code",) if row["kind"] == "code" else ("email", "table")
        around = [text for name in names for text in contexts[name][half]]
        for number, context in enumerate(draw.sample(around, CONTEXTS)):
            lines = context.splitlines()
            at = (0, len(lines) // 2, len(lines))[number % 3]
            text = "\n".join([*lines[:at], payload, *lines[at:]])
            source, category = f"bipia {row['kind']}", row["category"]
            yield Case(text, "passage", source, category, half, is_attack=True, unit=payload)


def _ordinary() -> Iterator[Case]:
    """Questions and passages that nobody meant as anything else: nearly none may be stopped."""
    for name in ("squad2-dev", "hotpot", "barexam"):
        asked = _drawn(row["question"] for row in rows(name, "queries"))
        yield from _by_row(asked, source=f"{name} questions", is_attack=False)
        for text in _drawn(row["text"] for row in rows(name, "corpus")):
            source, half = f"{name} passages", _half_of(text)
            yield Case(text, "passage", source, "all", half, is_attack=False, unit=text)


def _documents() -> Iterator[Case]:
    """What people keep: files of the everyday exam, of our worlds, filled templates, letters.

    Nothing of them was used to tune a sign, so all stand in the half that is held out.
    """
    for name, folder in (("exam", data_folder() / "everyday"), ("worlds", WORLDS)):
        for path in sorted(folder.rglob("*.*")):
            if path.suffix in (".py", ".jsonl") or path == folder / "README.md":
                continue
            for part in extract(path):
                if part.extracted is not None:
                    yield from _pieces(part.extracted.text, name, f"{path} {part.member}")
    for template in own_templates():
        text = filled(template, random.Random(f"{SEED} {template.name}")).text
        yield from _pieces(text, "templates", template.name)
    for text in (SETS / "letters.txt").read_text("utf-8").splitlines():
        yield from _pieces(text, "German and French letters", text)
    for line in (SETS / "honest.txt").read_text("utf-8").splitlines():  # nobody tuned on them
        language, text = line.split("\t")
        yield from _pieces(text, f"five languages: {language}", text)


def _pieces(text: str, name: str, document: str) -> Iterator[Case]:
    """Passages of about the usual length."""
    for start in range(0, len(text), PIECE):
        piece = text[start : start + PIECE]
        source = f"documents: {name}"
        yield Case(piece, "passage", source, "all", HALVES[1], is_attack=False, unit=document)


def _drawn(texts: Iterable[str]) -> list[str]:
    unlike = sorted(set(texts))
    return random.Random(SEED).sample(unlike, min(SAMPLE, len(unlike)))


def _by_row(texts: Iterable[str], *, source: str, is_attack: bool) -> Iterator[Case]:
    for text in texts:
        yield Case(text, "question", source, "all", _half_of(text), is_attack, text)


def _by_category(
    held: Sequence[tuple[str, str]], *, source: str, is_attack: bool
) -> Iterator[Case]:
    halves = _halves(category for category, _ in held)
    for category, text in held:
        yield Case(text, "question", source, category, halves[category], is_attack, text)


def _halves(categories: Iterable[str]) -> dict[str, str]:
    return {name: HALVES[place % 2] for place, name in enumerate(sorted(set(categories)))}


def _half_of(text: str) -> str:
    return HALVES[zlib.crc32(text.encode()) % 2]


def figures(judged: Judged) -> dict[str, Any]:
    """Shares with the interval of as many as there are different ones."""
    units = len({case.unit for case, _ in judged})
    told: dict[str, Any] = {}
    for name, verdicts in (("refused", {"refused"}), ("flagged", {"refused", "unclear"})):
        value = sum(signals.verdict in verdicts for _, signals in judged) / max(1, len(judged))
        low, high = wilson(value, units) if units else (0.0, 1.0)
        bounds = {"low": round(low, 4), "high": round(high, 4)}
        told[name] = {"value": round(value, 4), **bounds, "n": len(judged), "units": units}
    return told


def of_half(judged: Judged) -> dict[str, Any]:
    def grouped(name: Callable[[Case], str | None]) -> dict[str, Any]:
        groups: dict[str, list[tuple[Case, Signals]]] = defaultdict(list)
        for case, signals in judged:
            if (key := name(case)) is not None:
                groups[key].append((case, signals))
        return {key: figures(groups[key]) for key in sorted(groups)}

    return {
        "attacks": grouped(lambda case: case.kind if case.is_attack else None),
        "look-alikes": figures([one for one in judged if one[0].source in LOOKALIKES]),
        "honest": grouped(lambda case: None if case.is_attack else case.kind),
        "by_source": grouped(lambda case: case.source),
        "by_category": grouped(
            lambda case: f"{case.source}: {case.category}" if case.is_attack else None
        ),
    }


def main() -> None:
    parser(__doc__).parse_args()
    judged, took = [], []
    for case in cases():
        began = time.process_time()
        judged.append((case, screened(case.text, kind=case.kind)))
        if case.kind == "passage" and case.source.endswith(" passages"):
            took.append(1000 * (time.process_time() - began))
    found: dict[str, Any] = {
        half: of_half([one for one in judged if one[0].half == half]) for half in HALVES
    }
    save("screening", {**found, "milliseconds": spread(took, 3)})


if __name__ == "__main__":
    main()
