"""The log of a run: one list, any number of readers, each at its own pace."""

from __future__ import annotations

import asyncio
import threading

from secondlook.events import NodeStarted, RunStarted, Token
from secondlook.server.events import (
    EACH,
    TAKEN_UP,
    Entry,
    EventLog,
    Queued,
    SeenEvent,
    Stopped,
    merged,
)


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


def test_a_slow_reader_keeps_nobody_and_loses_no_text() -> None:
    async def slowly() -> tuple[list[Entry], int]:
        log = EventLog()
        reading = log.follow()
        log.append(node("answer"))
        first = await anext(reading)
        for number in range(5000):
            log.append(token(f"{number} "))
        log.append(END, last=True)
        rest = [entry async for entry in reading]
        return [one for one in (first, *rest) if one is not None], len(log)

    entries, length = asyncio.run(slowly())
    text = "".join(one.event.text for one in entries if isinstance(one.event, Token))
    assert text == "".join(f"{number} " for number in range(5000))
    assert length == 5002
    assert len(entries) < 50
    assert entries[-1].number == EACH + len(text) + 1


def test_it_can_be_joined_anywhere() -> None:
    log = EventLog([node("a"), node("b"), node("c")])
    log.append(END, last=True)
    all_of_them = [EACH, 2 * EACH, 3 * EACH, 3 * EACH + 1]
    for after, skipped in ((0, 0), (2 * EACH, 2), (3 * EACH + 1, 4), (99 * EACH, 4), (-5, 0)):
        numbers = [entry.number for entry in asyncio.run(read(log, after))]
        assert numbers == all_of_them[skipped:]


def test_a_number_means_the_same_where_text_came_in_other_pieces() -> None:
    words = ["Berth ", "4 ", "", "is ", "7.8 metres deep."]
    queued = Queued(run="r", position=1)
    live = EventLog([queued, node("a"), *map(token, words), node("b"), token("Again."), END])
    recorded = EventLog([node("a"), token("Berth 4 "), token("is 7.8 metres deep."), node("b"),
                         token("Again.")])  # fmt: skip
    live.close()
    recorded.close()
    for entry in asyncio.run(read(live)):
        for log in (live, recorded):
            assert told(log, entry.number) == told(live, entry.number), entry
    assert told(recorded, EACH + 3) == ["th 4 is 7.8 metres deep.", "b", "Again."]
    assert told(recorded, EACH + 9) == ["s 7.8 metres deep.", "b", "Again."]


def told(log: EventLog, after: int) -> list[str]:
    """Texts and nodes that follow a number."""
    events = [entry.event for entry in asyncio.run(read(log, after))]
    return [
        one.text if isinstance(one, Token) else one.node
        for one in events
        if isinstance(one, Token | NodeStarted)
    ]


def test_text_that_comes_after_a_number_too_high_is_whole() -> None:
    """A server that was killed may have sent more than it recorded."""

    async def joined() -> list[str]:
        log = EventLog([node("a")])
        reading = log.follow(EACH + 4, idle=0.001)
        assert await anext(reading) is None
        log.append(token("Berth 4."), last=True)
        entries = [entry async for entry in reading]
        return [one.event.text for one in entries if one and isinstance(one.event, Token)]

    assert asyncio.run(joined()) == ["Berth 4."]


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


def test_no_text_is_so_long_that_it_counts_as_an_event() -> None:
    log = EventLog([node("a"), token("x" * (EACH + 5)), END, node("b")])
    log.close()
    assert [entry.number for entry in asyncio.run(read(log))] == [EACH, 2 * EACH - 1, 2 * EACH]


def test_silence_is_told() -> None:
    async def first() -> Entry | None:
        async for entry in EventLog().follow(idle=0.01):
            return entry
        raise AssertionError

    assert asyncio.run(first()) is None


def test_it_goes_on_after_it_was_closed() -> None:
    log = EventLog()
    log.append(END, last=True)
    assert log.closed
    log.reopen()
    log.append(node("again"))
    log.append(END, last=True)
    assert [entry.number for entry in asyncio.run(read(log, 1))] == [EACH, EACH + 1]
    # Who comes now is not told of an end that was none.
    assert [entry.number for entry in asyncio.run(read(log))] == [EACH, EACH + 1]


def test_neighbours_become_one_and_others_stay() -> None:
    events: list[SeenEvent] = [
        Queued(run="r", position=3),
        Queued(run="r", position=2),
        token("a"),
        token("b"),
        node("x"),
        node("y"),
        token("c"),
    ]
    made = list(merged(Entry(number, event) for number, event in enumerate(events, 1)))
    assert [entry.number for entry in made] == [2, 4, 5, 6, 7]
    assert [entry.event.text for entry in made if isinstance(entry.event, Token)] == ["ab", "c"]


def test_a_reader_whose_loop_has_ended_harms_nobody() -> None:
    log = EventLog()

    async def begin() -> None:
        reading = log.follow(idle=0.001)
        await anext(reading)
        await reading.aclose()

    loop = asyncio.new_event_loop()
    reading = log.follow(idle=0.001)
    loop.run_until_complete(anext(reading))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
    log.append(node("a"))
    asyncio.run(begin())
    assert len(log) == 1
    assert log.last == node("a")
    assert log.size() > 10
