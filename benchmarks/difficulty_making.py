"""Questions that lean on the one before them, made by code from questions that do not.

A name in the question that its passage or the title of the article has as well gives way to a
pronoun ("it", "she", "their") or a vague term ("the river"). What goes before it is a real other
question of the same article that has the same name, with its answer: nothing of the history was
written for the made question, so what resolves it must cope with whatever else is named there.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from secondlook.roles.ambiguity import is_a, mentioned
from secondlook.roles.follow_up import Turn, names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from secondlook.roles.ambiguity import Mentioned

Row = dict[str, Any]

VAGUE_NOUNS = (
    "war", "river", "city", "country", "state", "region", "parliament", "forest", "crisis",
    "company", "university", "church", "treaty", "king", "queen", "element", "plague", "school",
    "organization", "law", "team", "book", "film", "album", "band", "song", "island", "museum",
)  # fmt: skip
FEWEST_SIGNS = 2
"""Times that a passage of the article must go on with a pronoun from a name before that pronoun is
taken for it."""
LONGEST_ANSWER = 8
"""Words of an answer that stand as the short one of a turn."""

_AUXILIARY = re.compile(
    r"\b(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|might|must)\s+"
    r"(?:the\s+)?\Z",
    re.IGNORECASE,
)
_OWNS = re.compile(r"['\u2019]s?(?=\s)")
_ENDS = re.compile(
    r"\s*[?.!,;]|\s*\Z|\s+(?:in|on|at|of|for|with|from|to|by|is|are|was|were|do|does|did|have|has|had|"
    r"since|during|after|before|and|or|as|when|that|than|can|could|will|would|should)\b"
)
_NAMED = re.compile(
    r"\b(?:term|name|word|called|named|a|an|this|old|new|other|many)\s+\Z", re.IGNORECASE
)
# A common noun, as titles are, must not follow an adjective: "European imperialism".
_BEGINS = re.compile(
    r"\A\Z|\b(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|in|on|at|of|for|with|from|"
    r"to|by|that|about|the|using|[a-z]+ed|[a-z]+ing)\s+\Z",
    re.IGNORECASE,
)
_OF_A_PEOPLE = re.compile(r"\w+(?:ish|ch|ese)\Z")
_BEING = re.compile(r"\b(?:is|are|was|were)\s+(?:the\s+)?\Z", re.IGNORECASE)
_SAID_OF_IT = re.compile(
    r"\w+(?:ed|en|ing|wn)|built|made|home|part|able|held|set|led|left|sold|a|an"
)
_NEXT_WORD = re.compile(r"\s+(?P<word>[a-z]+)")
_ARTICLE = re.compile(r"\b(?:the|The)\s+\Z")
_ASIDE = re.compile(r"\s*\([^()]*\)")
_FORMS = {
    "she": ("she", "her", "her"),
    "he": ("he", "him", "his"),
    "they": ("they", "them", "their"),
    "it": ("it", "it", "its"),
}
"""As subject, as object, owning."""


@dataclass(frozen=True, slots=True)
class Made:
    """A question that leans on a turn."""

    row: Row
    """Of the set, as it was."""
    question: str
    word: str
    """What stands for the name now."""
    name: str
    turn: Turn


@dataclass(frozen=True, slots=True)
class Article:
    title: str
    texts: tuple[str, ...]
    questions: tuple[Row, ...]
    """In the order of the set."""
    found: dict[str, list[tuple[Mentioned, str]]]
    """Each name in small letters, wherever a passage has it."""
    nouns: frozenset[str]
    """Words that follow an article or a possessive anywhere in the texts."""


def articles(corpus: Sequence[Row], queries: Sequence[Row]) -> list[Article]:
    titles = {row["id"]: row["title"] for row in corpus}
    texts: dict[str, list[str]] = defaultdict(list)
    asked: dict[str, list[Row]] = defaultdict(list)
    for row in corpus:
        texts[row["title"]].append(row["text"])
    for row in queries:
        if row["gold"] and row["gold"][0] in titles:
            asked[titles[row["gold"][0]]].append(row)
    return [_article(title, texts[title], asked[title]) for title in sorted(asked)]


def made_questions(corpus: Sequence[Row], queries: Sequence[Row]) -> list[Made]:
    """Every question that can be made, in the order of the set."""
    passages = {row["id"]: row["text"] for row in corpus}
    found = {
        made.row["id"]: made
        for article in articles(corpus, queries)
        for row in article.questions
        if (made := _made(row, article, passages[row["gold"][0]]))
    }
    return [found[row["id"]] for row in queries if row["id"] in found]


def _article(title: str, texts: Sequence[str], asked: Sequence[Row]) -> Article:
    found: dict[str, list[tuple[Mentioned, str]]] = defaultdict(list)
    nouns: set[str] = set()
    for text in texts:
        for key, one in mentioned(text, title).items():
            found[key].append((one, text))
        nouns.update(re.findall(r"\b(?:the|a|an|its|their|his|her|of|many)\s+([a-z]+)\b", text))
    return Article(title, tuple(texts), tuple(asked), dict(found), frozenset(nouns))


def _made(row: Row, article: Article, passage: str) -> Made | None:
    """The question with one of its names gone; None where none can go safely."""
    for name in _replaceable(row["question"], article, passage):
        word = _stands_for(name, article, row["id"])
        turn = _turn_before(row, name, article)
        if word is None or turn is None:
            continue
        question = _without(row["question"], name, word, article)
        if question is not None and name.casefold() not in question.casefold():
            return Made(row, question, word, name, turn)
    return None


def _replaceable(question: str, article: Article, passage: str) -> Iterable[str]:
    """The only name of the question, or its first, that the passage or the title has too."""
    topic = _ASIDE.sub("", article.title).strip()
    first = next(iter(names(question[:1].lower() + question[1:])), None)
    said = re.search(rf"\b{re.escape(topic)}\b", question, re.IGNORECASE)
    if said and (first is None or question.find(first) >= said.start()):
        yield said[0]
    elif first and re.search(rf"\b{re.escape(first)}\b", passage):
        yield first


def _stands_for(name: str, article: Article, key: str) -> str | None:
    """A vague term for one half of the questions where the article has one, else a pronoun."""
    vague = _vague(name, article)
    if vague and int(hashlib.sha256(key.encode()).hexdigest(), 16) % 2:
        return f"the {vague}"
    return _pronoun(name, article)


def _seen(name: str, article: Article) -> list[tuple[Mentioned, str]]:
    """Where the article mentions it, be it under the one longer name that it is part of."""
    key, words = name.casefold(), set(name.casefold().split())
    longer = [other for other in article.found if words < set(other.split())]
    return article.found.get(key) or (article.found[longer[0]] if len(longer) == 1 else [])


def _vague(name: str, article: Article) -> str | None:
    """What the article calls it most."""
    counted = Counter(
        noun for one, text in _seen(name, article) for noun in VAGUE_NOUNS if is_a(noun, one, text)
    )
    said = [noun for noun in VAGUE_NOUNS if counted[noun] >= FEWEST_SIGNS]
    return max(said, key=lambda noun: counted[noun], default=None)


def _pronoun(name: str, article: Article) -> str | None:
    signs: Counter[str] = Counter()
    for one, _ in _seen(name, article):
        signs.update(one.goes_on)
    if not name.endswith("s") and not name.isupper():
        del signs["they"]  # it goes on from others that are named near by
    if not signs:
        return None
    word = max(signs, key=lambda one: (signs[one], one))
    sure = signs[word] >= FEWEST_SIGNS and 2 * signs[word] > signs.total()
    return word if sure else None


def _turn_before(row: Row, name: str, article: Article) -> Turn | None:
    """The nearest question before it, else after it, that has the name and an answer of its own."""
    at = next(place for place, other in enumerate(article.questions) if other["id"] == row["id"])
    near = [*reversed(article.questions[:at]), *article.questions[at + 1 :]]
    wanted = re.compile(rf"\b{re.escape(name)}\b")
    for other in near:
        if not other["answerable"] or not wanted.search(other["question"]):
            continue
        answer = other["answers"][0] if other["answers"] else ""
        if not answer or other["question"] == row["question"]:
            continue
        short = answer if len(answer.split()) <= LONGEST_ANSWER else None
        return Turn(other["question"], short, answer, (article.title,))
    return None


def _without(question: str, name: str, word: str, article: Article) -> str | None:
    """The question with the word in the name's place; None where that is no English."""
    places = list(re.finditer(rf"\b{re.escape(name)}\b", question))
    if len(places) != 1:
        return None
    start, end = places[0].span()
    before = question[:start]
    owns = _OWNS.match(question, end)
    if _NAMED.search(before) or (name.islower() and not _BEGINS.search(before)):
        return None
    if not (owns or _stands_alone(question, start, end, article)):
        return None
    if article_before := _ARTICLE.search(before):
        before = before[: article_before.start()]
    if before and not before.endswith(" "):
        return None
    said = _inflected(word, before, owns=bool(owns))
    made = f"{before}{said}{question[owns.end() if owns else end :]}"
    return made[:1].upper() + made[1:]


def _stands_alone(question: str, start: int, end: int, article: Article) -> bool:
    """Whether the name is no part of a longer phrase such as "Warsaw residents"."""
    if _ENDS.match(question, end):
        return True
    following = _NEXT_WORD.match(question, end)
    if following is None or not _AUXILIARY.search(question[:start]):
        return False
    word = following["word"]
    if _BEING.search(question[:start]) and not _SAID_OF_IT.fullmatch(word):
        return False  # "is Orrin salmon", not "is Orrin known"
    return not (
        word in article.nouns or word.endswith("s") or _OF_A_PEOPLE.match(question[start:end])
    )


def _inflected(word: str, before: str, *, owns: bool) -> str:
    if word not in _FORMS:
        return f"{word}'s" if owns else word
    subject, object_, owning = _FORMS[word]
    if owns:
        return owning
    return subject if not before.strip() or _AUXILIARY.search(before) else object_
