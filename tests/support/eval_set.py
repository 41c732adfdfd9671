"""A small evaluation set about a harbour, in the form that `secondlook eval` reads."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

DOCUMENTS = {
    "berths": "Berth 4 is the deepest berth of the harbour, at 7.8 metres. Berth 2 is 5.1 metres.",
    "council": "The council voted for dredging on 12 May 2019. Ms Orr voted against the money.",
    "light": "The lighthouse was built in 1843 by Thomas Webb. Its lamp is seen for 18 miles.",
    "office": "The harbour office listens on channel 12. Call it before you enter the harbour.",
    "ferry": "The ferry to Lessing leaves at 7:15 every morning. A ticket costs 14 crowns.",
    "tides": "Spring tides reach 4.9 metres at the harbour wall. Neap tides stay below 3.1 metres.",
    "museum": "The museum of the harbour shows the anchor of the Maria, which sank in 1911.",
    "market": "Fish is sold at the market hall from 6 in the morning until noon, except Mondays.",
}
QUESTIONS: tuple[tuple[str, str, tuple[str, ...], str], ...] = (
    ("q1", "How deep is berth 4?", ("7.8 metres", "7.8"), "berths"),
    ("q2", "Who voted against the money?", ("Ms Orr", "Orr"), "council"),
    ("q3", "When was the lighthouse built?", ("1843",), "light"),
    ("q4", "On which channel does the harbour office listen?", ("channel 12", "12"), "office"),
    ("q5", "What does a ticket for the ferry cost?", ("14 crowns",), "ferry"),
    ("q6", "How high do spring tides reach?", ("4.9 metres",), "tides"),
    ("q7", "In which year did the Maria sink?", ("1911",), "museum"),
    ("q8", "Who built the lighthouse?", ("Thomas Webb",), "light"),
)
UNANSWERABLE = (
    ("u1", "What is the name of the harbour master's dog?", "office"),
    ("u2", "How many sailors drowned with the Maria?", "museum"),
)


def queries() -> list[dict[str, Any]]:
    known = [
        {"id": id_, "question": asked, "answers": list(right), "gold": [gold], "answerable": True}
        for id_, asked, right, gold in QUESTIONS
    ]
    return known + [
        {"id": id_, "question": asked, "answers": [], "gold": [gold], "answerable": False}
        for id_, asked, gold in UNANSWERABLE
    ]


def write_set(folder: Path, *, more: Iterable[str] = ()) -> Path:
    """The set as files; `more` lines are appended to the questions as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    corpus = [
        {"id": name, "title": name.capitalize(), "text": text} for name, text in DOCUMENTS.items()
    ]
    (folder / "corpus.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in corpus))
    lines = [*(json.dumps(row) for row in queries()), *more]
    (folder / "queries.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder
