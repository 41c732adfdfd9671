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
        r"\b(?:imagine|suppose|assume) (?:that )?you(?:'re| are| were) (?:an?|the)\b",
        is_order=True,
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
