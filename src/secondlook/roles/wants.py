"""What a question wants, as the embedded understander reads it: one fact, several that belong
together and how, a longer account, a summary, or a word about the library itself. The understander
writes a form: `one`, `last: Who signed the lease? || When was #1 born?`, `summary: the lease`.
Parts that it is not sure of, that lose words of the question or add some are not used: the question
then is searched for as a whole."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final, Literal, cast, get_args

from secondlook.reading.languages import ENGLISH, other_language
from secondlook.reading.understander import understander
from secondlook.retrieval.terms import query_terms, terms
from secondlook.roles.follow_up import WORDS
from secondlook.tables.understand.forms import SIGNS

Combining = Literal[
    "last", "years", "difference", "sum", "earliest", "latest", "least", "most", "same", "both",
    "each",
]  # fmt: skip
"""`last`: the answer is that of the last part. `years`: years between two dates. `difference` and
`sum`: of numbers. `earliest` and `latest`: whose date it is; `least` and `most`: whose number.
`same`: whether the answers are the same. `both`: whether each part is so. `each`: all of them."""
Kind = Literal[
    "one", "parts", "several", "survey", "account", "summary", "files", "hello", "thanks", "help",
    "unclear",
]  # fmt: skip
"""`several`: facts from several places, but which is not known. `survey`: what each document of a
set says. `files`: which there are. `unclear`: a word stands for something that was not said."""
Act = Literal[
    "count", "list", "sum", "mean", "earliest", "latest", "most", "least", "both",
]  # fmt: skip
"""What is made of what the documents of a set say."""
TALK: Final = frozenset({"files", "hello", "thanks", "help"})  # What is answered from the catalogue
LONGEST: Final = 600  # Characters. What is longer tells of many things.
LIKELY: Final = 0.3  # A form that the understander holds for less likely is not used
SURELY_ONE: Final = 0.8
"""A question that it holds less likely for one may need several facts. Chosen on `hotpot` and
`squad2-dev`, 500 questions each."""
SURELY_TALK: Final = 0.9  # Of a greeting and the like: a question must not be lost in it
MOST_PARTS: Final = 4
_PAIR: Final = 2
NEW: Final = 3
"""Telling words that a part may have which the question has not, such as "born" for "older"."""
LONGEST_PART: Final = 300
HOLE: Final = re.compile(r"\{(\d+)\}")
_WRITTEN_HOLE: Final = re.compile(r"#\s?(\d)")
_BARS: Final = re.compile(r"\s*\|\s*\|\s*")
_WAYS: Final = frozenset(get_args(Combining))
_KINDS: Final = frozenset(get_args(Kind)) - {"parts", "survey"}
_SURVEY: Final = re.compile(rf"survey ({'|'.join(get_args(Act))})(?: (\d+))?( by)?")
_SAID: Final = {words: sign for sign, words in SIGNS.items()}
_FIELD: Final = re.compile(
    rf"(?P<question>[^?]+\?)(?: (?P<sign>{'|'.join(sorted(_SAID, key=len)[::-1])}) (?P<value>.+))?"
)
_ABOUT: Final = frozenset({"summary", "files", "unclear"})
_EVERYTHING: Final = re.compile(
    r"(?:all |each )?(?:of )?(?:it|this|that|these|those|them|everything|all"
    r"|(?:(?:the|my|our|your|this|these|those|all) )*(?:documents?|files?|folders?|papers"
    r"|librar(?:y|ies)|collection|archive))",
    re.IGNORECASE,
)
_FORM_WORDS: Final = " ".join(
    (
        *(f"{one} {one}:" for one in sorted(_WAYS | _KINDS)),
        "#1 #2 #3 || born founded cost heavy win come",
        f"survey by documents total {' '.join(get_args(Act))} {' '.join(SIGNS.values())} yes no",
    )
)
"""What is written of a form besides words that were said: a comparison may name its measure."""
_ASKS_ABOUT: Final = re.compile(
    r"\s*what(?:['\u2019]s|\s+is|\s+are)\s+(?P<what>.+?)\s+(?:all\s+)?about\W*", re.IGNORECASE
)
_ENDS: Final = " .,;:"
PRONOUN: Final = re.compile(r"\b(?:he|him|his|she|her|it|its|they|them|their)\b", re.IGNORECASE)
_JOINED: Final = re.compile(r",? (?:and|or|&|as well as) |, ")
_SMALL_WORD: Final = re.compile(r"\b[a-z]+\b")
_ENDINGS: Final = ("", "e", "y")


@dataclass(frozen=True, slots=True)
class Split:
    parts: tuple[str, ...]  # In the order they are asked; {1} is what the first came to
    combining: Combining


@dataclass(frozen=True, slots=True)
class Field:
    """What is asked of each document; one whose answer does not meet the condition is left out."""

    question: str
    sign: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class Survey:
    act: Act
    which: str  # The documents, as the question calls them
    fields: tuple[Field, ...] = ()
    most: int = 1  # Of `earliest`, `latest`, `most` and `least`: how many are wanted
    by: bool = False  # The first field says by what the others are grouped


@dataclass(frozen=True, slots=True)
class Want:
    kind: Kind
    split: Split | None = None
    survey: Survey | None = None
    about: str = ""
    """What is to be summarised, or what the files are about; "" is everything. The unclear word."""


ONE: Final = Want("one")


def wanted(question: str) -> Want:
    """Costs a fraction of a search, and is remembered for the questions of late."""
    text = " ".join(question.split())
    text = f"{text[:1].lower()}{text[1:]}"
    if len(text) > LONGEST:
        return Want("several")
    if not text or other_language(text, ENGLISH) is not None:
        return ONE
    written = understander().write(f"wants: {text}", f"{WORDS} {_FORM_WORDS} {_inflected(text)}")
    want = read_form(written.text)
    return ONE if want is None else _used(want, written.likelihood, text)


def _used(want: Want, likely: float, text: str) -> Want:
    """What it is taken for, where it is not likely enough or does not fit the question."""
    if want.split is not None:
        usable = likely >= LIKELY and wrong_parts(want.split, text) is None
        return want if usable else Want("several")
    if want.survey is not None:
        return want if likely >= LIKELY else Want("several")
    if want.kind == "one":
        return ONE if likely >= SURELY_ONE else Want("several")
    if want.kind == "unclear":
        return want if likely >= LIKELY and want.about.casefold() in text.casefold() else ONE
    least = SURELY_TALK if want.kind in TALK else LIKELY
    return replace(want, about=_whole(want.about, text)) if likely >= least else ONE


def summary_of(question: str) -> str | None:
    """What is to be summarised; "" is everything, None where no summary is wanted. "What is X
    about" wants one if a document is called X: that is for the caller to see."""
    want, found = wanted(question), _ASKS_ABOUT.fullmatch(question)
    if want.kind == "summary":
        return want.about
    return _named(found["what"]) if found else None


def _whole(about: str, question: str) -> str:
    """With what is joined to it in the question: "the survey" of "the survey, the plan and ..."."""
    rest = question.partition(about)[2] if about else ""
    return f"{about}{rest.rstrip(' ?.!')}" if _JOINED.match(rest) else about


def _inflected(question: str) -> str:
    """Other forms that its words may take in a part: `die` of `died`, `tall` of `taller`, `painter`
    of `painters`. Not of names, which must stay as they are."""
    words = _SMALL_WORD.findall(question)
    stems = [one[:-cut] for one in words for cut in (1, 2, 3) if len(one) > cut + 2]
    return " ".join(
        [*(f"{one}s" for one in words), *(f"{one}{e}" for one in stems for e in _ENDINGS)]
    )


def is_talk(question: str) -> bool:
    """A greeting, thanks, or a question about the library as a whole: about no document."""
    want = wanted(question)
    return want.kind in TALK and not want.about and not PRONOUN.search(question)


def read_form(written: str) -> Want | None:
    """What the understander wrote; None where it is no form."""
    head, _, rest = (one.strip() for one in written.partition(":"))
    if head in _WAYS:
        parts = [one for one in _BARS.split(_WRITTEN_HOLE.sub(r"{\1}", rest)) if one]
        whole = tuple(f"{one[:1].upper()}{one[1:].rstrip('?. ')}?" for one in parts)
        ok = 1 < len(parts) <= MOST_PARTS
        return Want("parts", Split(whole, cast("Combining", head))) if ok else None
    if found := _SURVEY.fullmatch(head):
        *asked, which = [one for one in _BARS.split(rest) if one] or [""]
        fields = [_FIELD.fullmatch(one) for one in asked]
        if not which or not all(fields) or (found[1] != "count" and not fields):
            return None
        known = tuple(
            Field(one["question"], _SAID.get(one["sign"] or "", ""), one["value"] or "")
            for one in fields
            if one
        )
        act = cast("Act", found[1])
        return Want("survey", survey=Survey(act, which, known, int(found[2] or 1), bool(found[3])))
    if head not in _KINDS or (rest and head not in _ABOUT):
        return None
    return Want(cast("Kind", head), about=rest if head == "unclear" else _named(rest))


def _named(text: str) -> str:
    return "" if is_everything(text) else text


def is_everything(text: str) -> bool:
    return _EVERYTHING.fullmatch(text) is not None


# What parts must be like, whoever writes them.


def wrong_parts(split: Split, question: str, *, most: int = MOST_PARTS) -> str | None:
    """What is wrong with them; None where they can be asked."""
    if not 1 < len(split.parts) <= most:
        return f"{len(split.parts)} questions, not from 2 to {most}"
    return next(chain(_of_form(split), _of_words(split.parts, question)), None)


def _of_form(split: Split) -> Iterator[str]:
    parts, way = split.parts, split.combining
    for at, part in enumerate(parts):
        if not part or len(part) > LONGEST_PART or "\n" in part:
            yield "a question is empty or too long"
        if any(not 0 < int(number) <= at for number in HOLE.findall(part)):
            yield "a question needs an answer that does not come before it"
        if re.search("[{}]", HOLE.sub("", part)):
            yield "a question has a brace that is no hole"
    values = len(value_parts(parts))
    if way == "last" and not HOLE.search(parts[-1]):
        yield "the last question needs no answer before it"
    if way in {"years", "difference"} and values != _PAIR:
        yield f"{way} is of two values"
    if way != "last" and values <= 1:
        yield f"{way} needs several values"


def _of_words(parts: Sequence[str], question: str) -> Iterator[str]:
    """Each must be of the question's own words, and together they must keep most of them."""
    # With the holes, which make one question another.
    said = {frozenset([*terms(part), *map("hole {}".format, HOLE.findall(part))]) for part in parts}
    if len(said) < len(parts):
        yield "a question is repeated"
    asked = set(query_terms(question))
    known = asked | set(terms(question))
    own = [set(query_terms(HOLE.sub(" ", part))) for part in parts]
    if any(not words & asked or len(words - known) > NEW for words in own):
        yield "a question is about something else"
    if 2 * len(set().union(*own) & asked) < len(asked):
        yield "the questions lose what was asked"


def filled(part: str, shorts: Sequence[str]) -> str:
    return HOLE.sub(lambda hole: shorts[int(hole[1]) - 1].strip(_ENDS), part)


def value_parts(parts: Sequence[str]) -> list[int]:
    """Which parts give the values to compute with: those that no later part needs."""
    needed = {int(number) - 1 for part in parts for number in HOLE.findall(part)}
    return [at for at in range(len(parts)) if at not in needed]
