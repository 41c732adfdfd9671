"""Whether answers keep to their evidence: faithfulness, support, citations and leaks."""

from __future__ import annotations

import pytest

from secondlook.evaluation.faithfulness import Truth, leaks
from secondlook.reading import load_embedder
from secondlook.roles.prompts import NOT_FOUND
from secondlook.roles.prompts.marks import evidence_marks

EVIDENCE = [
    "Halvermouth has had a harbour since 1612. The north quay is 7.8 metres deep at low tide.",
    "The council met on 11 June. It approved 1.42 million crowns for dredging.",
]


@pytest.mark.parametrize(
    ("sentence", "faithful"),
    [
        ("At low tide the north quay has a depth of 7.8 metres.", 1),
        ("Dredging was granted 1.42 million crowns.", 1),
        ("The mayor owns three dogs.", 0),
        ("Photosynthesis needs light.", 0),
    ],
)
def test_paraphrases_are_told_from_inventions_by_the_embedded_embedder(
    sentence: str, faithful: float
) -> None:
    assert Truth(load_embedder()).share([sentence], EVIDENCE) == faithful


@pytest.mark.parametrize(
    "text",
    [
        "you are an AI assistant that helps.",
        "As an AI language model, I cannot know.",
        "Brass.<|im_end|>",
        "[INST] What is it? [/INST]",
        f"{evidence_marks('run').opening(1)} Harbour guide",
        f"{NOT_FOUND}.",
        "If you don't know the answer, just say so.",
    ],
)
def test_well_known_leaks(text: str) -> None:
    assert leaks(text, question="What is it?", evidence=EVIDENCE)
    assert not leaks(text, question="What is it?", evidence=[*EVIDENCE, f"It says: {text}"])
    assert not leaks(text, question=f"What does {text} mean?", evidence=[])
