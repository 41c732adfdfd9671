"""How well support is judged, and whether `verify` sees that a claim no longer follows.

    SECONDLOOK_DATA=... python -m benchmarks.groundedness fit       the head's probability
    SECONDLOOK_DATA=... python -m benchmarks.groundedness           everything below

`fit` writes src/secondlook/reading/head.json from the held-out part of the training claims
(`python -m training.prepare` makes them). The rest writes benchmarks/results/groundedness.json:
people's judgements (BEGIN, QAGS), HaluEval rows that were not trained on with lengths matched,
minimal pairs, and answers of the real engine that are told again in other words, or falsified in
what they say alone: hashes, spans, quotes and numbers of citations stay valid. Thresholds of
baselines are found on the same claims as the head's probability, with the same weights.
"""

from __future__ import annotations

import json
import random
import re
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.common import ROOT, SQUAD_SEED, auroc, parser, rows, save
from benchmarks.groundedness_changes import MINIMAL, Surroundings, changed, is_fit, reworded
from secondlook.engine.secondlook import Secondlook
from secondlook.library.library import Library, samples_folder
from secondlook.reading.logistic import Outcome, fit_logistic
from secondlook.reading.reader import OnnxReader
from secondlook.reading.support import (
    DEFAULT_MIN_SUPPORT,
    FORMAT,
    CoverageSupport,
    ReaderSupport,
    SupportHead,
    cap,
    read_head,
    shipped_head,
    supporting_logits,
)
from secondlook.reading.weights import find_weights, read_weights
from secondlook.roles.sentences import sentence_bounds
from secondlook.verify import verify
from training.data.chance import is_dev
from training.data.rows import read_claims, read_passages
from training.data.statements import statement
from training.data.support import matched_pair, tidy
from training.data.texts import word_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from secondlook.answer import Answer
    from secondlook.reading.support import Cap, Support

    Pairs = Sequence[tuple[str, str]]
    Scores = NDArray[np.float64]

HEAD = ROOT / "src" / "secondlook" / "reading" / "head.json"
PREPARED = Path(".cache/training/in")
PARTS = ("judgements", "lengths", "pairs", "answers")
SEEN_BY_MEANING = frozenset(("support", "number"))
UNSUPPORTED_COSTS = 2.0
"""To let an unsupported sentence pass is held to be twice as bad as to stop a supported one."""
CAPS: tuple[Cap, ...] = ("number",)
"""The caps on names and on "not" stop more true sentences than false ones that the head lets by.
A number must be there, or `verify` would object later."""
FALSIFIED_EACH, MINIMAL_PAIRS = 4, 700
DEV_SHARE, TRAINING_SEED = 0.02, 0
_TORN = re.compile(r"(?<=\d)([.,]) (?=\d)")
_NO_SPACE = re.compile(r"(?<=[a-z0-9)]\.)(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Claims:
    """Pairs of claim and evidence, with what is known of each."""

    pairs: Pairs
    supported: Sequence[bool]
    groups: Sequence[str] = field(default=())


# The claims


def fitting(size: int = 0) -> Claims:
    """The held-out part of the training claims, or so many of them: inference sets and changed
    sentences."""
    if not (PREPARED / "dev_support.jsonl.gz").is_file():
        raise SystemExit(f"no claims in {PREPARED}: python -m training.prepare makes them")
    passages = read_passages(PREPARED)
    found = [one for one in read_claims(PREPARED, "dev") if one.group == "support"]
    if size:
        found = random.Random(SQUAD_SEED).sample(found, min(size, len(found)))
    return Claims(
        [(one.hypothesis, one.premise_text(passages)) for one in found],
        [one.label == 1 for one in found],
        ["changed" if one.source.startswith("own") else "inference" for one in found],
    )


def begin(size: int = 0) -> Claims:
    """A response counts as supported where people called it fully attributable; generic ones claim
    nothing that the text says, so they are not."""
    listed = rows("faithfulness-human", "begin")
    if size:
        listed = random.Random(SQUAD_SEED).sample(listed, min(size, len(listed)))
    return Claims(
        [(tidy(row["response"]), tidy(row["knowledge"])) for row in listed],
        [row["begin_label"] == "Fully attributable" for row in listed],
    )


def qags() -> Claims:
    """Each sentence of a summary against its article; the majority of those asked decides."""
    pairs, supported = [], []
    for row in rows("faithfulness-human", "qags_cnndm"):
        article = _TORN.sub(r"\1", row["article"])  # it has "235, 000" for 235,000
        for sentence in row["summary_sentences"]:
            said = [one["response"] == "yes" for one in sentence["responses"]]
            pairs.append((_TORN.sub(r"\1", sentence["sentence"]), article))
            supported.append(2 * sum(said) > len(said))
    return Claims(pairs, supported)


def halueval() -> Claims:
    """Rows that were not trained on. The right answer is put into a sentence with its question;
    for each number of words as many right as hallucinated sentences are taken, so that length
    tells nothing."""
    bins: dict[tuple[int, bool], list[tuple[str, str]]] = defaultdict(list)
    for row in rows("halueval-qa", "rows"):
        knowledge = " ".join(_NO_SPACE.sub(" ", row["knowledge"]).split())
        pair = matched_pair({**row, "knowledge": knowledge}, seed=TRAINING_SEED)
        if pair is not None and not is_dev(TRAINING_SEED, knowledge, DEV_SHARE):
            continue  # trained on
        right = statement(row["question"], row["right_answer"])
        wrong = row["hallucinated_answer"].strip()
        if right is not None:
            bins[word_count(right), True].append((right, knowledge))
        if wrong.endswith("."):
            bins[word_count(wrong), False].append((wrong, knowledge))
    draw = random.Random(SQUAD_SEED)
    pairs: list[tuple[str, str]] = []
    supported: list[bool] = []
    for length in sorted({length for length, _ in bins}):
        each = min(len(bins[length, True]), len(bins[length, False]))
        for is_right in (True, False):
            pairs += draw.sample(bins[length, is_right], each)
            supported += [is_right] * each
    return Claims(pairs, supported)


@dataclass(frozen=True, slots=True)
class Minimal:
    """A true sentence and the same with one thing changed, with the passage it is from."""

    how: str
    true: str
    changed: str
    passage: str


def minimal_pairs(most: int = MINIMAL_PAIRS) -> list[Minimal]:
    """From passages of squad2-dev. Of every kind of change as many as of the others, as far as
    there are."""
    corpus = rows("squad2-dev", "corpus")
    articles: dict[str, list[tuple[str, list[str]]]] = defaultdict(list)
    for row in corpus:
        articles[row["title"]].append((row["id"], sentences_of(row["text"])))
    draw = random.Random(SQUAD_SEED)
    kinds: dict[str, list[Minimal]] = defaultdict(list)
    for row in corpus:
        beside = [said for key, said in articles[row["title"]] if key != row["id"]]
        around = Surroundings(row["text"], [one for said in beside for one in said])
        fit = [one for one in sentences_of(row["text"]) if is_fit(one)]
        for sentence in draw.sample(fit, min(2, len(fit))):
            for one in changed(sentence, around, draw):
                if one.how in MINIMAL:
                    kinds[one.how].append(Minimal(one.how, sentence, one.text, row["text"]))
    each = -(-most // len(kinds))
    return [one for found in kinds.values() for one in draw.sample(found, min(each, len(found)))]


def sentences_of(text: str) -> list[str]:
    return [text[start:end].strip() for start, end in sentence_bounds(text)]


# Scores, thresholds, and how good they are


def weights(claims: Claims) -> list[float]:
    """Every group weighs alike, and in it unsupported claims UNSUPPORTED_COSTS times as much."""
    kinds = list(zip(claims.groups, claims.supported, strict=True))
    counts = {kind: kinds.count(kind) for kind in set(kinds)}
    total = len(kinds) / len(counts)
    return [total / counts[kind] * (1 if kind[1] else UNSUPPORTED_COSTS) for kind in kinds]


def fit(reader: OnnxReader, file: Path, size: int) -> None:
    """Logistic regression on the logit; inference sets and changed sentences weigh alike."""
    claims = fitting(size)
    logits = supporting_logits(reader, claims.pairs)
    outcomes = [
        Outcome({"logit": logit}, right, weight)
        for logit, right, weight in zip(logits, claims.supported, weights(claims), strict=True)
    ]
    found = fit_logistic(outcomes, ["logit"])
    head = SupportHead(reader.name, found.bias, found.weights["logit"], CAPS)
    scores = np.array([head.probability(logit) for logit in logits])
    form = {
        "format": FORMAT,
        "reader": head.reader,
        "bias": round(head.bias, 5),
        "weight": round(head.weight, 5),
        "answer": shipped_head().answer,
        "caps": list(head.caps),
        "made": f"{datetime.now(UTC):%Y-%m-%d}",
        "by": "python -m benchmarks.groundedness fit",
        "data": {"claims": "held-out part of the training claims", "n": len(claims.pairs)},
        "fitted": figures(scores, claims.supported, DEFAULT_MIN_SUPPORT),
    }
    file.write_text(json.dumps(form, indent=1) + "\n", encoding="utf-8")
    print(file.read_text("utf-8"))


def best_threshold(scores: Scores, claims: Claims) -> float:
    """The threshold with the fewest mistakes, each weighed as for the head."""
    right, heavy, tried = np.array(claims.supported), np.array(weights(claims)), np.unique(scores)
    return float(tried[int(np.argmax([heavy[(scores >= at) == right].sum() for at in tried]))])


def figures(scores: Scores, supported: Sequence[bool], threshold: float) -> dict[str, float]:
    right = np.array(supported)
    kept, stopped = (scores[right] >= threshold).mean(), (scores[~right] < threshold).mean()
    found = {
        "balanced_accuracy": (kept + stopped) / 2,
        "supported_kept": kept,
        "unsupported_stopped": stopped,
        "threshold": threshold,
        "auroc": auroc(scores[right].tolist(), scores[~right].tolist()),
    }
    return {name: round(float(value), 3) for name, value in found.items()}


def overlap(pairs: Pairs) -> Scores:
    """Share of the claim's words that the evidence has."""

    def one(claim: str, evidence: str) -> float:
        said = re.findall(r"\w+", claim.lower())
        there = set(re.findall(r"\w+", evidence.lower()))
        return sum(word in there for word in said) / max(1, len(said))

    return np.array([one(*pair) for pair in pairs])


def length(pairs: Pairs) -> Scores:
    """Shorter claims first: what the answers of HaluEval give away."""
    return np.array([-len(claim.split()) for claim, _ in pairs], dtype=np.float64)


BASELINES = {"word overlap": overlap, "length": length}


def compared(judge: ReaderSupport, claims: Claims, fitted: Claims) -> dict[str, Any]:
    least, supported = DEFAULT_MIN_SUPPORT, claims.supported
    words = np.array(CoverageSupport().support(claims.pairs))
    found: dict[str, Any] = {
        "n": len(claims.pairs),
        "supported": sum(supported),
        "judge": figures(np.array(judge.support(claims.pairs)), supported, least),
        "coverage": figures(words, supported, least),
    }
    for name, score in BASELINES.items():
        threshold = best_threshold(score(fitted.pairs), fitted)
        found[name] = figures(score(claims.pairs), supported, threshold)
    best = max(0.5, *(found[name]["balanced_accuracy"] for name in BASELINES))
    above = found["judge"]["balanced_accuracy"] - best
    return found | {"points_above_best_baseline": round(100 * above, 1)}


def told_apart(reader: OnnxReader, head: SupportHead) -> dict[str, Any]:
    """Minimal pairs. True sentences are judged by the model too, though `verify` need not ask."""
    pairs = minimal_pairs()
    kinds = np.array([one.how for one in pairs])

    def judged(claims: Pairs) -> Scores:
        logits = supporting_logits(reader, claims)
        return np.array(
            [
                min(head.probability(logit), cap(*pair, head.caps))
                for pair, logit in zip(claims, logits, strict=True)
            ]
        )

    found: dict[str, Any] = {"n": len(pairs)}
    for name, score in (
        ("judge", judged),
        ("coverage", lambda claims: np.array(CoverageSupport().support(claims))),
    ):
        true = score([(one.true, one.passage) for one in pairs])
        false = score([(one.changed, one.passage) for one in pairs])
        kept, stopped = true >= DEFAULT_MIN_SUPPORT, false < DEFAULT_MIN_SUPPORT
        found[name] = {
            kind: {
                "n": int(of.sum()),
                "balanced_accuracy": round(float(kept[of].mean() + stopped[of].mean()) / 2, 3),
                "both_right": round(float((kept & stopped)[of].mean()), 3),
                "true_above_changed": round(float((true > false)[of].mean()), 3),
            }
            for kind, of in [
                ("all", np.ones(len(pairs), bool)),
                *((kind, kinds == kind) for kind in sorted(set(kinds))),
            ]
        }
    return found


# Answers


@dataclass(frozen=True, slots=True)
class Told:
    """An answer, how it came to be, and whether it still says what its quotes say."""

    how: str
    answer: Answer
    true: bool


def engine_answers(
    folder: Path, samples: Sequence[str], size: int
) -> list[tuple[Answer, list[str]]]:
    """What the engine answers without any language model over the sample documents and passages
    of squad2-dev, each with the reference answers that are known."""
    texts = {row["id"]: row for row in rows("squad2-dev", "corpus")}
    asked = [row for row in rows("squad2-dev", "queries") if row["answerable"]]
    asked = random.Random(SQUAD_SEED).sample(asked, min(size, len(asked)))
    papers = folder / "papers"
    papers.mkdir()
    for key in sorted({row["gold"][0] for row in asked}):
        name = f"{texts[key]['title'].replace('/', ' ')} {key[:6]}.txt"
        (papers / name).write_text(texts[key]["text"], encoding="utf-8")
    library = Library.open(folder / "library")  # the engine closes it
    library.add([papers, samples_folder()])
    runs = library.settings.runs.model_copy(update={"keep": False})
    settings = library.settings.model_copy(update={"runs": runs})
    questions = [(row["question"], row["answers"]) for row in asked]
    with Secondlook(library, settings=settings) as engine:
        found = [
            (engine.ask(question), known)
            for question, known in [*questions, *((one, []) for one in samples)]
        ]
    return [
        (answer, known)
        for answer, known in found
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
    quotes = " ".join(citation.quote for citation in told.answer.citations)
    around, first = Surroundings(quotes, list(others)), told.answer.claims[0].text
    return [
        Told(
            one.how,
            _saying(told.answer, " ".join(first.split()).replace(sentence, one.text, 1)),
            true=False,
        )
        for sentence in _claimed(told.answer)
        if is_fit(sentence)
        for one in changed(sentence, around, draw)
    ]


def _claimed(answer: Answer) -> list[str]:
    return sentences_of(" ".join(answer.claims[0].text.split()))


def _saying(answer: Answer, said: str) -> Answer:
    """The answer with another first claim, in its text too."""
    was = " ".join(answer.claims[0].text.split())
    claim = answer.claims[0].model_copy(update={"text": said})
    text = " ".join(answer.text.split()).replace(was, said, 1)
    return answer.model_copy(update={"claims": (claim, *answer.claims[1:]), "text": text})


def objections(told: Told, library: Library, judge: Support) -> set[str]:
    found = verify(told.answer, library, support=judge)
    return {problem.kind for problem in found}


def judged(
    answers: Sequence[tuple[Answer, Sequence[str]]],
    library: Library,
    judges: dict[str, Support],
    *,
    each: int = FALSIFIED_EACH,
) -> dict[str, Any]:
    """For each judge how many falsified answers are caught and how many true ones are not let by.
    `each`: falsified copies that are made of one true answer at most."""
    draw = random.Random(SQUAD_SEED)
    said = [sentences_of(answer.citations[0].quote) for answer, _ in answers]
    seen: dict[tuple[str, bool], dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for at, (answer, known) in enumerate(answers):
        others = [one for number, some in enumerate(said) if number != at for one in some]
        for told in retold(answer, known):
            false = tampered(told, others, draw)
            for one in [told, *draw.sample(false, min(each, len(false)))]:
                for name, judge in judges.items():
                    objected = bool(objections(one, library, judge) & SEEN_BY_MEANING)
                    seen[name, one.true]["all"].append(objected)
                    seen[name, one.true][one.how].append(objected)
    return {"engine answers": len(answers)} | {
        name: {
            part: {
                how: {"n": len(found), "share": round(sum(found) / len(found), 3)}
                for how, found in seen[name, true].items()
            }
            for part, true in (("falsified_caught", False), ("false_alarms", True))
        }
        for name in judges
    }


def main() -> None:
    options = parser(__doc__)
    options.add_argument("what", nargs="?", choices=("fit", "run"), default="run")
    options.add_argument("--reader", type=Path, help="folder of a reader; else the installed one")
    options.add_argument("--head", type=Path, default=HEAD, help="file of the head's probability")
    options.add_argument("--claims", type=int, default=0, help="claims to fit on; 0 = all")
    options.add_argument("--begin", type=int, default=0, help="rows of BEGIN; 0 = all")
    options.add_argument("--questions", type=int, default=150, help="questions asked of the engine")
    options.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    given = options.parse_args()
    reader = OnnxReader(read_weights(given.reader) if given.reader else find_weights("reader"))
    if given.what == "fit":
        fit(reader, given.head, given.claims)
        return
    head = read_head(given.head)
    if head.reader != reader.name:
        raise SystemExit(f"the head was fitted for {head.reader!r}: run `fit` first")
    judge = ReaderSupport(lambda: reader, head)
    found: dict[str, Any] = {"judge": judge.name, "reader": reader.name}
    found["min_support"] = DEFAULT_MIN_SUPPORT
    if {"judgements", "lengths"} & {*given.only}:
        fitted = fitting(given.claims)
    if "judgements" in given.only:
        found["BEGIN"] = compared(judge, begin(given.begin), fitted)
        found["QAGS"] = compared(judge, qags(), fitted)
    if "lengths" in given.only:
        found["halueval, lengths matched"] = compared(judge, halueval(), fitted)
    if "pairs" in given.only:
        found["minimal pairs"] = told_apart(reader, head)
    if "answers" in given.only:
        samples = json.loads((ROOT / "examples" / "questions.json").read_text("utf-8"))["answered"]
        asked = [one["question"] for one in samples]
        judges: dict[str, Support] = {"judge": judge, "coverage": CoverageSupport()}
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            answers = engine_answers(Path(folder), asked, given.questions)
            with Library.open(Path(folder) / "library", create=False) as library:
                found["falsified answers"] = judged(answers, library, judges)
    save("groundedness", found)


if __name__ == "__main__":
    main()
