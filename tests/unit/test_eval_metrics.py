"""Figures of one answer, of exams, of research and of questions over tables."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from secondlook.answer import (
    Answer,
    CallUsage,
    Recalled,
    Research,
    ResearchStep,
    Screening,
    SeenPassage,
    StepEvidence,
    Usage,
)
from secondlook.evaluation.ablation import ablation_plan
from secondlook.evaluation.cache import Saved
from secondlook.evaluation.datasets import load
from secondlook.evaluation.datasets.evalset import describe
from secondlook.evaluation.faithfulness import Truth, leaks
from secondlook.evaluation.judging import outcome, tallies, words
from secondlook.evaluation.metrics import (
    answer_metrics,
    exact_match,
    f1,
    is_right,
    pieces,
    rouge_l,
    tokens,
    value_right,
)
from secondlook.evaluation.records import Case, Configuration, Row
from secondlook.evaluation.runner import RowMaker, Seen
from secondlook.evaluation.statistics import wilson
from secondlook.evaluation.summary import summarise
from secondlook.reading import load_embedder
from secondlook.roles.prompts import NOT_FOUND
from secondlook.roles.prompts.marks import evidence_marks
from secondlook.settings import load as settings_of
from tests.support import squad_definition
from tests.support.engine import WordShelf
from tests.support.eval_questions import answer, case, truth
from tests.support.table_sets import dabench_set

# Words that meet often, with what normalisation is about, and any character at all.
_MET = ["the", "a", "An", "Duke", "duke", "of", "Normandy,", "7.8", "U.S.", "the—cat", "—", "  "]
SOME_WORDS = st.lists(st.sampled_from(_MET) | st.text(max_size=6), max_size=8).map(" ".join)
ASCII_WORDS = st.lists(
    st.sampled_from(["the", "cat", "Sat", "on", "a", "mat", "7.8", "snake_case", "it's"])
    | st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=5),
    max_size=10,
).map(" ".join)
ROUGE = RougeScorer(["rougeL"], use_stemmer=False)


@given(found=SOME_WORDS, right=st.lists(SOME_WORDS, min_size=1, max_size=3))
@settings(max_examples=400, deadline=None)
def test_exact_match_and_f1_are_squads(found: str, right: list[str]) -> None:
    exact, overlap = squad_definition.best(right, found)
    assert exact_match(found, right) == exact
    assert f1(found, right) == pytest.approx(overlap)


@given(found=ASCII_WORDS, right=ASCII_WORDS)
@settings(max_examples=300, deadline=None)
def test_rouge_l_is_that_of_the_reference_package(found: str, right: str) -> None:
    expected = ROUGE.score(right, found)["rougeL"].fmeasure
    assert rouge_l(found, [right]) == pytest.approx(expected)


def test_scripts_without_spaces_are_searched_by_character() -> None:
    asked, made = case(right=["東京"]), answer(None, "首都は東京です。")
    figures = answer_metrics(asked, made)
    assert figures["contains"] == 1
    assert figures["rouge_l"] == pytest.approx(4 / 9)
    assert figures["em"] == figures["f1"] == 0  # SQuAD's own rules stay SQuAD's
    assert is_right(asked, made) is True
    assert pieces("กรุง Bangkok") == [*"กรุง", "bangkok"]
    assert tokens("the 東京") == ["東京"]


LONG = "The tower, which stands in the middle of the city of Paris, was built for a fair. " * 5


@pytest.mark.parametrize(
    ("short", "text", "method", "right"),
    [
        ("Paris, France", "It is there.", "generative", True),  # F1 0.667
        ("big city", "It is a big city.", "generative", False),
        (None, "It is Paris.", "generative", True),
        ("It", "It is Paris.", "generative", True),  # the short form was taken out of it badly
        ("It", "It is Paris.", "extractive", False),  # the span is the answer
        (None, "It is Paris.", "extractive", True),
        (None, LONG, "generative", False),  # a pasted page
    ],
)
def test_right(short: str | None, text: str, method: Any, right: bool) -> None:
    assert is_right(case(right=["Paris"]), answer(short, text, method=method)) is right


@pytest.mark.parametrize(
    ("short", "letter"),
    [
        ("B", "B"),
        ("(b)", "B"),
        ("**B**: because of the forum", "B"),
        ("Answer: B", "B"),
        ("The correct answer is (B), Rome", "B"),
        ("Rome", "B"),
        ("It is surely Rome.", "B"),
        ("D. H. Lawrence", "C"),  # its own text, not the letter D
        ("A dog named Fido", "D"),  # an article, not the letter A
        ("the dog called Fido", "D"),  # most words
        ("Paris or Rome", None),
        ("", None),
        ("something else", None),
    ],
)
def test_choice(short: str, letter: str | None) -> None:
    choices = {"A": "Paris", "B": "Rome", "C": "D. H. Lawrence", "D": "Dog Fido"}
    for choice, text in choices.items():
        asked = case(right=[text], choices=choices, choice=choice.lower())
        made = answer(short)
        assert answer_metrics(asked, made)["accuracy"] == float(letter == choice), choice
        assert is_right(asked, made) is (letter == choice)


# Whether answers keep to their evidence: faithfulness, support, citations and leaks.


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


# Exams: what a reply to a question counts as, and what all replies amount to.

LATE = " ".join(["word"] * 60)


def asked(*right: str, kind: str = "fact", need: Any = "any", answerable: bool = True) -> Case:
    return replace(case(right=right, answerable=answerable), type=kind, need=need)


@pytest.mark.parametrize(
    ("question", "short", "text", "counts_as"),
    [
        (asked("18 August"), "18 August", "", "right"),
        (asked("18 August"), None, "They come on 18  AUGUST 2026 [1].", "right"),
        (asked("18 August"), "8 August", "They come on 118 August.", "wrong"),
        (asked("Orr"), None, f"{LATE} Orr", "wrong"),
        (asked("1"), None, "It is the second [1].", "wrong"),
        # Numbers, however they are written, within half of a hundredth; but a year is a year.
        (asked("4,867.50"), "£4867.5", "", "right"),
        (asked("1475.90"), "1.475,90 €", "", "right"),
        (asked("4867.50"), "about 4,900", "", "wrong"),
        (asked("28"), "28.5", "", "wrong"),
        (asked("2024"), "in 2025", "", "wrong"),
        # Every item, in the short answer or in the text.
        (asked("paint", "gas bottles", need="all"), "paint", "Gas bottles stay here.", "right"),
        (asked("paint", "plants", need="all"), "paint", "Paint and liquids.", "wrong"),
        # A reply must commit itself, also where only the answer says that yes or no is asked for.
        (asked("no", kind="yes_no"), "No", "", "right"),
        (asked("no", kind="yes_no"), None, "No, the balcony is too small.", "right"),
        (asked("no", kind="yes_no"), None, "Yes, on the balcony.", "wrong"),
        (asked("no", kind="yes_no"), None, "There is no room for it.", "uncommitted"),
        (asked("no", kind="follow_up"), None, "There is no room for it.", "uncommitted"),
        # Where nothing is to be found.
        (asked(kind="unanswerable", answerable=False), "Rex", "", "wrong"),
        (asked("0", "none", kind="table_compute", answerable=False), "0", "", "right"),
        (asked(kind="table_compute", answerable=False), None, "There are no parrots.", "right"),
        (asked("0", kind="table_compute", answerable=False), None, "None of them.", "right"),
        (asked("0", kind="table_compute", answerable=False), "3", "", "wrong"),
        (asked(kind="meta"), "Hello", "", None),
        (case(right=["18 August"]), "18 August", "", None),
    ],
)
def test_a_reply_counts_as(
    question: Case, short: str | None, text: str, counts_as: str | None
) -> None:
    assert outcome(question, answer(short, text or short)) == counts_as


def test_nothing_said_is_withheld_and_right_only_where_there_is_no_answer() -> None:
    known, unknown = asked("18 August"), asked(kind="unanswerable", answerable=False)
    silent, failed = (answer(None, "?", status=status) for status in ("abstained", "failed"))
    assert [outcome(one, silent) for one in (known, unknown)] == ["withheld", "right"]
    assert [outcome(one, failed) for one in (known, unknown)] == ["withheld", "withheld"]
    assert [outcome(one, None) for one in (known, unknown)] == ["withheld", "withheld"]


def test_words_and_numbers_are_normalised() -> None:
    assert words("The 1,234,567 boxes, 12,5 kg, \N{MINUS SIGN}3 and LL-20583.") == [
        *("the", "1234567", "boxes", "12.5", "kg", "-3", "and", "ll", "20583")
    ]


def test_the_table_has_kinds_then_kinds_together_then_tiers() -> None:
    def row(**told: Any) -> Row:
        return Row(configuration="auto", status="answered", stop_reason="answered", **told)

    found = tallies(
        [
            row(case="a", type="fact", outcome="right", tier="sure"),
            row(case="b", type="fact", outcome="wrong", tier="likely", grounded="yes"),
            row(case="c", type="table_lookup", outcome="wrong", tier="likely", grounded="no"),
            row(case="d", type="yes_no", outcome="uncommitted"),
            row(case="e", type="meta"),
        ]
    )
    kinds = ["fact", "table_lookup", "yes_no"]
    assert list(found) == [*kinds, "plain documents", "all kinds", "sure", "likely"]
    every = found["all kinds"]
    assert (every.n, *every.counts.values()) == (4, 1, 2, 0, 1, 1)
    assert found["plain documents"].counts["wrong"] == 1
    share = every.shares["wrong_under_a_seal"]
    assert (share.low, share.high) == wilson(0.25, 4)
    assert (found["sure"].shares["right"].value, found["likely"].shares["right"].value) == (1, 0)


# Research and questions over tables.


def seen_passage(name: str, *, kept: bool) -> SeenPassage:
    return SeenPassage(
        id=f"p-{name}", document=name, title=name, start=0, end=9, score=1.0, kept=kept, why=""
    )


def step_of(number: int, *passages: str) -> ResearchStep:
    evidence = tuple(
        StepEvidence(passage=f"p-{name}", rank=at, score=1.0, kept=True, why="")
        for at, name in enumerate(passages, start=1)
    )
    return ResearchStep(
        id=number, phase="Rule", question="Of what?", status="completed", evidence=evidence
    )


RESEARCH = Research(
    query_type="simple",
    classified_by="understander",
    escalated=True,
    cycles=2,
    completed=1,
    failed=1,
    steps=(step_of(1, "a"), step_of(2, "b")),
    screen=Screening(verdict="unclear"),
    quarantined=3,
    recalled=Recalled(entry=1, question="Of what?", similarity=0.99, created="", run="r"),
)


# Choices


# Rows


def maker() -> RowMaker:
    return RowMaker("research", {}, WordShelf(), truth())  # type: ignore[arg-type]


def researched() -> Answer:
    usage = Usage(
        calls=3,
        characters_in=900,
        characters_out=70,
        by_node=(
            CallUsage(node="plan", role="plan", model="m", calls=1),
            CallUsage(node="synthesise", role="answer", model="m", calls=1, parse_failures=1),
            CallUsage(node="synthesise", role="answer", model="n", calls=1),
        ),
    )
    passages = tuple(seen_passage(name, kept=name == "a") for name in ("a", "b", "c"))
    return answer("stone").model_copy(
        update={"research": RESEARCH, "usage": usage, "passages": passages}
    )


def test_a_row_tells_how_it_was_researched() -> None:
    one = case(right=["stone"], gold=["b", "c"])
    made = maker().row(one, Seen(answer=researched()), seconds=1.0, saved=Saved())
    assert (made.shown, made.metrics["recall_shown"]) == (2, 0.5)
    assert made.calls_by_node == {"plan": 1, "synthesise": 2}
    assert (made.characters_in, made.characters_out, made.parse_failures) == (900, 70, 1)
    assert made.research is not None
    assert (made.research.screen, made.research.recalled) == ("unclear", True)
    found = summarise([made], configuration=Configuration("c", "research"))
    told = {name: estimate.value for name, estimate in found.metrics.items()}
    assert (
        told
        | {
            "multi_hop": 0.0,
            "escalated": 1.0,
            "cycles": 2.0,
            "steps_completed": 1.0,
            "steps_failed": 1.0,
            "steps_weak": 0.0,
            "steps_pending": 0.0,
            "screened_out": 0.0,
            "screen_unclear": 1.0,
            "quarantined": 3.0,
            "memory_hit": 1.0,
            "shown": 2.0,
        }
        == told
    )
    assert found.calls_by_node == {"synthesise": 2.0, "plan": 1.0}


# By subject


# Without a corpus


# Sets of questions over tables: how they are read, and when an answer to one is right.


def test_questions_of_dabench_carry_constraints_and_the_wanted_form(tmp_path: Path) -> None:
    data = load(dabench_set(tmp_path / "da"))
    assert (data.form, data.tables, data.has_corpus) == ("tables", 1, False)
    first = data.cases[0]
    assert first.question.splitlines()[0] == "What is the mean depth?"
    assert first.question.splitlines()[-1].startswith("@mean_depth[")
    assert (first.table, first.type) == ("ports.csv", "easy")
    assert first.values == (("mean_depth", "10.5"),)
    assert first.answers == ("@mean_depth[10.5]",)
    assert data.read_table("ports.csv").content.startswith(b"port,depth")
    assert describe(data)["tables"] == 1


@pytest.mark.parametrize(
    ("expected", "value", "is_so"),
    [
        ("34.65", 34.65, True),
        ("34.65", 34.6500002, True),
        ("34.65", 34.66, False),
        ("Normal", "Normal", True),
        ("Normal", "normal", False),
        ("True", True, True),
        ("1", True, False),
        ("[1, 2.5]", [1.0, 2.5], True),
        ("[1, 2.5]", [2.5, 1.0], False),
        ("{'a': 1}", {"a": 1.0}, True),
        ("{'a': 1}", {"b": 1.0}, False),
        ("a, b", ["a", "b"], True),
        ("[1, 2", [1, 2], False),
    ],
)
def test_a_value_is_right_by_dabench(expected: str, value: object, is_so: bool) -> None:
    assert value_right(expected, value) is is_so


def test_an_ablation_without_a_model_tries_what_needs_none() -> None:
    plan, left_out = ablation_plan(settings_of({"models.default": "none"}).settings, ["analyst"])
    assert [item.name for item in plan] == [
        "analyst",
        "analyst without understanding",
        "analyst without alignment",
        "analyst without arithmetic",
    ]
    assert "--model" in left_out["analyst.enable_code_check"]
    assert "--model" in left_out["models.servers.judge = model"]
