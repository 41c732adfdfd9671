"""A question whose answer is known, as it is asked to find out what the scores are worth."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import cycle, zip_longest
from random import Random
from typing import TYPE_CHECKING, Literal

from secondlook.errors import UsageError
from secondlook.retrieval.terms import STOP_WORDS
from secondlook.roles.sentences import lines_of, sentence_bounds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from secondlook.library.library import Library
    from secondlook.library.report import DocumentInfo

Kind = Literal["own", "made", "swapped", "left out"]


@dataclass(frozen=True, slots=True)
class Place:
    """Characters [start, end) of a document; all of it where there is no end."""

    document: str
    start: int = 0
    end: int | None = None

    def holds(self, document: str, start: int, end: int) -> bool:
        """Whether a passage that lies there has any of it."""
        if document != self.document:
            return False
        return self.end is None or (start < self.end and self.start < end)


@dataclass(frozen=True, slots=True)
class Asked:
    question: str
    answers: tuple[str, ...]
    """Of one made from a sentence that is left out of the search: what that sentence says."""
    answerable: bool
    group: str
    """Questions of one group are judged by a fit that saw none of them."""
    kind: Kind = "own"
    left_out: tuple[Place, ...] = ()
    """What the search must not return."""


# A question whose answer is a piece of a sentence, worded by rule.

GAP = "\x00"
_OFTEN, _HALF = 0.75, 0.5
_FEWEST_WORDS, _MOST_WORDS = 4, 30
_ASIDE = re.compile(r"\s*\([^()\x00]*\)")
_EMPTY = re.compile(r"\(\s*\)|\"\s*\"|\u201c\s*\u201d")
"""What is left of brackets and quotation marks around the gap."""
_TRAILING = re.compile(
    r"(?:, (?:which|who|where|while|although|whereas|including|such as|and|but|with|as)|;)"
    r" [^\x00]+(?=\.$)"
)
_LEADING = re.compile(
    r"((?:In|On|At|By|During|After|Before|Since|From|Under|Until|For|Within|Throughout|Following|"
    r"Despite|Although|When|While|As|According|However|Moreover|Furthermore|Additionally|"
    r"Nevertheless|Today|Later|Finally|Instead|Meanwhile|Similarly)\b[^,\x00]{0,70}), (?=\S)"
)
_LEADING_GAP = re.compile(r"(In|On|At|Near) \x00(, | )(the [^\x00]*|[A-Z][^\x00]*)\.")
_CONNECTOR = re.compile(r"\w+|According .*|As .*|For (?:example|instance)|In (?:addition|contrast)")
_AUXILIARIES = "is|was|are|were|has|have|had|can|could|will|would|should|may|might|must"
_INVERTIBLE = re.compile(rf"([^,;:\x00]{{2,70}}?) ({_AUXILIARIES}) (not )?([^;:]*\x00[^;:]*)\.")
_NEEDS_PARTICIPLE = frozenset(("has", "have", "had"))
_PARTICIPLE = re.compile(
    r"(?:\w+ly )?(?:\w+ed|been|become|made|taken|given|found|held|led|won|lost|built|written|"
    r"said|grown|shown|known|seen|had|kept|left|met|paid|sold|bought|begun|chosen|drawn)\b"
)
_SUBORDINATE = re.compile(r"\b(?:that|which|who|when|where|if|because|while|whether|how|what)\b")
_LONGEST_SUBJECT = 9
_FOLLOWING_NOUN = re.compile(
    r"\x00 (?!(?:and|or|in|of|to|by|for|with|at|on|as|the|is|was|has)\b)"
    r"((?:[a-z]+ )?[a-z]{3,}s|people|percent|per cent)\b"
)
_PLACED = re.compile(r"\b(in|at|near|on|since|until|by)\s+\x00")
_WHEN = frozenset(("in", "on"))
_WHERE = frozenset(("in", "at", "near"))
_NO_PERSON = re.compile(
    r"\b(?:University|Company|Council|River|Church|Party|Act|War|Army|School|Street|Bay|Island|"
    r"Lake|Mountain|City|County|State|States|Union|Empire|Museum|Society|Institute|Court|Bank|"
    r"Board|Committee|House|Park|Kingdom|Republic|Treaty|Theatre|Group|of)\b"
)
_SAME_MEANING = dict(
    pair.strip().split("=")
    for pair in """
    approximately=about; located=situated; began=started; constructed=built; built=constructed;
    purchased=bought; finished=completed; completed=finished; large=big; numerous=many;
    founded=established; established=founded; created=made; led=brought; received=got;
    required=needed; became=turned into; often=frequently; because of=due to; however=; also=;
    then=; very=; usually=normally; throughout=all over; died=passed away; near=close to;
    under=below; several=some; main=chief; used=employed; shows=displays; occurred=happened;
    remained=stayed; designed=planned; cost=price; quickly=fast""".split(";")  # noqa: SIM905
)
_WORDS = re.compile(rf"\b(?:{'|'.join(sorted(_SAME_MEANING, key=len, reverse=True))})\b")
_COMMON_OPENERS = frozenset(
    "the a an all most many some several each every no more few both in on at by for".split()  # noqa: SIM905
)


def question_about(sentence: str, piece: Piece, draw: Random) -> str | None:
    """The question; None where none can be made that is a fair one."""
    gapped = sentence[: piece.start] + GAP + sentence[piece.end :]
    gapped = _shortened(gapped, draw)
    asked = _inverted(gapped, piece) or _in_place(gapped, piece)
    asked = _WORDS.sub(
        lambda found: _SAME_MEANING[found[0]] if draw.random() < _HALF else found[0], asked
    )
    asked = _EMPTY.sub("", asked)
    asked = re.sub(r"\s+([,.?])", r"\1", " ".join(asked.split()))
    asked = asked[0].upper() + asked[1:]
    fair = _FEWEST_WORDS <= len(asked.split()) <= _MOST_WORDS
    return asked if fair and not _stands_in(piece.text, asked) else None


def _shortened(gapped: str, draw: Random) -> str:
    """Without what stands in brackets, and mostly without a clause at its end or beginning."""
    text = _ASIDE.sub("", gapped)
    text = _LEADING_GAP.sub(
        lambda found: f"{found[3][0].upper()}{found[3][1:]} {found[1].lower()} {GAP}.", text
    )
    if draw.random() < _OFTEN:
        text = _TRAILING.sub("", text)
    leading = _LEADING.match(text)
    if not leading:
        return text
    rest = text[leading.end() :]
    rest = rest[0].upper() + rest[1:]
    said = leading[1]
    if _CONNECTOR.fullmatch(said) or draw.random() < _HALF:
        return rest
    return f"{rest.removesuffix('.')} {said[0].lower()}{said[1:]}."


def _inverted(gapped: str, piece: Piece) -> str | None:
    """The question word first, then the auxiliary, then the subject."""
    found = _INVERTIBLE.fullmatch(gapped)
    if not found:
        return None
    subject, auxiliary, denied, rest = found[1], found[2], found[3] or "", found[4]
    if len(subject.split()) > _LONGEST_SUBJECT or _SUBORDINATE.search(subject):
        return None
    if auxiliary in _NEEDS_PARTICIPLE and not _PARTICIPLE.match(rest):
        return None
    if re.search(r" and |,", rest.partition(GAP)[0]):  # a second clause may have its own verb
        return None
    word, rest = _question_word(rest, piece)
    if subject.partition(" ")[0].lower() in _COMMON_OPENERS:
        subject = subject[0].lower() + subject[1:]
    return f"{word} {auxiliary} {subject} {denied}{rest.replace(GAP, '')}?"


def _in_place(gapped: str, piece: Piece) -> str:
    """The question word in the gap; where the gap comes first this is a question by itself."""
    body = gapped.removesuffix(".")
    if body.startswith(GAP):
        word, rest = _question_word(body, piece)
        return f"{word} {rest.replace(GAP, '')}?"
    noun = _FOLLOWING_NOUN.search(body)
    if piece.kind == "number" and noun:
        return f"{body.replace(GAP, 'how many')}?"
    if piece.kind in {"year", "date"} and piece.before in _WHEN:
        return f"{_PLACED.sub('when', body).replace(GAP, 'when')}?"
    return f"{body.replace(GAP, _plain_word(piece))}?"


def _question_word(rest: str, piece: Piece) -> tuple[str, str]:
    """What to ask with, and what is left of the rest of the sentence."""
    noun = _FOLLOWING_NOUN.search(rest)
    if piece.kind == "number" and noun:
        return f"How many {noun[1]}", rest[: noun.start()] + GAP + rest[noun.end() :]
    if piece.kind in {"year", "date"} and piece.before in _WHEN:
        return "When", _PLACED.sub(GAP, rest)
    if piece.kind == "name" and piece.before in _WHERE and not _is_person(piece):
        return "Where", _PLACED.sub(GAP, rest)
    return _plain_word(piece).capitalize(), rest


def _plain_word(piece: Piece) -> str:
    if piece.kind == "year":
        return "what year"
    if piece.kind == "date":
        return "what date"
    if piece.kind == "number":
        return "what number"
    return "who" if piece.kind == "name" and _is_person(piece) else "what"


def _is_person(piece: Piece) -> bool:
    """As far as the form tells: two or three names in a row, without an article before them."""
    words = piece.text.split()
    return (
        len(words) in {2, 3}
        and words[0][0].isupper()
        and piece.before not in {"the", "a", "an", "in", "at", "near", "from", "of"}
        and not piece.text.isupper()
        and not _NO_PERSON.search(piece.text)
    )


# Questions that nothing answers: one detail is exchanged for another of its kind.

_PAIRS = """
first last; largest smallest; highest lowest; oldest newest; longest shortest; earliest latest;
greatest smallest; best worst; more less; larger smaller; higher lower; older younger;
longer shorter; earlier later; before after; above below; inside outside; upper lower; north south;
east west; northern southern; eastern western; increase decrease; increased decreased; rose fell;
gained lost; won lost; began ended; started stopped; opened closed; accepted rejected;
supported opposed; included excluded; public private; major minor; maximum minimum; men women;
father mother; son daughter; positive negative; legal illegal; early late; import export;
bought sold; most least; always never; joined left
"""
_SWAPPING_TRIES = 40
_STOCKED = 2000
"""Details of one kind that are kept; more would be drawn from no better."""


_OPPOSITES = {
    one: other
    for left, right in (pair.split() for pair in _PAIRS.split(";"))
    for one, other in ((left, right), (right, left))
}
_OPPOSITE = re.compile(rf"\b(?:{'|'.join(_OPPOSITES)})\b")
_DEMONYM = re.compile(r"\w+(?:ian|ean|ican|ish|ese|ic|ist)s?|Romans?|Germans?")
_ASKS = re.compile(r"\b(?:who|what|when|where|how)\b", re.IGNORECASE)


@dataclass(slots=True)
class Stock:
    """Names, numbers and dates of a library, by form: those of one form stand for each other."""

    held: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    """By form: each detail with the document that it was first seen in."""

    def take(self, document: str, texts: Iterable[str]) -> None:
        for text in texts:
            for piece in pieces(text):
                alike = self.held[form(piece)]
                if piece.kind != "phrase" and len(alike) < _STOCKED:
                    alike.setdefault(piece.text, document)

    def other(self, piece: Piece, *, document: str, absent_from: str, draw: Random) -> str | None:
        """Another one of the piece's form that shares no word with the text, of the same document
        where there is one: what is near is hard to tell from what is there."""
        alike = self.held.get(form(piece), {})
        near = [new for new, where in alike.items() if where == document]
        far = [new for new, where in alike.items() if where != document]
        for pool in (near, far):
            for new in draw.sample(pool, min(_SWAPPING_TRIES, len(pool))):
                if not any(_stands_in(word, absent_from) for word in new.split() if word[1:]):
                    return new
        return None


def form(piece: Piece) -> str:
    if piece.kind == "name":
        words = piece.text.split()
        case = "capitals" if piece.text.isupper() else "name"
        used = ("people" if _DEMONYM.fullmatch(piece.text) else "") + (
            " the" if piece.before == "the" else ""
        )
        return f"{case} {min(len(words), 3)} {used}"
    if piece.kind == "number":
        return f"number {len(piece.text)} {piece.text.count('.')} {piece.text.isalpha()}"
    shape = re.sub(r"[A-Za-z]+", "a", re.sub(r"\d", "0", piece.text))
    return f"{piece.kind} {shape}"


def swapped(question: str, said: Statement, stock: Stock, draw: Random) -> str | None:
    """The question about a statement with one detail exchanged; None where it has none, or none
    fits."""
    changes = []
    for piece in pieces(question):
        if piece.kind == "phrase" or _ASKS.search(piece.text):
            continue
        new = stock.other(piece, document=said.document, absent_from=said.around, draw=draw)
        if new:
            changes.append(question[: piece.start] + new + question[piece.end :])
    changes += [
        question[: word.start()] + _OPPOSITES[word[0]] + question[word.end() :]
        for word in _OPPOSITE.finditer(question)
        if not _stands_in(_OPPOSITES[word[0]], said.around)
    ]
    return draw.choice(changes) if changes else None


def _stands_in(word: str, text: str) -> bool:
    return re.search(rf"\b{re.escape(word)}\b", text, re.IGNORECASE) is not None


# Questions made from a library's own documents, without a language model.

_ROLES: tuple[Kind, ...] = ("made", "swapped", "made", "swapped", "made", "left out")
_WHOLE_DOCUMENT_FROM = 8
"""With so many documents a whole one can be left out; with fewer only the passage itself."""
_MOST_CHARACTERS = 200_000
"""Of one document that are looked at, from a place drawn at random."""
_MOST_STATEMENTS = 400
"""Of one document."""
_NO_PROSE = frozenset(("code", "csv", "sheet", "json", "xml"))
_ENGLISH = frozenset(("en", None))
_TRIES = 3
"""Pieces of a sentence that are tried before it is given up."""
_SHARE = {"phrase": 0.4, "name": 1.0, "number": 1.0, "year": 1.0, "date": 1.0}
"""How much each kind of answer is preferred: noun phrases are the most frequent by far."""


def made_questions(library: Library, *, most: int, seed: int) -> list[Asked]:
    """At most so many questions, half of them without an answer, evenly from all documents."""
    documents = [item for item in library.documents() if item.passages]
    if not documents:
        raise UsageError(
            f"the library at {str(library.path)!r} is empty: there is nothing to ask about",
            hint="secondlook add FOLDER fills it",
        )
    readable = _readable(documents)

    def lot(item: DocumentInfo) -> bytes:
        return hashlib.sha256(f"{seed}:{item.id}".encode()).digest()

    said = _by_document(library, sorted(readable, key=lot)[: 2 * most], seed)
    return _Maker(whole=len(documents) >= _WHOLE_DOCUMENT_FROM, seed=seed).make(said, most)


def _readable(documents: list[DocumentInfo]) -> list[DocumentInfo]:
    prose = [item for item in documents if item.kind not in _NO_PROSE]
    if not prose:
        kinds = ", ".join(sorted({item.kind for item in documents}))
        raise UsageError(
            f"the library holds no running text to make questions from, only {kinds}",
            hint="write a questions.csv and name it: secondlook calibrate questions.csv",
        )
    english = [item for item in prose if item.language in _ENGLISH]
    if not english:
        languages = ", ".join(sorted({item.language or "" for item in prose}))
        raise UsageError(
            f"questions are made from English text only; the library is written in {languages}",
            hint="write a questions.csv and name it: secondlook calibrate questions.csv",
        )
    return english


def _by_document(library: Library, drawn: list[DocumentInfo], seed: int) -> list[list[Statement]]:
    found = []
    for item in drawn:
        draw = Random(f"{seed}:{item.id}")  # noqa: S311 - a draw that must be the same each time
        text = library.text(item.id).text
        first = draw.randrange(max(1, len(text) - _MOST_CHARACTERS))
        part = [
            replace(one, start=one.start + first, end=one.end + first)
            for one in statements(item.id, text[first : first + _MOST_CHARACTERS])
        ]
        if part:
            found.append(draw.sample(part, min(len(part), _MOST_STATEMENTS)))
    return found


@dataclass(slots=True)
class _Maker:
    whole: bool
    """Whether whole documents are left out."""
    seed: int
    stock: Stock = field(default_factory=Stock)
    made: dict[str, Asked] = field(default_factory=dict)
    """By question: none is asked twice."""

    def make(self, said: list[list[Statement]], most: int) -> list[Asked]:
        for of_document in said:
            self.stock.take(of_document[0].document, (one.text for one in of_document))
        # One statement of each document in turn.
        turns = (one for turn in zip_longest(*said) for one in turn if one is not None)
        for role in cycle(_ROLES):
            if len(self.made) >= most or not self._next(role, turns):
                break
        return list(self.made.values())

    def _next(self, role: Kind, turns: Iterator[Statement]) -> bool:
        """Whether a question of this kind could be made from the statements that remain."""
        for one in turns:
            draw = Random(f"{self.seed}:{role}:{one.document}:{one.start}")  # noqa: S311
            asked = self._asked(one, role, draw)
            if asked and asked.question not in self.made:
                self.made[asked.question] = asked
                return True
        return False

    def _asked(self, one: Statement, role: Kind, draw: Random) -> Asked | None:
        place = Place(one.document) if self.whole else Place(one.document, one.start, one.end)
        found = askable(one.text)
        found.sort(key=lambda piece: draw.random() ** (1 / _SHARE[piece.kind]), reverse=True)
        for piece in found[:_TRIES]:
            question = question_about(one.text, piece, draw)
            if question and role == "swapped":
                question = swapped(question, one, self.stock, draw)
            if question:
                return Asked(
                    question=question,
                    answers=(piece.text,),
                    answerable=role == "made",
                    group=one.document,
                    kind=role,
                    left_out=(place,) if role == "left out" else (),
                )
        return None


# What in a sentence can be asked for, or exchanged: names, numbers, dates and noun phrases,
# told by their form alone. English only: the rules know its articles, months and capital
# letters.

PieceKind = Literal["name", "year", "date", "number", "phrase"]

MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DAYS = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
_COUNTS = "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty"
_CAPITALISED = r"[A-Z][\w&]*(?:[-'\u2019.][A-Za-z]\w*)*"
_FORMS: tuple[tuple[PieceKind, re.Pattern[str]], ...] = (
    (
        "date",
        re.compile(
            rf"\b(?:\d{{1,2}} (?:{MONTHS})(?:,? \d{{4}})?|(?:{MONTHS}) \d{{1,2}}(?:, \d{{4}})?"
            rf"|(?:{MONTHS}) \d{{4}})\b"
        ),
    ),
    ("year", re.compile(r"(?<![\w.,/$£€\u2013-])(?:1[0-9]|20)\d\d(?![\w/%\u2013-]|[.,]\d)")),
    (
        "number",
        re.compile(
            r"(?<![\w.,:/\u2013-])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w/:\u2013-]|[.,]\d)"
            rf"|(?<![\w-])(?:{_COUNTS})(?![\w-])"
        ),
    ),
    (
        "name",
        re.compile(
            rf"(?<![\w'\u2019-]){_CAPITALISED}(?:(?: (?:of|of the|de|van|von))? {_CAPITALISED})*"
        ),
    ),
    (
        "phrase",
        re.compile(
            r"(?<=\b)(?:the|a|an) (?:[a-z][a-z-]+ ){0,2}[a-z][a-z-]{3,}"
            r"(?= (?:in|on|at|by|for|with|from|to|and|that|which|as|when|after|before|during)\b"
            r"|[,.]|$)"
        ),
    ),
)
_NO_NAME = re.compile(rf"(?:.* )?(?:{MONTHS}|{_DAYS}|Mr|Mrs|Ms|Dr|St|Inc|Ltd|Co)\.?(?: .*)?|\w")
_OPENERS = STOP_WORDS["english"] | {"however", "according", "although", "since", "within"}

_FUNCTION = frozenset(
    (
        *("near", "since", "until", "called", "named", "within", "across", "along", "toward"),
        *("towards", "against", "among", "around", "became", "held", "made", "took", "won", "led"),
        *("wrote", "built", "began", "gave", "said", "found", "met", "sold", "bought", "lost"),
        *("outside", "inside", "beyond", "via", "upon", "like", "including", "without", "per"),
    )
)
"""Words that a name stands beside without belonging to them."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text, where it stands, and the word before it in lower case."""

    start: int
    end: int
    text: str
    kind: PieceKind
    before: str


def pieces(text: str) -> list[Piece]:
    """In the order of the text; none overlaps another, dates come before the numbers in them."""
    found: list[Piece] = []
    for kind, form in _FORMS:
        for match in form.finditer(text):
            piece = _piece(text, match, kind)
            if piece and not any(piece.start < one.end and one.start < piece.end for one in found):
                found.append(piece)
    return sorted(found, key=lambda piece: piece.start)


def askable(text: str) -> list[Piece]:
    """Those pieces that are a whole answer: no part of a list, of a longer name or of "the French
    fleet". A name behind "the" is asked for together with its article."""
    found = []
    for piece in pieces(text):
        if not _is_whole(text, piece):
            continue
        if piece.kind == "name" and piece.before == "the":
            start = text.casefold().rindex("the", 0, piece.start)
            before = _word_before(text, start)
            piece = Piece(start, piece.end, text[start : piece.end], "name", before)  # noqa: PLW2901
        found.append(piece)
    return found


def _is_whole(text: str, piece: Piece) -> bool:
    before, after = text[: piece.start], text[piece.end :]
    if before.count("(") > before.count(")"):
        return False
    if piece.kind in {"number", "year"}:
        return not re.match(rf" (?:to|and|or) (?:\d|{_COUNTS})|[-\u2013]", after) and not re.search(
            rf"(?:\d|{_COUNTS}) (?:to|and|or) $", before
        )
    if re.match(r",? (?:and |or )?[A-Z]|['\u2019]s?\b| (?:and|or) ", after) or re.search(
        r"[A-Z]\w*,? (?:and |or )?$|\b(?:and|or) $|['\u2019]s $", before
    ):
        return False
    # What stands beside a name must be no noun that the name belongs to.
    following = re.match(r" ([a-z][\w-]*)", after)
    return piece.kind != "name" or all(
        not word or word in _OPENERS or word in _FUNCTION or word.endswith("ed")
        for word in (piece.before, following[1] if following else "")
    )


def _piece(text: str, match: re.Match[str], kind: PieceKind) -> Piece | None:
    start, said = match.start(), match[0]
    if kind == "name":
        named = _name(text, start, said)
        if named is None:
            return None
        start, said = named
    return Piece(start, start + len(said), said, kind, _word_before(text, start))


def _name(text: str, start: int, said: str) -> tuple[int, str] | None:
    """Without what is capitalised only because a sentence begins there."""
    first, _, rest = said.partition(" ")
    opens = not text[:start].strip("\"'“‘( ")  # noqa: RUF001
    if first.casefold() in _OPENERS and len(first) > 1:
        start, said, opens = start + len(first) + 1, rest, False
    said = re.sub(r"['\u2019]s?$", "", said).rstrip(".")
    if not said or "'s " in said or "\u2019s " in said or _NO_NAME.fullmatch(said):
        return None
    # One capitalised word at the start may be any word.
    return None if opens and " " not in said and not said.isupper() else (start, said)


def _word_before(text: str, at: int) -> str:
    words = text[max(0, at - 40) : at].split()
    return words[-1].casefold().strip("(\"'“,") if words else ""


# Sentences of a document that say something by themselves, so that one can ask about them.

FEWEST_WORDS, MOST_WORDS = 7, 40
_AROUND = 700
"""Characters before and after a sentence that stand for its passage."""
_AT_ONCE = 20_000
"""Characters looked at together; a book is looked at in parts."""
_LEANS_ON_OTHERS = re.compile(
    r"(?:it|its|he|his|she|her|they|their|this|these|that|those|such|there|here|both|another|"
    r"other|and|but|or|so|also|then|see|we|our|you|your|i|my|one)\b",
    re.IGNORECASE,
)
_CLUTTER = re.compile(r"https?:|www\.|[|<>{}\\=_~^@#]|\.\.|\[\d|[\u0400-\uffff]{3}")
_STATEMENTS_ENGLISH = frozenset(
    "the of and to was were is are has had have been by with for from that which its their".split()  # noqa: SIM905
)
_FEWEST_ENGLISH = 2
_VERBLIKE = re.compile(
    r"\b(?:is|was|are|were|has|have|had|can|could|will|would|must|may|\w+ed|\w{2,}s|began|made|"
    r"took|became|went|gave|found|held|led|won|wrote|built|said|came|lost|rose|fell)\b"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence on one line, where it stands in its document, and what stands around it."""

    document: str
    text: str
    start: int
    end: int
    around: str


def statements(document: str, text: str) -> Iterator[Statement]:
    """Those sentences of a text that can be understood alone; rows, lists and headings are none."""
    for first in range(0, len(text), _AT_ONCE):
        part = text[first : first + _AT_ONCE]
        alone = [line for line in lines_of(part) if line.kind != "text"]
        for start, end in sentence_bounds(part):
            if any(line.start < end and start < line.end for line in alone):
                continue
            said = " ".join(part[start:end].split())
            if stands_alone(said):
                at, to = first + start, first + end
                around = text[max(0, at - _AROUND) : to + _AROUND]
                yield Statement(document, said, at, to, around)


def stands_alone(sentence: str) -> bool:
    words = sentence.split()
    return (
        FEWEST_WORDS <= len(words) <= MOST_WORDS
        and sentence[0].isupper()
        and sentence[-1] == "."
        and not _LEANS_ON_OTHERS.match(sentence)
        and not _CLUTTER.search(sentence)
        and sum(word in _STATEMENTS_ENGLISH for word in words) >= _FEWEST_ENGLISH
        and _VERBLIKE.search(sentence) is not None
        and sum(word[:1].isalpha() for word in words) >= 0.7 * len(words)
    )
