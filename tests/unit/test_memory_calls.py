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
