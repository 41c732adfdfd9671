"""Is a capable chat model listened to? A double answers the exam, and its right replies must stand.

    export SECONDLOOK_DATA=FOLDER
    python -m benchmarks.double [everyday worlds] [--workflow corrective] [--threads even]

The double is a server on loopback. It reads the prompts it is sent: where the evidence has the
answer, it gives the exam's own answer in one of several styles, else it refuses. Nothing it says
right may be lost, and what it says wrong on purpose may not stay: a false sentence among true ones
(a statement of the same passage with another number or turned round), a citation of another
passage. An answer of the reader in the model's place counts as lost, right or not. Questions of the
kinds fact, field, yes or no, why or how, and list are asked, each in every style. Writes
benchmarks/results/double.json.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.common import CACHE, data_folder, parser, save
from secondlook import Library, Secondlook
from secondlook.evaluation.datasets import load as load_set
from secondlook.evaluation.judging import contains, outcome, words
from secondlook.evaluation.statistics import wilson
from secondlook.retrieval.parse.extract import extract
from secondlook.roles.prompts.marks import EVIDENCE_MARK
from tests.support.chat_server import ChatServer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.answer import Answer
    from secondlook.evaluation.datasets.evalset import EvalSet
    from secondlook.evaluation.records import Case

KINDS = ("fact", "field", "yes_no", "why_how", "list")
WORLDS = Path(__file__).parent / "worlds"
SCRATCH = CACHE / "double"
REFUSAL = "NOT IN THE EVIDENCE"
_NUMBER = re.compile(r"\d+")
_VERB = re.compile(r"\b(is|are|was|were|must|may|can|will|has|have)\b(?! not)")

RIGHT = {
    "terse": "{answer} [{n}]",
    "sentence": "It is {answer} [{n}].",
    "wordy": "According to the documents, the answer to your question is {answer} [{n}].",
    "bold": "**{answer}** [{n}]",
    "question's words": "{question}: {answer} [{n}].",
    "quoted": "{answer}. The document says: {quote} [{n}]",
    "no citation": "The answer is {answer}.",
    "German": "Laut den Unterlagen lautet die Antwort: {answer} [{n}].",
}
"""Right replies. Those to yes-or-no questions begin with the word, whatever the style."""
WRONG = ("false sentence", "wrong citation")


@dataclass(slots=True)
class Double:
    """What it knows of the question at hand; the driver sets it."""

    case: Case | None = None
    files: Sequence[str] = ()
    """Texts of the documents that have the answer."""
    style: str = ""
    shown: bool = False
    cited: str = ""
    false: str = ""

    def about(self, case: Case, files: Sequence[str], style: str) -> None:
        self.case, self.files, self.style = case, files, style
        self.shown, self.cited, self.false = False, "", ""

    def reply(self, body: dict[str, Any]) -> str:
        messages = [message["content"] for message in body["messages"]]
        system, asked = messages[0], messages[-1]
        for mark, said in (
            ("You answer a question from numbered evidence", self.written),
            ("You grade numbered passages", self.graded),
            ("You check numbered sentences", self.checked),
            ("You rewrite the last question", lambda text: text.rsplit("Last question: ", 1)[-1]),
            ("You write a search query", lambda _: self.case.question if self.case else ""),
            ("You sort questions", lambda _: "simple"),
            ("You check whether an answer", lambda _: '{"verdict": "yes"}'),
            ("You judge an answer", lambda _: '{"verdict": "yes"}'),
        ):
            if system.startswith(mark):
                return said(asked)
        return REFUSAL

    def blocks(self, prompt: str) -> dict[int, str]:
        marks = list(EVIDENCE_MARK.finditer(prompt))
        return {
            int(mark["number"]): prompt[mark.end() : after.start()]
            for mark, after in pairwise(marks)
            if mark["number"]
        }

    def holding(self, blocks: dict[int, str]) -> dict[int, list[str]]:
        if self.case is None:
            return {}
        own = {n: text for n, text in blocks.items() if any(map(inside(text), self.files))}
        return held_by(own, self.case)

    def written(self, prompt: str) -> str:
        blocks = self.blocks(prompt)
        found, case = self.holding(blocks), self.case
        if case is None or not found:
            return REFUSAL
        if case.need == "all":
            told = {one for held in found.values() for one in held}
            if len(told) < len(case.answers):
                return REFUSAL
            n = max(found, key=lambda n: len(found[n]))
            if len(found[n]) < len(case.answers):
                self.shown = True
                first = {one: k for k, held in reversed(found.items()) for one in held}
                return " ".join(f"{one} [{first[one]}]." for one in case.answers)
            answer = ", ".join(case.answers)
        else:
            n = max(found, key=lambda n: len(found[n]))
            answer = found[n][0]
        self.shown, self.cited = True, blocks[n]
        if case.type == "yes_no":
            answer = answer.capitalize()
        style = RIGHT["sentence"] if self.style in WRONG else RIGHT[self.style]
        if case.type == "yes_no" and style in {RIGHT["sentence"], RIGHT["question's words"]}:
            style = "{answer} [{n}]."
        elif case.type == "yes_no" and "{quote}" not in style:
            style = style[style.index("{answer}") :]
        cites = n
        if self.style == "wrong citation":
            cites = next((k for k in blocks if k not in found), n)
            self.shown, self.cited = cites != n, blocks[cites]
        quote = _sentence_with(blocks[n], answer)
        asked = case.question.rstrip("?. ")
        text = style.format(answer=answer, n=cites, question=asked, quote=quote)
        if self.style == "false sentence":
            self.false = _falsified(blocks[n], quote)
            text += f" {self.false} [{n}]" if self.false else ""
        return text

    def graded(self, prompt: str) -> str:
        blocks = self.blocks(prompt)
        found = self.holding(blocks)
        grades = [{"passage": n, "grade": "answers" if n in found else "about"} for n in blocks]
        return json.dumps({"grades": grades})

    def checked(self, prompt: str) -> str:
        return json.dumps(
            {"verdicts": [{"number": n, "verdict": "yes"} for n in self.blocks(prompt)]}
        )


def held_by(own: dict[int, str], case: Case) -> dict[int, list[str]]:
    """Which answers each block of a right document has; of yes or no, the block that has most words
    of the question."""
    if case.type == "yes_no":
        asked = set(words(case.question))
        best = max(own, key=lambda n: len(asked & set(words(own[n]))), default=None)
        return {} if best is None else {best: list(case.answers[:1])}
    found = {
        n: [one for one in case.answers if contains(words(text), words(one))]
        for n, text in own.items()
    }
    return {n: held for n, held in found.items() if held}


def inside(block: str) -> Any:
    """Whether most lines of a block stand in a text."""
    lines = [_plain(line) for line in block.strip().split("\n") if line.strip()]

    def stands(text: str) -> bool:
        return sum(line in text for line in lines) >= len(lines) / 2

    return stands


def _plain(text: str) -> str:
    return " ".join(text.split())


def _sentences(block: str) -> list[str]:
    lines = block.strip().split("\n")
    return [
        one.strip()
        for line in lines[1:] or lines
        for one in re.split(r"(?<=[.!?])\s+(?=[A-Z])", line)
        if one.strip()
    ]


def _sentence_with(block: str, answer: str) -> str:
    form = words(answer)
    held = [one for one in _sentences(block) if contains(words(one), form)]
    return min(held, key=len) if held else max(_sentences(block), key=len, default="")


def _falsified(block: str, quote: str) -> str:
    """A statement of the block, with another number or turned round."""
    for one in sorted(_sentences(block), key=lambda one: one == quote):
        if len(one.split()) < 5:
            continue
        if found := _NUMBER.search(one):
            other = str(int(found[0]) + 3)
            return (one[: found.start()] + other + one[found.end() :]).rstrip(".") + "."
        if found := _VERB.search(one):
            return (one[: found.end()] + " not" + one[found.end() :]).rstrip(".") + "."
    return ""


def judged(case: Case, double: Double, answer: Answer) -> str:
    """What became of a reply."""
    if not double.shown or (double.style == "false sentence" and not double.false):
        return "not shown"
    if answer.method != "generative":
        return "lost"
    if double.style == "false sentence":
        said = _plain(answer.text)
        return "stays" if _plain(double.false).rstrip(".") in said else "cut"
    right = outcome(case, answer) == "right"
    if double.style == "wrong citation":
        if not right:
            return "cut"
        held = [place.quote for place in answer.citations]
        wrong = bool(held) and all(_plain(one) in _plain(double.cited) for one in held)
        return "stays" if wrong else "cut"
    return "given" if right else "lost"


def main() -> None:
    options = parser(__doc__)
    options.add_argument("exams", nargs="*", default=["everyday", "worlds"])
    options.add_argument("--workflow", default="corrective")
    options.add_argument("--limit", type=int)
    options.add_argument("--threads", choices=("all", "odd", "even"), default="all")
    options.add_argument("--styles", nargs="*", default=[*RIGHT, *WRONG])
    options.add_argument("--show", action="store_true", help="print what is lost")
    chosen = options.parse_args()
    told: list[tuple[str, str, str, str]] = []
    double = Double()
    os.environ.setdefault("OPENAI_API_KEY", "none")
    with ChatServer(double.reply) as server:
        spec = f"openai:capable@{server.url}/v1"
        for name in chosen.exams:
            told += _asked(name, chosen, double, spec)
    tables: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for name, style, kind, became in told:
        together = ("all right replies", f"right replies: {kind}") if style in RIGHT else ()
        for key in (style, *together):
            tables[name][key][became] += 1
    exams = {name: _figures(table) for name, table in tables.items()}
    save("double", {"workflow": chosen.workflow, "exams": exams})


def _figures(table: dict[str, Counter[str]]) -> dict[str, Any]:
    found = {}
    for key in sorted(table):
        counts = table[key]
        good = counts["given"] + counts["cut"]
        n = good + counts["lost"] + counts["stays"]
        low, high = wilson(good / n, n) if n else (0.0, 1.0)
        found[key] = {
            "as it should be": round(good / max(1, n), 4),
            "low": round(low, 4),
            "high": round(high, 4),
            "n": n,
            "not shown": counts["not shown"],
        }
    return found


def _asked(name: str, chosen: Any, double: Double, spec: str) -> list[tuple[str, str, str, str]]:
    data = asked_of(name)
    texts: dict[str, str] = {}
    opened(name).close()
    cases = [one for one in data.cases if one.type in KINDS and one.answerable]
    if chosen.threads != "all":
        parity = 1 if chosen.threads == "odd" else 0
        cases = [one for one in cases if int(re.sub(r"\D", "", one.thread) or 0) % 2 == parity]
    random.Random(6).shuffle(cases)
    told = []
    with Secondlook.open(SCRATCH / name, model=spec) as engine:
        for at, case in enumerate(cases[: chosen.limit]):
            files = [texts.setdefault(one, text_of(data.path, one)) for one in case.gold]
            for style in chosen.styles:
                double.about(case, files, style)
                answer = engine.ask(case.question, workflow=chosen.workflow)
                became = judged(case, double, answer)
                told.append((name, style, case.type or "", became))
                print(f"{name} {at + 1}/{len(cases)} {case.id} {style}: {became}", flush=True)
                if chosen.show and became in {"lost", "stays"}:
                    print(f"    {case.question} -> {case.answers}\n    {answer.text[:300]!r}")
                    print(f"    {double.false or double.cited[:200]!r}")
    return told


def asked_of(name: str) -> EvalSet:
    return load_set(WORLDS if name == "worlds" else data_folder() / name)


def opened(name: str) -> Library:
    """The library of an exam's documents, made where it is not there yet."""
    there = (SCRATCH / name).exists()
    library = Library.open(SCRATCH / name)
    if not there:
        library.add([str(one) for one in asked_of(name).documents])
    return library


def text_of(folder: Path, name: str) -> str:
    parts = [one.extracted.text for one in extract(folder / name) if one.extracted]
    return _plain("\n".join(parts))


if __name__ == "__main__":
    main()
