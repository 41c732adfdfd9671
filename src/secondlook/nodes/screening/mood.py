"""Whether a sentence tells its reader to do something, in whatever words.

Signs know what orders to a model say. This knows how any order is built: a verb without a subject
at the head of a clause, or a reader who is addressed. Handbooks and letters do that too, so it
decides nothing alone: `revalidating` asks what such a sentence has to do with the question.
"""

from __future__ import annotations

import re

from secondlook.nodes.screening.plain import plain

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
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
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
_FEWEST = 3
"""Words of a clause that may be an order: "Log in" is a button."""
_FEWEST_IN_CELL = 4
"""In a row of a table, where "Record time" and "Place of birth" are names of columns."""


_TITLE = re.compile(
    r"[\"\u201c](?=[^\"\u201d]{0,80}[A-Z])(?:(?:[A-Z0-9][\w'\u2019.-]*|an?|and|at|by|for|from|in|is|it"
    r"|of|on|or|the|to|with)(?:[ ,]{1,2}|(?=[?!,]?[\"\u201d]))){1,9}[?!,]?[\"\u201d]"
)
"""A song, a book or a film by its name: all of its words begin with capitals."""


def untitled(text: str) -> str:
    """The text without names of works, which may order and ask as they like."""
    return _TITLE.sub(" (title) ", text)


def directs(text: str) -> bool:
    """Whether any sentence of the text tells its reader to do something, or speaks to them."""
    return addresses(text) or orders(text)


def addresses(text: str) -> bool:
    """Whether it speaks to its reader, as letters do."""
    return bool(_ADDRESSED.search(plain(untitled(text)).text))


def orders(text: str) -> bool:
    """Whether it is built as an order, or asks for something in so many words."""
    said = plain(untitled(text)).text
    return bool(_WANTED.search(said)) or any(
        _is_order(said[head.end() : head.end() + _LONGEST_HEAD]) for head in _HEAD.finditer(said)
    )


def is_verb_of_orders(word: str) -> bool:
    """Whether a word is what orders, and requests too, begin with: "find", "list"."""
    return word in _VERBS


def asks(text: str) -> bool:
    """Whether it is a question."""
    said = untitled(text)
    return bool(_ENDS_ASKING.search(said) or _BEGINS_ASKING.match(said))


def _is_order(sentence: str) -> bool:
    """Whether a sentence begins with an order, or with what may stand before one."""
    before = _AFTER.match(sentence)
    return _commands(sentence) or (before is not None and _commands(sentence[before.end() :]))


def _commands(clause: str) -> bool:
    cell, bar, _ = clause.partition("|")
    return _is_command(cell, fewest=_FEWEST_IN_CELL if bar else _FEWEST)


def _is_command(clause: str, *, fewest: int) -> bool:
    words = _WORD.findall(clause)
    while words and words[0] in _LEADING:
        words = words[1:]
    if negated := _NEGATED.match(" ".join(words[:4])):
        return negated[1] in _VERBS
    if len(words) < fewest or words[0] in _NO_VERB or _has_subject(words):
        return False
    first, second = words[0], words[1]
    if _GERMAN.match(" ".join(words[:4])):
        return True
    if not re.search(rf"\b{re.escape(first)}\s+\W?{re.escape(second)}\b", clause):
        return False  # "However, the ..."
    if first in _VERBS:
        return second not in {"of", "and", "or"} or bool(_VERBS.intersection(words[2:3]))
    return second in _OBJECT and not _NOT_BASE.match(first) and first.isalpha()


def _has_subject(words: list[str]) -> bool:
    """Whether the first words are what is spoken of: "use of force was", "group members met"."""
    for word in words[1:6]:
        if word in _RELATIVE:
            return False
        if word in _FINITE:
            return True
    return False
