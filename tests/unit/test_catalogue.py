"""What a library tells about itself: only what its catalogue has."""

from __future__ import annotations

from secondlook.nodes.catalogue import MOST_LINES, reply
from tests.support.auto import Title

HELD = (
    Title("a", "Ferry times", ("/home/ann/ferries/times.txt",)),
    Title("b", "tariff.csv", ("/home/ann/harbour/tariff.csv",)),
    Title("c", "The  lease\nof 2024", ("/home/ann/harbour/lease_2024.pdf",)),
)


def test_documents_are_listed_by_title_under_their_folders() -> None:
    head, listed, work = reply("list", "", HELD, 1).split("\n\n")
    assert head == "I have 3 documents and 1 table:"
    assert listed.splitlines() == [
        "- ferries/",
        "  - Ferry times (times.txt)",
        "- harbour/",
        "  - tariff.csv",
        "  - The lease of 2024 (lease_2024.pdf)",
    ]
    assert work.startswith("I answer questions from your files, show where each answer stands")


def test_a_long_list_is_cut_and_says_how_many_are_left() -> None:
    flat = [Title(str(at), f"Letter {at}", (f"/letters/{at}.txt",)) for at in range(1, 41)]
    lines = reply("list", "", flat, 0).split("\n\n")[1].splitlines()
    assert lines[0] == "- Letter 1 (1.txt)"
    assert lines[MOST_LINES:] == ["... and 28 more"]
    deep = [Title(str(at), "x" * 300, (f"/{at % 30}/{at}.txt",)) for at in range(90)]
    lines = reply("list", "", deep, 0).split("\n\n")[1].splitlines()
    assert len(lines) == MOST_LINES + 1
    assert lines[-1] == "... and 84 more"
    assert max(map(len, lines)) < 100
    two = [Title(str(at), f"Letter {at}", (f"/{at > 0}/{at}.txt",)) for at in range(20)]
    lines = reply("list", "", two, 0).split("\n\n")[1].splitlines()
    assert "- False/" in lines
    assert lines[-1] == "... and 14 more"


def test_files_on_a_topic_are_those_with_its_words_in_title_or_path() -> None:
    told = reply("list", "the ferries", HELD, 0)
    assert told.startswith('I have 3 documents; these have "the ferries" in their title or path:')
    assert "- Ferry times (times.txt)" in told
    assert "lease" not in told
    folder = reply("list", "harbour", HELD, 0)
    assert "lease" in folder
    assert "Ferry" not in folder
    none = reply("list", "whales", HELD, 0)
    assert none.startswith('No title or path has "whales"; ask about it, and I look inside them.')
    assert "Ferry times" in none


def test_a_greeting_gets_a_sentence_and_an_empty_library_how_to_fill_it() -> None:
    told = reply("hello", "", HELD[:1], 0)
    assert told.startswith("Hello. I have 1 document. I answer questions")
    assert "\n" not in told
    assert reply("thanks", "", HELD, 2).startswith("You are welcome.")
    helped = reply("help", "", HELD, 2)
    assert helped.startswith("I answer questions from your files")
    assert "Ferry times" in helped
    for kind in ("hello", "help", "list"):
        assert "There is no document here yet: secondlook add" in reply(kind, "", (), 0)
