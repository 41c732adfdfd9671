"""SQuAD 2.0's exact match and F1, written down from their published definition (Rajpurkar et al.,
2016 and 2018) and from nothing in the product: what the product is compared with."""

import re
import string


def normalised(text: str) -> str:
    lowered = text.lower()
    unpunctuated = "".join(letter for letter in lowered if letter not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", unpunctuated, flags=re.UNICODE).split())


def exact(gold: str, predicted: str) -> int:
    return int(normalised(gold) == normalised(predicted))


def f1(gold: str, predicted: str) -> float:
    wanted, found = normalised(gold).split(), normalised(predicted).split()
    if not wanted or not found:
        return float(wanted == found)
    left, same = list(wanted), 0
    for word in found:
        if word in left:
            left.remove(word)
            same += 1
    if same == 0:
        return 0.0
    precision, recall = same / len(found), same / len(wanted)
    return 2 * precision * recall / (precision + recall)


def best(golds: list[str], predicted: str) -> tuple[float, float]:
    """Over the right answers that have words; without any, the right answer is no answer."""
    kept = [gold for gold in golds if normalised(gold)] or [""]
    return max(exact(gold, predicted) for gold in kept), max(f1(gold, predicted) for gold in kept)
