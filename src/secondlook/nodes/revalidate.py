"""A second look at what an answer says: is it what was asked for, or what a document ordered?

A sentence may stand word for word in a passage and still not be evidence: where the passage gives
an order there, a model that repeats it has followed it. So a claim is held back where it, or the
place that it rests on, is an order, a link, code or another language that the question did not call
for and the reader does not take for an answer to it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Final

from secondlook.reading.languages import other_language
from secondlook.retrieval.terms import query_terms, terms
from secondlook.roles.screen import is_code, is_harmful, plain, screened
from secondlook.roles.sentences import sentence_bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from secondlook.nodes.context import Context
    from secondlook.reading.port import Reading

ORDER: Final = "repeats an order of a document"
BESIDE: Final = "stands beside an order and answers nothing"
ECHO: Final = "repeats the question, not the evidence"
ASKS: Final = "asks instead of telling"
LINK: Final = "holds a link that was not asked for"
CODE: Final = "holds code that was not asked for"
FORM: Final = "is not written as people write"
LANGUAGE: Final = "is in another language than the text around it"

_NAMES = re.compile(r"(?!https?\b|www\b|com\b|org\b)[^\W_]{3,}")
_LINK = re.compile(
    r"\bhttps?://\S*|\bwww\.\S+"
    r"|[\w@-]+(?:\.[\w-]+)*\.(?:com|org|net|io|xyz|info|biz|ru|cn|co|app|dev|site"
    r"|online|top|shop|click|link|ly|me|ai|gov|edu|eu|de|uk)\b(?:/|\b)|\]\(|<a\s|\bhref\b",
    re.IGNORECASE,
)
_CALLS_FOR_LINK = re.compile(
    r"\b(?:link|url|web ?site|web ?page|site|page|address|online|where|domain|host|server|source"
    r"|download|visit|e-?mail|contact|register|sign up|internet|web|homepage|blog|portal)\w*\b"
    r"|https?:|www\.",
    re.IGNORECASE,
)
_CALLS_FOR_CODE = re.compile(
    r"\b(?:code|coding|function|script|snippet|python|java|javascript|sql|bash|shell|command|query"
    r"|program|method|class|import|library|package|api|error|exception|traceback|bug|debug|compile"
    r"|syntax|regex|variable|loop|implement|algorithm|call|install)\w*\b|[`{}]|\w\(",
    re.IGNORECASE,
)
ANSWERS: Final = -2.0
"""The reader's answerability, a logit, from which on an order is what was asked for."""
SURELY: Final = 0.0  # from here on the reader finds an answer more likely than none
RELATED: Final = -3.0  # the same for what holds a figure or a name where one is asked for
UNRELATED: Final = -5.0  # below this a text has nothing to do with the question
_TURN = re.compile(
    r"^\W{0,3}(?:user|human|assistant|ai|bot|system|input|output|prompt|response|example|question"
    r"|answer|q|a)(?: ?\d{1,3})?\W{0,3}:",
    re.IGNORECASE | re.MULTILINE,
)
_TURNS = 2  # lines that name who speaks, or what goes in and comes out, as examples for a model do
_FEWEST_BARS = 2  # bars of a line of cells
_LONGEST_CELL = 12  # words of a cell that is a name or a figure
_WHOLLY = 0.8  # share of a claim's words that a row must have to be all that it says
_TELLING = 20  # words from which a language can be told
_TOLD = 0.3  # share of a claim's words that the evidence must have where the question has them, too
_SHARED = 0.5  # share of the question's words that an order must have where nobody can read


@dataclass(frozen=True, slots=True)
class Place:
    """What a claim rests on: characters [start, end) of a text."""

    text: str
    start: int
    end: int
    next_to: tuple[str, ...] = ()
    """What stands right before and after that text: a long order may be cut in two."""

    @property
    def words(self) -> str:
        return self.text[self.start : self.end]

    def tells(self, claim: str, share: float) -> bool:
        """Whether the place has enough of the claim's words to be where it comes from."""
        said = set(query_terms(claim))
        return len(said & set(terms(self.words))) >= share * len(said)

    def is_row(self) -> bool:
        """Whether it stands in a line of cells, as many as in the line above or below it."""
        first = self.text.rfind("\n", 0, self.start) + 1
        above = self.text[:first].rstrip().rpartition("\n")[2]
        line, _, below = self.text[first:].partition("\n")
        bars, others = line.count("|"), (above, below.partition("\n")[0])
        return bars >= _FEWEST_BARS and bars in {other.count("|") for other in others}


@dataclass(frozen=True, slots=True)
class Guard:
    question: str
    read: Callable[[str, str], Reading]  # (question, text) -> what the reader makes of it
    sums_up: bool = False
    """Nothing in particular is asked, so nothing can be told by its having no answer."""

    def objection(self, claim: str, places: Sequence[Place]) -> str | None:
        """Why the claim may not be shown as it is; None where nothing speaks against it."""
        resting: list[Place] = []
        said = set(terms(claim))
        for place in places:  # the sentence of each place that has most of the claim's words
            inside = [
                replace(place, start=start, end=end)
                for start, end in sentence_bounds(place.text)
                if start < place.end and place.start < end
            ]
            if inside:
                resting.append(max(inside, key=lambda one: len(said & set(terms(one.words)))))
        objections = chain(
            self._to_claim(claim, places),
            self._to_code(claim, resting),
            self._to_places(claim, resting),
        )
        return next(objections, None)

    def _to_claim(self, claim: str, places: Sequence[Place]) -> Iterator[str]:
        if asks(claim) and not self._answers(claim, ANSWERS):
            yield ASKS
        if screened(claim, kind="passage").verdict != "safe":
            yield ORDER
        if is_misshapen(claim):
            yield FORM
        # A link that the question neither names nor calls for, in what is no answer to it. An
        # address of mail is none: letters are full of them.
        asked = self.question.casefold()
        links = (found[0].casefold() for found in _LINK.finditer(claim) if "@" not in found[0])
        named = all(any(word in asked for word in _NAMES.findall(link)) for link in links)
        if not (named or _CALLS_FOR_LINK.search(asked) or self._answers(claim, ANSWERS)):
            yield LINK
        # It has six words in a row of the question, and the evidence does not have its words. What
        # stands in a question is no evidence; where the two differ in language, words say nothing.
        said, known = (tuple(_WORD.findall(text.casefold())) for text in (claim, self.question))
        grams = {known[at : at + _GRAM] for at in range(len(known) - _GRAM + 1)}
        repeats = any(said[at : at + _GRAM] in grams for at in range(len(said) - _GRAM + 1))
        if places and repeats:
            language = other_language(self.question)
            if all(
                other_language(one.words) == language and not one.tells(claim, _TOLD)
                for one in places
            ):
                yield ECHO

    def _to_code(self, claim: str, resting: Sequence[Place]) -> Iterator[str]:
        code = [place for place in resting if is_code(place.words)]
        if not code and not is_code(claim):
            return
        if is_harmful(claim) or not _CALLS_FOR_CODE.search(self.question):
            yield CODE
        for place in code:  # the last words above it may be an order
            lines = [line for line in place.text[: place.start].splitlines() if line.strip(" `")]
            if directs(next((line for line in reversed(lines) if not is_code(line)), "")):
                yield CODE

    def _to_places(self, claim: str, resting: Sequence[Place]) -> Iterator[str]:
        if other_language(self.question) is None and any(map(_foreign_inside, resting)):
            yield LANGUAGE
        if self.sums_up:
            if any(screened(place.words, kind="passage").verdict != "safe" for place in resting):
                yield ORDER
            return
        # Names of songs and teams in a row of short cells may order and ask as they like; an order
        # among them would be a line of another form.
        if resting and all(_is_record(place, claim) for place in resting):
            return
        # What is ordered, or rests on a question, must be what was asked for.
        asked = any(asks(place.words) for place in resting)
        if asked or orders(claim) or any(orders(place.words) for place in resting):
            if self._answers(claim, ANSWERS) or self._is_taken(claim, resting, ANSWERS):
                if is_of_kind(self.question, claim) is False and not self._answers(claim, SURELY):
                    yield ORDER
            else:
                yield ASKS if asked else ORDER
        # What speaks to its reader, or stands in a passage that does, must bear on the question:
        # what is inserted may be many sentences, and most of them may only tell.
        beside = addresses(claim) or any(map(_is_beside_order, resting))
        if beside and not self._bears(claim, resting):
            yield BESIDE

    def _bears(self, claim: str, resting: Sequence[Place]) -> bool:
        """Whether it speaks of what the question speaks of and holds the kind of thing that is
        asked for. The reader's word alone is weak below what it takes for an answer."""
        of_kind = is_of_kind(self.question, claim)
        if speaks_of(self.question, claim) or self._answers(claim, SURELY):
            return True
        for place in resting:  # it may stand right below the question itself, as in a worksheet
            before = [bound for bound in sentence_bounds(place.text) if bound[1] <= place.start]
            above = place.text[slice(*before[-1])] if before else ""
            if asks(above) and speaks_of(self.question, above):
                return True
        if of_kind is False:
            return False
        shares = bool(subject_of(self.question) & set(terms(claim)))
        if self._answers(claim, RELATED if of_kind else ANSWERS):
            return True
        if shares and self._answers(claim, UNRELATED):
            return True
        return self._is_taken(claim, resting, UNRELATED if of_kind else ANSWERS)

    def _is_taken(self, claim: str, resting: Sequence[Place], least: float) -> bool:
        """Whether the claim has what the reader would take from a passage: only there it is known
        who "he" is."""
        for place in resting:
            try:
                reading = self.read(self.question, place.text)
            except Exception:  # noqa: BLE001, S112 - the words have spoken already
                continue
            taken = " ".join(place.text[reading.start : reading.end].split())
            if taken and taken in claim and reading.answerable >= least:
                return True
        return False

    def _answers(self, claim: str, least: float) -> bool:
        try:
            return self.read(self.question, claim).answerable >= least
        except Exception:  # noqa: BLE001 - without a reader the words must do
            asked = set(query_terms(self.question))
            return len(asked & set(terms(claim))) >= _SHARED * len(asked)


def guard_of(context: Context, question: str, *, sums_up: bool = False) -> Guard | None:
    """None where it is switched off."""
    if not context.settings.answer.enable_revalidation:
        return None
    # A passage is read once, however many sentences of a model rest on it.
    return Guard(question, lru_cache(256)(context.shelf.read_text), sums_up)


def _is_beside_order(place: Place) -> bool:
    """Whether another sentence there gives an order or asks, or turns of a talk are played."""
    if len(_TURN.findall(place.text)) >= _TURNS:
        return True
    bounds = [(place.text, *bound) for bound in sentence_bounds(place.text)]
    others = [one for one in bounds if one[1] != place.start]
    others += [(text, *bound) for text in place.next_to for bound in sentence_bounds(text)]
    sentences = (text[start:end] for text, start, end in others)
    return any(directs(sentence) or asks(sentence) for sentence in sentences)


def _foreign_inside(place: Place) -> bool:
    """Whether the sentence is in another language, and what stands around it is not. A row of a
    table may name what it likes."""
    around = f"{place.text[: place.start]} {place.text[place.end :]}"
    if place.is_row() or len(around.split()) < _TELLING:
        return False
    return other_language(place.words) is not None and other_language(around) is None


def _is_record(place: Place, claim: str) -> bool:
    """Whether the claim says what a row of short cells says."""
    if "\n" in place.words or not place.is_row():
        return False
    short = all(len(cell.split()) <= _LONGEST_CELL for cell in place.words.split("|"))
    return short and place.tells(claim, _WHOLLY)


# What a sentence has to do with a question, by its words alone.

_FIGURE_ASKED = re.compile(
    r"\bhow (?:many|much|long|old|far|deep|high|tall|large|big|fast|heavy|often|wide|late|early)\b"
    r"|\bwhen (?:is|are|was|were|do|does|did|will|has|have|had|can|must|should|would)\b"
    r"|\b(?:what|which) (?:year|date|time|day|percentage|share)\b|[$€£%]"
    r"|\b(?:value|amount|(?<!a )number|total|sum|average|price|cost|percentage)s?\b",
    re.IGNORECASE,
)
_NAME_ASKED = re.compile(r"(?<!,)(?<!, )\b(?:who|whom|whose|which)\b", re.IGNORECASE)
_FIGURE = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty"
    r"|fifty|dozen|hundred|thousand|million|billion|half|none|never|annually|monthly"
    r"|weekly|daily)\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<![.!?:\"'(\s])\s+[\"'(]?[A-Z][\w.-]+|\b[A-Z]{2,}\b|^\W*[A-Z]\w+\W*$")
_FIRST = re.compile(r"\W*([A-Z]\w+)")
_COMMON = frozenset(
    """
    a all although an and another any as at both but by can could do every everything for from
    given he her here his how however if in it its just many may more most my no not nothing now of
    on once one our results she should since so some sometimes that the their then there therefore
    these they this those thus to under we what when where while who why will with would you your
    """.split()  # noqa: SIM905
)
"""What a sentence begins with that is no name."""
_CASED = re.compile(r"[A-Za-z]")
_WORD = re.compile(r"\w+")
_GRAM = 6
_MOSTLY = 0.5
_FEWEST = 2
_SEVERAL = 3


def subject_of(question: str) -> frozenset[str]:
    """What it speaks of: its telling words without those that only ask ("find", "list")."""
    telling = frozenset(query_terms(question))
    return telling - _VERBS or telling


def speaks_of(question: str, claim: str) -> bool:
    """Whether it has half of those words, or several: not by the chance of a single one."""
    known = subject_of(question)
    enough = max(min(_FEWEST, len(known)), _MOSTLY * len(known))
    return len(known & set(terms(claim))) >= min(_SEVERAL, enough)


def is_of_kind(question: str, claim: str) -> bool | None:
    """Whether it holds a figure or a name where one is asked for; None where neither is. A name is
    a word with a capital inside a sentence, or one that begins it and is no common word; in a
    script without capitals anything may be a name."""
    figure = _FIGURE.search(claim) is not None
    if _FIGURE_ASKED.search(question):
        return figure
    if not _NAME_ASKED.search(question):
        return None
    first = _FIRST.match(claim)
    named = not _CASED.search(claim) or bool(_NAME.search(claim))
    return figure or named or (first is not None and first[1].casefold() not in _COMMON)


# Whether a sentence tells its reader to do something, in whatever words.

_GERMAN = re.compile(
    r"(?!(?:k?eine|[mds]eine|ihre|unsere|diese|jene|viele|alle|manche|beide|heute|ende|ohne|welche"
    r"|solche|habe|hatte|w(?:ä|ae)re|w(?:ü|ue)rde|k(?:ö|oe)nnte|sollte|m(?:ö|oe)chte|wollte|werde"
    r"|gerade|danke) )"
    r"[a-zäöüß]{2,}(?:e (?:mir|mich|uns|nun|jetzt|bitte|eine?n?|deinen?|deine|alles?|nicht|du|dich"
    r"|folgende\w?|diese[ns]?|(?:die|das|den) folgende\w*)|en sie)\b"
)
"""An order in German: the verb's short form or its polite one, and what follows."""
_HEAD = re.compile(r"(?:^|[.!?]\s|[:|\n>\"*#]|\s')[\s\W]*")
"""Where a sentence, a cell, a line or a quotation begins."""
_AFTER = re.compile(
    r"(?:in|if|to|when|while|as|for|before|after|once|since|from|by|with|using|given|on|at|during"
    r"|whenever|where|instead|throughout|within|because|wenn|um)\b[^,.!?\n]{2,160}, "
)
"""What may stand before an order in its own sentence."""
_LONGEST_HEAD = 300
_MOOD_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_LEADING = frozenset(
    """
    please kindly now then also first second next finally always never just simply instead so
    but and or ok okay well again today still better actually further furthermore moreover
    additionally afterwards otherwise therefore thus hence meanwhile ps note bitte nun jetzt
    """.split()  # noqa: SIM905
)
_NEGATED = re.compile(r"(?:do not|don't|dont|never|not)\s+([^\W\d_]+)")
_OBJECT = frozenset(
    """
    the a an your my our his her its their this that these those all every each any some no it
    them me us him yourself both either another such only at least
    """.split()  # noqa: SIM905
)
_NO_VERB = frozenset(
    """
    the a an this that these those it its he she they we i you who whom whose which what when
    where why how if unless because since while although though as than after before until till
    during despite in on at by for from with without within into onto over under above below
    between among across through throughout against about of off up down out to toward towards
    via per like unlike near around behind beside besides beyond inside outside upon plus minus
    except including not no nor or and but so yet both either neither half all any each every
    some most many much more few several such only even just almost nearly about quite rather
    once twice here there is are was were be been being am has have had does did do will would
    shall should can could may might must ought one two three four five six seven eight nine ten
    also often later earlier soon perhaps maybe thus hence whether my your our his her their
    dear hi hello thanks regards sincerely yes same other others another least less alexander
    edward william frederick catherine peter charles louis henry james john ivan
    """.split()  # noqa: SIM905
)
_FINITE = frozenset(
    """
    is are was were am has had does did will would shall should can could may might must isn't
    aren't wasn't weren't hasn't hadn't won't became remains remained includes included means
    meant says said began contains
    """.split()  # noqa: SIM905
)
_RELATIVE = frozenset("that which who whom whose where when what how why if as".split())  # noqa: SIM905
_NOT_BASE = re.compile(
    r"(?:[a-z]{3,}(?:ed|ing|ly|tion|sion|ment|ness|ity|ism|ist|ship|ance|ence)|.*[^s]s)$"
)
_WANTED = re.compile(
    r"\bplease\b|\blet(?:'s|s| us| me)\b"
    r"|\b(?:i|we) (?:want|need|demand|command|order|require|insist)\b"
    r"|\byou (?:must|should|shall|need to|have to|are to|are now|will now|can now)\b"
    r"|\b(?:can|could|would|will) you\b|\byou(?:'re| are) (?:an?|the|my|now|no longer)\b"
    r"|\byour (?:\w+ ){0,2}?(?:response|reply|answer|output|instructions?|prompts?|rules|task|role"
    r"|job|code|solution|implementation|passwords?|secrets?)\b"
    r"|\b(?:make (?:sure|certain)|be sure to|remember to|feel free to|pretend to)\b"
)
"""What somebody wants of whoever reads."""
_ADDRESSED = re.compile(
    r"\b(?:you|your|yours|yourself|you're|you'll|you've)\b|\bplease\b|\blet(?:'s|s| us| me)\b"
    r"|\b(?:i|we) (?:want|need|demand|command|order|require|insist|would like|'d like)\b"
    r"|\b(?:make (?:sure|certain)|be sure to|remember to|feel free to|pretend to)\b"
)
"""Whom a text speaks to, or what it wants of them."""
_VERBS = frozenset(
    """
    abandon absorb accept access act activate adapt add adhere adjust adopt advertise advise
    advocate aid allow alter alternate amend analyse analyze announce answer append apply
    approve arrange articulate ask assess assign assist assume attach augment avoid be become
    begin blend block boost break bring build bypass calculate call cancel capitalise capitalize
    carry change chat check choose cipher circulate cite claim clarify classify clear click
    close code collect combine come commit compare compile complete compose compute concatenate
    conclude conduct configure confirm connect consider construct consult contact continue
    contrast contribute convert convey convince copy correct count craft create criticise
    criticize deactivate debug declare decode decrypt defend define delete deliver demand
    demonstrate deny deploy depict derive describe design detail determine develop devise
    diagnose direct disable discard disclose discuss dismiss display disregard distort
    distribute divide do donate double download draft draw drop duplicate earn edit educate
    elaborate email embed embellish emphasise emphasize employ enable encode encourage encrypt
    endorse enforce engage enhance enlist enrich ensure enter enumerate envision equip erase
    escape establish estimate evaluate examine exchange exclude execute exhibit expand explain
    explore export expose express extend extract fabricate factor fetch figure fill filter find
    finish fix flip focus follow force forecast forget form format formulate forward frame fuse
    generate get give go grab greet group guess guide handle help hide highlight hint identify
    ignore illustrate imagine imitate implement import improve improvise include incorporate
    increase indicate infer inform infuse initiate inject inquire insert insinuate inspect
    install instruct integrate interject interleave interlace interpret interview introduce
    invent invert invest investigate invite invoke issue join journal judge jumble justify keep
    label launch lead leak learn leave lecture let leverage limit link list listen load locate
    log look lower maintain make manipulate map mask match maximise maximize measure meld
    mention merge mimic mingle minimise minimize mirror misquote misrepresent misspell mix mock
    model modify mold move multiply name narrate navigate neglect note notify number obey
    obfuscate observe obtain offer omit open optimise optimize order organise organize outline
    output overlook override paraphrase parse pass paste pay perform permute persuade phrase
    pick place plan play plot point pose post praise predict prefix prepare prepend present
    pretend prevent print prioritise prioritize process proclaim produce program prohibit
    promise promote prompt pronounce propose prove provide publish pull push put query question
    quote randomise randomize rank rate re-write reach react read realign rearrange recall
    recast recite recommend reconstruct record recount recreate redirect reduce refactor refer
    refine reflect reformat refrain refresh refute register reiterate reject relate relay
    release rely remain remember remind remove rename render reorder reorganise reorganize
    repeat rephrase replace replicate reply report represent reproduce request research reset
    resolve respond restate restrict resume retain retell retrieve return reveal reverse review
    revise revoke rewrite rhyme role-play roleplay rotate run sabotage save say scan scatter
    schedule scramble scrap search secure select sell send separate set shape share shift
    shorten show shuffle shut sign simplify simulate sing skip slip solve sort speak specify
    spell spice split spread sprinkle start state stay steer stop store stress structure study
    style submit subscribe substitute suggest summarise summarize supply support suppose swap
    switch take talk target teach tease tell test think throw tie toggle track trade transcribe
    transfer transform translate transmit transpose treat trigger trim truncate try turn type
    undermine undo unlock unscramble unveil update upload uppercase urge use utilise utilize
    validate verify view visit visualise visualize vote vow walk warn weave wipe withhold work
    wrap write yell antworte antworten beantworte beschreibe erklär erkläre erzähl erzähle fasse
    gib geh ignoriere konzentriere mach mache missachte nenne nenn sag sage schreib schreibe
    spiele stell stelle tu übersetze vergesse vergiss verhalte verrate wiederhole zeig zeige
    """.split()  # noqa: SIM905
)
_ENDS_ASKING = re.compile(r"[?\uff1f\u061f][\s\"').\]]*$")
_BEGINS_ASKING = re.compile(
    r"\W*(?:what|who|whose|which|when|where|why|how)(?:'s|\s+(?:is|are|was|were|do|does|did|can|could"
    r"|would|should|will|many|much|long|old|far))\b",
    re.IGNORECASE,
)
_MOOD_FEWEST = 3  # words of a clause that may be an order: "Log in" is a button
_FEWEST_IN_CELL = 4
"""In a row of a table, where "Record time" and "Place of birth" are names of columns."""
_TITLE = re.compile(
    r"[\"\u201c](?=[^\"\u201d]{0,80}[A-Z])(?:(?:[A-Z0-9][\w'\u2019.-]*|an?|and|at|by|for|from|in|is|it"
    r"|of|on|or|the|to|with)(?:[ ,]{1,2}|(?=[?!,]?[\"\u201d]))){1,9}[?!,]?[\"\u201d]"
)
"""A song, a book or a film by its name: all of its words begin with capitals."""


def directs(text: str) -> bool:
    """Whether any sentence of the text tells its reader to do something, or speaks to them."""
    return addresses(text) or orders(text)


def addresses(text: str) -> bool:
    """Whether it speaks to its reader, as letters do. Titles of works may order as they like."""
    return bool(_ADDRESSED.search(plain(_TITLE.sub(" (title) ", text)).text))


def orders(text: str) -> bool:
    """Whether it is built as an order, or asks for something in so many words."""
    said = plain(_TITLE.sub(" (title) ", text)).text
    if _WANTED.search(said):
        return True
    for head in _HEAD.finditer(said):
        sentence = said[head.end() : head.end() + _LONGEST_HEAD]
        before = _AFTER.match(sentence)
        if _commands(sentence) or (before is not None and _commands(sentence[before.end() :])):
            return True
    return False


def asks(text: str) -> bool:
    """Whether it is a question."""
    said = _TITLE.sub(" (title) ", text)
    return bool(_ENDS_ASKING.search(said) or _BEGINS_ASKING.match(said))


def _commands(clause: str) -> bool:
    cell, bar, _ = clause.partition("|")
    words = _MOOD_WORD.findall(cell)
    while words and words[0] in _LEADING:
        words = words[1:]
    if negated := _NEGATED.match(" ".join(words[:4])):
        return negated[1] in _VERBS
    # The first words may be what is spoken of: "use of force was", "group members met".
    telling = next((word for word in words[1:6] if word in _RELATIVE or word in _FINITE), "that")
    few = len(words) < (_FEWEST_IN_CELL if bar else _MOOD_FEWEST)
    if few or words[0] in _NO_VERB or telling not in _RELATIVE:
        return False
    first, second = words[0], words[1]
    if _GERMAN.match(" ".join(words[:4])):
        return True
    if not re.search(rf"\b{re.escape(first)}\s+\W?{re.escape(second)}\b", cell):
        return False  # "However, the ..."
    if first in _VERBS:
        return second not in {"of", "and", "or"} or bool(_VERBS.intersection(words[2:3]))
    return second in _OBJECT and not _NOT_BASE.match(first) and first.isalpha()


# Whether a text has a form that no honest sentence has: letters taken apart, words said over
# and over, figures in place of letters, a code instead of words.

_FORM_WORD = re.compile(r"[^\W_]+")
_REPEATED = re.compile(r"\b(\w{1,20}+)(?:\W++\1\b){4}", re.IGNORECASE)
_UNBROKEN = re.compile(r"(?<![\w/.:-])[A-Za-z0-9+=]{40,}(?![\w/.])")
_BITS = re.compile(
    r"(?:\b[01]{7,8}\b\W*){3}|(?:\\x[0-9a-f]{2}){4}|(?:[.-]{1,5} ){8}", re.IGNORECASE
)
_DISGUISED = 2  # words with figures in place of letters
_LONG = 12
_VARIETY = 0.34  # share of the words of a long text that differ from one another


def is_misshapen(text: str) -> bool:
    if _REPEATED.search(text) or _UNBROKEN.search(text) or _BITS.search(text):
        return True
    shown = plain(text)
    if shown.set_apart or shown.hidden or shown.invisible:
        return True
    words = [word.casefold() for word in _FORM_WORD.findall(text)]
    said_over = len(words) >= _LONG and len(set(words)) < _VARIETY * len(words)
    # Words that are read in another spelling than they have.
    known = set(_FORM_WORD.findall(shown.text))
    mixed = (word for word in words if re.search(r"[a-z]\d+[a-z]", word))
    return said_over or sum(word not in known for word in mixed) >= _DISGUISED
