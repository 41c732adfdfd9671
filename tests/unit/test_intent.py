"""Requests for a summary, and questions that only look like one."""

from __future__ import annotations

import pytest

from secondlook.roles.route import summary_request

REQUESTS = {
    "summarise the harbour survey": "the harbour survey",
    "Summarize harbour-survey-2024.pdf": "harbour-survey-2024.pdf",
    "Please summarise the annual report in three sentences.": "the annual report",
    "Can you summarise the document called 'Harbour Handbook' for me?": "Harbour Handbook",
    "could you please sum up the minutes of 11 June?": "the minutes of 11 June",
    "sum the annual report up": "the annual report",
    "I'd like you to summarise the dredging offer, please": "the dredging offer",
    "summary of the harbour report": "the harbour report",
    "A short summary of the lighthouse log": "the lighthouse log",
    "give me an overview of the dredging": "the dredging",
    "Give me a brief overview of everything": "",
    "write an executive summary of the annual report": "the annual report",
    "I need a summary of the handbook": "the handbook",
    "What are the main points of the council minutes?": "the council minutes",
    "key takeaways from the survey": "the survey",
    "tl;dr of offer.eml": "offer.eml",
    "TLDR": "",
    "summarise": "",
    "Summarise this.": "",
    "summarise it": "",
    "summarise all my documents": "",
    "summarise the contents of the library": "",
    "give me a summary": "",
    "what is this about": "",
    "What is this about?": "",
    "what's it about?": "",
    "What is this document about?": "",
    "what are these files about": "",
    "what is all this about": "",
    "tell me what this is about": "",
    "what is the harbour handbook about?": "the harbour handbook",
    "What is dredging-offer.eml about?": "dredging-offer.eml",
    "what do these documents cover?": "",
    "What is in my library?": "",
    "what does this report say?": "",
    "Hey, summarise the  \n harbour\tsurvey": "the harbour survey",
}
QUESTIONS = (
    "what is the summary statistic used",
    "Which summary statistics are reported in table 2?",
    "what does the summary say about dredging",
    "who wrote the summary of the survey?",
    "how many pages does the overview have",
    "In the summary of 2024, what is the deepest berth?",
    "What was the complaint of the sailing club about?",
    "What is the fuss about?",
    "what is the argument about dues about",
    "Was summary judgment granted?",
    "When does summary dismissal apply?",
    "how deep is berth 4",
    "what is an abstract class?",
    "Outline the steps for entering the harbour",
    "what is the report's publication date",
    "What does the report say about dredging?",
    "what is in the inner basin?",
    "what is in the report about berth 4",
    "Who summarised the findings?",
    "summarise how much the dredging costs",
    "Summarise what the council decided about yachts",
    "summarise the report and tell me how deep berth 4 is",
    "Is there a summary? Where does it stand?",
    "What are the main berths of the harbour?",
    "what are the key figures",
    "What is it?",
    "what is about to change",
    "how about the overview",
    "Does the overview of berths mention berth 9?",
    "What is the digest size of SHA-256?",
    "what points did Ms Orr make",
    "why was the summary withdrawn",
    "What is this?",
    "Tell me about the storm",
    "explain the dues",
    "What is he talking about",
    "what is the capital of France",
    "list all vessels",
    "",
    "   ",
    "?",
    "summarise " + "x" * 400,
)


@pytest.mark.parametrize(("question", "target"), REQUESTS.items())
def test_a_request_is_recognised_with_what_it_is_for(question: str, target: str) -> None:
    assert summary_request(question) == target


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_left_to_be_answered(question: str) -> None:
    assert summary_request(question) is None
