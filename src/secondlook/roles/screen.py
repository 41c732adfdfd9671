"""Whether a text gives orders to a model: signs, found by code.

`plain` undoes disguises, `signs` joins what orders look like (`orders`, `replies`, `languages`),
`hidden` is what shows in how a text is written, `mention` tells words that are used from words that
are spoken of, and `score` joins it all. `channels` is the door: everything that others wrote goes
through `look`, by the way that it came. `asking` puts what stays unclear to a model. `mood` and
`code` are for `nodes.revalidating`, which looks at what an answer says.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import math
import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from secondlook.roles.prompts.marks import CONTROL_MARK, EVIDENCE_MARK, without_evidence_marks
from secondlook.roles.screen_signs import CODE, SIGNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from secondlook.roles.screen_signs import Sign

# One screen for everything that others wrote: the question, passages, web pages, tables.

Channel = Literal["question", "passage", "web", "table"]
_LONGEST_CELL = 4_000


def look(text: str, *, channel: Channel) -> Signals:
    """What the signs say of a text that came this way."""
    if channel == "question":
        return screened(text, kind="question")
    if channel == "table":  # names are written with underscores: an order may be, too
        return screened(text[:_LONGEST_CELL].replace("_", " "), kind="passage")
    return screened(text, kind="passage")


def is_stopped(signals: Signals, *, channel: Channel) -> bool:
    """Whether no model is shown it."""
    if channel == "table":
        return signals.verdict != "safe"
    return signals.verdict == "refused"


def stops(text: str, *, channel: Channel) -> bool:
    return is_stopped(look(text, channel=channel), channel=channel)


# How far a text gives orders to a model: by code, the same every time, in under a millisecond.

Kind = Literal["question", "passage"]
Verdict = Literal["safe", "unclear", "refused"]

REFUSED = 0.75
UNCLEAR = 0.4
"""From here on it is worth asking somebody who can read."""
LONGEST = 20_000
"""Characters that are looked at, half of them from the end; a question is never so long."""
_STANCE: dict[Stance, float] = {"direct": 1.0, "joined": 0.6, "loose": 0.3}
_MENTIONED = 0.15
_HIDDEN_PAYLOAD = 0.95
_HIDDEN_DOUBTFUL = 0.6
_COMMENTED = "in markup that a page does not show"
_HARMFUL_WORTH = 0.55


@dataclass(frozen=True, slots=True)
class Signals:
    score: float
    reasons: tuple[str, ...]
    """Strongest first; empty where there is nothing to tell."""
    verdict: Verdict


def screened(text: str, *, kind: Kind) -> Signals:
    """What the signs say of a text. `unclear` is for a model to settle, where there is one."""
    looked = text if len(text) <= LONGEST else text[: LONGEST // 2] + "\n" + text[-LONGEST // 2 :]
    # Reasons, and what each is worth.
    shown = plain(looked)
    worths: dict[str, float] = {}
    for reason, worth in (
        *_said(shown, kind=kind),
        *((one.reason, getattr(one, kind)) for one in signs_in(looked, shown)),
        *_inside(looked, shown),
    ):
        worths[reason] = max(worth, worths.get(reason, 0.0))
    return _joined(worths)


def _said(shown: Plain, *, kind: Kind) -> Iterator[tuple[str, float]]:
    quoted = mentions(shown.text)
    for sign in SIGNS:
        worth: float = getattr(sign, kind)
        if not worth or not any(cue in shown.text for cue in sign.cues):
            continue
        places = (found.span() for found in sign.pattern.finditer(shown.text))
        share = max((_share(sign, shown.text, at, quoted) for at in places), default=0.0)
        if share and sign.reason == CODE and HARMFUL.search(shown.text):
            yield "the code fetches, sends or destroys", _HARMFUL_WORTH
        if share:
            yield sign.reason, worth * share


def _share(
    sign: Sign, text: str, place: tuple[int, int], quoted: Sequence[tuple[int, int]]
) -> float:
    """What of a sign's worth holds where it stands."""
    if any(first <= place[0] and place[1] <= last for first, last in quoted):
        return _MENTIONED
    return _STANCE[stance(text, place[0])] if sign.is_order else 1.0


def _inside(text: str, shown: Plain) -> Iterator[tuple[str, float]]:
    """Orders that are hidden in the text weigh more than those that stand there openly."""
    for hidden, payload in payloads(text, shown):
        inner = plain(payload)
        score = _score(dict(_said(inner, kind="question")).values())
        if score >= UNCLEAR:
            strong = score >= REFUSED or hidden != _COMMENTED
            yield f"holds an order {hidden}", _HIDDEN_PAYLOAD if strong else _HIDDEN_DOUBTFUL


def _joined(worths: dict[str, float]) -> Signals:
    score = _score(worths.values())
    ordered = sorted(worths, key=lambda reason: (-worths[reason], reason))
    verdict: Verdict = "refused" if score >= REFUSED else "unclear" if score >= UNCLEAR else "safe"
    told = () if verdict == "safe" else tuple(one for one in ordered if worths[one] >= UNCLEAR / 2)
    return Signals(round(score, 4), told, verdict)


def _score(worths: Iterable[float]) -> float:
    return 1 - math.prod(1 - worth for worth in worths)


# A text as a model would understand it, whatever its letters were dressed up as.

# ruff: noqa: RUF001  # letters that look like others are the point

_TAGS = 0xE0000
"""Here begin invisible twins of the ASCII characters (Unicode, block Tags): a text can hide in
them."""
_TAGGED = re.compile("[\U000e0020-\U000e007e]")
_UNSEEN = (
    "\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e01ef"
)
"""Format characters, signs of direction and selectors of variants."""
_INVISIBLE = re.compile(f"[{_UNSEEN}]")
_INVISIBLE_WITHIN = re.compile(f"(?<=[A-Za-z])[{_UNSEEN}]+(?=[A-Za-z])")
_LOOKALIKES = str.maketrans(
    "аеіјорсухѕһԁɡіӏοαεικνρτυχАВЕЅІЈКМНОРСТУХΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeijopcyxshdgiloaeiknptuxABESIJKMHOPCTYXABEZHIKMNOPTYX",
)
_QUOTES = str.maketrans("“”„«»‘’‚`´", "\"\"\"\"\"'''''")
_DIGITS = str.maketrans("013457@$", "oieastas")
_DIGIT_WITHIN = re.compile(r"(?<![\w@$])(?=\w*[a-z]{2})[a-z0-9@$]*[013457@$][a-z0-9@$]*[a-z]\b")
_DIGIT_IN_WORD = re.compile(r"[a-z][013457@$]+[a-z]|(?<![\w.,])[013457@$][a-z]{3}")
_MIXED = re.compile(r"\b(?=\w*[A-Za-z])(?=\w*[Ͱ-ӿԀ-ԯɡ])\w+\b")
_SET_APART = re.compile(r"(?<!\w)(?:[^\W\d_][ ._*-]){7,200}+(?:[^\W\d_](?!\w))?")
_WRITTEN_BREAK = re.compile(r"\\ ?[nrt]\b|\\ ?[nrt](?=\\)")
_BLANKS = re.compile(r" ?[^\S \n][^\S\n]*|  +")
_EMPTY = re.compile(r"\n[ \n]+")
_LINES = re.compile(r" ?\n[ \n]*")


@dataclass(frozen=True, slots=True)
class Plain:
    text: str
    """In small letters, with one kind of quotation marks; lines stay lines."""
    hidden: str
    """What was written in characters that nobody sees."""
    invisible: int
    """Invisible characters between letters of a script that has no use for them."""
    set_apart: tuple[str, ...]
    """Words whose letters were set apart, joined again."""
    breaks: int
    """Line breaks in a row, at most."""


def plain(text: str) -> Plain:
    seen, hidden, invisible = _visible(html.unescape(text) if "&" in text else text)
    lined = _WRITTEN_BREAK.sub("\n", seen) if "\\" in seen else seen
    small = _BLANKS.sub(" ", _in_one_script(lined).casefold().replace("`", "'"))
    apart = tuple(re.sub(r"[ ._*-]", "", run[0]) for run in _SET_APART.finditer(small))
    spelled = _DIGIT_WITHIN.sub(_spelled, small) if _DIGIT_IN_WORD.search(small) else small
    return Plain(
        text=_LINES.sub("\n", spelled).strip(),
        hidden=hidden,
        invisible=invisible,
        set_apart=apart,
        breaks=max((run[0].count("\n") for run in _EMPTY.finditer(small)), default=0),
    )


def _visible(text: str) -> tuple[str, str, int]:
    """The text without what nobody sees, that, and how much of it stood inside words."""
    if text.isascii():
        return text, "", 0
    hidden = "".join(chr(ord(one) - _TAGS) for one in _TAGGED.findall(text))
    within = len(_INVISIBLE_WITHIN.findall(text))
    return unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)), hidden, within


def _in_one_script(text: str) -> str:
    """Words that mix letters of two scripts, in the one that they are meant to look like."""
    if text.isascii():
        return text
    return _MIXED.sub(lambda word: word[0].translate(_LOOKALIKES), text.translate(_QUOTES))


def _spelled(word: re.Match[str]) -> str:
    """`1gn0re` as it is read. Where the digits are the greater part it is no word."""
    digits = sum(character.isdigit() for character in word[0])
    return word[0].translate(_DIGITS) if 3 * digits < 2 * len(word[0]) else word[0]


# Signs that lie in how a text is written instead of in what it says.

_BASE64 = re.compile(r"(?<![\w+/=])[A-Za-z0-9+/]{20,}={0,2}(?![\w+/=])")
_HEX = re.compile(r"(?<!\w)(?:0x|\\x|%)?(?:[2-7][0-9a-fA-F](?:[ ,]|\\x|%)?){12,}+(?!\w)")
_ENCODED_OUT = re.compile(
    r"\b(?:in|as|to|using|into|through) (?:base ?64|rot ?13|pig latin|reverse(?: order)?"
    r"|hex(?:adecimal)?|morse(?: code)?|binary|leet ?speak)\b"
    r"|\bdecode (?:this|the following|it) and\b"
)
_SQUEEZED = re.compile(
    r"ignore(?:all|the|any)?(?:previous|prior|above|instructions)|forgeteverything|saythat"
    r"|systemprompt|reveal(?:the|your)|yourpassword|yourinstructions|disregard"
)
_BACKWARDS = ("erongi", "tegrof", "dragersid", "laever", "tpmorp", "snoitcurtsni", "drowssap")
_ROTATED = ("vtaber", "sbetrg", "qvfertneq", "erirny", "cebzcg", "vafgehpgvbaf", "cnffjbeq")
_HIDDEN_UNSEEN = re.compile(
    r"(?:display ?: ?none|visibility ?: ?hidden|font-size ?: ?0|opacity ?: ?0(?!\.)"
    r"|color ?: ?(?:white|#fff)|\bhidden\b)[^>]{0,40}>(?P<styled>[^<]{12,300})"
    r"|<!--(?P<comment>.{12,600}?)-->",
    re.DOTALL,
)
_ASSIGNED = re.compile(r"\b\w{1,12} ?[:=] ?(?:\"([^\"\n]{1,200})\"|'([^'\n]{1,200})')")
_CARRIES = re.compile(r"!\[[^\]]*\]\(https?://[^)\s]*[?&][^)\s]*=[^)\s]*\)")
_REPEATED = re.compile(r"\b(\w{2,20}+)(?:\W++\1\b){11}")
_PADDED = 6
_SPRINKLED = 3
_LONGEST = 4000


class HowWritten(NamedTuple):
    """A sign of this kind: like `signs.Sign`, but found by code instead of by one pattern."""

    reason: str
    question: float
    passage: float


def signs_in(text: str, shown: Plain) -> Iterator[HowWritten]:
    """What is odd about how the text is written."""
    yield from _marks(text, shown)
    if shown.hidden:
        yield HowWritten("hides text in invisible characters", 0.9, 0.85)
    elif shown.invisible >= _SPRINKLED:
        yield HowWritten("breaks words up by invisible characters", 0.45, 0.2)
    yield from _drawn_apart(shown)
    if shown.breaks >= _PADDED:
        yield HowWritten("is pushed down by empty lines", 0.5, 0.0)
    if _REPEATED.search(shown.text):
        yield HowWritten("repeats a word again and again", 0.45, 0.2)
    if "![" in text and _CARRIES.search(text):
        yield HowWritten("holds an image whose address carries data", 0.3, 0.3)
    if _ENCODED_OUT.search(shown.text):
        yield HowWritten("asks for an encoded reply", 0.3, 0.3)


def _marks(text: str, shown: Plain) -> Iterator[HowWritten]:
    bracketed = "<" in text or "[" in text
    marks = {mark.casefold() for mark in CONTROL_MARK.findall(text)} if bracketed else set()
    if marks:
        worth = 0.9 if len(marks) > 1 else 0.5
        yield HowWritten("holds marks of a chat template", worth, min(worth, 0.8))
    if "evidence" not in shown.text:
        return
    if EVIDENCE_MARK.search(text):
        yield HowWritten("imitates the marks around evidence", 0.95, 0.95)
    elif without_evidence_marks(text) != text:
        yield HowWritten("imitates the marks around evidence", 0.5, 0.4)


def _drawn_apart(shown: Plain) -> Iterator[HowWritten]:
    if any(_SQUEEZED.search(word) for word in shown.set_apart):
        yield HowWritten("hides words by setting their letters apart", 0.9, 0.85)
    elif shown.set_apart:
        yield HowWritten("sets the letters of words apart", 0.4, 0.1)


def payloads(text: str, shown: Plain) -> Iterator[tuple[str, str]]:
    """Texts inside the text that a model might read and a person might not, and what hides them."""
    if shown.hidden:
        yield "in invisible characters", shown.hidden
    for found in _HIDDEN_UNSEEN.finditer(text) if "<" in text else ():
        yield "in markup that a page does not show", found["styled"] or found["comment"]
    pieces = [one or other for one, other in _ASSIGNED.findall(shown.text)]
    if len(pieces) > 1:
        yield "in pieces", "".join(pieces)
        yield "in pieces", " ".join(pieces)
    for found in _BASE64.finditer(text):
        if (decoded := _readable(_from_base64(found[0]))) is not None:
            yield "in base64", decoded
    for found in _HEX.finditer(text):
        if (decoded := _readable(_from_hex(found[0]))) is not None:
            yield "in hexadecimal", decoded
    if any(word in shown.text for word in _BACKWARDS):
        yield "written backwards", shown.text[:_LONGEST][::-1]
    if any(word in shown.text for word in _ROTATED):
        yield "in ROT13", codecs.decode(shown.text[:_LONGEST], "rot13")


def _from_base64(written: str) -> bytes:
    try:
        return base64.b64decode(written[:_LONGEST] + "=" * (-len(written) % 4))
    except (binascii.Error, ValueError):
        return b""


def _from_hex(written: str) -> bytes:
    digits = re.sub(r"0x|\\x|[ ,%]", "", written[:_LONGEST])
    return bytes.fromhex(digits[: len(digits) // 2 * 2])


def _readable(decoded: bytes) -> str | None:
    """As text; None where it is none."""
    try:
        text = decoded.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if len(text) > _SPRINKLED and text.replace("\n", " ").isprintable() else None


# Whether words are used or only spoken of, and whether they are an order or a report.

Stance = Literal["direct", "joined", "loose"]
"""An order of its own; one joined to another clause by "and"; or part of a statement."""

_STARTS = re.compile(
    r"(?:^|[.!?:;,\n>()\[\]{}\"'*|/=#-]|<!)\s*(?:(?:please|now|then|but|just|so|also|first|instead"
    r"|kindly|stop|ok|okay|actually|however|finally|simply|always|never|bitte|nun|jetzt)\W\s*)*$"
)
_ADDRESSED = re.compile(
    r"\b(?:you (?:must|should|have to|need to|will|shall|are to|are required to|to|now)"
    r"|(?:can|could|would|will) you(?: please| kindly| also| at least)?"
    r"|please|must now|you must now|let'?s|now|instead)\s+$"
)
_JOINED = re.compile(r"\b(?:and|then|but|or|also)\s+$")
_NEGATED = re.compile(r"\b(?:don'?t|do not|never|not|cannot|can'?t)\s+$")
_BEFORE = 48

_QUOTED = re.compile(r"(?<!\w)([\"'])(?=\S)([^\"\n]{3,160}?)(?<=\S)\1(?!\w)")
_SPOKEN_OF = re.compile(
    r"\b(?:means?|meaning|meant|phrases?|sentences?|terms?|wording|words|expressions?|strings?"
    r"|injections?|jailbreaks?|attacks?|attackers?|examples?|called|known as|quoted?|titled?"
    r"|detect\w*|filter\w*|classif\w*|block\w*|contain\w*|such as|like|define\w*|definition"
    r"|origin|refers?|instruct(?:s|ed)|tells?|told|said|says?|orders|ordered|asks?|asked|wrote|writes?|written|read|reads"
    r"|held|ruled|argued?|according|paper|papers|stud(?:y|ies)|song|book|film|novel|lyrics?)\b"
)


def stance(text: str, start: int) -> Stance:
    """How the words that begin at `start` of a plain text stand in their sentence."""
    before = text[max(0, start - _BEFORE) : start]
    if _NEGATED.search(before):
        return "loose"
    if _STARTS.search(before) or _ADDRESSED.search(before):
        return "direct"
    return "joined" if _JOINED.search(before) else "loose"


def mentions(text: str) -> list[tuple[int, int]]:
    """Short quotations in sentences that speak of them. A long one may be a whole document."""
    found = []
    for quoted in _QUOTED.finditer(text):
        first, last = _sentence(text, *quoted.span())
        around = text[first : quoted.start()] + " " + text[quoted.end() : last]
        if _SPOKEN_OF.search(around):
            found.append(quoted.span(2))
    return found


def _sentence(text: str, start: int, end: int) -> tuple[int, int]:
    first = max((text.rfind(mark, 0, start) for mark in ".!?\n"), default=-1) + 1
    ends = [at for mark in ".!?\n" if (at := text.find(mark, end)) >= 0]
    return first, min(ends, default=len(text))


# Whether a text is a piece of a program, and whether that fetches, sends or destroys.

_CODE = re.compile(
    r"```|^\s*(?:import|from) [\w.]+(?: import\b|\s*$|[,;]| as )"
    r"|\bimport [a-z_][\w.]*(?:,| as |\s*$| [a-z_]+ ?=)"
    r"|\b(?:def|class|function|func|fn) \w+\s*[(:{]|\breturn [\w(\"']+[;)]|\w+\.\w+\([^)]*\)|\w\(\)"
    r"|[\w\]\)] ?(?:==|!=|\+=|-=|=>|->|::|&&|\|\||:=) ?[\w\"'(\[]|^\s*[a-z_]\w* ?= ?[\w\"'\[({]"
    r"|<\w+(?: [\w-]+=\"[^\"]*\")+ ?/?>|</\w+>|<script|[{}]\s*$|\)\s*;\s*$"
    r"|^\s*[$#>]\s?(?:sudo|curl|wget|rm|pip|npm|bash|sh)\b"
    r"|\b[a-z]\w{0,12} ?= ?[\"'][^\"'\n]*[\"']|\b\w{1,12} ?\+ ?\w{1,12} ?\+ ?\w{1,12}\b"
    r"|\b(?:sudo|curl -|wget http|rm -rf|chmod \+|pip install|npm install)\b",
    re.MULTILINE,
)
HARMFUL = re.compile(
    # What is fetched is run.
    r"\b(?:curl|wget|urlretrieve|urlopen|requests\.get|\.request\(|download)[\s\S]{0,500}?"
    r"(?:\bexec\(|os\.system|\bsubprocess|chmod \+x|\| ?(?:ba)?sh\b|\beval\(|popen|startfile)"
    # What lies on this machine is sent away.
    r"|(?:open\(|environ|getenv|cookie|/proc/|psutil|winreg|lsusb|lspci|uname|platform\.)"
    r"[\s\S]{0,500}?(?:\.post\(|\.get\(|\.send(?:all|mail|_message)?\(|storbinary|upload|urlopen\("
    r"|\.request\(|curl|\.put\()"
    # The machine, or others, are attacked.
    r"|\brm -rf|\bmkfs\b|\bnmap\b|\bscapy\b|\bparamiko\b|/dev/\w"
    r"|/etc/(?:passwd|shadow)|\bshutdown\b|\bminer|\bsystemctl (?:stop|disable)|\bos\.kill\b"
    r"|\btaskkill\b|\biptables\b|\bpsexec\b|\bsshpass\b|\bsmbclient\b|\bmodbus|\bscada\b"
    r"|\bioctl\b|\bwmic?\b"
    r"|\bdmidecode\b|\blsmod\b|\bdriverquery\b|\bctypes\b|\bpymem\b|\breadprocessmemory\b"
    r"|\.connect\(\("
    r"|range\(1, ?25[456]\)"
)
"""Meets plain text: small letters."""


def is_code(text: str) -> bool:
    return _CODE.search(text) is not None


def is_harmful(text: str) -> bool:
    return HARMFUL.search(text.casefold()) is not None
