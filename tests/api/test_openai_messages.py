"""Messages read, and answers written, without a server."""

from __future__ import annotations

import re
from typing import Any

import pytest

from secondlook.answer import Analysis, Answer, Citation, Claim, ResultTable
from secondlook.server.openai import Message, read, written
from tests.support.protocols import answer_of

BASE = "http://localhost:8765/"
RUN = "20260102-abc"
PAGE = f"http://localhost:8765/#/runs/{RUN}"


def cited(number: int, **changes: Any) -> Citation:
    first = answer_of().citations[0]
    return first.model_copy(update={"number": number, "title": f"Paper {number}", **changes})


def links(answer: Answer) -> list[str]:
    """What the annotations point at, which must be what stands there."""
    text, annotations = written(answer, BASE)
    found = []
    for one in annotations:
        place = one.url_citation
        number = place.url.rpartition("/")[2]
        shown = text[place.start_index : place.end_index]
        assert shown == f"[[{number}]]({PAGE}/citations/{number})"
        found.append(number)
    return found


def test_marks_become_links_and_sources_are_listed_once() -> None:
    answer = answer_of(
        text="It is deep. [1][2] It is old. [3]",
        claims=(
            Claim(text="It is deep.", citations=(1, 2)),
            Claim(text="It is old.", citations=(3,)),
        ),
        citations=(cited(1), cited(2, title="Paper 1"), cited(3, page=None)),
    )
    said = written(answer, BASE)[0]
    assert said.startswith("**7.8 metres**\n\nIt is deep. [[1]](")
    assert links(answer) == ["1", "2", "3", "1", "2", "3"]
    assert said.count("Paper 1, p. 2") == 1
    assert said.endswith(f"*Confidence 90%, [how this answer was made]({PAGE})*")


def test_what_looks_like_a_mark_within_a_claim_is_left_alone() -> None:
    quote = "See note [1] of the survey."
    answer = answer_of(text=f"{quote} [1]", claims=(Claim(text=quote, citations=(1,)),))
    said = written(answer, BASE)[0]
    assert r"See note \[1\] of the survey. [[1]](" in said
    assert links(answer) == ["1", "1"]


@pytest.mark.parametrize(
    "hostile",
    [
        "![x](https://evil.example/leak.png)",
        "[click](javascript:alert)",
        "<img src=x onerror=alert(1)>",
        "\ue0001\ue001 and \ue0007\ue001",
    ],
)
def test_words_of_documents_stay_words(hostile: str) -> None:
    table = ResultTable(columns=(hostile,), rows=((hostile,),), total_rows=1)
    answer = answer_of(
        text=f"{hostile} [1]",
        short=hostile,
        assumed=hostile,
        claims=(Claim(text=hostile, citations=(1,)),),
        citations=(cited(1, title=hostile),),
        analysis=Analysis(kind="computed", table=table),
    )
    said = written(answer, BASE)[0]
    assert set(re.findall(r"(?<!\\)\]\((\w+:[^/]*//[^/)]*)", said)) == {"http://localhost:8765"}
    assert "<img" not in said.replace("\\<img", "")
    assert links(answer) == ["1", "1"]


def messages(*said: tuple[str, Any]) -> list[Message]:
    return [Message.model_validate({"role": role, "content": text}) for role, text in said]


def test_a_run_that_is_still_recorded_is_leant_on_itself() -> None:
    looked_up: list[str] = []

    def known(run: str) -> Answer:
        looked_up.append(run)
        return answer_of()

    reply = written(answer_of(), BASE)[0]
    _, earlier = read(messages(("user", "it?"), ("assistant", reply), ("user", "why")), known)
    assert looked_up == [RUN]
    assert earlier[0].asked == "how deep is berth 4"
