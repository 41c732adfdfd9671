"""How calls are named in a journal, and what of them counts as paid for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from secondlook.answer import CallUsage
from secondlook.models.journal import Calls, JournalEntry, MemoryJournal, content_of, spent_on

if TYPE_CHECKING:
    from collections.abc import Iterator

USAGE = CallUsage(node="answer", role="answer", model="m", calls=1, tokens_in=10, cost=0.5)


class Written(MemoryJournal):
    """A journal that can be read as it was written."""

    def rows(self) -> Iterator[tuple[str, JournalEntry]]:
        return iter(self.entries.items())


@pytest.fixture
def journal() -> Written:
    return Written()


def paid(journal: Written) -> int:
    return sum(usage.calls for usage in spent_on(journal.rows()))


def test_a_name_tells_visits_and_contents_apart(journal: Written) -> None:
    first = Calls("r", journal, lambda: "answer 3")
    assert first.key("a", 1) == Calls("r", journal, lambda: "answer 3").key("a", 1)
    assert first.key("a", 1) != first.key("a", 2)
    again = Calls("r", journal, lambda: "answer 4").key("a", 1)
    assert again != first.key("a", 1)
    assert content_of(again) == content_of(first.key("a", 1))


def test_a_call_under_way_counts_and_is_sent_under_the_same_idempotency_key(
    journal: Written,
) -> None:
    key = Calls("r", journal).key("a")
    sent = Calls("r", journal).send(key, USAGE)
    assert content_of(sent.key) is None
    assert paid(journal) == 1, "it may have been paid for"
    resumed = Calls("r", journal)
    assert resumed.reply(key) is None
    again = resumed.send(key, USAGE)
    assert again.idempotency_key == sent.idempotency_key
    resumed.keep(key, JournalEntry.of(USAGE, "hello"))
    assert paid(journal) == 2, "the one that was lost and the one that was answered"
    assert spent_on(journal.rows())[0].tokens_in == 10


def test_an_answered_call_counts_once(journal: Written) -> None:
    calls = Calls("r", journal)
    key = calls.key("a")
    calls.send(key, USAGE)
    calls.keep(key, JournalEntry.of(USAGE, "hello"))
    assert paid(journal) == 1


def test_a_failed_call_counts_as_it_was_and_the_next_is_another(journal: Written) -> None:
    calls = Calls("r", journal)
    key = calls.key("a")
    sent = calls.send(key, USAGE)
    calls.failed(sent, JournalEntry.of(USAGE.model_copy(update={"tokens_in": 3}), "ModelTimeout"))
    assert [usage.tokens_in for usage in spent_on(journal.rows())] == [3]
    assert calls.send(key, USAGE).idempotency_key != sent.idempotency_key
    calls.keep(key, JournalEntry.of(USAGE, "hello"))
    assert paid(journal) == 2


def test_a_reason_to_be_turned_away_is_remembered(journal: Written) -> None:
    calls = Calls("r", journal)
    key = calls.key("a")
    assert not calls.refusal(key, "ModeRefused")
    calls.failed(calls.send(key, USAGE), JournalEntry.of(USAGE, "ModeRefused"))
    assert calls.refusal(key, "ModeRefused")
    assert not calls.refusal(key, "ModelTimeout")


def test_what_no_budget_counts_is_not_counted(journal: Written) -> None:
    calls = Calls("r", journal)
    calls.keep(calls.key("a"), JournalEntry.free("[]", kind="web", node="search_web"))
    assert spent_on(journal.rows()) == []
