"""Requests for a summary, and questions that only look like one."""

from __future__ import annotations

import pytest

from secondlook.roles.route import summary_request

REQUESTS = {
    "summarise the harbour survey": "the harbour survey",
    "Please summarise the annual report in three sentences.": "the annual report",
    "Can you summarise the document called 'Harbour Handbook' for me?": "Harbour Handbook",
    "summary of the harbour report": "the harbour report",
    "give me an overview of the dredging": "the dredging",
    "What are the main points of the council minutes?": "the council minutes",
    "tl;dr of offer.eml": "offer.eml",
    "summarise the contents of the library": "",
    "What is this about?": "",
    "what is the harbour handbook about?": "the harbour handbook",
    "what does this report say?": "",
    "Hey, summarise the  \n harbour\tsurvey": "the harbour survey",
}
QUESTIONS = (
    "what does the summary say about dredging",
    "What was the complaint of the sailing club about?",
    "Was summary judgment granted?",
    "Outline the steps for entering the harbour",
    "what is in the inner basin?",
    "Summarise what the council decided about yachts",
    "summarise the report and tell me how deep berth 4 is",
    "",
    "summarise " + "x" * 400,
)


@pytest.mark.parametrize(("question", "target"), REQUESTS.items())
def test_a_request_is_recognised_with_what_it_is_for(question: str, target: str) -> None:
    assert summary_request(question) == target


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_left_to_be_answered(question: str) -> None:
    assert summary_request(question) is None
