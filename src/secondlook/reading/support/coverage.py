"""A judge that goes by words, numbers and names.

`coverage` knows nothing of meaning. It sees what is not there at all: a number, a name or most
of the words that the evidence never mentions, and a "not" on one side only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from secondlook.reading.numbers import MONTHS, missing_numbers, numbers
from secondlook.reading.support.port import without_marks

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

Cap: TypeAlias = Literal["number", "name", "not"]
ALL_CAPS: Final[tuple[Cap, ...]] = ("number", "name", "not")
MISSING_NUMBER: Final = 0.2
ONE_SIDED_NOT: Final = 0.3
MISSING_NAME: Final = 0.4
"""The most that a claim can reach when the evidence lacks one of its numbers or names, or when
only one of the two says "not"."""

_TOGETHER = 0.5
"""How much it counts that the words stand in two neighbouring sentences."""
_NEAR = 0.6
"""Share of a claim's words that a clause must have to be compared for its "not"."""
_SHORTEST_HEAD = 4
"""American is known where America is: so many letters must agree at least."""
_LONGEST_HEAD = 24
_WORTH_REMEMBERING = 1000
"""Characters: longer texts are not sentences and do not come back."""
_FEW_WORDS = 3

_STOP_WORDS = frozenset(
    """a about above according after again against all also although am an and any are around as at
    be because been before being below between both but by can could did do does doing done during
    each either few for from further had has have having he her here hers herself him himself his
    how however i if in into is it its itself just may me might more most much must my myself of
    off on once only onto or other our ours ourselves out over own per quite rather same shall she
    should since so some such than that the their theirs them themselves then there therefore these
    they this those though through thus to too toward towards under until up upon us very was we
    were what when where whether which while who whom whose why will with within would you your
    yours yourself yourselves""".split()  # noqa: SIM905
)
_NEGATIONS = frozenset(
    "not no never none nobody nothing nowhere neither nor without cannot hardly".split()  # noqa: SIM905
)
_REACH_OF_NOT = 4
"""Words: "not yet been formally approved"."""
_BOUNDS = frozenset("since until till before than except unless only".split())  # noqa: SIM905
_YES_OR_NO = re.compile(
    r"\W*(?:is|are|was|were|do|does|did|can|could|may|might|must|shall|should|will|would|has|have"
    r"|had)(?:n['\u2019]t)?\b",
    re.IGNORECASE,
)
_NO_SPACES = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af"
)
_WORD = re.compile(
    rf"[{_NO_SPACES}]+|(?:[^\W\d_{_NO_SPACES}]|[\u0300-\u036f])+(?:['\u2019][^\W\d_]+)*"
)
_RUN = re.compile(f"[{_NO_SPACES}]")
_SENTENCE_END = re.compile(
    r"(?<=[.!?\u2026])[\"'\u201d\u2019)\]]{0,4}\s++(?=\W{0,4}[^\W_a-z])|\n[^\S\n]*+\n|[\u3002\uff01\uff1f]"
)
_CLAUSE_END = re.compile(
    r"[,;:\u2013\u2014()]\s|\s(?:but|because|although|though|while|until|so)\s"
)
_LONG_MONTHS = {name[:3]: name for name in MONTHS} | {"sept": "september"}


@dataclass(frozen=True, slots=True)
class CoverageSupport:
    """Share of a claim's words that the evidence has, capped by what must not be missing."""

    instead: str = ""
    """Why it stands in for a judge that was asked for and cannot be had."""

    @property
    def name(self) -> str:
        return "coverage@1"

    def support(self, claims: Sequence[tuple[str, str]]) -> list[float]:
        return [_support(claim, evidence) for claim, evidence in claims]


def _support(claim: str, evidence: str) -> float:
    claim = without_marks(claim)
    wanted = _terms(claim)
    if wanted:
        score = _coverage(wanted, evidence)
    else:  # no telling word: its numbers must be there, or the very signs
        score = float(bool(numbers(claim)) or _stands_in(claim, evidence))
    if score > MISSING_NUMBER:  # no cap is lower than that
        score = min(score, cap(claim, evidence))
    return round(score, 4)


def _stands_in(claim: str, evidence: str) -> bool:
    signs = " ".join(claim.split())
    return bool(signs) and signs in " ".join(evidence.split())


def _coverage(wanted: frozenset[str], evidence: str) -> float:
    """Words that stand together say more than words strewn over a long text."""
    sentences = [_terms(sentence) for sentence in sentences_of(evidence)] or [frozenset[str]()]
    whole = len(wanted & frozenset().union(*sentences))
    pairs = zip(sentences, [*sentences[1:], frozenset[str]()], strict=True)
    together = max(len(wanted & (one | other)) for one, other in pairs)
    return ((1 - _TOGETHER) * whole + _TOGETHER * together) / len(wanted)


def cap(claim: str, evidence: str, which: Collection[Cap] = ALL_CAPS) -> float:
    """The most that the claim can reach, by those of the caps that are named."""
    most = 1.0
    if "number" in which and missing_numbers(claim, evidence):
        most = MISSING_NUMBER
    if "name" in which and most > MISSING_NAME and _missing_names(claim, evidence):
        most = MISSING_NAME
    if "not" in which and most > ONE_SIDED_NOT and _contradicts(claim, evidence):
        most = ONE_SIDED_NOT
    return most


def denies(sentence: str, span: tuple[int, int], question: str) -> bool:
    """Whether the sentence says "not" of what the question takes for granted, around the answer
    at `span`: "The board did not approve it", asked who approved it.

    Yes-or-no questions take nothing for granted, and a span with the "not" in it tells of it.
    """
    if _YES_OR_NO.match(question) or _negated(question) or _negated(sentence[slice(*span)]):
        return False
    asked = _terms(question) - {_stem(_plain(name)) for name in _names(question)}
    clauses = list(_placed_clauses(sentence))
    own = next((at for at, (end, _) in enumerate(clauses) if span[0] < end), len(clauses) - 1)
    if asked & _terms(clauses[own][1]):
        return bool(asked & _denied(clauses[own][1]))
    others = [clause for at, (_, clause) in enumerate(clauses) if at != own]
    said = frozenset[str]().union(*(_terms(one) for one in others if not _negated(one)))
    return any((asked - said) & _denied(one) for one in others)


def _placed_clauses(sentence: str) -> Iterator[tuple[int, str]]:
    """Each clause with the place where the next one begins."""
    start = 0
    for found in _CLAUSE_END.finditer(sentence):
        yield found.end(), sentence[start : found.start()]
        start = found.end()
    yield len(sentence), sentence[start:]


def _denied(clause: str) -> frozenset[str]:
    """Stems of the words that a "not" stands right before; none where it only sets a bound, as in
    "not dredged since 2016"."""
    words = [_plain(word) for word in _WORD.findall(clause)]
    if not _negated(clause) or not _BOUNDS.isdisjoint(words):
        return frozenset()
    near = (
        word
        for at, one in enumerate(words)
        if one in _NEGATIONS or one.endswith("n't")
        for word in words[at + 1 : at + 1 + _REACH_OF_NOT]
    )
    return frozenset(map(_stem, near))


def _contradicts(claim: str, evidence: str) -> bool:
    """Whether a clause of the claim says "not" and the clause nearest to it does not, or the
    other way round."""
    theirs = [(clause, _terms(clause)) for clause in _clauses(evidence)]
    return any(_disagrees(clause, _terms(clause), theirs) for clause in _clauses(claim))


def _disagrees(ours: str, wanted: frozenset[str], theirs: list[tuple[str, frozenset[str]]]) -> bool:
    overlaps = [len(wanted & terms) for _, terms in theirs]
    most: int = max(overlaps, default=0)
    if not most or most < _NEAR * len(wanted):
        return False
    nearest = [
        clause for (clause, _), shared in zip(theirs, overlaps, strict=True) if shared == most
    ]
    return all(_negated(clause) != _negated(ours) for clause in nearest)


def _clauses(text: str) -> list[str]:
    return [clause for one in sentences_of(text) for clause in _CLAUSE_END.split(one)]


def _negated(text: str) -> bool:
    words = [str(word).lower().replace("\u2019", "'") for word in _WORD.findall(text)]
    return sum(word in _NEGATIONS or word.endswith("n't") for word in words) % 2 == 1


def _missing_names(claim: str, evidence: str) -> list[str]:
    """Names of the claim of which the evidence has neither the word nor a form of it."""
    names = _names(claim)
    if not names:
        return []
    words = {_plain(word) for word in _WORD.findall(evidence)}
    stems = frozenset(map(_stem, words))
    heads = {word[:length] for word in words for length in range(_SHORTEST_HEAD, _LONGEST_HEAD)}
    initials = _initials(evidence)

    def known(name: str) -> bool:
        plain = _plain(name)
        head = plain[: max(_SHORTEST_HEAD, len(plain) - 3)][: _LONGEST_HEAD - 1]
        return _stem(plain) in stems or head in heads or (name.isupper() and name in initials)

    return [name for name in names if not known(name)]


def _names(claim: str) -> list[str]:
    """Words with a capital that no sentence demands, and acronyms anywhere."""
    found: list[str] = []
    telling: list[str] = []
    for sentence in sentences_of(claim):
        listed = _WORD.findall(sentence)
        telling += [word for word in listed if _plain(word) not in _STOP_WORDS]
        found += [word for word in listed[:1] if _is_acronym(word)]
        found += [word for word in listed[1:] if word[0].isupper()]
    if len(telling) > _FEW_WORDS and all(word[0].isupper() for word in telling):
        found = []  # a heading: its capitals tell nothing
    return [name for name in found if _plain(name) not in _STOP_WORDS and len(name) > 1]


def _is_acronym(word: str) -> bool:
    return len(word) > 1 and word.isupper()


def _initials(text: str) -> str:
    """The first letters of all capitalised words, so that NFL is found in its long form."""
    return "".join(word[0] if word[0].isupper() else " " for word in _WORD.findall(text))


def shared_terms(claim: str, sentences: Sequence[str]) -> list[int]:
    """How many of the claim's telling words each sentence has."""
    wanted = _terms(claim)
    return [len(wanted & _terms(sentence)) for sentence in sentences]


def sentences_of(text: str) -> list[str]:
    return [part for part in _SENTENCE_END.split(text) if part and part.strip()]


def _terms(text: str) -> frozenset[str]:
    """The telling words of a text, as stems. The same sentences are asked for again and again."""
    return _remembered_terms(text) if len(text) < _WORTH_REMEMBERING else _new_terms(text)


@lru_cache(maxsize=4096)
def _remembered_terms(text: str) -> frozenset[str]:
    return _new_terms(text)


def _new_terms(text: str) -> frozenset[str]:
    found: set[str] = set()
    for word in _WORD.findall(text):
        if _RUN.match(word):
            found.update(word[at : at + 2] for at in range(max(1, len(word) - 1)))
            continue
        plain = _plain(word)
        if plain not in _STOP_WORDS and plain not in _NEGATIONS and not plain.endswith("n't"):
            found.add(_stem(plain))
    return frozenset(found)


def _plain(word: str) -> str:
    word = word.casefold().replace("\u2019", "'").removesuffix("'s")
    return _LONG_MONTHS.get(word, word)


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    return _stemmer()(word)


@lru_cache(maxsize=1)
def _stemmer() -> Callable[[str], str]:
    import Stemmer

    stem: Callable[[str], str] = Stemmer.Stemmer("english", 0).stemWord
    return stem
