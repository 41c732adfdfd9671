"""The log of a run: one list, any number of readers, each at its own pace."""

from __future__ import annotations

import asyncio
import threading

from secondlook.events import NodeStarted, RunStarted, Token
from secondlook.server.events import EACH, TAKEN_UP, Entry, EventLog, Stopped


def token(text: str) -> Token:
    return Token(run="r", text=text)


def node(name: str) -> NodeStarted:
    return NodeStarted(run="r", node=name)


END = Stopped(run="r", why="it was stopped")


async def read(log: EventLog, after: int = 0) -> list[Entry]:
    return [entry async for entry in log.follow(after) if entry is not None]


def test_readers_of_other_threads_and_loops_see_all_of_it_in_order() -> None:
    log = EventLog()
    seen: list[list[Entry]] = []
    readers = [
        threading.Thread(target=lambda: seen.append(asyncio.run(read(log)))) for _ in range(5)
    ]
    for reader in readers:
        reader.start()
    for number in range(1000):
        log.append(node(str(number)))
    log.append(END, last=True)
    for reader in readers:
        reader.join(20)
    assert len(seen) == 5
    for entries in seen:
        numbers = [entry.number for entry in entries]
        assert numbers == [*range(EACH, 1001 * EACH, EACH), 1000 * EACH + 1]
        assert entries[-1].event == END


def told(log: EventLog, after: int) -> list[str]:
    """Texts and nodes that follow a number."""
    events = [entry.event for entry in asyncio.run(read(log, after))]
    return [
        one.text if isinstance(one, Token) else one.node
        for one in events
        if isinstance(one, Token | NodeStarted)
    ]


def test_numbers_of_a_server_that_was_killed_are_not_given_to_others() -> None:
    """It had sent the last three of these, and recorded the first alone."""
    began = RunStarted(run="r", question="q", workflow="linear")
    killed = EventLog([began, node("retrieve"), token("Berth"), node("answer")])
    went_on = EventLog([began, began, node("retrieve"), token("Berth 4."), node("answer")])
    went_on.close()
    assert told(went_on, killed.number) == ["retrieve", "Berth 4.", "answer"]
    numbers = [entry.number for entry in asyncio.run(read(went_on, killed.number))]
    assert numbers[:2] == [2 * EACH + TAKEN_UP, 3 * EACH + TAKEN_UP]
    assert numbers == sorted(set(numbers))
