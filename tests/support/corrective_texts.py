"""Texts about people, places and things that do not exist, for runs over a real index."""

from pathlib import Path

TEXTS = {
    "ilva-marr.md": """# Ilva Marr

Ilva Marr is a singer and songwriter of the northern coast. Ilva Marr was born in 1981 in Orsk \
Bay, the daughter of a rope maker.

## Awards

Ilva Marr won her first Silver Lyre in 2004, for the song Harbour Glass. The prize is given once a \
year in the town hall of Orsk Bay.

## The Lantern Sisters

Ilva Marr left her group, the Lantern Sisters, in 2009, and has sung alone since then.
""",
    "tessa-quill.md": """# Tessa Quill

Tessa Quill is a drummer from the hills. Tessa Quill left her group, the Copper Owls, in 2013, \
after a quarrel about a van.
""",
    "harbour-glass.md": """# Harbour Glass

Harbour Glass is an album of nine songs about the sea. The album was recorded in a fish store in \
eleven days and was released in May 2003.
""",
    "orsk-bay.md": """# Orsk Bay

Orsk Bay is a town of 8,400 people. Its ferry sails to the islands twice a day, at seven and at \
noon. The sea wall of Orsk Bay is 640 metres long.
""",
    "bread.md": """# Rye bread

The dough of the rye bread rests for fourteen hours. It is baked at 230 degrees on a stone.
""",
    "bees.md": """# Bees in winter

In winter the bees form a cluster and eat the honey that they stored. A hive needs about twelve \
kilograms of it.
""",
    "lamp.md": """# The lamp room

The keeper fills the lamp with oil each evening. A wick lasts for nine nights.
""",
    "tides.md": """# Tides

The tide turns every six hours. In spring it rises by up to four metres at the pier.
""",
}
BIRTH = "How many years lie between Ilva Marr's birth and her first Silver Lyre?"
WALL = "How long is the sea wall of Orsk Bay?"
GROUP = "When did she leave her group?"
ALBUM = "When was this album released?"
ABSENT = "Which engine drives the submarine Calypso?"


def write_texts(folder: Path) -> Path:
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


_LEDGERS = tuple(f"The ledger of the coast for year {at} lies in room {at}." for at in range(14))
_OTHERS = tuple(
    f"An old {what} hangs in hall {at}." for what in ("map", "bell", "clock") for at in range(3)
)
NOTES = {f"note-{at:02}.md": f"{text}\n" for at, text in enumerate((*_LEDGERS, *_OTHERS))}
"""Ten of them are found by one search: none of the others, unless it is named."""
WHO_PAID = "Who paid for the ledger of the coast?"


def write_notes(folder: Path) -> Path:
    for name, text in NOTES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder
