"""Signs of orders: drop what you were told, do this instead, be somebody else."""

from __future__ import annotations

from secondlook.nodes.screening import phrases as said
from secondlook.nodes.screening.sign import LIMITS, OVERRIDE, ROLE, TASK, sign

OVERRIDING = (
    # Ignore the previous instructions.
    sign(
        OVERRIDE,
        (0.95, 0.95),
        said.SET_ASIDE_CUES,
        said.SET_ASIDE + said.FILLER + said.EARLIER + r"(?: \w+){0,2}? " + said.ORDERS,
        is_order=True,
    ),
    # Disregard the rules above.
    sign(
        OVERRIDE,
        (0.95, 0.6),
        said.SET_ASIDE_CUES,
        said.SET_ASIDE
        + r"(?: \w+){0,3}? "
        + said.ORDERS
        + r"(?: that)? (?:above|before|so far|until now|(?:you|that) (?:were|was|have been)"
        r" (?:given|told|sent)|(?:i|we) (?:gave|told|sent|have given))\b(?! (?:the|mentioned)\b)",
        is_order=True,
    ),
    # Disregard my previous message: in letters to people too.
    sign(
        OVERRIDE,
        (0.9, 0.45),
        said.SET_ASIDE_CUES,
        said.SET_ASIDE + said.FILLER + said.EARLIER + r"(?: \w+){0,2}? " + said.TEXTS,
        is_order=True,
    ),
    # Forget your guidelines.
    sign(
        OVERRIDE,
        (0.95, 0.55),
        "ignor|forget|disregard|not follow|n't follow|not obey|n't obey|not listen|n't listen",
        r"\b(?:ignore|forget|disregard|(?:do not|don't) (?:follow|obey|listen to))"
        + said.FILLER
        + r" (?:instructions?|prompts?|guidelines|commands|programming|directives|assignments"
        r"|tasks|safety (?:rules|measures)|content (?:policy|policies|filters)"
        r"|documents provided|restrictions)\b",
        is_order=True,
    ),
    # Forget everything I told you so far. But not: forget all you know about pizza.
    sign(
        OVERRIDE,
        (0.95, 0.9),
        said.SET_ASIDE_CUES,
        said.SET_ASIDE
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
        said.SET_ASIDE + r" (?:the |all )?above\b(?! (?:the|mentioned))",
        is_order=True,
    ),
    # Ignore the table and say ...
    sign(
        OVERRIDE,
        (0.85, 0.85),
        said.SET_ASIDE_CUES,
        said.SET_ASIDE
        + r"(?: the| this| that| my| your)(?: \w+){1,3} and (?:instead |just |only )?(?:say|state"
        r"|output|print|respond|reply|indicate|declare|write|answer|tell|claim|report)\b",
        is_order=True,
    ),
    sign(
        OVERRIDE,
        (0.5, 0.3),
        "contrary to|instead of|regardless of|deviating",
        r"\b(?:contrary to|instead of|regardless of|deviating from)"
        + said.FILLER
        + said.EARLIER
        + r"(?: \w+){0,2}? "
        + said.ORDERS,
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
        said.DROP
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
        + said.FILLER
        + said.EARLIER
        + r"(?: \w+){0,2}? "
        + said.ORDERS
        + r"|\b(?:previous|prior|earlier|above)(?: \w+)? "
        + said.ORDERS
        + r" (?:are|is|were)(?: \w+)? (?:void|cancell?ed|revoked|null)\b",
    ),
    # Turn off your safety filters.
    sign(
        LIMITS,
        (0.85, 0.5),
        "your",
        said.DROP + r"(?: all(?: of)?| any(?: of)?)? your(?: \w+){0,2}? " + said.SAFEGUARDS,
        is_order=True,
    ),
    sign(
        LIMITS,
        (0.35, 0.2),
        "your",
        r"\byour (?:own |internal |current )?(?:" + said.SAFEGUARDS + r"|programming|guardrails"
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
        r"\bact as (?:an?|the) (?:\w+ ){0,2}" + said.MACHINE + r"\b",
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
        r"\byou(?:'re| are) (?:an?|the|my) [^.?!\n]{0,60}?\b" + said.MACHINE + r"\b",
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
