"""How near an answer comes to a right one: figures of one question. docs/metrics.md defines each.

Only what was answered is compared: what was withheld, and what failed, scores 0, except that
withholding is right where there is no answer.
"""

from __future__ import annotations

from collections import Counter
from string import ascii_uppercase
from typing import TYPE_CHECKING, Final

from secondlook.evaluation.metrics.analyses import parts_right, value_metrics
from secondlook.evaluation.metrics.choices import chosen, letter_alone
from secondlook.evaluation.metrics.said import is_answered, said
from secondlook.evaluation.metrics.words import (
    pieces,
    rouge_tokens,
    shared,
    stands_in,
    tokens,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from secondlook.answer import Answer
    from secondlook.evaluation.records import Case

LENIENT_WORDS: Final = 30
"""A text of so many words is one correct sentence; beyond, its length costs."""
RIGHT_F1: Final = 0.5
"""A short answer that shares this much with a right one counts as right, as in the calibration."""
RIGHT_WINDOW: Final = 0.7
"""A text must hold nearly all of a right answer: a sentence offers many places to share half of
its words by chance (docs/metrics.md has the figures)."""
MOST_WORDS: Final = 60
"""And it must not be a pasted page."""
_LOOKED_AT: Final = 1000
"""Words of a text in which a right answer is looked for; past them its length has decided."""


def answer_metrics(case: Case, answer: Answer) -> dict[str, float]:
    """Every figure of this group that the case allows."""
    if case.table:
        return value_metrics(parts_right(case, answer))
    figures: dict[str, float] = {}
    if case.scored:
        short, text = _given(case, answer)
        figures |= _compared(short, case.answers)
        figures |= {f"text_{name}": value for name, value in _compared(text, case.answers).items()}
        figures["f1_length_aware"] = length_aware_f1(text, case.answers)
        figures["f1_overall"] = figures["f1"]
    elif not case.answerable:
        figures["f1_overall"] = float(answer.status in {"abstained", "refused"})
    if case.choices and case.choice:
        figures["accuracy"] = float(_chose_right(case, answer))
    return figures


def is_right(case: Case, answer: Answer) -> bool | None:
    """Whether an answer that was given is right; None where none was given or none is known."""
    if not is_answered(answer):
        return None
    if not case.answerable:
        return False
    if case.table:
        return all(parts_right(case, answer).values())
    if case.choices and case.choice:
        return _chose_right(case, answer)
    return _says_right(case, answer) if case.answers else None


def _says_right(case: Case, answer: Answer) -> bool:
    short, text = _given(case, answer)
    if _compared(short, case.answers)["f1"] >= RIGHT_F1:
        return True
    # The sentence around an extracted span is evidence; the span alone is the answer.
    spoken = answer.method != "extractive" or answer.short is None
    return spoken and _stands_nearly_whole(text, case.answers)


def exact_match(found: str, answers: Iterable[str]) -> float:
    """1 where the words are those of a right answer, by SQuAD's rules."""
    words = tokens(found)
    return float(any(words == right for right in _to_compare(answers)))


def f1(found: str, answers: Iterable[str]) -> float:
    """Words shared with the most similar right answer, by SQuAD's rules."""
    words = tokens(found)
    return max((shared(words, right) for right in _to_compare(answers)), default=0.0)


def rouge_l(found: str, answers: Iterable[str]) -> float:
    """F-measure of the longest common subsequence, of the most similar right answer."""
    words = rouge_tokens(found)
    return max((_rouge_l(words, rouge_tokens(answer)) for answer in answers), default=0.0)


def contains(found: str, answers: Iterable[str]) -> float:
    """1 where a right answer stands in it, whole words in a row."""
    words = pieces(found)
    return float(any(stands_in(right, words) for right in _to_compare(answers, pieces)))


def length_aware_f1(text: str, answers: Iterable[str]) -> float:
    """F1 of the part of the text that is most like a right answer, less for a text that is long."""
    words = pieces(text)
    if not words:
        return 0.0
    return _best_part(words, answers) * min(1.0, LENIENT_WORDS / len(words))


def _given(case: Case, answer: Answer) -> tuple[str, str]:
    """The short answer and the text to compare, both empty where nothing was answered. A letter
    alone stands for its option."""
    if not is_answered(answer):
        return "", ""
    text = said(answer)
    short = answer.short if answer.short and answer.short.strip() else text
    letter = _named_by_choice(case, answer) or letter_alone(case.choices or {}, short)
    return (case.choices[letter] if case.choices and letter else short), text


def _compared(found: str, answers: Sequence[str]) -> dict[str, float]:
    if not found.strip():
        return dict.fromkeys(("em", "f1", "rouge_l", "contains"), 0.0)
    return {
        "em": exact_match(found, answers),
        "f1": f1(found, answers),
        "rouge_l": rouge_l(found, answers),
        "contains": contains(found, answers),
    }


def _to_compare(
    answers: Iterable[str], split: Callable[[str], list[str]] = tokens
) -> list[list[str]]:
    """The right answers by word; as in SQuAD's evaluation one without words ("The") is left out
    where another has some, or every answer without words would be right."""
    by_word = [split(answer) for answer in answers]
    return [right for right in by_word if right] or by_word


def _rouge_l(found: Sequence[str], right: Sequence[str]) -> float:
    if not found or not right:
        return 0.0
    return 2 * _longest_common(found, right) / (len(found) + len(right))


def _longest_common(found: Sequence[str], right: Sequence[str]) -> int:
    """Length of the longest common subsequence, a whole row of the usual table at once: bit `i`
    of `open_` is clear where the row grows at word `i` of `right` (Hyyrö 2004)."""
    where: dict[str, int] = {}
    for at, word in enumerate(right):
        where[word] = where.get(word, 0) | 1 << at
    every = (1 << len(right)) - 1
    open_ = every
    for word in found:
        hits = open_ & where.get(word, 0)
        open_ = ((open_ + hits) | (open_ - hits)) & every
    return len(right) - open_.bit_count()


def _best_part(words: Sequence[str], answers: Iterable[str]) -> float:
    looked_at = words[:_LOOKED_AT]
    return max((best_window(looked_at, pieces(answer)) for answer in answers), default=0.0)


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


def _stands_nearly_whole(text: str, answers: Iterable[str]) -> bool:
    words = pieces(text)
    return 0 < len(words) <= MOST_WORDS and _best_part(words, answers) >= RIGHT_WINDOW


def letter_of(case: Case, answer: Answer) -> str | None:
    """The option that was chosen: as the answer says, or as can be told from its words."""
    if not case.choices or not is_answered(answer):
        return None
    if answer.choice is not None:
        return _named_by_choice(case, answer)
    return chosen(case.choices, answer.short or "") or chosen(case.choices, said(answer))


def _named_by_choice(case: Case, answer: Answer) -> str | None:
    """By its place: whoever chooses letters the choices from A on, whatever a set calls them."""
    letter = answer.choice.letter if answer.choice else None
    at = ascii_uppercase.find(letter) if letter else -1
    names = list(case.choices or {})
    return names[at] if 0 <= at < len(names) else None


def _chose_right(case: Case, answer: Answer) -> bool:
    letter = letter_of(case, answer)
    return letter is not None and letter.casefold() == (case.choice or "").casefold()
