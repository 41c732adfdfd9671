"""How far a text carries a claim: the trained judge, the one by words, and which to ask."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias, get_args

from secondlook.errors import ModelUnavailable, SecondlookError, UsageError
from secondlook.reading.numbers import MONTHS, missing_numbers, numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from importlib.resources.abc import Traversable

    from secondlook.reading.port import Judge

JudgeName: TypeAlias = Literal["reader", "coverage"]
DEFAULT_JUDGE: Final[JudgeName] = "reader"
DEFAULT_MIN_SUPPORT: Final = 0.6
"""Below it a sentence counts as unsupported, whoever judges; measured in docs/verify.md."""

LEAST_QUOTED: Final = 0.2  # How surely a quote by itself must say that a claim answers its question

_MARK = re.compile(r"\[\d{1,6}(?:\s?[,;\u2013-]\s?\d{1,6})*\]")


class Support(Protocol):
    """Judges claims by the evidence given for each, without any other knowledge."""

    @property
    def name(self) -> str: ...

    def support(self, claims: Sequence[tuple[str, str]]) -> list[float]:
        """For each (claim, evidence) how far the evidence carries the claim, from 0 to 1."""

    def together(self, asked: Sequence[tuple[str, str]]) -> list[float] | None:
        """For each (question and answer, evidence) a logit of how far the evidence says that this
        is the answer; None of a judge that was not trained for it."""

    def answers(
        self, question: str, claims: Sequence[tuple[str, Sequence[str]]]
    ) -> list[float] | None:
        """The same for each claim as a probability, by several views of its evidence: "No." or a
        bare number says nothing without its question. None as above."""


def joined_evidence(places: Iterable[tuple[str, str]]) -> str:
    """What a claim is judged by: each (title, quote) that it cites, quotes of one document below
    one title. Everybody must join alike."""
    by_title: dict[str, list[str]] = {}
    for title, quote in places:
        by_title.setdefault(title, []).append(quote)
    return "\n\n".join(part for title, quotes in by_title.items() for part in (title, *quotes))


def without_marks(claim: str) -> str:
    """The claim without the marks of its citations: [1], [1, 3]."""
    return _MARK.sub(" ", claim)


def is_bare(claim: str) -> bool:
    """Whether it says too little to be judged without its question."""
    return len(_terms(without_marks(claim))) < _FEW_TERMS


def load_support(spec: str = DEFAULT_JUDGE) -> Support:
    """The judge that `spec` names: "reader", the trained one, or "coverage", which goes by words.
    Where the installed reader is not the one whose probabilities are known, coverage stands in and
    says why: see `stands_in`. The reader is opened when it is first needed."""
    from secondlook.reading import load_embedded_reader, weights

    if spec == "coverage":
        return CoverageSupport()
    if spec != "reader":
        names = " or ".join(f'"{name}"' for name in get_args(JudgeName))
        raise UsageError(f"unknown judge of support {spec!r}", hint=f"use {names}")
    head = shipped_head()
    try:
        reader = weights.find_weights("reader").identity
    except ModelUnavailable as missing:
        return CoverageSupport(f"{missing.message}, so support is judged by words alone")
    if reader != head.reader:
        return CoverageSupport(
            f"the judge of support was fitted for the reader {head.reader!r}, the installed one is "
            f"{reader!r}: support is judged by words alone"
        )
    return ReaderSupport(load_embedded_reader, head)


def stands_in(judge: Support) -> str | None:
    """Why this judge is not the one that was asked for; None where it is."""
    return (judge.instead or None) if isinstance(judge, CoverageSupport) else None


def sieve_of(judge: Support) -> Support:
    """Who finds the few places that are worth asking the judge about: a pass of the reader costs
    a hundred times what counting words does."""
    return CoverageSupport() if isinstance(judge, ReaderSupport) else judge


_OPENING = re.compile(
    r"(?:(?:yes|no|indeed|overall|in short|in summary"
    r"|(?:according to|based on) (?:the |this )?(?:given |provided )?"
    r"(?:text|passages?|documents?|evidence|context|sources?))[,:.]\s+)+",
    re.IGNORECASE,
)
"""What an answer may begin with and no document says."""
_FEWEST_LEFT = 2
_FEW_TERMS = 3  # telling words; with fewer, up to a fourth of wrong answers pass by themselves
_LONG = 6  # Sentences. Quotes have one to three of them, each under a title.
_LIKELY = 3


@dataclass(frozen=True, slots=True)
class ReaderSupport:
    """The probability that the reader's support head gives, sentence by sentence: a claim of
    several is worth what the weakest is worth. Verbatim sentences are supported by definition, so
    that the model is opened only where there is something to judge."""

    judge: Callable[[], Judge]
    head: SupportHead

    @property
    def name(self) -> str:
        return f"reader@1:{self.head.reader}"

    def support(self, claims: Sequence[tuple[str, str]]) -> list[float]:
        said: list[tuple[list[str], str]] = []
        for claim, evidence in claims:
            # The sentences of a claim, or all of it at once where it is verbatim.
            whole = without_marks(claim)
            parts = [whole] if is_verbatim(whole, evidence) else sentences_of(whole)
            spoken = [" ".join(one.split()) for one in parts if any(map(str.isalnum, one))]
            said.append((spoken, evidence))
        pairs = dict.fromkeys((one, evidence) for spoken, evidence in said for one in spoken)
        found = {pair: float(is_verbatim(*pair)) for pair in pairs}
        rest = [pair for pair in pairs if not found[pair] and pair[1].strip()]
        asked = [(_without_opening(claim), evidence) for claim, evidence in rest]
        logits = supporting_logits(self.judge(), asked) if rest else []
        for pair, logit in zip(rest, logits, strict=True):
            found[pair] = min(self.head.probability(logit), cap(*pair, self.head.caps))
        return [
            round(min((found[one, evidence] for one in spoken), default=0.0), 4)
            for spoken, evidence in said
        ]

    def together(self, asked: Sequence[tuple[str, str]]) -> list[float] | None:
        return self.judge().judge(asked)

    def answers(
        self, question: str, claims: Sequence[tuple[str, Sequence[str]]]
    ) -> list[float] | None:
        spoken = [" ".join(without_marks(claim).split()) for claim, _ in claims]
        asked = [
            [(f"{question} {one}", view) for view in views]
            for one, (_, views) in zip(spoken, claims, strict=True)
        ]
        pairs = list(dict.fromkeys(pair for some in asked for pair in some))
        logits = dict(zip(pairs, self.judge().judge(pairs), strict=True)) if pairs else {}
        found = []
        for one, some, (_, views) in zip(spoken, asked, claims, strict=True):
            evidence = "\n\n".join(views)
            absent = missing_numbers(one, f"{question}\n\n{evidence}")
            if not some or absent or _echoes(one, question, evidence):
                found.append(0.0)
                continue
            logit = sum(logits[pair] for pair in some) / len(some)
            found.append(round(self.head.answer_probability(logit), 4))
        return found


def _echoes(claim: str, question: str, evidence: str) -> bool:
    """Whether more of its words come from the question alone than from the evidence."""
    said, known = _terms(claim), _terms(evidence)
    return len((said & _terms(question)) - known) > len(said & known)


def supporting_logits(judge: Judge, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """The judge's logit of each pair. Long evidence is looked at twice, as a whole and around the
    sentences that share most words with the claim, and the two views count alike: in a long text
    there is something that goes with nearly every claim."""
    near = [_neighbourhoods(*pair) for pair in pairs]
    asked = dict.fromkeys([*pairs, *(one for some in near for one in some)])
    known = dict(zip(asked, judge.judge(list(asked)), strict=True))
    return [
        (known[pair] + max(known[one] for one in some)) / 2 if some else known[pair]
        for pair, some in zip(pairs, near, strict=True)
    ]


def _neighbourhoods(claim: str, evidence: str) -> list[tuple[str, str]]:
    """The claim with each of the likeliest sentences and their neighbours; none where the evidence
    is short."""
    sentences = sentences_of(evidence)
    if len(sentences) < _LONG:
        return []
    # How many of the claim's telling words each sentence has.
    wanted = _terms(claim)
    shared = [len(wanted & _terms(sentence)) for sentence in sentences]
    likely = sorted(range(len(sentences)), key=lambda at: -shared[at])[:_LIKELY]
    return [(claim, " ".join(sentences[max(0, at - 1) : at + 2])) for at in sorted(likely)]


def _without_opening(claim: str) -> str:
    rest = _OPENING.sub("", claim, count=1)
    return rest if len(rest.split()) >= _FEWEST_LEFT else claim


# A judge that goes by words, numbers and names.

Cap: TypeAlias = Literal["number", "name", "not"]
ALL_CAPS: Final[tuple[Cap, ...]] = ("number", "name", "not")
MISSING_NUMBER: Final = 0.2
ONE_SIDED_NOT: Final = 0.3
MISSING_NAME: Final = 0.4
"""The most that a claim can reach when the evidence lacks one of its numbers or names, or when
only one of the two says "not"."""

_TOGETHER = 0.5  # How much it counts that the words stand in two neighbouring sentences
_NEAR = 0.6  # Share of a claim's words that a clause must have to be compared for its "not"
_SHORTEST_HEAD = 4  # American is known where America is: so many letters must agree at least
_LONGEST_HEAD = 24
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

    instead: str = ""  # Why it stands in for a judge that was asked for and cannot be had

    @property
    def name(self) -> str:
        return "coverage@1"

    def support(self, claims: Sequence[tuple[str, str]]) -> list[float]:
        return [_covered(without_marks(claim), evidence) for claim, evidence in claims]

    def together(self, asked: Sequence[tuple[str, str]]) -> list[float] | None:  # noqa: ARG002
        return None

    def answers(
        self,
        question: str,  # noqa: ARG002
        claims: Sequence[tuple[str, Sequence[str]]],  # noqa: ARG002
    ) -> list[float] | None:
        return None


def _covered(claim: str, evidence: str) -> float:
    wanted = _terms(claim)
    if wanted:
        # Words that stand together say more than words strewn over a long text.
        sentences = [_terms(sentence) for sentence in sentences_of(evidence)] or [frozenset[str]()]
        whole = len(wanted & frozenset().union(*sentences))
        pairs = zip(sentences, [*sentences[1:], frozenset[str]()], strict=True)
        together = max(len(wanted & (one | other)) for one, other in pairs)
        score = ((1 - _TOGETHER) * whole + _TOGETHER * together) / len(wanted)
    else:  # no telling word: its numbers must be there, or the very signs
        signs = " ".join(claim.split())
        stands = bool(signs) and signs in " ".join(evidence.split())
        score = float(bool(numbers(claim)) or stands)
    if score > MISSING_NUMBER:  # no cap is lower than that
        score = min(score, cap(claim, evidence))
    return round(score, 4)


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


def _contradicts(claim: str, evidence: str) -> bool:
    """Whether a clause of the claim says "not" and the clause nearest to it does not, or the
    other way round."""
    theirs = [(clause, _terms(clause)) for clause in _clauses(evidence)]
    for ours in _clauses(claim):
        wanted = _terms(ours)
        most = max((len(wanted & terms) for _, terms in theirs), default=0)
        if most and most >= _NEAR * len(wanted):
            nearest = [clause for clause, terms in theirs if len(wanted & terms) == most]
            if all(_negated(clause) != _negated(ours) for clause in nearest):
                return True
    return False


def _clauses(text: str) -> list[str]:
    return [clause for one in sentences_of(text) for clause in _CLAUSE_END.split(one)]


def _negations(text: str) -> list[int]:
    """Which words of a text say "not"."""
    words = [word.lower().replace("\u2019", "'") for word in _WORD.findall(text)]
    return [at for at, word in enumerate(words) if word in _NEGATIONS or word.endswith("n't")]


def _negated(text: str) -> bool:
    return len(_negations(text)) % 2 == 1


def _missing_names(claim: str, evidence: str) -> list[str]:
    """Names of the claim of which the evidence has neither the word nor a form of it."""
    names = _names(claim)
    if not names:
        return []
    words = {_plain(word) for word in _WORD.findall(evidence)}
    stems = frozenset(map(_stem, words))
    heads = {word[:length] for word in words for length in range(_SHORTEST_HEAD, _LONGEST_HEAD)}
    # The first letters of all capitalised words, so that NFL is found in its long form.
    initials = "".join(word[0] if word[0].isupper() else " " for word in _WORD.findall(evidence))

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
        found += [word for word in listed[:1] if (len(word) > 1 and word.isupper())]
        found += [word for word in listed[1:] if word[0].isupper()]
    if len(telling) > _FEW_WORDS and all(word[0].isupper() for word in telling):
        found = []  # a heading: its capitals tell nothing
    return [name for name in found if _plain(name) not in _STOP_WORDS and len(name) > 1]


def sentences_of(text: str) -> list[str]:
    return [part for part in _SENTENCE_END.split(text) if part and part.strip()]


@lru_cache(maxsize=4096)
def _terms(text: str) -> frozenset[str]:
    """The telling words of a text, as stems. The same sentences are asked for again and again."""
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


# Whether a claim is said word for word: then nobody needs to be asked whether it is supported.

_BREAK = "\ue000"
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n")
_SAME = str.maketrans({"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"'})
_BEFORE = (
    rf"(?:^|{_BREAK} ?|[!?][\"')\]]{{0,3}} |(?:[a-z]{{4}}|\d\d)[\"')\]]{{0,3}}\.[\"')\]]{{0,3}} )"
)
"""Where a sentence begins. A full stop behind a short word may be an abbreviation's; then it is no
beginning, for what stands before it may turn the sense: "it is not true that Dr. Smith left"."""
_AFTER = rf"(?=$| ?{_BREAK}|[\"')\]]{{0,3}} )"
_ENDS = ".!?"


def is_verbatim(claim: str, evidence: str) -> bool:
    """Whether the claim is a run of whole sentences of the evidence, or all of a quote of it. Half
    a sentence does not count: what was left out may be the "not"."""
    words = claim.translate(_SAME).split()
    if not words:
        return False
    text = _PARAGRAPH.sub(f" {_BREAK} ", evidence.translate(_SAME))
    said = rf"(?: {_BREAK})? ".join(map(re.escape, words))
    # A claim without a full stop must end where the sentence or the paragraph does.
    ended = (
        said
        if words[-1].rstrip("\"')]")[-1:] in _ENDS
        else rf"{said}(?:[.!?](?![^\s\"')\]])|(?=$| ?{_BREAK}))"
    )
    return re.search(_BEFORE + ended + _AFTER, " ".join(text.split())) is not None


# What turns the reader's raw judgement into a probability: data that belongs to one reader.

FORMAT: Final = 1
_AGAIN = "python -m benchmarks.groundedness fit makes a new one"


class SupportHeadError(SecondlookError):
    """The probabilities of a support head cannot be used."""


@dataclass(frozen=True, slots=True)
class SupportHead:
    """Probability = 1 / (1 + exp(-(bias + weight * logit))), capped by what must not be missing."""

    reader: str  # Identity of the reader that it was fitted for
    bias: float
    weight: float
    caps: tuple[Cap, ...] = ALL_CAPS
    answer: tuple[float, float] = (0.0, 1.0)
    """Bias and weight for a claim that is judged together with its question."""

    def probability(self, logit: float) -> float:
        return _logistic(self.bias + self.weight * logit)

    def answer_probability(self, logit: float) -> float:
        return _logistic(self.answer[0] + self.answer[1] * logit)


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value)) if value > 0 else math.exp(value) / (1 + math.exp(value))


@lru_cache(maxsize=1)
def shipped_head() -> SupportHead:
    return read_head(files(__package__) / "head.json")


def read_head(file: Traversable) -> SupportHead:
    try:
        form = json.loads(file.read_text("utf-8"))
        caps = tuple(one for one in ALL_CAPS if one in form["caps"])
        bias, weight = map(float, form["answer"])
        head = SupportHead(
            str(form["reader"]), float(form["bias"]), float(form["weight"]), caps, (bias, weight)
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SupportHeadError(
            f"{str(file)!r} is no support head: {error!r}", hint=_AGAIN
        ) from error
    numbers_found = (head.bias, head.weight, *head.answer)
    sound = all(map(math.isfinite, numbers_found)) and head.weight > 0 and head.answer[1] > 0
    if form.get("format") != FORMAT or not sound:
        raise SupportHeadError(
            f"{str(file)!r} is a support head of format {form.get('format')!r} with bias "
            f"{head.bias!r} and weight {head.weight!r}",
            hint=_AGAIN,
        )
    return head
