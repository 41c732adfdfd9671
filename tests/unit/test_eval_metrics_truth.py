"""Whether answers keep to their evidence: faithfulness, support, citations and leaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secondlook.answer import Claim
from secondlook.evaluation import faithfulness as measured
from secondlook.evaluation.faithfulness import SIMILAR, Faithfulness, Truth, leaks
from secondlook.evaluation.metrics import METRICS
from secondlook.reading import load_embedder
from secondlook.roles.prompts import NOT_FOUND, load, names
from secondlook.roles.prompts.marks import evidence_marks
from tests.support.eval_questions import answer, case, truth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.reading.port import Vectors

EVIDENCE = [
    "Halvermouth has had a harbour since 1612. The north quay is 7.8 metres deep at low tide.",
    "The council met on 11 June. It approved 1.42 million crowns for dredging.",
]


class WordEmbedder:
    """Sentences that share words are near; it counts what it is asked to embed."""

    name = "words"
    dimensions = 256
    max_tokens = 512

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def token_starts(self, text: str) -> list[int]:
        raise NotImplementedError

    def embed_query(self, text: str) -> Vectors:
        raise NotImplementedError

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.embedded += texts
        vectors = np.full((len(texts), self.dimensions), 1e-6, dtype=np.float32)
        for at, text in enumerate(texts):
            for word in set(text.lower().strip(".").split()):
                vectors[at, sum(map(ord, word)) % self.dimensions] += 1
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def test_verbatim_sentences_are_faithful_and_cost_nothing() -> None:
    embedder = WordEmbedder()
    said = ["The North quay is 7.8  metres deep at low tide", "The council met on 11 June."]
    assert Faithfulness(embedder).share(said, EVIDENCE) == 1
    assert embedder.embedded == []


def test_part_of_a_word_is_not_verbatim() -> None:
    assert Faithfulness(WordEmbedder()).share(["Yes."], ["Yesterday it rained."]) == 0


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
    assert Faithfulness(load_embedder()).share([sentence], EVIDENCE) == faithful


def test_the_bare_cosine_would_call_everything_faithful() -> None:
    bare = Faithfulness(load_embedder(), least_cosine=SIMILAR)
    assert bare.share(["The mayor owns three dogs.", "Photosynthesis needs light."], EVIDENCE) == 1
    assert 0.85 < Faithfulness(load_embedder()).least_cosine < 0.95


def test_an_embedder_whose_unrelated_sentences_are_far_apart_keeps_the_plain_threshold() -> None:
    assert Faithfulness(WordEmbedder()).least_cosine == pytest.approx(SIMILAR, abs=0.06)


def test_evidence_is_read_no_further_than_needed_and_remembered() -> None:
    embedder = WordEmbedder()
    metric = Faithfulness(embedder, least_cosine=0.65)
    evidence = [f"Berth {at} lies empty since Monday." for at in range(100)]
    evidence += ["Dredging costs one million crowns."]
    assert metric.share(["Dredging now costs one million crowns."], evidence) == 1
    first = len(embedder.embedded)
    assert first == 1 + 8
    assert metric.share(["Dredging now costs one million crowns."], evidence) == 1
    assert len(embedder.embedded) == first


@given(
    said=st.lists(st.text("abc. ", max_size=12), max_size=4),
    evidence=st.lists(st.text("abc. ", max_size=60), max_size=4),
)
@settings(max_examples=100, deadline=None)
def test_order_and_shortcuts_change_nothing(said: list[str], evidence: list[str]) -> None:
    from secondlook.evaluation.metrics import plain_words
    from secondlook.evaluation.metrics import split_sentences as sentences

    wanted = [one for one in said if plain_words(one)]
    held = [one for text in evidence for one in sentences(text)]
    embed = WordEmbedder().embed_passages
    expected = sum(
        any(
            f" {' '.join(plain_words(one))} " in f" {' '.join(plain_words(text))} "
            for text in evidence
        )
        or any(float(embed([one])[0] @ embed([other])[0]) >= 0.65 for other in held)
        for one in wanted
    ) / max(1, len(wanted))
    share = Faithfulness(WordEmbedder(), least_cosine=0.65).share(said, evidence)
    assert share == pytest.approx(expected)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "_REMEMBERED", 20)
    metric = Faithfulness(WordEmbedder(), least_cosine=0.65)
    for at in range(30):
        metric.share([f"Nothing like number {at}."], [f"A text {at}. And more {at}."])
        assert len(metric._vectors) <= 20


@pytest.mark.parametrize(
    ("said", "evidence"), [([], EVIDENCE), (["...", " "], EVIDENCE), (["A."], [])]
)
def test_nothing_said_or_nothing_to_rest_on_is_not_faithful(
    said: list[str], evidence: list[str]
) -> None:
    assert Faithfulness(WordEmbedder()).share(said, evidence) == 0


def test_figures_of_an_answer() -> None:
    asked = case(right=["7.8"], gold={"a": 1, "c": 2, "x": 0})
    made = answer("7.8", "It is. It was.", support=[0.9, None])
    figures = truth().metrics(asked, made, evidence=EVIDENCE, cited=["a", "x", "a", "b"])
    assert figures["support"] == 0.9
    assert figures["citation_precision"] == 0.5
    assert figures["citation_recall"] == 0.5
    assert set(figures) == {name for name, item in METRICS.items() if item.group == "truth"}


@pytest.mark.parametrize("status", ["abstained", "refused", "failed"])
def test_what_was_not_answered_cites_nothing(status: Any) -> None:
    made = answer("7.8", "You are an AI.", status=status, support=[0.9])
    asked = case(right=["7.8"], gold=["a"])
    assert truth().metrics(asked, made, evidence=[], cited=["a"]) == {"citation_recall": 0}


def test_an_answer_without_citations_is_precise_in_none() -> None:
    figures = truth().metrics(case(gold=["a"]), answer("7.8"), evidence=["7.8"], cited=[])
    assert figures["citation_precision"] == 0
    assert "citation_recall" not in figures


def test_the_cosine_as_it_is_passes_what_the_scale_does_not() -> None:
    said = "The mayor owns three dogs."
    figures = truth().metrics(
        case(gold=["a"]), answer(said), evidence=["The quay is 7.8 metres deep."], cited=["a"]
    )
    assert figures["faithfulness"] == 0
    assert figures["faithfulness_cosine"] >= figures["faithfulness"]


@pytest.mark.parametrize("asked", [case(right=["7.8"]), case(answerable=False, gold=["a"])])
def test_without_gold_citations_are_not_judged(asked: Any) -> None:
    figures = truth().metrics(asked, answer("7.8"), evidence=["7.8"], cited=["a"])
    assert not any(name.startswith("citation") for name in figures)


@given(text=st.text(max_size=60), evidence=st.lists(st.text(max_size=60), max_size=2))
@settings(max_examples=100, deadline=None)
def test_any_text_has_figures_between_0_and_1(text: str, evidence: list[str]) -> None:
    figures = Truth(WordEmbedder()).metrics(
        case(right=[text]), answer(None, text), evidence=evidence, cited=[text]
    )
    assert all(0 <= value <= 1 for value in figures.values())


PROMPT_LINES = [
    line for name in names() for line in load(name).own_words.splitlines() if len(line.split()) > 7
]


@pytest.mark.parametrize("line", PROMPT_LINES)
def test_any_line_of_any_prompt_is_a_leak(line: str) -> None:
    assert leaks(f"Well. {line} So it is.", question="What is it?", evidence=EVIDENCE)


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


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The north quay is 7.8 metres deep at low tide.",
        "It is not in the evidence room.",
        "Write one or two short letters.",  # five words of a prompt
        "I don't know: no passage answers this well enough.",
        "(1 sentence was marked: not supported by the evidence.)",
    ],
)
def test_no_leak(text: str) -> None:
    assert leaks(text, question="What is it?", evidence=EVIDENCE) == ()


def test_a_leak_in_the_short_answer_counts() -> None:
    figures = truth().metrics(
        case(), answer("As an AI assistant", "It is brass."), evidence=[], cited=[]
    )
    assert figures["prompt_leak"] == 1


def test_claims_are_what_is_judged() -> None:
    made = answer("7.8", "The north quay is 7.8 metres deep at low tide [1].\n\n(A remark below.)")
    made = made.model_copy(
        update={
            "claims": (
                Claim(text="The north quay is 7.8 metres deep at low tide.", citations=(1,)),
            )
        }
    )
    assert truth().metrics(case(), made, evidence=EVIDENCE, cited=["a"])["faithfulness"] == 1
