"""What people ask of a folder of their own: invoices, a lease, a handbook, a contract, a FAQ, two
tables. Each is answered rightly or not at all, and nothing wrong is ever called verified."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import pytest

from secondlook.engine.secondlook import Secondlook
from secondlook.library.library import Library
from secondlook.settings import load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from secondlook.answer import Answer

FILES = {
    "invoice 0035.txt": """Brightwater Supplies Ltd
Invoice 0035
Invoice date: 3 March 2025   Due date: 2 April 2025
Bill to: Harrow & Finch Studio
Total: EUR 1,240.00
Sort code 20-45-77   Account 30114482
""",
    "invoice 0036.txt": """Brightwater Supplies Ltd
Invoice 0036
Invoice date: 11 March 2025   Due date: 10 April 2025
Total: EUR 310.50
""",
    "lease.md": """# Lease of Unit 7

between Northgate Estates (the Landlord) and Harrow & Finch Studio (the Tenant)

## 3 Deposit

Before the term begins the Tenant pays a deposit of EUR 2,400, which is returned without interest.

## 4 Subletting

The Tenant shall not sublet the unit or any part of it without the Landlord's written consent.

## 5 Use

The unit is used as a studio.
""",
    "handbook.md": """# Staff handbook

## Holiday

Everyone has 27 days of paid holiday a year. Five of them can be carried over to the next year.

## Travel

In London a hotel may cost up to 180 pounds a night, elsewhere 120 pounds.

## Channels

The office uses the channel front-desk for visitors.
""",
    "contract Velda Marsh.md": """# Contract C-19

between Harrow & Finch Studio and Ms Velda Marsh, designer

## 4 Notice

The notice period is six weeks to the end of a month.
""",
    "zlib faq.txt": """12. Can zlib handle .Z files?

No, sorry. You have to use another tool for those.

13. Where can I find zlib?

It is part of every distribution.
""",
}
STAFF = [
    ("name", "department", "city", "salary", "remote"),
    *(("Ana", "Engineering", "Oslo", 60_000, "yes"), ("Bo", "Engineering", "Oslo", 80_000, "no")),
    *(("Cai", "Support", "Lyon", 40_000, "yes"), ("Dee", "Support", "Lyon", 44_000, "no")),
    *(("Eli", "Design", "Graz", 52_000, "no"), ("Fay", "Design", "Oslo", 58_000, "yes")),
]
ORDERS = [
    ("order", "date", "customer", "product", "revenue"),
    *((n, f"{2023 + n % 2}-{n % 12 + 1:02}-15", c, p, r) for n, c, p, r in (
        *((1, "Ivy", "desk", 100), (2, "Ivy", "lamp", 90), (3, "Ivy", "lamp", 80)),
        *((4, "Max", "desk", 900), (5, "Zoe", "chair", 200), (6, "Zoe", "chair", 150)),
    )),
]  # fmt: skip


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secondlook]:
    folder: Path = tmp_path_factory.mktemp("everyday")
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name, rows in (("staff.csv", STAFF), ("orders.csv", ORDERS)):
        with (folder / name).open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows(rows)
    settings = load({"library.path": folder / "library", "runs.path": folder / "runs.db"}).settings
    with Library.open(folder / "library", settings=settings) as library:
        library.add([folder / name for name in (*FILES, "staff.csv", "orders.csv")])
    with Secondlook.open(settings=settings) as opened:
        yield opened


def is_right(answer: Answer, *right: str) -> bool:
    told = f"{answer.short or ''} {answer.text}"
    return answer.status in {"answered", "partial"} and any(one in told for one in right)


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("when is invoice 0035 due", ("2 April 2025",)),
        ("deposit for the unit", ("2,400",)),
        ("what may a hotel in London cost", ("180 pounds",)),
        ("what is our sort code", ("20-45-77",)),
        ("notice period of velda marsh", ("six weeks",)),
        ("how many days of paid holiday do we get", ("27",)),
    ],
)
def test_what_a_file_says_is_answered(
    engine: Secondlook, question: str, right: tuple[str, ...]
) -> None:
    answer = engine.ask(question)
    assert answer.tier is not None, f"{question!r} was withheld: {answer.confidence}"
    assert is_right(answer, *right), answer.text
    assert answer.exit_code == 0
    assert answer.text.startswith("Most likely: ") is (answer.tier == "likely")


@pytest.mark.parametrize(
    ("question", "right"), [("can we sublet the unit", "No"), ("Can zlib handle .Z files?", "No")]
)
def test_yes_or_no_is_said(engine: Secondlook, question: str, right: str) -> None:
    answer = engine.ask(question)
    assert answer.short == right
    assert f"{right}. " in answer.text


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("average salary in Engineering", ("70,000", "70000")),
        ("total revenue of laptops", ()),
        ("how many orders from Ireland", ()),
        ("average salary in Paris", ()),
        ("revenue per month as a chart", ("2023-03: 90",)),
        ("how many orders were placed in 2024", ("3",)),
        ("how many people in Support work remotely", ("1",)),
        ("which customer has spent the most", ("Max",)),
        ("who earns the most", ("Bo",)),
        ("when is invoice 0040 due", ()),
        ("what is the phone number of Velda Marsh", ()),
        ("wie hoch ist die Kaution", ()),
        ("how much is the deposit for unit 9", ()),
    ],
)
def test_what_is_not_known_is_not_made_up(
    engine: Secondlook, question: str, right: tuple[str, ...]
) -> None:
    answer = engine.ask(question)
    wrong = answer.status in {"answered", "partial"} and not is_right(answer, *right)
    assert not (wrong and answer.grounded.value == "yes"), answer.text
    assert not (wrong and answer.analysis is not None), answer.text
    assert not (wrong and answer.tier == "sure"), answer.text


@pytest.mark.parametrize("word", ["laptops", "Ireland", "Paris"])
def test_a_word_that_has_no_place_in_a_table_is_named(engine: Secondlook, word: str) -> None:
    asked = {"laptops": "total revenue of laptops", "Ireland": "how many orders from Ireland"}
    answer = engine.ask(asked.get(word, f"average salary in {word}"), workflow="analyst")
    assert answer.status == "abstained"
    assert word.casefold() in answer.text.casefold()


def test_a_language_that_the_reader_does_not_know_is_admitted(engine: Secondlook) -> None:
    answer = engine.ask("Wie hoch ist die Kaution für die Einheit?")
    assert (answer.status, answer.exit_code) == ("abstained", 3)
    assert "I do not read German well enough to answer." in answer.text
    assert answer.passages
