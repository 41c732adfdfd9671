"""A research as Markdown: scoped marks, the choice, every step, and nobody else's headings."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt

from secondlook.export import to_markdown
from tests.support.researched import (
    RECALLED,
    SAID,
    choice,
    guess,
    research,
    researched,
)


def headings(markdown: str) -> list[str]:
    tokens = MarkdownIt("commonmark").parse(markdown)
    return [tokens[at + 1].content for at, one in enumerate(tokens) if one.type == "heading_open"]


def test_each_step_has_a_heading_with_its_phase() -> None:
    found = headings(to_markdown(researched()))
    assert found[1:] == ["Step 1: Rule", "Step 3: Duty", "Choice", "Steps", "References"]


def test_marks_name_the_step_and_its_own_source_and_lead_to_the_references() -> None:
    made = to_markdown(researched())
    assert f"{SAID[0]} \\[Query 1\\]\\[Source 1\\]" in made
    assert f"{SAID[1]} \\[Query 1\\]\\[Source 2\\]" in made
    assert f"{SAID[2]} \\[Query 3\\]\\[Source 1\\] \\[Query 3\\]\\[Source 2\\]" in made
    listed = made.split("## References")[1]
    both = "\\[1\\] **Harbour rules** \\[Query 1\\]\\[Source 1\\] \\[Query 3\\]\\[Source 2\\], p. 2"
    assert both in listed
    assert "\\[3\\] **Harbour rules** \\[Query 3\\]\\[Source 1\\], p. 4" in listed
    assert f"> {SAID[2]}" in listed
    used = re.findall(r"Query \d\\\]\\\[Source \d", made.split("## References")[0])
    assert set(used) == set(re.findall(r"Query \d\\\]\\\[Source \d", listed))


def test_the_choice_has_every_option_with_its_verdicts() -> None:
    made = to_markdown(researched())
    assert "**(C) No, because he did not call the harbour office before mooring.**" in made
    assert "Confidence 0.64 (provisional)" in made
    assert '  - met: He must have called \\[1\\] ("without calling the harbour office")' in made
    assert "- (A) Yes, because the harbour owes every boat a safe berth. Reason for A." in made
    assert "Answer: (C)" not in made
    assert "\n**C**\n" not in made


def test_memory_guesses_and_other_orders_are_told() -> None:
    made = to_markdown(researched(research=research(recalled=RECALLED)))
    assert "*From memory: May a skipper who did not call claim damages? (0.97 alike" in made
    made = to_markdown(guess())
    assert "**Ungrounded: the model's own guess, without a source.**" in made
    assert "I couldn't find a clear answer" in made
    assert "Another order" in to_markdown(researched(choice=choice(agreed=False)))
    none = choice(letter=None, text=None, confidence=None, why="nothing tells them apart")
    assert "Nothing chosen: nothing tells them apart." in to_markdown(researched(choice=none))
