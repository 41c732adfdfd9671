"""Function words that a query can do without, per language.

Only closed classes: articles, pronouns, prepositions, conjunctions, auxiliaries and question
words. A language without a list loses little: BM25 gives words that stand everywhere next to
no weight. Words are written as the analyser sees them before stemming: lower case, apostrophes
removed.
"""

from __future__ import annotations

from typing import Final

STOP_WORDS: Final[dict[str, frozenset[str]]] = {
    "english": frozenset(
        """
        a about after again all am an and any are arent as at be because been before being
        below between both but by can cannot cant could couldnt did didnt do does doesnt doing
        dont down during each few for from further had hadnt has hasnt have havent having he
        her here hers herself him himself his how i if im in into is isnt it its itself ive
        just me more most my myself no nor not of off on once only or other our ours ourselves
        out over own same she should shouldnt so some such than that the their theirs them
        themselves then there these they this those through to too under until up very was
        wasnt we were werent what when where which while who whom whose why will with wont
        would wouldnt you your yours yourself yourselves
        """.split()
    ),
}
