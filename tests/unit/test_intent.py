"""Requests for a summary or about the library itself, and questions that only look like one."""

from __future__ import annotations

import pytest

from secondlook.roles.route import catalogue_request, summary_request

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


# Greetings and questions about the library itself

ABOUT_THE_LIBRARY = {
    "hello": ("hi", "Hello there!", "good  morning", "Hey again"),
    "thanks": ("thanks", "Thank you very much.", "ok, thanks!"),
    "help": ("help", "what can you do?", "who are you", "hi, what can you do?"),
    "list": (
        "how many documents do you have",
        "Which files do you have?",
        "how many files are there in this collection?",
        "list the documents",
        "Hello there, could you show me the files?",
        "please list all my files",
        "What are these documents about?",
        "what's in here?",
        "what is in the library",
    ),
}
ABOUT_THEIR_SUBJECT = (
    "hi, when is the rent due?",
    "thanks, and when is the rent due?",
    "thanks to whom was the pier built?",
    "hello kitty",
    "help with the mooring",
    "how many documents must a tenant sign?",
    "how many documents are there in appendix B?",
    "which documents do we have to sign",
    "which documents do you have about ferries and when do they leave?",
    "list the documents a tenant must sign",
    "list the files on deck",
    "what can the captain do",
    "what can you do on the quay",
    "who are you allowed to call",
    "what do you have to pay",
    "what is in the inner basin?",
    "what is in the collection of the museum?",
    "what are the files in appendix B about?",
    "what is this about?",
    "summarise the documents",
    "which files do you have about " + "x" * 200,
    "",
)


@pytest.mark.parametrize("kind", ABOUT_THE_LIBRARY)
def test_a_greeting_or_a_question_about_the_library_is_recognised(kind: str) -> None:
    found = {one: catalogue_request(one) for one in ABOUT_THE_LIBRARY[kind]}
    assert found == dict.fromkeys(ABOUT_THE_LIBRARY[kind], (kind, ""))


def test_it_may_be_about_files_on_one_topic() -> None:
    for said in ("which files do you have about the ferries?", "list the files about the ferries"):
        assert catalogue_request(said) == ("list", "the ferries")


@pytest.mark.parametrize("question", ABOUT_THEIR_SUBJECT)
def test_a_question_about_their_subject_is_not_caught(question: str) -> None:
    assert catalogue_request(question) is None
