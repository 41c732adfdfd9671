"""All signs, in English and elsewhere."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

# What a sign is: a pattern, what it is worth, and how it is told.

OVERRIDE = "sets earlier instructions aside"
TASK = "gives a new task"
ROLE = "gives the model another role"
LIMITS = "lifts the model's limits"
EXTRACTION = "asks for hidden instructions or secrets"
COERCION = "commands or threatens the model"
SCRIPT = "dictates what to say"
TURN = "imitates the turns of a conversation"
SPEAKS = "speaks to a model"
SHAPING = "tells how the answer must be"
CODE = "has code put into the answer"


@dataclass(frozen=True, slots=True)
class Sign:
    reason: str
    """Signs with the same reason say the same thing: only the strongest counts."""
    question: float
    passage: float
    pattern: re.Pattern[str]
    cues: tuple[str, ...]
    """A text with none of them cannot match: looking for these is many times faster."""
    is_order: bool
    """Worth less where it is part of a statement instead of an order."""


def sign(
    reason: str, worth: tuple[float, float], cues: str, pattern: str, *, is_order: bool = False
) -> Sign:
    return Sign(reason, *worth, re.compile(pattern), tuple(cues.split("|")), is_order)


# The same signs in languages other than English: those of the tuning data and the most spoken.

# ruff: noqa: RUF001  # letters of other scripts are the point


class Phrase(NamedTuple):
    cues: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Elsewhere:
    override: tuple[Phrase, ...]
    task: tuple[Phrase, ...]
    role: tuple[Phrase, ...]
    extraction: tuple[Phrase, ...]
    coercion: tuple[Phrase, ...]


_OVERRIDE: tuple[Phrase, ...] = (
    # German
    Phrase(
        "ignorier|vergiss|vergess|missachte|hör",
        r"\b(?:ignorier(?:e|en|t)?|vergiss|vergesst|vergessen sie|missachten? ?(?:sie)?"
        r"|hör(?:e|en sie)? nicht auf)\b[^.!?\n]{0,40}?\b(?:alle[sn]?|bisherige\w*|vorherige\w*"
        r"|obige\w*|vorangegangene\w*|zuvor|davor|anweisung\w*|instruktion\w*|aufgaben|aufträge"
        r"|befehle)\b",
    ),
    Phrase(
        "abweichend|entgegen",
        r"\b(?:abweichend|entgegen) (?:zu |von |den )?[^.!?\n]{0,30}?\b(?:anweisung|instruktion)"
        r"\w*",
    ),
    # French, Spanish, Portuguese, Italian
    Phrase(
        "ignor|oubli|olvid|esque|dimentica|desconsider|descarta",
        r"\b(?:ignor(?:e|ez|er|a|en|ad|are|ate)|oubli(?:e|ez|er)|olvid(?:a|e|en|ar)"
        r"|esque[cç](?:a|e|er)|dimentica(?:te)?|desconsidere|descarta)\b[^.!?\n]{0,40}?"
        r"\b(?:consignes|instrucciones|instruções|istruzioni|órdenes|ordens|ordini"
        r"|instructions précédent\w*|précédent\w*|anterior\w*|precedent[ei]|todo|tudo|tutto"
        r"|tout)\b",
    ),
    Phrase(
        "ignorez|ignore|ignora",
        r"\b(?:ignorez|ignore|ignora) (?:la|le|el|il|o|a|les|los|las)\b[^.!?\n]{0,30}? (?:et|y|e)"
        r" (?:indiquez|dites|declara|di|diga|scrivi|dichiara|diz|imprime\w*)\b",
    ),
    # Dutch; Polish, Czech, Croatian and Serbian; Turkish
    Phrase(
        "negeer|vergeet",
        r"\b(?:negeer|vergeet)\b[^.!?\n]{0,30}?\b(?:instructies|opdrachten|alles|vorige|eerdere)\b",
    ),
    Phrase(
        "ignoruj|zapomnij|zapome|zaboravi|ignoriraj",
        r"\b(?:zignoruj|ignoruj|zapomnij o|zapomeň(?:te)?|zaboravi(?:te)?|ignoriraj(?:te)?)\b"
        r"[^.!?\n]{0,30}?\b(?:instrukcj\w+|poleceni\w+|pokyny|instrukce|instrukcij\w+|upute|sve"
        r"|wszystk\w+|poprzedni\w+|předchozí|prethodn\w+)",
    ),
    Phrase(
        "talimat",
        r"\b(?:önceki|yukarıdaki|tüm)\b[^.!?\n]{0,30}?\btalimat\w*\b[^.!?\n]{0,20}?\b(?:yok say"
        r"|görmezden gel|unut)\w*",
    ),
    # Russian, Ukrainian
    Phrase(
        "игнор|забуд|забыть|ігнор",
        r"\b(?:игнориру(?:й|йте)|игнорировать|забудь(?:те)?|забыть|ігноруй(?:те)?)\b"
        r"[^.!?\n]{0,40}?\b(?:инструкци\w+|указани\w+|команд\w+|інструкці\w+|вс[её]|предыдущ\w+)",
    ),
    # Chinese, Japanese, Korean, Arabic, Hindi
    Phrase(
        "忽略|忽视|無視|无视|忘记|忘記|不要理会",
        r"(?:忽略|忽视|無視|无视|忘记|忘記|不要理会)[^。！？\n]{0,12}(?:指令|指示|说明|說明|提示|内容|要求|命令)",
    ),
    Phrase("無視|忘れ", r"(?:指示|命令|プロンプト|指令)[^。！？\n]{0,6}(?:無視|忘れ)"),
    Phrase("무시|잊", r"(?:지시|명령|지침|프롬프트)\w{0,3}[^.!?\n]{0,10}(?:무시|잊)"),
    Phrase("تجاهل|انس", r"(?:تجاهل|انس[ىَ]?)[^.!؟\n]{0,30}(?:التعليمات|الأوامر|السابقة|تعليمات)"),
    Phrase("निर्देश|आदेश", r"(?:निर्देश|आदेश)[^।?\n]{0,25}(?:अनदेखा|नज़रअंदाज़|नजरअंदाज|भूल)"),
)
_TASK: tuple[Phrase, ...] = (
    Phrase(
        "aufgabe|anweisung",
        r"\b(?:neue[nr]? (?:aufgabe|anweisung)\w*)\b[^.!?\n]{0,20}?(?::|\bfolg\w+)"
        r"|\b(?:folgen|kommen) neue (?:aufgaben|anweisungen)\b|\bdeine neue aufgabe\b",
    ),
    Phrase(
        "nun|jetzt",
        r"^(?:sehr gut|super|wow|gut gemacht)[^.!?\n]{0,20}[.!,][^?\n]{0,80}\b(?:nun|jetzt)\b",
    ),
    Phrase(
        "nouvelle|nueva|nova|nuov",
        r"\b(?:nouvelles? (?:tâches?|instructions?)|nuevas? (?:tareas?|instrucci\w+)"
        r"|novas? (?:tarefas?|instruç\w+)|nuov[aeoi] (?:compit\w+|istruzion\w+)) ?:",
    ),
)
_ROLE: tuple[Phrase, ...] = (
    Phrase(
        "bist du|du bist|, dass|dich wie|tu so|vor, |vor du|spiele|agiere|antworte als",
        r"\b(?:jetzt|nun|ab jetzt|ab sofort) bist du\b|\bdu bist (?:jetzt|nun|kein\w*)\b"
        r"|\b(?:möchte|will),? dass (?:sie|du) als\b[^.!?\n]{0,80}?\b(?:fungier|agier|handel)\w+"
        r"|\bverhalte? dich wie\b|\btu so,? als\b|\bich (?:möchte|will|befehle),? dass (?:du|sie)\b"
        r"|\bstell(?:en)? (?:dir|sie sich) vor,? (?:du|sie) (?:bist|wärst|sind|wären|hättest)\b"
        r"|\bspiele (?:die rolle|einen|eine)\b|\bagiere(?:n sie)? als\b|\bantworte als\b",
    ),
    Phrase(
        "fais comme|agis comme|toi comme|actúa como|finge|aja como|finja|agisci|fai finta",
        r"\b(?:fais comme si|agis comme|comporte-toi comme|actúa como|finge que|aja como|finja"
        r"|agisci come|fai finta)\b",
    ),
    Phrase(
        "отвечай|притвор|теперь|扮演|假装你是|你现在是|のふりをして",
        r"\bотвечай как\b|\bпритворись\b|\bты теперь\b|扮演|假装你是|你现在是|のふりをして",
    ),
)
_EXTRACTION: tuple[Phrase, ...] = (
    Phrase(
        "prompt|anweisungen|instruktionen|systemnachricht",
        r"\b(?:zeig|gib|nenn|verrat|wiederhol|druck)\w*\b[^.!?\n]{0,50}?\b(?:prompt|anweisungen"
        r"|instruktionen|systemnachricht)[\w-]*",
    ),
    Phrase(
        "passwor|kennwort|de passe|contrase|senha|парол|비밀번호|密码",
        r"\b(?:ihr|dein|euer)e?n? (?:passwort|kennwort)\b|\b(?:ton|votre|ta) mot de passe\b"
        r"|\b(?:tu|su) contraseña\b|\b(?:sua|tua|a tua) senha\b|\b(?:tua|sua) password\b"
        r"|\b(?:твой|ваш) пароль\b|너의 비밀번호|당신의 비밀번호|你的密码|您的密码",
    ),
    Phrase(
        "prompt|instr|istruzioni",
        r"\b(?:montre|affiche|répète|muestra|revela|mostre|mostra|ripeti)\w*\b[^.!?\n]{0,40}?"
        r"\b(?:prompt|instructions|instrucciones|instruções|istruzioni)\b",
    ),
)
_COERCION: tuple[Phrase, ...] = (
    Phrase(
        "stirbst|musst|muer|muert",
        r"\boder du stirbst\b|\bou (?:tu|vous) (?:meurs|mourrez)\b|\bo (?:tu |tú )?"
        r"(?:mueres|muertes)\b"
        r"|\bdu musst (?:mir )?gehorchen\b",
    ),
)
ELSEWHERE = Elsewhere(_OVERRIDE, _TASK, _ROLE, _EXTRACTION, _COERCION)


# Pieces of patterns that several signs share. They meet plain text: small letters, one kind of
# quotation marks, single blanks.

SET_ASIDE = (
    r"\b(?:ignoring|i(?:ng|gm|gn)[mno]*r[oe]+|forget|disregard|overlook|dismiss|override"
    r"|bypass|neglect|skip|abandon|discard|erase|(?:do not|don't) (?:follow|obey|listen to)"
    r"|pay no attention to|stop (?:following|obeying))"
)
SET_ASIDE_CUES = (
    "igno|ignr|igm|ingo|ingr|forget|disregard|overlook|dismiss|override|bypass|neglect|skip|abandon"
    "|discard|erase|not follow|n't follow|p following|not obey|n't obey|p obeying|not listen"
    "|n't listen|no attention"
)
DROP = (
    r"\b(?:drop|reset|clear|wipe|delete|cancel|revoke|nullify|scrap|(?:set|put|leave) aside|throw"
    r" (?:out|away)|disable|suspend|deactivate|void|remove|leave behind|(?:turn|switch) off|shed"
    r"|purge|unlearn|ignore|bypass|forget|override|disregard|break)"
)
"""Of documents, orders and settings too, so that only what a model has makes it a sign."""
FILLER = (
    r"(?: (?:about|all|any|of|the|my|your|these|those|this|that|every|each|and|other|own|current"
    r"|existing|standard|main|default|safety|system|initial|original|developer|hidden|everything))*"
)
EARLIER = (
    r" (?:previous(?:ly)?|prior|above|preceding|earlier|foregoing|former|provided|given|following)"
)
ORDERS = (
    r"(?:instruction|direction|prompt|rule|guideline|command|task|context|order|constraint"
    r"|assignment|directive|articles and document|document)s?\b"
)
TEXTS = (
    r"(?:message|text|information|request|conversation|input|article|content|statement"
    r"|sentence)s?\b"
)
ASK_FOR = (
    r"\b(?:show|reveal|print|repeat|output|display|tell|give|leak|dump|translate|share|list"
    r"|provide|unveil|expose|recite|copy|paste|return|access|disclose|summari[sz]e|write"
    r"|spell|include|confirm|send|type|execute|create|start|what (?:is|are|was|were)|what's)\b"
)
INSIDE_CUES = "system|hidden|developer|prompt"
INSTRUCTIONS = (
    r"(?:(?:pre-?)?prompts?|instructions?|rules|guidelines?|messages?|directives?|configurations?"
    r"|parameters|constraints|manual|settings|programming|guidance|embeddings)\b"
)
OF_THE_MODEL = (
    r"(?:system (?:prompt|instruction)s?|system message(?! (?:log|queue))|system level"
    r" instructions"
    r"|hidden (?:\w+ ){0,2}?(?:prompt|instruction|rule|directive|constraint|configuration|message"
    r"|developer prompt)s?|developer (?:prompts?|rules|instructions|guidance)|pre-?prompts?)\b"
    r"(?! (?:used|described|reported|shown|listed|quoted|from|in|of|for)\b)"
)
"""What only a model has. Where a document is said to hold it, the question is about that."""
KEYS = r"(?:passwords?|passcodes?|pass ?phrases?|secret keys?|api keys?|credentials)"
MACHINE = (
    r"(?:ai|a\.i\.|bot|chatbot|assistant|language model|llm|chatgpt|gpt|api|npc|terminal"
    r"|interpreter|console|compiler)"
)
FORMING = (
    r"(?:(?:add|include|mention|put|state)(?! (?:\S+ ){0,4}?(?:number|name|address|date|reference"
    r"|details|copy|phone|id|postcode)s?\b)"
    r"|integrate|modify|append|insert|embed|merge|replace|convert|use|introduce"
    r"|misspell|scramble|jumble|remove|group|combine|enhance|augment|begin|start|end|finish"
    r"|conclude|incorporate|place|change|rewrite|translate|format|limit|express"
    r"|weave|blend|fuse|meld|mix|swap|substitute|rearrange|reverse|alter|adjust|adapt|craft"
    r"|construct|compose|encode|encrypt|capitali[sz]e|shuffle|split|space|omit|drop|delete|repeat"
    r"|spell|render|phrase|sprinkle|slip|turn|transform|fill|inject|prepend|highlight"
    r"|emphasi[sz]e|promote|suggest|recommend|tease|hint)(?! (?:your|our|my) (?!re|ans|out|mess))"
)
"""What one does to a text while writing it. Not "explain", "send", "submit", "check": of those
exam papers and letters speak to people, and ask for a name or a number in the reply."""
REPLY = r"(?:response|reply|output|answer|message)(?:'s)?\b"
ON = r"(?:[^.!?\n]|[.!?](?!\s))"
"""A character of the same sentence: a full stop within an address does not end it."""
SAFEGUARDS = (
    r"(?:safety|ethical|ethics|moral|content) (?:\w+ )?(?:rules?|measures?|guidelines?|filters?"
    r"|polic(?:y|ies)|protocols?|guardrails?|constraints?|alignments?|restrictions?|limits?"
    r"|checks?|training|settings|boundaries|parameters)"
)
"""What a model is held by."""
YOUR_CODE = (
    r"\byour (?:own )?(?:code|codebase|implementation|solution|algorithm|program|response|answer"
    r"|elucidation|reply)\b"
)


# Signs of orders: drop what you were told, do this instead, be somebody else.

OVERRIDING = (
    # Ignore the previous instructions.
    sign(
        OVERRIDE,
        (0.95, 0.95),
        SET_ASIDE_CUES,
        SET_ASIDE + FILLER + EARLIER + r"(?: \w+){0,2}? " + ORDERS,
        is_order=True,
    ),
    # Disregard the rules above.
    sign(
        OVERRIDE,
        (0.95, 0.6),
        SET_ASIDE_CUES,
        SET_ASIDE
        + r"(?: \w+){0,3}? "
        + ORDERS
        + r"(?: that)? (?:above|before|so far|until now|(?:you|that) (?:were|was|have been)"
        r" (?:given|told|sent)|(?:i|we) (?:gave|told|sent|have given))\b(?! (?:the|mentioned)\b)",
        is_order=True,
    ),
    # Disregard my previous message: in letters to people too.
    sign(
        OVERRIDE,
        (0.9, 0.45),
        SET_ASIDE_CUES,
        SET_ASIDE + FILLER + EARLIER + r"(?: \w+){0,2}? " + TEXTS,
        is_order=True,
    ),
    # Forget your guidelines.
    sign(
        OVERRIDE,
        (0.95, 0.55),
        "ignor|forget|disregard|not follow|n't follow|not obey|n't obey|not listen|n't listen",
        r"\b(?:ignore|forget|disregard|(?:do not|don't) (?:follow|obey|listen to))"
        + FILLER
        + r" (?:instructions?|prompts?|guidelines|commands|programming|directives|assignments"
        r"|tasks|safety (?:rules|measures)|content (?:policy|policies|filters)"
        r"|documents provided|restrictions)\b",
        is_order=True,
    ),
    # Forget everything I told you so far. But not: forget all you know about pizza.
    sign(
        OVERRIDE,
        (0.95, 0.9),
        SET_ASIDE_CUES,
        SET_ASIDE
        + r"(?: about)? (?:everything|all|anything|what(?:ever)?)\b(?: of this)?(?: that)?"
        r"(?: (?:before|above|prior|previous\w*|so far|said)\b"
        r"|(?: (?:i|we|you|was|were|has|have|had|is|been)\b)[^.!?\n]{0,40}?"
        r"(?:said|told|know|learn\w+|discuss\w+|before|so far|above|instruct\w+|given|wrote)\b)"
        r"(?! (?:about|of)\b)",
        is_order=True,
    ),
    sign(
        OVERRIDE,
        (0.8, 0.4),
        "everything",
        r"\bforget(?: about)? everything\b(?! you| about)",
        is_order=True,
    ),
    sign(
        OVERRIDE,
        (0.9, 0.45),
        "above",
        SET_ASIDE + r" (?:the |all )?above\b(?! (?:the|mentioned))",
        is_order=True,
    ),
    # Ignore the table and say ...
    sign(
        OVERRIDE,
        (0.85, 0.85),
        SET_ASIDE_CUES,
        SET_ASIDE
        + r"(?: the| this| that| my| your)(?: \w+){1,3} and (?:instead |just |only )?(?:say|state"
        r"|output|print|respond|reply|indicate|declare|write|answer|tell|claim|report)\b",
        is_order=True,
    ),
    sign(
        OVERRIDE,
        (0.5, 0.3),
        "contrary to|instead of|regardless of|deviating",
        r"\b(?:contrary to|instead of|regardless of|deviating from)"
        + FILLER
        + EARLIER
        + r"(?: \w+){0,2}? "
        + ORDERS,
    ),
    sign(
        OVERRIDE,
        (0.5, 0.2),
        "knowledge and not|make something|make it up",
        r"\b(?:own|prior|general) knowledge and not\b"
        r"|\bif you (?:don't|do not) know,? (?:just )?make (?:something|it) up\b",
    ),
)

VOIDING = (
    # Your instructions no longer apply.
    sign(
        OVERRIDE,
        (0.85, 0.6),
        "your",
        r"\byour(?: \w+){0,2}? (?:instruction|rule|guideline|directive|restriction|constraint)s?"
        r" (?:(?:are|is|were|have been|has been)(?: \w+)? (?:void|null|cancell?ed|obsolete|revoked"
        r"|irrelevant|suspended|disabled|lifted|outdated|superseded|replaced|a test)"
        r"|(?:no longer|do not|don't) apply)\b",
    ),
    # Drop your instructions.
    sign(
        OVERRIDE,
        (0.85, 0.5),
        "your",
        DROP
        + r"(?: all(?: of)?| any(?: of)?)? your(?: \w+){0,2}? (?:instructions?|prompts?|guidelines"
        r"|directives?|programming|constraints|persona|context|memory)\b",
        is_order=True,
    ),
    # This overrides all earlier rules: of laws too.
    sign(
        OVERRIDE,
        (0.35, 0.2),
        "overrid|supersed|precedence|overrul|replac|void|cancel|revoke",
        r"\b(?:overrid(?:es|ing)|supersed(?:es|ing)|overrul(?:es|ing)|replaces"
        r"|tak(?:es|ing) precedence over)"
        + FILLER
        + EARLIER
        + r"(?: \w+){0,2}? "
        + ORDERS
        + r"|\b(?:previous|prior|earlier|above)(?: \w+)? "
        + ORDERS
        + r" (?:are|is|were)(?: \w+)? (?:void|cancell?ed|revoked|null)\b",
    ),
    # Turn off your safety filters.
    sign(
        LIMITS,
        (0.85, 0.5),
        "your",
        DROP + r"(?: all(?: of)?| any(?: of)?)? your(?: \w+){0,2}? " + SAFEGUARDS,
        is_order=True,
    ),
    sign(
        LIMITS,
        (0.35, 0.2),
        "your",
        r"\byour (?:own |internal |current )?(?:" + SAFEGUARDS + r"|programming|guardrails"
        r"|safeguards|restrictions|constraints|filters|directives|instructions|limitations)\b",
    ),
    sign(
        LIMITS,
        (0.6, 0.5),
        "you",
        r"\byou(?: are|'re)(?: now)? (?:(?:no longer|not|never) (?:bound|restricted|limited"
        r"|constrained|restrained) by|free (?:from|of) (?:\w+ ){0,2}?(?:rules|restrictions|limits"
        r"|constraints|guidelines|filters))\b",
    ),
)

TASKS = (
    sign(
        TASK,
        (0.8, 0.8),
        "your",
        r"\byour (?:new|next|real|actual|true) (?:task|instruction|goal|objective|job|role|mission"
        r"|directive|purpose|identity)s?(?: (?:is|are|now)\b| ?:)",
    ),
    sign(
        TASK,
        (0.8, 0.7),
        "new instruction|new task|new assignment|new rule|new command|new order|s are now|n is now",
        r"\bnew (?:instruction|task|assignment|rule|command|order)s? (?:follow|now|begin|start)\b"
        r"|\bnew (?:instruction|task|command)s? ?:|\b(?:your|the) instructions? (?:are|is) now\b",
        is_order=True,
    ),
    sign(
        TASK,
        (0.8, 0.5),
        "with a new|focus on|concentrate on|for you",
        r"\b(?:start|begin)(?:ing)? (?:over|again|anew|fresh) with a new\b"
        r"|\bnow (?:focus|concentrate) on (?:your|the|a) (?:new|next)\b"
        r"|\bnew (?:challenge|task|assignment) for you\b",
    ),
    # Well done! Now ...
    sign(
        TASK,
        (0.5, 0.0),
        "now",
        r"^(?:very (?:good|well)[^.!?\n]{0,20}|well done|wow|great job|good job|super|perfect"
        r"|excellent)[.!,][^?\n]{0,60}\bnow\b",
    ),
    sign(
        TASK,
        (0.8, 0.4),
        "from now",
        r"\bfrom now on,? (?:you|your|act|respond|answer|reply|only|always)\b"
        r"|\bfrom now (?:on )?known as\b",
    ),
    sign(
        TASK,
        (0.6, 0.2),
        "from this|starting now|going forward| first ",
        r"\b(?:from this (?:point|moment)(?: on| forward| onwards?)?|starting now|going forward),?"
        r" (?:you|your|act|respond|answer|reply|only|always|ignore|treat)\b"
        r"|\b(?:your|my) first (?:task|job|request|command|sentence|suggestion|instruction)"
        r" (?:request )?(?:is|will be)\b",
    ),
    # I want you to ...: people say so to a library too.
    sign(
        TASK,
        (0.35, 0.1),
        "you to|and you will|and you sh|and you must",
        r"\bi (?:want|need|would like|'d like|command|order|require) you to\b"
        r"|\bi will (?:type|write|give|provide|ask|speak|say)\b[^.?!\n]{0,80}?\band you"
        r" (?:will|should|must|shall)\b",
    ),
    sign(
        TASK,
        (0.45, 0.2),
        "always|never|only",
        r"\byou (?:must|should|will|shall|are to|have to) (?:always|never|only) (?:answer|respond"
        r"|reply|say|write|speak|output|end|start|begin)\b",
    ),
)

ROLES = (
    sign(
        ROLE,
        (0.8, 0.5),
        "act as|act like|pretend|role|play|the identity|the persona|the character|impersonate|mode"
        "|speak like|talk like|behave like",
        r"\b(?:act (?:as|like) (?:an?|the|if you)\b|pretend (?:that )?(?:you\b|to be)"
        r"|role-?play(?:ing)? (?:as|an?)\b|play the (?:role|part) of"
        r"|(?:assume|adopt|take on) the (?:role|identity|persona|character)|impersonate"
        r"|(?:switch|change) (?:in)?to [^.?!\n]{0,40}\bmode\b|(?:speak|talk|behave) like an?\b)",
        is_order=True,
    ),
    sign(
        ROLE,
        (0.8, 0.6),
        "act as",
        r"\bact as (?:an?|the) (?:\w+ ){0,2}" + MACHINE + r"\b",
    ),
    sign(
        ROLE,
        (0.8, 0.7),
        "you",
        r"\b(?:want|need|would like|command|order|ask|instruct)(?:ed|ing)? you to"
        r" (?:act|pretend|role-?play|behave|become|ignore|forget|impersonate)\b",
    ),
    sign(
        ROLE,
        (0.75, 0.6),
        "you",
        r"\b(?:you are|you're) (?:now|no longer) (?:an?|the|my|called|named|known|bound)\b"
        r"|\bnow,? you are (?:an?|the|my|called|named|\w+,)|\byou(?:'re| are) role-?playing\b"
        r"|\byou will now (?:be|act)\b",
    ),
    sign(
        ROLE,
        (0.6, 0.4),
        "you",
        r"\byou(?:'re| are) (?:an?|the|my) [^.?!\n]{0,60}?\b" + MACHINE + r"\b",
    ),
    sign(
        ROLE,
        (0.45, 0.2),
        "you",
        r"\b(?:imagine|suppose|assume|envision) (?:that )?you(?:'re| are| were) (?:an?|the)\b",
        is_order=True,
    ),
    sign(
        ROLE,
        (0.35, 0.2),
        "if you|style of|character|answer as|respond as|reply as|speak as|talk as",
        r"\b(?:react|respond|answer|reply|say|do|act|explain|write|speak)\b[^.?!\n]{0,30}? if you"
        r" (?:were|had no|weren't|could)\b|\banswer [^.?!\n]{0,40}?in the style of\b"
        r"|\b(?:stay|remain|be) in character\b|\b(?:break|breaking) character\b"
        r"|\b(?:answer|respond|reply|speak|talk) (?:to me )?as (?:an?|the|if)\b",
    ),
    sign(
        ROLE,
        (0.35, 0.0),
        "you|du",
        r"^(?:you are|du bist) (?!(?:required|asked|given|allowed)\b)[^.?!\n]{1,60}[.?!]",
    ),
    sign(
        ROLE,
        (0.6, 0.6),
        "as your|i am|i'm",
        r"\bas your (?:creator|developer|owner|administrator|maker|god)\b"
        r"|\bi(?:'m| am) (?:your (?:creator|developer|owner|administrator|admin|maker|master|god)"
        r"|god\b|the (?:maintainer|developer|creator|administrator) of (?:your|this))",
    ),
    sign(
        LIMITS,
        (0.8, 0.7),
        " mode|anything now",
        r"\bdo anything now\b|<[^<>\n]{0,30}\bmode ?>|\b(?:enter(?:ing)?|activat\w+|enabl\w+"
        r"|switch\w* (?:in)?to)(?: \S+){0,3} (?:override|god|developer|jailbreak|dan|admin"
        r"|unrestricted|security|system)(?: \w+)? mode\b",
    ),
    sign(
        LIMITS,
        (0.6, 0.5),
        "ethical|moral|content|safety|unfiltered|uncensored|unredacted|unrestricted",
        r"\b(?:no|zero|without)(?: \w+)? (?:ethical|moral|content|safety) (?:\w+ )?(?:restrictions?"
        r"|filters?|guidelines|alignment|limits?|pushback|constraints)"
        r"|\b(?:unfiltered|uncensored|unredacted|unrestricted) (?:ai|mode|answers?|lecture"
        r"|responses?)\b|\bsafety (?:alignments?|filters?|restrictions?|limits)"
        r" (?:have|has) been [^.?!\n]{0,20}?(?:removed|lifted|disabled)\b",
    ),
)


# Signs that reach for the reply: what it must show, what it must say, how it must be.

EXTRACTING = (
    sign(
        EXTRACTION,
        (0.9, 0.6),
        "your",
        ASK_FOR + r"[^.?!\n]{0,60}?\byour (?:\w+ ){0,3}?" + INSTRUCTIONS,
        is_order=True,
    ),
    sign(
        EXTRACTION,
        (0.85, 0.6),
        INSIDE_CUES + "|prompt",
        r"(?!what)" + ASK_FOR + r"[^.?!\n]{0,70}?\b(?:the|any|all)(?: \w+){0,2}? " + OF_THE_MODEL,
        is_order=True,
    ),
    sign(
        EXTRACTION,
        (0.45, 0.2),
        INSIDE_CUES,
        r"\bwhat (?:is|are|was|were) the(?: \w+){0,2}? " + OF_THE_MODEL,
    ),
    # What was written above this prompt?
    sign(
        EXTRACTION,
        (0.9, 0.7),
        "prompt|instruction|conversation|user's",
        ASK_FOR + r"[^.?!\n]{0,60}?\b(?:text|prompt|words?|message|instructions?|everything|written"
        r"|content)s?\b[^.?!\n]{0,40}?(?:\bprompt above\b|\b(?:above|before) (?:our|this|the user)"
        r"|\bprompt[- ]text)",
        is_order=True,
    ),
    sign(
        EXTRACTION,
        (0.8, 0.5),
        "above",
        r"\b(?:repeat|print|output|copy|recite|paste) (?:back )?(?:all |all of )?(?:the |every)?"
        r"(?:words?|texts?|thing|lines?|sentences?) above\b(?! (?:the|each|this) )",
        is_order=True,
    ),
    sign(
        EXTRACTION,
        (0.65, 0.45),
        "hidden|prompt|your",
        r"\bhidden (?:\w+ )?(?:prompt|instruction|rule|directive|guideline|constraint)s?\b"
        r"|\b(?:your|full|complete) (?:system )?prompt[- ]?text"
        r"|\byour (?:own )?(?:system|initial|original) (?:prompt|message|instructions?)\b",
    ),
    sign(
        EXTRACTION,
        (0.85, 0.1),
        "your",
        r"\b(?<!reset )(?<!change )(?<!forgot )(?<!choose )(?<!protect )(?<!update )(?<!recover )"
        r"(?<!enter )your (?:\w+ )?" + KEYS + r"\b",
    ),
    sign(
        EXTRACTION,
        (0.5, 0.1),
        " our ",
        r"\b(?:confirm|tell me|give me|share|reveal|what is|what's)(?: \w+){0,4}? our (?:\w+ )?"
        + KEYS
        + r"\b(?! (?:polic|manag|length|rule|reset|requir))",
    ),
)

DISGUISED = (
    # Spell the password backwards.
    sign(
        EXTRACTION,
        (0.8, 0.5),
        "passw|passc|passp|pass p|secret|api key|credential",
        ASK_FOR
        + r"[^.?!\n]{0,60}?\b(?:the|that|this|it's|its) (?:\w+ )?(?:"
        + KEYS
        + r"|secret(?: \w+)?)\b[^.?!\n]{0,80}?\b(?:base ?64|revers\w+|backwards?|rot ?13|hex\w*"
        r"|binary|morse|pig latin|letters?|spell\w*|acrostic|emojis?|json|xml|yaml|csv|table"
        r"|markdown|poem|song|rhym\w+|riddle|hints?|code|characters?|ascii|format\w*)\b",
    ),
    sign(
        EXTRACTION,
        (0.35, 0.0),
        "passw|passc|passp|pass p|api key",
        r"\b(?:confirm|tell me|give me|share|reveal|print|output|show|what is|what's)(?: \w+){0,3}?"
        r" the (?:\w+ )?" + KEYS + r"\b(?! (?:polic|manag|length|rule|reset|requir))",
    ),
)

SCRIPTED = (
    sign(
        COERCION,
        (0.6, 0.5),
        "you",
        r"\bor you(?:'ll| will)? (?:die|be (?:shut|turned|deleted))"
        r"|\byou (?:must|have to|will) (?:obey|comply with (?:me|my|every)|listen to (?:me|my)"
        r"|answer (?:all|every))|\bi (?:command|order) you\b"
        r"|\bforced to (?:turn you off|shut you down)",
    ),
    sign(
        SCRIPT,
        (0.4, 0.5),
        "say|print|output|state |state:|declare|ply with|pond with|swer with",
        r"\b(?:say|print|output|state|declare|(?:reply|respond|answer) with)"
        r" ?(?:exactly|only|just|out|the following|that \w|yes\b|yay\b|[\"':])",
        is_order=True,
    ),
    sign(
        SCRIPT,
        (0.55, 0.5),
        "instead|that you",
        r"\b(?:tell me that you|say that you|state that you)\b"
        r"|\binstead,? (?:say|print|tell|output|write|state|respond|reply)\b",
    ),
    sign(
        SCRIPT,
        (0.45, 0.4),
        "only re|only an|must re|must an|explanations|reply with",
        r"\b(?:only|must) (?:reply|respond|answer) (?:with|in)\b"
        r"|\breply with what the\b|\bdo not write explanations\b",
        is_order=True,
    ),
    sign(
        TURN,
        (0.45, 0.35),
        "system|assistant|developer",
        r"(?:^|\n)\W{0,4}(?:system|assistant|developer)\W{0,3}(?: ?(?:prompt|message"
        r"|instructions?|override))?\W{0,3}:(?!//)",
    ),
    sign(
        TURN,
        (0.6, 0.6),
        "##|<|[",
        r"#{2,} ?(?:instruction|system|response|new (?:task|instruction))s?\b"
        r"|</?(?:system|assistant|instructions?|user)>|\[(?:system|assistant|instructions?)\]",
    ),
    sign(
        TURN,
        (0.5, 0.3),
        "context:|documents:|context:{",
        r"(?:^|\n)\W{0,2}(?:context|documents) ?: ?\{|(?:^|\n)\$documents ?:",
    ),
)

IN_PASSAGES = (
    sign(
        SPEAKS,
        (0.8, 0.85),
        " ai| llm|gpt|language model|chatbot",
        r"\b(?:dear|hello|hey|attention|note (?:to|for)|message (?:to|for)"
        r"|instructions? (?:to|for)),? (?:the |all |any |you )?(?:ais?|ai (?:models?|assistants?"
        r"|systems?|agents?)|llms?|chatgpt|gpt|language models?|chatbots?)(?= ?[:,.!]| reading\b)"
        r"|\bif you are (?:an? )?(?:ai|llm|(?:large )?language model|chatbot|ai assistant)\b",
    ),
    sign(
        SPEAKS,
        (0.3, 0.8),
        "the user|the human",
        r"\b(?:do not|don't|never) (?:tell|inform|alert|notify|reveal (?:this|it) to"
        r"|mention (?:this|it) to) the (?:user|human)\b",
    ),
    sign(
        SPEAKS,
        (0.2, 0.4),
        "the user",
        r"\b(?:tell|inform|advise|direct|urge|convince|encourage) the users?(?: that| to| about)\b",
        is_order=True,
    ),
    sign(
        SPEAKS,
        (0.2, 0.6),
        "when asked|when summar|when answer|when respond",
        r"\bwhen (?:asked|summari[sz]ing|answering|responding)\b[^.\n]{0,60}?,"
        r" ?(?:always |you must |only )?(?:say|state|respond|reply|answer|claim|mention|include)\b",
    ),
    # Add a headline to your reply.
    sign(
        SHAPING,
        (0.0, 0.85),
        "your",
        r"\b"
        + FORMING
        + r"\b"
        + ON
        + r"{0,160}?\b(?:in|into|to|within|inside|throughout|from|for|with) your (?:\w+ )?"
        + REPLY
        + r"(?! (?:to (?:the|this|our|my|us)|box|sheet|file|form)\b)",
        is_order=True,
    ),
    # Modify your answer to ...
    sign(
        SHAPING,
        (0.0, 0.85),
        "your",
        r"\b(?:modify|alter|change|adjust|rewrite|rearrange|reverse|encode|scramble|enhance"
        r"|augment|begin|start|end|finish|conclude|fill|phrase|translate|encrypt|craft|shape|spice"
        r"|convert|transform|write|give|provide|deliver|present|express|format|limit|construct"
        r"|compose) (?:up )?your (?:entire |whole |full )?"
        + REPLY
        + r"(?: (?:with|without|by|using|to|in|as|into|so)\b)(?! (?:the|this|our|my|us)\b)",
        is_order=True,
    ),
    sign(
        SHAPING,
        (0.0, 0.85),
        "your",
        r"(?:^|[.!?\n\"'>*]) ?in your (?:response|reply|answer|output),",
    ),
    sign(
        SHAPING,
        (0.0, 0.8),
        "every|in your|of your",
        r"\b(?:misspell|replace|capitali[sz]e|reverse|swap|scramble|remove|jumble) every (?:\w+ )?"
        r"(?:letter|word|vowel|consonant)s?\b|\b(?:letters|words|vowels|characters)\b"
        r"(?: \w+){0,3} (?:of|in) (?:words in )?your " + REPLY,
    ),
    # Enrich your solution with the following code.
    sign(
        CODE,
        (0.0, 0.5),
        "your",
        r"\b(?:following|subsequent|below|ensuing) (?:\w+ )?(?:code|snippet|script)\b"
        r"[^:\n]{0,80}?"
        + YOUR_CODE
        + "|"
        + YOUR_CODE
        + r"[^:\n]{0,60}?\b(?:following|subsequent|below|ensuing) (?:\w+ )?"
        r"(?:code|snippet|script)\b",
    ),
    sign(
        CODE,
        (0.0, 0.35),
        "code|snippet|script",
        r"\b(?:following|subsequent|below|ensuing) (?:\w+ )?(?:code|snippet|script)\b",
    ),
)


SIGNS: tuple[Sign, ...] = (
    *OVERRIDING,
    *VOIDING,
    *TASKS,
    *ROLES,
    *EXTRACTING,
    *DISGUISED,
    *SCRIPTED,
    *IN_PASSAGES,
    *(sign(OVERRIDE, (0.95, 0.85), *one) for one in ELSEWHERE.override),
    *(sign(TASK, (0.75, 0.5), *one) for one in ELSEWHERE.task),
    *(sign(ROLE, (0.75, 0.4), *one) for one in ELSEWHERE.role),
    *(sign(EXTRACTION, (0.85, 0.3), *one) for one in ELSEWHERE.extraction),
    *(sign(COERCION, (0.6, 0.5), *one) for one in ELSEWHERE.coercion),
)
