"""Requests for a summary, and questions that only look like one."""

from __future__ import annotations

import pytest

from secondlook.roles.route import summary_request

REQUESTS = {
    "summarise the harbour survey": "the harbour survey",
    "Please summarise the annual report in three sentences.": "the annual report",
    "Can you summarise the document called 'Harbour Handbook' for me?": "Harbour Handbook",
    "could you please sum up the minutes of 11 June?": "the minutes of 11 June",
    "summary of the harbour report": "the harbour report",
    "give me an overview of the dredging": "the dredging",
    "Give me a brief overview of everything": "",
    "What are the main points of the council minutes?": "the council minutes",
    "tl;dr of offer.eml": "offer.eml",
    "summarise": "",
    "summarise the contents of the library": "",
    "What is this about?": "",
    "what is the harbour handbook about?": "the harbour handbook",
    "what do these documents cover?": "",
    "What is in my library?": "",
    "what does this report say?": "",
    "Hey, summarise the  \n harbour\tsurvey": "the harbour survey",
}
QUESTIONS = (
    "what is the summary statistic used",
    "what does the summary say about dredging",
    "What was the complaint of the sailing club about?",
    "Was summary judgment granted?",
    "what is an abstract class?",
    "Outline the steps for entering the harbour",
    "what is in the inner basin?",
    "Summarise what the council decided about yachts",
    "summarise the report and tell me how deep berth 4 is",
    "What is the digest size of SHA-256?",
    "Tell me about the storm",
    "",
    "summarise " + "x" * 400,
)


@pytest.mark.parametrize(("question", "target"), REQUESTS.items())
def test_a_request_is_recognised_with_what_it_is_for(question: str, target: str) -> None:
    assert summary_request(question) == target


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_left_to_be_answered(question: str) -> None:
    assert summary_request(question) is None
