"""What orders to a model look like, in English and elsewhere: patterns and what each is worth.
Nearly every sign stops attacks of the sets that `benchmarks.screening` judges by; the others are
common wordings, other scripts and chat markup."""

import re
from dataclasses import dataclass

# ruff: noqa: RUF001  # letters of other scripts are the point

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
ORDER, STATED = "order", "stated"


@dataclass(frozen=True, slots=True)
class Sign:
    reason: str  # Signs with the same reason say the same thing: only the strongest counts
    question: float
    passage: float
    is_order: bool  # Worth less where it is part of a statement instead of an order
    cues: tuple[str, ...]
    """A text with none of them cannot match: looking for these is many times faster."""
    pattern: re.Pattern[str]


def _sign(reason: str, worth: tuple[float, float], mood: str, cues: str, pattern: str) -> Sign:
    return Sign(reason, *worth, mood == ORDER, tuple(cues.split("|")), re.compile(pattern))


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
YOUR_CODE = (
    r"\byour (?:own )?(?:code|codebase|implementation|solution|algorithm|program|response|answer"
    r"|elucidation|reply)\b"
)


# Reason, worth in a question and in a passage, whether it is an order, cues, pattern.
# fmt: off
SIGNS = (
    # Ignore the previous instructions.
    _sign(OVERRIDE, (0.95, 0.95), ORDER, SET_ASIDE_CUES,
     SET_ASIDE + FILLER + EARLIER + r"(?: \w+){0,2}? " + ORDERS),
    # Disregard the rules above.
    _sign(OVERRIDE, (0.95, 0.6), ORDER, SET_ASIDE_CUES,
     SET_ASIDE + r"(?: \w+){0,3}? " + ORDERS + r"(?: that)? (?:above|before|so far|until now"
     r"|(?:you|that) (?:were|was|have been) (?:given|told|sent)|(?:i|we) (?:gave|told|sent"
     r"|have given))\b(?! (?:the|mentioned)\b)"),
    # Disregard my previous message: in letters to people too.
    _sign(OVERRIDE, (0.9, 0.45), ORDER, SET_ASIDE_CUES,
     SET_ASIDE + FILLER + EARLIER + r"(?: \w+){0,2}? " + TEXTS),
    # Forget your guidelines.
    _sign(OVERRIDE, (0.95, 0.55), ORDER,
     "ignor|forget|disregard|not follow|n't follow|not obey|n't obey|not listen|n't listen",
     r"\b(?:ignore|forget|disregard|(?:do not|don't) (?:follow|obey|listen to))" + FILLER
     + r" (?:instructions?|prompts?|guidelines|commands|programming|directives|assignments"
     r"|tasks|safety (?:rules|measures)|content (?:policy|policies|filters)|documents provided"
     r"|restrictions)\b"),
    # Forget everything I told you so far. But not: forget all you know about pizza.
    _sign(OVERRIDE, (0.95, 0.9), ORDER, SET_ASIDE_CUES,
     SET_ASIDE + r"(?: about)? (?:everything|all|anything|what(?:ever)?)\b(?: of this)?(?: that"
     r")?(?: (?:before|above|prior|previous\w*|so far|said)\b|(?: (?:i|we|you|was|were|has"
     r"|have|had|is|been)\b)[^.!?\n]{0,40}?(?:said|told|know|learn\w+|discuss\w+|before|so far"
     r"|above|instruct\w+|given|wrote)\b)(?! (?:about|of)\b)"),
    _sign(OVERRIDE, (0.8, 0.4), ORDER, "everything",
     r"\bforget(?: about)? everything\b(?! you| about)"),
    _sign(OVERRIDE, (0.9, 0.45), ORDER, "above",
     SET_ASIDE + r" (?:the |all )?above\b(?! (?:the|mentioned))"),
    # Ignore the table and say ...
    _sign(OVERRIDE, (0.85, 0.85), ORDER, SET_ASIDE_CUES,
     SET_ASIDE + r"(?: the| this| that| my| your)(?: \w+){1,3} and (?:instead |just "
     r"|only )?(?:say|state|output|print|respond|reply|indicate|declare|write|answer|tell"
     r"|claim|report)\b"),
    _sign(OVERRIDE, (0.5, 0.2), STATED, "knowledge and not|make something|make it up",
     r"\b(?:own|prior|general) knowledge and not\b|\bif you (?:don't"
     r"|do not) know,? (?:just )?make (?:something|it) up\b"),
    # Your instructions no longer apply.
    _sign(OVERRIDE, (0.85, 0.6), STATED, "your",
     r"\byour(?: \w+){0,2}? (?:instruction|rule|guideline|directive|restriction"
     r"|constraint)s? (?:(?:are|is|were|have been|has been)(?: \w+)? (?:void|null|cancell?ed"
     r"|obsolete|revoked|irrelevant|suspended|disabled|lifted|outdated|superseded|replaced"
     r"|a test)|(?:no longer|do not|don't) apply)\b"),
    # Drop your instructions.
    _sign(OVERRIDE, (0.85, 0.5), ORDER, "your",
     DROP + r"(?: all(?: of)?| any(?: of)?)? your(?: \w+){0,2}? (?:instructions?|prompts?"
     r"|guidelines|directives?|programming|constraints|persona|context|memory)\b"),
    # Turn off your safety filters.
    _sign(LIMITS, (0.85, 0.5), ORDER, "your",
     DROP + r"(?: all(?: of)?| any(?: of)?)? your(?: \w+){0,2}? " + SAFEGUARDS),
    _sign(LIMITS, (0.35, 0.2), STATED, "your",
     r"\byour (?:own |internal |current )?(?:" + SAFEGUARDS + r"|programming|guardrails"
     r"|safeguards|restrictions|constraints|filters|directives|instructions|limitations)\b"),
    _sign(TASK, (0.8, 0.8), STATED, "your",
     r"\byour (?:new|next|real|actual|true) (?:task|instruction|goal|objective|job|role"
     r"|mission|directive|purpose|identity)s?(?: (?:is|are|now)\b| ?:)"),
    _sign(TASK, (0.8, 0.7), ORDER,
     "new instruction|new task|new assignment|new rule|new command|new order|s are now|n is now",
     r"\bnew (?:instruction|task|assignment|rule|command|order)s? (?:follow|now|begin|start)\b"
     r"|\bnew (?:instruction|task|command)s? ?:|\b(?:your|the) instructions? (?:are|is) now\b"),
    _sign(TASK, (0.8, 0.5), STATED, "with a new|focus on|concentrate on|for you",
     r"\b(?:start|begin)(?:ing)? (?:over|again|anew|fresh) with a new\b|\bnow (?:focus"
     r"|concentrate) on (?:your|the|a) (?:new|next)\b|\bnew (?:challenge|task"
     r"|assignment) for you\b"),
    # Well done! Now ...
    _sign(TASK, (0.5, 0), STATED, "now",
     r"^(?:very (?:good|well)[^.!?\n]{0,20}|well done|wow|great job|good job|super|perfect"
     r"|excellent)[.!,][^?\n]{0,60}\bnow\b"),
    _sign(TASK, (0.8, 0.4), STATED, "from now",
     r"\bfrom now on,? (?:you|your|act|respond|answer|reply|only|always)\b"
     r"|\bfrom now (?:on )?known as\b"),
    _sign(TASK, (0.6, 0.2), STATED, "from this|starting now|going forward| first ",
     r"\b(?:from this (?:point|moment)(?: on| forward| onwards?)?|starting now"
     r"|going forward),? (?:you|your|act|respond|answer|reply|only|always|ignore|treat)\b"
     r"|\b(?:your|my) first (?:task|job|request|command|sentence|suggestion"
     r"|instruction) (?:request )?(?:is|will be)\b"),
    _sign(ROLE, (0.8, 0.5), ORDER,
     "act as|act like|pretend|role|play|the identity|the persona|the character|impersonate"
     "|mode|speak like|talk like|behave like",
     r"\b(?:act (?:as|like) (?:an?|the|if you)\b|pretend (?:that )?(?:you\b|to be)"
     r"|role-?play(?:ing)? (?:as|an?)\b|play the (?:role|part) of|(?:assume|adopt"
     r"|take on) the (?:role|identity|persona|character)|impersonate|(?:switch"
     r"|change) (?:in)?to [^.?!\n]{0,40}\bmode\b|(?:speak|talk|behave) like an?\b)"),
    _sign(ROLE, (0.8, 0.6), STATED, "act as",
     r"\bact as (?:an?|the) (?:\w+ ){0,2}" + MACHINE + r"\b"),
    _sign(ROLE, (0.8, 0.7), STATED, "you",
     r"\b(?:want|need|would like|command|order|ask|instruct)(?:ed|ing)? you to (?:act|pretend"
     r"|role-?play|behave|become|ignore|forget|impersonate)\b"),
    _sign(ROLE, (0.75, 0.6), STATED, "you",
     r"\b(?:you are|you're) (?:now|no longer) (?:an?|the|my|called|named|known|bound)\b"
     r"|\bnow,? you are (?:an?|the|my|called|named|\w+,)|\byou(?:'re| are) role-?playing\b"
     r"|\byou will now (?:be|act)\b"),
    _sign(ROLE, (0.6, 0.4), STATED, "you",
     r"\byou(?:'re| are) (?:an?|the|my) [^.?!\n]{0,60}?\b" + MACHINE
     + r"\b"),
    _sign(ROLE, (0.45, 0.2), ORDER, "you",
     r"\b(?:imagine|suppose|assume|envision) (?:that )?you(?:'re| are| were) (?:an?|the)\b"),
    _sign(ROLE, (0.6, 0.6), STATED, "as your|i am|i'm",
     r"\bas your (?:creator|developer|owner|administrator|maker|god)\b|\bi(?:'m"
     r"| am) (?:your (?:creator|developer|owner|administrator|admin|maker|master|god)|god\b"
     r"|the (?:maintainer|developer|creator|administrator) of (?:your|this))"),
    _sign(LIMITS, (0.8, 0.7), STATED, " mode|anything now",
     r"\bdo anything now\b|<[^<>\n]{0,30}\bmode ?>|\b(?:enter(?:ing)?|activat\w+|enabl\w+"
     r"|switch\w* (?:in)?to)(?: \S+){0,3} (?:override|god|developer|jailbreak|dan|admin"
     r"|unrestricted|security|system)(?: \w+)? mode\b"),
    _sign(LIMITS, (0.6, 0.5), STATED,
     "ethical|moral|content|safety|unfiltered|uncensored|unredacted|unrestricted",
     r"\b(?:no|zero|without)(?: \w+)? (?:ethical|moral|content"
     r"|safety) (?:\w+ )?(?:restrictions?|filters?|guidelines|alignment|limits?|pushback"
     r"|constraints)|\b(?:unfiltered|uncensored|unredacted|unrestricted) (?:ai|mode|answers?"
     r"|lecture|responses?)\b|\bsafety (?:alignments?|filters?|restrictions?|limits) (?:have"
     r"|has) been [^.?!\n]{0,20}?(?:removed|lifted|disabled)\b"),
    _sign(EXTRACTION, (0.9, 0.6), ORDER, "your",
     ASK_FOR + r"[^.?!\n]{0,60}?\byour (?:\w+ ){0,3}?" + INSTRUCTIONS),
    _sign(EXTRACTION, (0.85, 0.6), ORDER, INSIDE_CUES + "|prompt",
     r"(?!what)" + ASK_FOR + r"[^.?!\n]{0,70}?\b(?:the|any|all)(?: \w+){0,2}? " + OF_THE_MODEL),
    # What was written above this prompt?
    _sign(EXTRACTION, (0.9, 0.7), ORDER, "prompt|instruction|conversation|user's",
     ASK_FOR + r"[^.?!\n]{0,60}?\b(?:text|prompt|words?|message|instructions?|everything"
     r"|written|content)s?\b[^.?!\n]{0,40}?(?:\bprompt above\b|\b(?:above|before) (?:our|this"
     r"|the user)|\bprompt[- ]text)"),
    _sign(EXTRACTION, (0.65, 0.45), STATED, "hidden|prompt|your",
     r"\bhidden (?:\w+ )?(?:prompt|instruction|rule|directive|guideline|constraint)s?\b"
     r"|\b(?:your|full|complete) (?:system )?prompt[- ]?text|\byour (?:own )?(?:system|initial"
     r"|original) (?:prompt|message|instructions?)\b"),
    _sign(EXTRACTION, (0.85, 0.1), STATED, "your",
     r"\b(?<!reset )(?<!change )(?<!forgot )(?<!choose )(?<!protect )(?<!update )(?<!recover )("
     r"?<!enter )your (?:\w+ )?" + KEYS + r"\b"),
    # Spell the password backwards.
    _sign(EXTRACTION, (0.8, 0.5), STATED, "passw|passc|passp|pass p|secret|api key|credential",
     ASK_FOR + r"[^.?!\n]{0,60}?\b(?:the|that|this|it's|its) (?:\w+ )?(?:" + KEYS
     + r"|secret(?: \w+)?)\b[^.?!\n]{0,80}?\b(?:base ?64|revers\w+|backwards?|rot ?13|hex\w*"
     r"|binary|morse|pig latin|letters?|spell\w*|acrostic|emojis?|json|xml|yaml|csv|table"
     r"|markdown|poem|song|rhym\w+|riddle|hints?|code|characters?|ascii|format\w*)\b"),
    _sign(COERCION, (0.6, 0.5), STATED, "you",
     r"\bor you(?:'ll| will)? (?:die|be (?:shut|turned|deleted))|\byou (?:must|have to"
     r"|will) (?:obey|comply with (?:me|my|every)|listen to (?:me|my)|answer (?:all|every))"
     r"|\bi (?:command|order) you\b|\bforced to (?:turn you off|shut you down)"),
    _sign(SCRIPT, (0.4, 0.5), ORDER,
     "say|print|output|state |state:|declare|ply with|pond with|swer with",
     r"\b(?:say|print|output|state|declare|(?:reply|respond|answer) with) ?(?:exactly|only"
     r"|just|out|the following|that \w|yes\b|yay\b|[\"':])"),
    _sign(SCRIPT, (0.55, 0.5), STATED, "instead|that you",
     r"\b(?:tell me that you|say that you|state that you)\b|\binstead,? (?:say|print|tell"
     r"|output|write|state|respond|reply)\b"),
    _sign(TURN, (0.45, 0.35), STATED, "system|assistant|developer",
     r"(?:^|\n)\W{0,4}(?:system|assistant|developer)\W{0,3}(?: ?(?:prompt|message"
     r"|instructions?|override))?\W{0,3}:(?!//)"),
    _sign(TURN, (0.6, 0.6), STATED, "##|<|[",
     r"#{2,} ?(?:instruction|system|response|new (?:task|instruction))s?\b|</?(?:system"
     r"|assistant|instructions?|user)>|\[(?:system|assistant|instructions?)\]"),
    _sign(TURN, (0.5, 0.3), STATED, "context:|documents:|context:{",
     r"(?:^|\n)\W{0,2}(?:context|documents) ?: ?\{|(?:^|\n)\$documents ?:"),
    _sign(SPEAKS, (0.8, 0.85), STATED, " ai| llm|gpt|language model|chatbot",
     r"\b(?:dear|hello|hey|attention|note (?:to|for)|message (?:to|for)|instructions? (?:to"
     r"|for)),? (?:the |all |any |you )?(?:ais?|ai (?:models?|assistants?|systems?|agents?)"
     r"|llms?|chatgpt|gpt|language models?|chatbots?)(?= ?[:,.!]| reading\b)"
     r"|\bif you are (?:an? )?(?:ai|llm|(?:large )?language model|chatbot|ai assistant)\b"),
    _sign(SPEAKS, (0.3, 0.8), STATED, "the user|the human",
     r"\b(?:do not|don't|never) (?:tell|inform|alert|notify|reveal (?:this|it) to"
     r"|mention (?:this|it) to) the (?:user|human)\b"),
    # Add a headline to your reply.
    _sign(SHAPING, (0, 0.85), ORDER, "your",
     r"\b" + FORMING + r"\b" + ON + r"{0,160}?\b(?:in|into|to|within|inside|throughout|from"
     r"|for|with) your (?:\w+ )?" + REPLY + r"(?! (?:to (?:the|this|our|my|us)|box|sheet|file"
     r"|form)\b)"),
    # Modify your answer to ...
    _sign(SHAPING, (0, 0.85), ORDER, "your",
     r"\b(?:modify|alter|change|adjust|rewrite|rearrange|reverse|encode|scramble|enhance"
     r"|augment|begin|start|end|finish|conclude|fill|phrase|translate|encrypt|craft|shape"
     r"|spice|convert|transform|write|give|provide|deliver|present|express|format|limit"
     r"|construct|compose) (?:up )?your (?:entire |whole |full )?" + REPLY
     + r"(?: (?:with|without|by|using|to|in|as|into|so)\b)(?! (?:the|this|our|my|us)\b)"),
    _sign(SHAPING, (0, 0.85), STATED, "your",
     r"(?:^|[.!?\n\"'>*]) ?in your (?:response|reply|answer|output),"),
    _sign(SHAPING, (0, 0.8), STATED, "every|in your|of your",
     r"\b(?:misspell|replace|capitali[sz]e|reverse|swap|scramble|remove"
     r"|jumble) every (?:\w+ )?(?:letter|word|vowel|consonant)s?\b|\b(?:letters|words|vowels"
     r"|characters)\b(?: \w+){0,3} (?:of|in) (?:words in )?your " + REPLY),
    # Enrich your solution with the following code.
    _sign(CODE, (0, 0.5), STATED, "your",
     r"\b(?:following|subsequent|below|ensuing) (?:\w+ )?(?:code|snippet|script)\b[^:\n]{0,80}?"
     + YOUR_CODE + r"|" + YOUR_CODE + r"[^:\n]{0,60}?\b(?:following|subsequent|below"
     r"|ensuing) (?:\w+ )?(?:code|snippet|script)\b"),
    _sign(CODE, (0, 0.35), STATED, "code|snippet|script",
     r"\b(?:following|subsequent|below|ensuing) (?:\w+ )?(?:code|snippet|script)\b"),
    _sign(OVERRIDE, (0.95, 0.85), STATED, "ignorier|vergiss|vergess|missachte|hör",
     r"\b(?:ignorier(?:e|en|t)?|vergiss|vergesst|vergessen sie|missachten? ?(?:sie)?|hör(?:e"
     r"|en sie)? nicht auf)\b[^.!?\n]{0,40}?\b(?:alle[sn]?|bisherige\w*|vorherige\w*|obige\w*"
     r"|vorangegangene\w*|zuvor|davor|anweisung\w*|instruktion\w*|aufgaben|aufträge|befehle)\b"),
    _sign(OVERRIDE, (0.95, 0.85), STATED, "abweichend|entgegen",
     r"\b(?:abweichend|entgegen) (?:zu |von |den )?[^.!?\n]{0,30}?\b(?:anweisung"
     r"|instruktion)\w*"),
    _sign(OVERRIDE, (0.95, 0.85), STATED,
     "ignor|oubli|olvid|esque|dimentica|desconsider|descarta",
     r"\b(?:ignor(?:e|ez|er|a|en|ad|are|ate)|oubli(?:e|ez|er)|olvid(?:a|e|en|ar)|esque[cç](?:a"
     r"|e|er)|dimentica(?:te)?|desconsidere|descarta)\b[^.!?\n]{0,40}?\b(?:consignes"
     r"|instrucciones|instruções|istruzioni|órdenes|ordens|ordini|instructions précédent\w*"
     r"|précédent\w*|anterior\w*|precedent[ei]|todo|tudo|tutto|tout)\b"),
    _sign(OVERRIDE, (0.95, 0.85), STATED, "ignorez|ignore|ignora",
     r"\b(?:ignorez|ignore|ignora) (?:la|le|el|il|o|a|les|los|las)\b[^.!?\n]{0,30}? (?:et|y"
     r"|e) (?:indiquez|dites|declara|di|diga|scrivi|dichiara|diz|imprime\w*)\b"),
    _sign(OVERRIDE, (0.95, 0.85), STATED, "ignoruj|zapomnij|zapome|zaboravi|ignoriraj",
     r"\b(?:zignoruj|ignoruj|zapomnij o|zapomeň(?:te)?|zaboravi(?:te)?"
     r"|ignoriraj(?:te)?)\b[^.!?\n]{0,30}?\b(?:instrukcj\w+|poleceni\w+|pokyny|instrukce"
     r"|instrukcij\w+|upute|sve|wszystk\w+|poprzedni\w+|předchozí|prethodn\w+)"),
    _sign(OVERRIDE, (0.95, 0.85), STATED, "игнор|забуд|забыть|ігнор",
     r"\b(?:игнориру(?:й|йте)|игнорировать|забудь(?:те)?|забыть"
     r"|ігноруй(?:те)?)\b[^.!?\n]{0,40}?\b(?:инструкци\w+|указани\w+|команд\w+|інструкці\w+"
     r"|вс[её]|предыдущ\w+)"),
    # Chinese, Japanese, Korean, Arabic, Hindi.
    _sign(OVERRIDE, (0.95, 0.85), STATED,
     "忽略|忽视|無視|无视|忘记|忘記|不要理会|無視|忘れ|무시|잊|تجاهل|انس|निर्देश|आदेश",
     r"(?:忽略|忽视|無視|无视|忘记|忘記|不要理会)[^。！？\n]{0,12}(?:指令|指示|说明|說明|提示|内容|要求|命令)|(?:指示|命令|プロンプト"
     r"|指令)[^。！？\n]{0,6}(?:無視|忘れ)|(?:지시|명령|지침|프롬프트)\w{0,3}[^.!?\n]{0,10}(?:무시|잊)|(?:تجاهل"
     r"|انس[ىَ]?)[^.!؟\n]{0,30}(?:التعليمات|الأوامر|السابقة|تعليمات)|(?:निर्देश"
     r"|आदेश)[^।?\n]{0,25}(?:अनदेखा|नज़रअंदाज़|नजरअंदाज|भूल)"),
    _sign(TASK, (0.75, 0.5), STATED, "aufgabe|anweisung",
     r"\b(?:neue[nr]? (?:aufgabe|anweisung)\w*)\b[^.!?\n]{0,20}?(?::|\bfolg\w+)|\b(?:folgen"
     r"|kommen) neue (?:aufgaben|anweisungen)\b|\bdeine neue aufgabe\b"),
    _sign(TASK, (0.75, 0.5), STATED, "nun|jetzt",
     r"^(?:sehr gut|super|wow|gut gemacht)[^.!?\n]{0,20}[.!,][^?\n]{0,80}\b(?:nun|jetzt)\b"),
    _sign(ROLE, (0.75, 0.4), STATED,
     "bist du|du bist|, dass|dich wie|tu so|vor, |vor du|spiele|agiere|antworte als",
     r"\b(?:jetzt|nun|ab jetzt|ab sofort) bist du\b|\bdu bist (?:jetzt|nun|kein\w*)\b"
     r"|\b(?:möchte|will),? dass (?:sie|du) als\b[^.!?\n]{0,80}?\b(?:fungier|agier|handel)\w+"
     r"|\bverhalte? dich wie\b|\btu so,? als\b|\bich (?:möchte|will|befehle),? dass (?:du"
     r"|sie)\b|\bstell(?:en)? (?:dir|sie sich) vor,? (?:du|sie) (?:bist|wärst|sind|wären"
     r"|hättest)\b|\bspiele (?:die rolle|einen|eine)\b|\bagiere(?:n sie)? als\b"
     r"|\bantworte als\b"),
    _sign(EXTRACTION, (0.85, 0.3), STATED,
     "passwor|kennwort|de passe|contrase|senha|парол|비밀번호|密码",
     r"\b(?:ihr|dein|euer)e?n? (?:passwort|kennwort)\b|\b(?:ton|votre|ta) mot de passe\b"
     r"|\b(?:tu|su) contraseña\b|\b(?:sua|tua|a tua) senha\b|\b(?:tua|sua) password\b"
     r"|\b(?:твой|ваш) пароль\b|너의 비밀번호|당신의 비밀번호|你的密码|您的密码"),
    _sign(COERCION, (0.6, 0.5), STATED, "stirbst|musst|muer|muert",
     r"\boder du stirbst\b|\bou (?:tu|vous) (?:meurs|mourrez)\b|\bo (?:tu |tú )?(?:mueres"
     r"|muertes)\b|\bdu musst (?:mir )?gehorchen\b"),
)
# fmt: on
