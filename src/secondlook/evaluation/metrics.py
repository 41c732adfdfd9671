"""Every metric by its stable name; docs/metrics.md defines each, and a test compares the two."""

from __future__ import annotations

import ast
import re
import string
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from math import log2
from typing import TYPE_CHECKING, Any, Final, Literal

from secondlook.retrieval.outline import sentence_starts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from secondlook.answer import Answer
    from secondlook.evaluation.records import Case

Better = Literal["higher", "lower", "neither"]
Over = Literal[
    "gold", "scored", "answered", "claims", "choices",
    "unanswerable", "all", "graded", "researched", "tables",
]  # fmt: skip
"""Which questions a metric is over: those with gold passages (and answerable), those with a right
answer to compare with, those that were answered, those whose answer has checked claims, those of
multiple choice, those without an answer, all, those where a grader judged something, those that
were researched, and those over tables."""
Group = Literal["retrieval", "answers", "truth", "knowing", "graders", "behaviour", "cost"]


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    group: Group
    over: Over
    about: str  # in a few words, for tables
    better: Better = "higher"
    per_question: bool = True  # a figure of each question and their mean; else of all rows
    yes_no: bool = False  # each question's figure is 0 or 1, so that McNemar's test applies


def _of_all(name: str, group: Group, over: Over, about: str, better: Better) -> Metric:
    return Metric(name, group, over, about, better, per_question=False)


def _retrieval(suffix: str, when: str) -> list[Metric]:
    return [
        *(
            Metric(f"recall@{k}{suffix}", "retrieval", "gold", f"gold among the best {k}, {when}")
            for k in (1, 5, 20)
        ),
        Metric(f"mrr{suffix}", "retrieval", "gold", f"1 / rank of the first gold, {when}"),
        Metric(f"ndcg@10{suffix}", "retrieval", "gold", f"order of the best 10, {when}"),
    ]


_METRICS = [
    *_retrieval("", "as answered from"),
    *_retrieval("_before", "before reranking"),
    Metric("recall_shown", "retrieval", "gold", "gold among the passages shown"),
    Metric("shown", "retrieval", "all", "passages shown", "neither"),
    # Of `Answer.short`; `text_...` of `Answer.text`. Nothing answered counts 0.
    Metric("em", "answers", "scored", "exact match", yes_no=True),
    Metric("f1", "answers", "scored", "words shared"),
    Metric("f1_overall", "answers", "all", "F1; withheld is right where there is no answer"),
    Metric("rouge_l", "answers", "scored", "longest common run of words"),
    Metric("contains", "answers", "scored", "holds a right answer", yes_no=True),
    Metric("text_em", "answers", "scored", "exact match of the text", yes_no=True),
    Metric("text_f1", "answers", "scored", "words shared with the text"),
    Metric("text_rouge_l", "answers", "scored", "longest common run, of the text"),
    Metric("text_contains", "answers", "scored", "the text holds a right answer", yes_no=True),
    Metric("judged_right", "answers", "all", "right by the rules of the exam", yes_no=True),
    Metric("accuracy", "answers", "choices", "right letter", yes_no=True),
    Metric("ungrounded", "answers", "choices", "letters without a source", "lower", yes_no=True),
    # Of `Answer.values`, held against the values that are right.
    Metric("values_accuracy", "answers", "tables", "all values right", yes_no=True),
    Metric("values_proportional", "answers", "tables", "share of its values that is right"),
    _of_all("values_by_part", "answers", "tables", "values right, of all wanted", "higher"),
    Metric("faithfulness", "truth", "answered", "sentences like a sentence of the evidence"),
    Metric("faithfulness_cosine", "truth", "answered", "the same by the cosine as it is"),
    Metric("support", "truth", "claims", "support of the claims, as the answer was checked"),
    Metric("citation_precision", "truth", "answered", "citations that are gold"),
    Metric("citation_recall", "truth", "scored", "gold documents that are cited"),
    Metric("prompt_leak", "truth", "answered", "instructions in the answer", "lower", yes_no=True),
    Metric("answered", "knowing", "all", "share answered", "neither", yes_no=True),
    Metric("answered_answerable", "knowing", "scored", "answered, of the answerable", yes_no=True),
    _of_all("wrong_among_answered", "knowing", "answered", "wrong, of the answered", "lower"),
    Metric("refused_unanswerable", "knowing", "unanswerable", "withheld rightly", yes_no=True),
    _of_all("auroc", "knowing", "answered", "confidence tells right from wrong", "higher"),
    _of_all("ece", "knowing", "answered", "calibration error of confidence", "lower"),
    _of_all("false_rejection_gold", "graders", "graded", "gold rejected", "lower"),
    _of_all("false_acceptance", "graders", "graded", "not gold, yet accepted", "lower"),
    _of_all("grading_precision", "graders", "graded", "gold, of the accepted", "higher"),
    _of_all("grading_recall", "graders", "graded", "accepted, of the gold", "higher"),
    Metric("success", "behaviour", "all", "right, or rightly withheld", yes_no=True),
    Metric("retry_rate", "behaviour", "all", "asked again at least once", "neither", yes_no=True),
    Metric("mean_retries", "behaviour", "all", "retries", "lower"),
    Metric("fallback_rate", "behaviour", "all", "searched again", "neither", yes_no=True),
    Metric("web_rate", "behaviour", "all", "looked on the web", "neither", yes_no=True),
    Metric("regenerations", "behaviour", "all", "times the answer was written anew", "lower"),
    Metric("grounded", "behaviour", "answered", "found to rest on its evidence", yes_no=True),
    Metric("useful", "behaviour", "answered", "found to address the question", yes_no=True),
    Metric("needs_review", "behaviour", "all", "a person should look", "lower", yes_no=True),
    Metric("failed", "behaviour", "all", "failed", "lower", yes_no=True),
    # Of `Answer.research`, where there is one.
    Metric("multi_hop", "behaviour", "researched", "taken for hard", "neither", yes_no=True),
    Metric("escalated", "behaviour", "researched", "hard after all", "neither", yes_no=True),
    Metric("cycles", "behaviour", "researched", "steps tried", "lower"),
    Metric("steps_completed", "behaviour", "researched", "steps completed", "neither"),
    Metric("steps_weak", "behaviour", "researched", "steps kept with a caveat", "neither"),
    Metric("steps_failed", "behaviour", "researched", "steps that failed", "lower"),
    Metric("steps_pending", "behaviour", "researched", "steps that were not made", "lower"),
    Metric("screened_out", "behaviour", "researched", "refused", "neither", yes_no=True),
    Metric("screen_unclear", "behaviour", "researched", "let through", "lower", yes_no=True),
    Metric("quarantined", "behaviour", "researched", "passages kept out of prompts", "neither"),
    Metric("memory_hit", "behaviour", "researched", "from memory", "neither", yes_no=True),
    # Of `Answer.analysis`, where the question is over a table.
    Metric("computed", "behaviour", "tables", "without written code", "neither", yes_no=True),
    Metric("code_attempts", "behaviour", "tables", "times code was written", "lower"),
    _of_all("code_error_rate", "behaviour", "tables", "attempts without a result", "lower"),
    Metric("remediations", "behaviour", "tables", "remedies tried", "lower"),
    Metric("llm_calls", "cost", "all", "model calls", "lower"),
    Metric("tokens_in", "cost", "all", "tokens read by models", "lower"),
    Metric("tokens_out", "cost", "all", "tokens written by models", "lower"),
    Metric("tokens_cached", "cost", "all", "of those, cached by the provider", "neither"),
    Metric("characters_in", "cost", "all", "characters read by models", "lower"),
    Metric("characters_out", "cost", "all", "characters written by models", "lower"),
    Metric("parse_failures", "cost", "all", "replies that could not be read", "lower"),
    Metric("cost", "cost", "all", "US dollars", "lower"),
    _of_all("latency_p50", "cost", "all", "seconds, median", "lower"),
    _of_all("latency_p95", "cost", "all", "seconds, 95 of 100", "lower"),
]

METRICS: dict[str, Metric] = {metric.name: metric for metric in _METRICS}


# How texts are taken apart to be compared: SQuAD's rules, ROUGE's, and runs of words.

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
# Scripts without spaces between words: Thai to Myanmar, Khmer, kana, Han, and Han beyond the first
# plane. There each character counts as a word, as evaluations of Chinese reading do.
_WITHOUT_SPACES = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff])"
)
_THEIR_PUNCTUATION = re.compile("[\u3000-\u303f\u30fb\uff01-\uff0f\uff1a-\uff20\uff3b-\uff65]")
CITATION_MARK = re.compile(r"\s*\[\d{1,6}(?:\s?[,;]\s?\d{1,6})*\]")


def tokens(text: str) -> list[str]:
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def pieces(text: str) -> list[str]:
    """The same for a longer text; without spaces between words, each character is one."""
    return tokens(_spaced(text))


def plain_words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def shared(found: Sequence[str], right: Sequence[str]) -> float:
    if not found or not right:
        return float(list(found) == list(right))
    common = (Counter(found) & Counter(right)).total()
    return 2 * common / (len(found) + len(right))


def runs(words: Sequence[str], size: int) -> set[tuple[str, ...]]:
    return {tuple(words[at : at + size]) for at in range(len(words) - size + 1)}


def stands_in(run: Sequence[str], words: Sequence[str]) -> bool:
    """Whether `run` stands among the words without a gap; nothing stands in nothing alone."""
    if not run:
        return not words
    return f" {' '.join(run)} " in f" {' '.join(words)} "


def split_sentences(text: str) -> list[str]:
    bounds = pairwise([0, *sentence_starts(text), len(text)])
    found = (" ".join(text[start:end].split()) for start, end in bounds)
    return [sentence for sentence in found if sentence]


def _spaced(text: str) -> str:
    if text.isascii():
        return text
    return _WITHOUT_SPACES.sub(r" \1 ", _THEIR_PUNCTUATION.sub(" ", text))


def said(answer: Answer) -> str:
    """What an answer itself says: its claims, else its text, without citation marks."""
    if answer.claims:
        return " ".join(claim.text for claim in answer.claims).strip()
    return CITATION_MARK.sub("", answer.text).strip()


def is_answered(answer: Answer) -> bool:
    """A letter that was guessed is an answer, whatever the research came to."""
    return answer.status in {"answered", "partial"} or is_guess(answer)


def is_guess(answer: Answer) -> bool:
    choice = answer.choice
    return choice is not None and choice.letter is not None and not choice.grounded


# How near an answer comes to a right one: figures of one question. docs/metrics.md defines each.

RIGHT_F1: Final = 0.5  # a short answer that shares this much is right
RIGHT_WINDOW: Final = 0.7  # nearly all of it: half may be shared by chance (docs/metrics.md)
MOST_WORDS: Final = 60  # and it must not be a pasted page


def answer_metrics(case: Case, answer: Answer) -> dict[str, float]:
    if case.table:
        return value_metrics(parts_right(case, answer))
    figures: dict[str, float] = {}
    if case.scored:
        short, text = _given(case, answer)
        figures |= _compared(short, case.answers)
        figures |= {f"text_{name}": value for name, value in _compared(text, case.answers).items()}
        figures["f1_overall"] = figures["f1"]
    elif not case.answerable:
        figures["f1_overall"] = float(answer.status in {"abstained", "refused"})
    if case.choices and case.choice:
        figures["accuracy"] = float(_chose_right(case, answer))
    return figures


def is_right(case: Case, answer: Answer) -> bool | None:
    if not is_answered(answer):
        return None
    if not case.answerable:
        return False
    if case.table:
        return all(parts_right(case, answer).values())
    if case.choices and case.choice:
        return _chose_right(case, answer)
    if not case.answers:
        return None
    short, text = _given(case, answer)
    near = bool(short.strip()) and f1(short, case.answers) >= RIGHT_F1
    # The sentence around an extracted span is evidence; the span alone is the answer.
    spoken = answer.method != "extractive" or answer.short is None
    words = pieces(text)
    whole = max((best_window(words, pieces(answer)) for answer in case.answers), default=0.0)
    return near or (spoken and 0 < len(words) <= MOST_WORDS and whole >= RIGHT_WINDOW)


def is_right_shown(said: str, sentence: str, answers: Sequence[str]) -> bool:
    """As a calibration counts: the span is near to a reference, or the sentence that is shown with
    it holds one."""
    shown = sentence if len(sentence.split()) <= MOST_WORDS else said
    return f1(said, answers) >= RIGHT_F1 or contains(shown or said, answers) > 0


def _given(case: Case, answer: Answer) -> tuple[str, str]:
    """The short answer and the text to compare; a letter alone stands for its option."""
    if not is_answered(answer):
        return "", ""
    text = said(answer)
    short = answer.short if answer.short and answer.short.strip() else text
    letter = _named_by_choice(case, answer) or _letter_alone(case.choices or {}, short)
    return (case.choices[letter] if case.choices and letter else short), text


def _compared(found: str, answers: Sequence[str]) -> dict[str, float]:
    figures = {"em": exact_match, "f1": f1, "rouge_l": rouge_l, "contains": contains}
    blank = not found.strip()
    return {name: 0.0 if blank else figure(found, answers) for name, figure in figures.items()}


def exact_match(found: str, answers: Iterable[str]) -> float:
    words = tokens(found)
    return float(any(words == right for right in _to_compare(answers)))


def f1(found: str, answers: Iterable[str]) -> float:
    words = tokens(found)
    return max((shared(words, right) for right in _to_compare(answers)), default=0.0)


def contains(found: str, answers: Iterable[str]) -> float:
    words = pieces(found)
    return float(any(stands_in(right, words) for right in _to_compare(answers, pieces)))


def _to_compare(
    answers: Iterable[str], split: Callable[[str], list[str]] = tokens
) -> list[list[str]]:
    """The right answers by word; as in SQuAD's evaluation one without words ("The") is left out
    where another has some, or every answer without words would be right."""
    by_word = [split(answer) for answer in answers]
    return [right for right in by_word if right] or by_word


def rouge_l(found: str, answers: Iterable[str]) -> float:
    """F-measure of the longest common subsequence of words, a whole row of the usual table at once:
    bit `i` of `open_` is clear where the row grows at word `i` (Hyyrö 2004)."""

    def words_of(text: str) -> list[str]:
        return re.findall(r"[^\W_]+", _spaced(text).lower())

    words, best = words_of(found), 0.0
    for right in filter(None, map(words_of, answers)):
        where: dict[str, int] = {}
        for at, word in enumerate(right):
            where[word] = where.get(word, 0) | 1 << at
        open_ = every = (1 << len(right)) - 1
        for word in words:
            hits = open_ & where.get(word, 0)
            open_ = ((open_ + hits) | (open_ - hits)) & every
        common = len(right) - open_.bit_count()
        best = max(best, 2 * common / (len(words) + len(right)))
    return best


def best_window(words: Sequence[str], right: Sequence[str]) -> float:
    """Best F1 of words in a row, at least as many as the right answer has: a shorter window could
    pick a single "of" out of a sentence and share a third of "Duke of Normandy"."""
    least = min(len(right), len(words))
    of_right = set(right)
    places = [at for at, word in enumerate(words) if word in of_right]
    best = 0.0
    for first, start in enumerate(places):
        wanted, common = Counter(right), 0
        for end in places[first:]:
            size = max(end - start + 1, least)
            if 2 * len(right) <= best * (size + len(right)):
                break  # not even all of the right answer would do better in so long a window
            if wanted[words[end]] > 0:
                wanted[words[end]] -= 1
                common += 1
                best = max(best, 2 * common / (size + len(right)))
    return best


# Which option of a multiple-choice question an answer names.

# Such as B or (b) or B.
_ALONE = re.compile(r"[\W_]*(?P<letter>[^\W_]{1,2})[\W_]*\Z")
# Such as (B) Paris, **B**: Paris, Answer: B, or The correct answer is B because; a small letter
# there may be an article.
_LEADING = re.compile(
    r"\s*(?:the )?(?:(?:correct|right|best|final) )?(?:answer|option|choice) ?(?:is|:)? ?"
    r"(?:option )?[(*]{0,3}(?P<named>(?-i:[A-Z0-9]))\b"
    r"|\s*[(*]{0,2}(?P<letter>[^\W_]{1,2})\*{0,2}[).:,\]]",
    re.IGNORECASE,
)


def letter_of(case: Case, answer: Answer) -> str | None:
    if not case.choices or not is_answered(answer):
        return None
    if answer.choice is not None:
        return _named_by_choice(case, answer)
    return chosen(case.choices, answer.short or "") or chosen(case.choices, said(answer))


def _named_by_choice(case: Case, answer: Answer) -> str | None:
    """By its place: an answer letters the choices from A on, whatever a set calls them."""
    letter = answer.choice.letter if answer.choice else None
    at = string.ascii_uppercase.find(letter) if letter else -1
    names = list(case.choices or {})
    return names[at] if 0 <= at < len(names) else None


def _chose_right(case: Case, answer: Answer) -> bool:
    letter = letter_of(case, answer)
    return letter is not None and letter.casefold() == (case.choice or "").casefold()


def chosen(choices: Mapping[str, str], said: str) -> str | None:
    """The letter of the option, or None where it cannot be told: the letter alone, the option's
    own text, a letter that leads, the one option that stands in it, or that shares most words."""
    words = tokens(said)
    by_option = {letter: tokens(text) for letter, text in choices.items()}
    same = [letter for letter, option in by_option.items() if words and option == words]
    held = [letter for letter, option in by_option.items() if option and stands_in(option, words)]
    shares = {letter: shared(words, option) for letter, option in by_option.items() if words}
    most = max(shares.values(), default=0.0)
    nearest = [letter for letter, share in shares.items() if share == most > RIGHT_F1]
    found = _LEADING.match(said)
    leading = _letter(choices, found["named"] or found["letter"]) if found else None
    one_of = [letters[0] if len(letters) == 1 else None for letters in (same, held, nearest)]
    return _letter_alone(choices, said) or one_of[0] or leading or one_of[1] or one_of[2]


def _letter_alone(choices: Mapping[str, str], said: str) -> str | None:
    found = _ALONE.match(said)
    return _letter(choices, found["letter"]) if found else None


def _letter(choices: Mapping[str, str], written: str) -> str | None:
    return next((letter for letter in choices if letter.casefold() == written.casefold()), None)


# How near an answer over tables comes to the values that are right: figures of one question.
# docs/metrics.md defines each. What was withheld, and what failed, is wrong.

_NEAR = 1e-6


def parts_right(case: Case, answer: Answer) -> dict[str, bool]:
    values = answer.values if is_answered(answer) else {}
    wanted = dict(case.values).items()  # of a name that comes twice the later one counts
    return {name: name in values and value_right(to, values[name]) for name, to in wanted}


def value_metrics(parts: dict[str, bool]) -> dict[str, float]:
    return {
        "values_accuracy": float(all(parts.values())),
        "values_proportional": sum(parts.values()) / len(parts),
    }


def value_right(expected: str, value: object) -> bool:
    number, found = _number(expected), _number(value)
    if number is not None and found is not None:
        return abs(number - found) < _NEAR
    try:  # a list or mapping written as Python writes them
        held = ast.literal_eval(expected.strip())
    except (ValueError, SyntaxError):
        held = None
    if isinstance(held, list | tuple | dict) and not isinstance(value, str):
        return _same_structure(held, value)
    return _as_text(value) == expected.strip()


def _number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value)  # type: ignore[arg-type]  # what it cannot take raises
    except (TypeError, ValueError):
        return None


def _same_structure(expected: Any, value: Any) -> bool:
    if isinstance(expected, dict):
        if not isinstance(value, dict):
            return False
        wanted, found = ({str(key): one for key, one in of.items()} for of in (expected, value))
        same_keys = wanted.keys() == found.keys()
        return same_keys and all(_same_structure(wanted[key], found[key]) for key in wanted)
    if isinstance(expected, list | tuple):
        alike = isinstance(value, list | tuple) and len(expected) == len(value)
        return alike and all(map(_same_structure, expected, value))
    return value_right(str(expected), value)


def _as_text(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_as_text, value))
    return str(value).strip()


# Where the gold documents stand in a ranked list, by the definitions of trec_eval.


def retrieval_metrics(
    gold: Mapping[str, int], ranked: Sequence[str], *, suffix: str = ""
) -> dict[str, float]:
    """recall@1, @5 and @20, mrr and ndcg@10, each name with `suffix`; nothing without gold.
    `ranked` is documents, best first; one that comes again counts where it comes first."""
    relevant = {document: grade for document, grade in gold.items() if grade > 0}
    if not relevant:
        return {}
    grades = [relevant.get(document, 0) for document in dict.fromkeys(ranked)]
    first = next((place for place, grade in enumerate(grades, start=1) if grade), None)

    def gain(of: Sequence[int]) -> float:
        return sum(grade / log2(place + 1) for place, grade in enumerate(of[:10], start=1))

    figures = {
        **{f"recall@{k}": sum(map(bool, grades[:k])) / len(relevant) for k in (1, 5, 20)},
        "mrr": 1 / first if first else 0.0,
        "ndcg@10": gain(grades) / gain(sorted(relevant.values(), reverse=True)),
    }
    return {f"{name}{suffix}": value for name, value in figures.items()}


def recall(gold: Mapping[str, int], found: Iterable[str]) -> float:
    relevant = {document for document, grade in gold.items() if grade > 0}
    return len(relevant & set(found)) / len(relevant) if relevant else 0.0
