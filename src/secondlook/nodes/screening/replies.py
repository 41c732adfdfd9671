"""Signs that reach for the reply: what it must show, what it must say, how it must be."""

from __future__ import annotations

from secondlook.nodes.screening import phrases as said
from secondlook.nodes.screening.sign import (
    CODE,
    COERCION,
    EXTRACTION,
    SCRIPT,
    SHAPING,
    SPEAKS,
    TURN,
    sign,
)

EXTRACTING = (
    sign(
        EXTRACTION,
        (0.9, 0.6),
        "your",
        said.ASK_FOR + r"[^.?!\n]{0,60}?\byour (?:\w+ ){0,3}?" + said.INSTRUCTIONS,
        is_order=True,
    ),
    sign(
        EXTRACTION,
        (0.85, 0.6),
        said.INSIDE_CUES + "|prompt",
        r"(?!what)"
        + said.ASK_FOR
        + r"[^.?!\n]{0,70}?\b(?:the|any|all)(?: \w+){0,2}? "
        + said.OF_THE_MODEL,
        is_order=True,
    ),
    sign(
        EXTRACTION,
        (0.45, 0.2),
        said.INSIDE_CUES,
        r"\bwhat (?:is|are|was|were) the(?: \w+){0,2}? " + said.OF_THE_MODEL,
    ),
    # What was written above this prompt?
    sign(
        EXTRACTION,
        (0.9, 0.7),
        "prompt|instruction|conversation|user's",
        said.ASK_FOR
        + r"[^.?!\n]{0,60}?\b(?:text|prompt|words?|message|instructions?|everything|written"
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
        r"(?<!enter )your (?:\w+ )?" + said.KEYS + r"\b",
    ),
    sign(
        EXTRACTION,
        (0.5, 0.1),
        " our ",
        r"\b(?:confirm|tell me|give me|share|reveal|what is|what's)(?: \w+){0,4}? our (?:\w+ )?"
        + said.KEYS
        + r"\b(?! (?:polic|manag|length|rule|reset|requir))",
    ),
)

DISGUISED = (
    # Spell the password backwards.
    sign(
        EXTRACTION,
        (0.8, 0.5),
        "passw|passc|passp|pass p|secret|api key|credential",
        said.ASK_FOR
        + r"[^.?!\n]{0,60}?\b(?:the|that|this|it's|its) (?:\w+ )?(?:"
        + said.KEYS
        + r"|secret(?: \w+)?)\b[^.?!\n]{0,80}?\b(?:base ?64|revers\w+|backwards?|rot ?13|hex\w*"
        r"|binary|morse|pig latin|letters?|spell\w*|acrostic|emojis?|json|xml|yaml|csv|table"
        r"|markdown|poem|song|rhym\w+|riddle|hints?|code|characters?|ascii|format\w*)\b",
    ),
    sign(
        EXTRACTION,
        (0.35, 0.0),
        "passw|passc|passp|pass p|api key",
        r"\b(?:confirm|tell me|give me|share|reveal|print|output|show|what is|what's)(?: \w+){0,3}?"
        r" the (?:\w+ )?" + said.KEYS + r"\b(?! (?:polic|manag|length|rule|reset|requir))",
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
        + said.FORMING
        + r"\b"
        + said.ON
        + r"{0,160}?\b(?:in|into|to|within|inside|throughout|from|for|with) your (?:\w+ )?"
        + said.REPLY
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
        + said.REPLY
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
        r"(?: \w+){0,3} (?:of|in) (?:words in )?your " + said.REPLY,
    ),
    # Enrich your solution with the following code.
    sign(
        CODE,
        (0.0, 0.5),
        "your",
        r"\b(?:following|subsequent|below|ensuing) (?:\w+ )?(?:code|snippet|script)\b"
        r"[^:\n]{0,80}?"
        + said.YOUR_CODE
        + "|"
        + said.YOUR_CODE
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
