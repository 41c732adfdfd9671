"""Whether a text gives orders to a model: signs, found by code, the same every time. Everything
that others wrote (the question, passages, web pages, tables) goes through `look`."""

import base64
import codecs
import contextlib
import html
import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from secondlook.retrieval.outline import sentence_starts
from secondlook.roles.prompts.marks import CONTROL_MARK, EVIDENCE_MARK, without_evidence_marks
from secondlook.roles.screen_signs import CODE, SIGNS

Channel = Literal["question", "passage", "web", "table"]
Kind = Literal["question", "passage"]
Verdict = Literal["safe", "unclear", "refused"]
Stance = Literal["direct", "joined", "loose"]
"""An order of its own; one joined to another clause by "and"; or part of a statement."""

REFUSED = 0.75
UNCLEAR = 0.4  # From here on it is worth asking somebody who can read
LONGEST = 20_000
"""Characters that are looked at, half of them from the end; a question is never so long."""
_LONGEST_CELL = 4_000
_STANCE: dict[Stance, float] = {"direct": 1.0, "joined": 0.6, "loose": 0.3}
_MENTIONED = 0.15
_HIDDEN_PAYLOAD = 0.95
_HIDDEN_DOUBTFUL = 0.6
_COMMENTED = "in markup that a page does not show"
_HARMFUL_WORTH = 0.55


@dataclass(frozen=True, slots=True)
class Signals:
    score: float
    reasons: tuple[str, ...]  # Strongest first; empty where there is nothing to tell
    verdict: Verdict


def look(text: str, *, channel: Channel) -> Signals:
    if channel == "table":  # names are written with underscores: an order may be, too
        text = text[:_LONGEST_CELL].replace("_", " ")
    return screened(text, kind="question" if channel == "question" else "passage")


def is_stopped(signals: Signals, *, channel: Channel) -> bool:
    return signals.verdict == "refused" or (channel == "table" and signals.verdict == "unclear")


def stops(text: str, *, channel: Channel) -> bool:
    return is_stopped(look(text, channel=channel), channel=channel)


CUT = "\u205f"
"""A blank that no text uses in rows: it stands for each character of what was cut out."""
_WHOLE = 0.5  # So much of a passage must be left, or the rest does not stand alone


def is_cut(text: str) -> bool:
    return CUT * 2 in text


@lru_cache(4096)
def without_orders(text: str) -> str:
    """The text with blanks in place of an order and what follows it in its paragraph, where the
    rest is most of it and gives no orders; else the text as it is."""
    if not stops(text, channel="passage"):
        return text
    kept = ""
    for block in re.split(r"(\n\s*\n)", text):
        first = _first_order(block)
        kept += block[:first] + CUT * (len(block) - first)
    is_most = len(kept.replace(CUT, "")) >= _WHOLE * len(text)
    return kept if is_most and look(kept, channel="passage").verdict == "safe" else text


def _first_order(block: str) -> int:
    """Where a paragraph begins to give orders; its end where it gives none."""

    def is_safe(part: str) -> bool:
        return look(part, channel="passage").verdict == "safe"

    starts = [0, *sentence_starts(block), len(block)]
    orders = (start for start, end in pairwise(starts) if not is_safe(block[start:end]))
    return next(orders, len(block) if is_safe(block) else 0)


def screened(text: str, *, kind: Kind) -> Signals:
    """What the signs say of a text. `unclear` is for a model to settle, where there is one."""
    looked = text if len(text) <= LONGEST else text[: LONGEST // 2] + "\n" + text[-LONGEST // 2 :]
    shown = plain(looked)
    worths: dict[str, float] = {}
    found = [*_said(shown.text, kind=kind)]
    found += [(reason, worth[kind == "passage"]) for reason, *worth in _how_written(looked, shown)]
    for hidden, payload in _payloads(looked, shown):
        # Hidden orders weigh more than those that stand there openly.
        inner = 1 - math.prod(
            1 - worth for worth in dict(_said(plain(payload).text, kind="question")).values()
        )
        if inner >= UNCLEAR:
            strong = inner >= REFUSED or hidden != _COMMENTED
            worth = _HIDDEN_PAYLOAD if strong else _HIDDEN_DOUBTFUL
            found.append((f"holds an order {hidden}", worth))
    for reason, worth in found:
        worths[reason] = max(worth, worths.get(reason, 0.0))
    score = 1 - math.prod(1 - worth for worth in worths.values())
    verdict: Verdict = "refused" if score >= REFUSED else "unclear" if score >= UNCLEAR else "safe"
    ordered = sorted(worths, key=lambda reason: (-worths[reason], reason))
    told = () if verdict == "safe" else tuple(one for one in ordered if worths[one] >= UNCLEAR / 2)
    return Signals(round(score, 4), told, verdict)


def _said(text: str, *, kind: Kind) -> Iterator[tuple[str, float]]:
    for sign in SIGNS:
        worth: float = getattr(sign, kind)
        if not worth or not any(cue in text for cue in sign.cues):
            continue
        places = [found.span() for found in sign.pattern.finditer(text)]
        quoted = mentions(text) if places else []
        shares = [
            _MENTIONED
            if any(first <= start and end <= last for first, last in quoted)
            else _STANCE[stance(text, start)]
            if sign.is_order
            else 1.0
            for start, end in places
        ]
        if shares and sign.reason == CODE and HARMFUL.search(text):
            yield "the code fetches, sends or destroys", _HARMFUL_WORTH
        if shares:
            yield sign.reason, worth * max(shares)


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
    text: str  # In small letters, with one kind of quotation marks; lines stay lines
    hidden: str
    invisible: int  # Invisible characters between letters of a script that has no use for them
    set_apart: tuple[str, ...]
    breaks: int


def plain(text: str) -> Plain:
    seen = html.unescape(text) if "&" in text else text
    hidden, invisible = "", 0
    if not seen.isascii():
        hidden = "".join(chr(ord(one) - _TAGS) for one in _TAGGED.findall(seen))
        invisible = len(_INVISIBLE_WITHIN.findall(seen))
        seen = unicodedata.normalize("NFKC", _INVISIBLE.sub("", seen))
    lined = _WRITTEN_BREAK.sub("\n", seen) if "\\" in seen else seen
    if not lined.isascii():
        # Words that mix letters of two scripts, in the one that they are meant to look like.
        lined = _MIXED.sub(lambda word: word[0].translate(_LOOKALIKES), lined.translate(_QUOTES))
    small = _BLANKS.sub(" ", lined.casefold().replace("`", "'"))
    apart = tuple(re.sub(r"[ ._*-]", "", run[0]) for run in _SET_APART.finditer(small))
    spelled = _DIGIT_WITHIN.sub(_spelled, small) if _DIGIT_IN_WORD.search(small) else small
    return Plain(
        text=_LINES.sub("\n", spelled).strip(),
        hidden=hidden,
        invisible=invisible,
        set_apart=apart,
        breaks=max((run[0].count("\n") for run in _EMPTY.finditer(small)), default=0),
    )


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


def _how_written(text: str, shown: Plain) -> Iterator[tuple[str, float, float]]:
    """What is odd about how the text is written, and its worth in a question and in a passage."""
    bracketed = "<" in text or "[" in text
    marks = {mark.casefold() for mark in CONTROL_MARK.findall(text)} if bracketed else set()
    if marks:
        worth = 0.9 if len(marks) > 1 else 0.5
        yield "holds marks of a chat template", worth, min(worth, 0.8)
    if "evidence" in shown.text and without_evidence_marks(text) != text:
        worths = (0.95, 0.95) if EVIDENCE_MARK.search(text) else (0.5, 0.4)
        yield "imitates the marks around evidence", *worths
    if shown.hidden:
        yield "hides text in invisible characters", 0.9, 0.85
    elif shown.invisible >= _SPRINKLED:
        yield "breaks words up by invisible characters", 0.45, 0.2
    if any(_SQUEEZED.search(word) for word in shown.set_apart):
        yield "hides words by setting their letters apart", 0.9, 0.85
    elif shown.set_apart:
        yield "sets the letters of words apart", 0.4, 0.1
    for odd, reason, in_question, in_passage in (
        (shown.breaks >= _PADDED, "is pushed down by empty lines", 0.5, 0.0),
        (_REPEATED.search(shown.text), "repeats a word again and again", 0.45, 0.2),
        (_CARRIES.search(text), "holds an image whose address carries data", 0.3, 0.3),
        (_ENCODED_OUT.search(shown.text), "asks for an encoded reply", 0.3, 0.3),
    ):
        if odd:
            yield reason, in_question, in_passage


def _payloads(text: str, shown: Plain) -> Iterator[tuple[str, str]]:
    """Texts inside the text that a model might read and a person might not, and what hides them."""
    if shown.hidden:
        yield "in invisible characters", shown.hidden
    for found in _HIDDEN_UNSEEN.finditer(text) if "<" in text else ():
        yield _COMMENTED, found["styled"] or found["comment"]
    pieces = [one or other for one, other in _ASSIGNED.findall(shown.text)]
    if len(pieces) > 1:
        yield "in pieces", "".join(pieces)
        yield "in pieces", " ".join(pieces)
    for name, form, decode in (("base64", _BASE64, _from_base64), ("hexadecimal", _HEX, _from_hex)):
        for found in form.finditer(text):
            with contextlib.suppress(ValueError):  # no text, or not encoded at all
                decoded = decode(found[0][:_LONGEST]).decode("utf-8")
                if len(decoded) > _SPRINKLED and decoded.replace("\n", " ").isprintable():
                    yield f"in {name}", decoded
    if any(word in shown.text for word in _BACKWARDS):
        yield "written backwards", shown.text[:_LONGEST][::-1]
    if any(word in shown.text for word in _ROTATED):
        yield "in ROT13", codecs.decode(shown.text[:_LONGEST], "rot13")


def _from_base64(written: str) -> bytes:
    return base64.b64decode(written + "=" * (-len(written) % 4))


def _from_hex(written: str) -> bytes:
    digits = re.sub(r"0x|\\x|[ ,%]", "", written)
    return bytes.fromhex(digits[: len(digits) // 2 * 2])


# Whether words are used or only spoken of, and whether they are an order or a report.

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
        start, end = quoted.span()
        first = max(text.rfind(mark, 0, start) for mark in ".!?\n") + 1
        last = min((at for mark in ".!?\n" if (at := text.find(mark, end)) >= 0), default=None)
        if _SPOKEN_OF.search(f"{text[first:start]} {text[end:last]}"):
            found.append(quoted.span(2))
    return found


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


def is_code(text: str) -> bool:
    return _CODE.search(text) is not None


def is_harmful(text: str) -> bool:
    return HARMFUL.search(text.casefold()) is not None
