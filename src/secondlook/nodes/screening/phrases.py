"""Pieces of patterns that several signs share. They meet plain text: small letters, one kind of
quotation marks, single blanks."""

from __future__ import annotations

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
