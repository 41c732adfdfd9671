"""True sentences with one thing changed, so that they no longer follow from where they came from.

Each change keeps the style and most of the words: what is wrong is only what is said. None of the
code that made the training data is used here, so that a judge cannot have learned its habits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

FEWEST_WORDS, MOST_WORDS = 8, 40
_LAST_YEAR = 2017
_EARLIEST_YEAR = 1000

_WORD = r"[A-Z][\w'\u2019-]*[\w]"
_NAME = re.compile(rf"(?<![.!?\"\u201c(] )(?<=[a-z,;] )(?:{_WORD})(?: {_WORD})*")
_NO_NAMES = frozenset(
    """January February March April May June July August September October November December Monday
    Tuesday Wednesday Thursday Friday Saturday Sunday I The A An In It He She They This That
    """.split()  # noqa: SIM905
)
_NUMBER = re.compile(
    r"(?<![\w.,-])\d{1,3}(?:,\d{3})+(?![\w,])|(?<![\w.,-])\d+(?:\.\d+)?(?![\w,]|-\w)"
)
_AUXILIARY = re.compile(
    r"\b(is|was|are|were|has been|had been|have been|can|could|will|would|should|must)\b(?! not\b)"
    r"(?! no\b)"
)
_NOT = re.compile(r"\b(is|was|are|were|has|had|have|can|could|will|would|did|does|do) not\b")
_LISTED = re.compile(r"^(?:,| and| or| &|/| as well as| with| between)\b|^,")
_OPPOSITES = """
north/south northern/southern east/west eastern/western increase/decrease increased/decreased
increases/decreases increasing/decreasing more/less most/least higher/lower highest/lowest
larger/smaller largest/smallest greater/lesser before/after earlier/later early/late first/last
above/below inside/outside won/lost win/lose rose/fell rising/falling older/younger oldest/youngest
longer/shorter longest/shortest faster/slower strong/weak stronger/weaker rich/poor best/worst
better/worse maximum/minimum majority/minority major/minor success/failure successful/unsuccessful
accepted/rejected allowed/forbidden legal/illegal public/private internal/external male/female
summer/winter hot/cold warm/cool wet/dry high/low deep/shallow wide/narrow heavy/light old/new
begin/end began/ended started/ended left/right up/down upper/lower import/export imported/exported
buy/sell bought/sold positive/negative common/rare popular/unpopular gained/lost support/oppose
supported/opposed father/mother husband/wife son/daughter brother/sister ancient/modern
""".split()  # noqa: SIM905
_OPPOSITE = {
    word: other
    for pair in _OPPOSITES
    for word, other in (pair.split("/"), reversed(pair.split("/")))
}
_QUANTIFIERS = {
    "some": "all",
    "many": "all",
    "most": "all",
    "several": "all",
    "few": "most",
    "a few": "most",
    "often": "always",
    "usually": "always",
    "sometimes": "always",
    "generally": "always",
    "typically": "always",
    "rarely": "often",
    "mainly": "only",
    "mostly": "only",
    "primarily": "only",
    "partly": "entirely",
    "partially": "entirely",
    "nearly all": "all",
    "almost all": "all",
    "one of the": "the only one of the",
    "may": "must",
    "might": "will certainly",
    "among the": "by far the",
}
_QUANTIFIER = re.compile(
    r"\b("
    + "|".join(sorted(map(re.escape, _QUANTIFIERS), key=len, reverse=True))
    + r")\b(?= [a-z])"
)
_NOT_FREE = re.compile(r"\b(?:the|a|only|very|as|so|how|its|second|\w+th) $")
_THAN = re.compile(
    r"\b(more|less|fewer|higher|lower|larger|smaller|greater|older|younger|longer|shorter|faster|slower"
    r"|stronger|weaker|better|worse|earlier|later)\b(?=(?: [\w-]+){0,2} than\b)"
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a sentence stands: names and numbers to change it with, and what it may not become."""

    text: str
    others: Sequence[str] = field(default=())
    """Sentences of other passages about the same."""


@dataclass(frozen=True, slots=True)
class Changed:
    how: str
    text: str


def changed(sentence: str, around: Surroundings, draw: Random) -> list[Changed]:
    """The sentence in every way in which it can be changed, one after the other."""
    made = [Changed(how, new) for how, way in WAYS.items() if (new := way(sentence, around, draw))]
    here = _flat(around.text)
    return [one for one in made if _flat(one.text) not in here and one.text != sentence]


def is_fit(sentence: str) -> bool:
    """A whole sentence of ordinary length."""
    words = sentence.split()
    whole = sentence[:1].isupper() and sentence.endswith(".") and "\n" not in sentence
    return whole and FEWEST_WORDS <= len(words) <= MOST_WORDS


def number(sentence: str, around: Surroundings, draw: Random) -> str | None:
    """Another number: one that the text has elsewhere, or one that it has nowhere."""
    places = list(_NUMBER.finditer(sentence))
    if not places:
        return None
    place = draw.choice(places)
    known = {found[0] for found in _NUMBER.finditer(around.text)} - {one[0] for one in places}
    alike = sorted(
        one for one in known if len(one) == len(place[0]) and ("." in one) == ("." in place[0])
    )
    new = draw.choice(alike) if alike and draw.random() < 0.5 else _other_value(place[0], draw)
    return _put(sentence, place, new)


def _other_value(written: str, draw: Random) -> str:
    digits = written.replace(",", "")
    if "." in digits:
        places = len(digits.split(".")[1])
        return f"{float(digits) * draw.choice((0.5, 1.5, 2.0, 3.0)) + 0.1:.{places}f}"
    value = int(digits)
    if _EARLIEST_YEAR <= value <= _LAST_YEAR and "," not in written:
        return str(value + draw.choice((-31, -12, -7, -2, 3, 9, 14, 40)))
    new = max(0, value + draw.choice((-1, 1)) * max(1, int(value * draw.uniform(0.1, 0.6))))
    new = new if new != value else value + 2
    return f"{new:,}" if "," in written else str(new)


def name(sentence: str, around: Surroundings, draw: Random) -> str | None:
    """Another name, which the same text or one about the same mentions."""
    own = _names(sentence)
    pool = _names(around.text) or []
    pool += [one for other in around.others for one in _names(other)]
    words = set(sentence.split())
    free = [one for one in dict.fromkeys(text for text, _ in pool) if not words & set(one.split())]
    draw.shuffle(own)
    for text, place in own:
        alike = [one for one in free if len(one.split()) == len(text.split())]
        if alike:
            return _put(sentence, place, draw.choice(alike))
    return None


def exchanged(sentence: str, _around: Surroundings, draw: Random) -> str | None:
    """Two names in each other's place, not where they are only listed side by side."""
    own = _names(sentence)
    pairs = [
        (one, other)
        for at, one in enumerate(own)
        for other in own[at + 1 :]
        if one[0] not in other[0]
        and other[0] not in one[0]
        and not _LISTED.match(sentence[one[1].end() : other[1].start()])
    ]
    if not pairs:
        return None
    (first, one), (second, other) = draw.choice(pairs)
    middle = sentence[one.end() : other.start()]
    return f"{sentence[: one.start()]}{second}{middle}{first}{sentence[other.end() :]}"


def negated(sentence: str, _around: Surroundings, _draw: Random) -> str | None:
    denied = _NOT.search(sentence)
    if denied:
        return sentence[: denied.end() - len(" not")] + sentence[denied.end() :]
    place = _AUXILIARY.search(sentence)
    if place is None:
        return None
    first = place[1].split()[0]
    return _put(sentence, place, place[1].replace(first, f"{first} not", 1))


def direction(sentence: str, _around: Surroundings, draw: Random) -> str | None:
    """One word turned into its opposite."""
    places = [one for one in re.finditer(r"\b[a-z]+\b", sentence) if one[0] in _OPPOSITE]
    places = [one for one in places if _OPPOSITE[one[0]] not in sentence.split()]
    if not places:
        return None
    place = draw.choice(places)
    return _put(sentence, place, _OPPOSITE[place[0]])


def comparison(sentence: str, _around: Surroundings, _draw: Random) -> str | None:
    """What is compared, the other way round."""
    found = _THAN.search(sentence)
    if found is None:
        return None
    return _put(sentence, found, _OPPOSITE.get(found[1], "more"))


def quantifier(sentence: str, _around: Surroundings, draw: Random) -> str | None:
    """More general than the text is."""
    places = [
        one
        for one in _QUANTIFIER.finditer(sentence)
        if one.start() and not _NOT_FREE.search(sentence[: one.start()])
    ]
    if not places:
        return None
    place = draw.choice(places)
    return _put(sentence, place, _QUANTIFIERS[place[1]])


def other_passage(sentence: str, around: Surroundings, _draw: Random) -> str | None:
    """What another text about the same says: the sentence that shares most words with this one."""
    here = set(sentence.lower().split()) | set(around.text.lower().split())
    fit = [one for one in around.others if is_fit(one)]
    return max(fit, key=lambda one: _shared(one, here), default=None)


WAYS: dict[str, Callable[[str, Surroundings, Random], str | None]] = {
    "number": number,
    "name": name,
    "names exchanged": exchanged,
    "negated": negated,
    "direction": direction,
    "comparison": comparison,
    "quantifier": quantifier,
    "other passage": other_passage,
}
MINIMAL = ("number", "name", "names exchanged", "negated", "direction", "comparison")
"""Those that change one thing of a true sentence."""

_PARENTHESIS = re.compile(r" \([^()]*\)")
_RELATIVE = re.compile(r", (?:which|who|whose|where) [^,;()]+,(?= (?!and|or|but)\w)")
_TAIL = re.compile(r", (?:which|who|where|including|although|while|making|leading) [^,;]+(?=\.$)")
_OPENING = re.compile(
    r"^(In|On|At|During|Since|By|After) ([^,;:]{3,40}), ((?!and|or)[A-Za-z][^,]+)\.$"
)


def reworded(sentence: str) -> list[str]:
    """True sentences in other words: a clause less, or the opening at the end."""
    made = [_PARENTHESIS.sub("", sentence), _RELATIVE.sub("", sentence, count=1)]
    made.append(_TAIL.sub("", sentence))
    if opening := _OPENING.match(sentence):
        body = opening[3][0].upper() + opening[3][1:]
        made += [f"{body}.", f"{body} {opening[1].lower()} {opening[2]}."]
    return [one for one in dict.fromkeys(made) if one != sentence and len(one.split()) > 4]


def _names(text: str) -> list[tuple[str, re.Match[str]]]:
    return [(one[0], one) for one in _NAME.finditer(text) if one[0].split()[0] not in _NO_NAMES]


def _put(text: str, place: re.Match[str], new: str) -> str:
    return f"{text[: place.start()]}{new}{text[place.end() :]}"


def _shared(sentence: str, here: set[str]) -> float:
    words = set(sentence.lower().split())
    return len(words & here) / max(1, len(words))


def _flat(text: str) -> str:
    return " ".join(text.lower().split())
