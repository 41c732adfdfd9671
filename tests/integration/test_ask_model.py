"""A real small language model, end to end: search, packing, writing, checking, citing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from secondlook.engine.secondlook import Secondlook
from secondlook.library.library import Library, samples_folder
from secondlook.settings import load
from secondlook.verify import verify
from tests.support.gguf_models import smollm2

if TYPE_CHECKING:
    from collections.abc import Iterator

QUESTIONS = (
    "How thick is the sheet piling of the south quay?",
    "Who designed the lighthouse on Cape Varn?",
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secondlook]:
    folder = tmp_path_factory.mktemp("model")
    settings = load(
        {
            "library.path": folder / "library",
            "runs.path": folder / "runs.db",
            "models.default": f"gguf:{smollm2()}",
            "answer.evidence_tokens": 200,
        }
    ).settings
    library = Library.open(settings=settings)
    library.add([samples_folder() / "harbour-survey-2024.pdf"])
    library.add([samples_folder() / "council-minutes-2024-06-11.md"])
    with Secondlook(library) as opened:
        yield opened


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_with_citations_that_stand(engine: Secondlook, question: str) -> None:
    """It is far too small to be right; whatever it says, what reaches a person stands."""
    tokens: list[str] = []
    for event in engine.stream(question):
        if event.type == "token":
            tokens.append(event.text)
        if event.type == "answered":
            answer = event.answer
    assert answer.status in {"answered", "partial", "abstained"}
    assert answer.usage.calls >= 1
    assert answer.usage.tokens_in > 0
    assert answer.usage.cost == 0.0
    assert answer.usage.by_node[0].model.startswith("gguf:")
    kept = {seen.id for seen in answer.passages if seen.kept}
    for citation in answer.citations:
        assert citation.passage in kept
        text = engine.library.text(citation.document).text
        assert text[citation.start : citation.end] == citation.quote
    assert verify(answer, engine.library) == []
    if answer.method == "generative":
        said = " ".join("".join(tokens).split())
        assert all(claim.text in said for claim in answer.claims)
