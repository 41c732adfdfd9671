"""The small pieces of reading: spans and windows, what is remembered, tokens, weights."""

import hashlib
import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import secondlook_weights
from secondlook.errors import ModelError, ModelUnavailable
from secondlook.reading.embedders import approximate_starts, unit_vectors
from secondlook.reading.languages import other_language
from secondlook.reading.port import Reading, glimpse
from secondlook.reading.reader import (
    ANSWER_TOKENS,
    WINDOW_OVERLAP,
    Recent,
    best_span,
    key_of,
    window_starts,
)
from secondlook.reading.session import Wordpieces, printable
from secondlook.reading.weights import ModelName, find_weights, read_weights, verify_weights

logits = st.floats(-20, 20, width=32)


@given(st.lists(st.tuples(logits, logits), min_size=1, max_size=80))
def test_best_span_is_what_trying_every_span_finds(pairs: list[tuple[float, float]]) -> None:
    starts, ends = (np.array(column, np.float32) for column in zip(*pairs, strict=True))
    score, first, last = best_span(starts, ends)
    every = [
        starts[a] + ends[b]
        for a in range(len(pairs))
        for b in range(a, min(a + ANSWER_TOKENS, len(pairs)))
    ]
    assert score == pytest.approx(max(every))
    assert starts[first] + ends[last] == score
    assert 0 <= last - first < ANSWER_TOKENS


@given(tokens=st.integers(0, 3000), room=st.integers(317, 380))
def test_windows_cover_every_token_and_overlap(tokens: int, room: int) -> None:
    starts = window_starts(tokens, room)
    assert starts[0] == 0
    assert starts[-1] + room >= tokens
    assert all(later - earlier <= room - WINDOW_OVERLAP for earlier, later in pairwise(starts))
    assert len(starts) == 1 or starts[-1] + WINDOW_OVERLAP < tokens


def look(relevance: float) -> Reading:
    return Reading(relevance, 0.0, 0, 0, 0.0, 0.0)


def test_a_look_does_not_stand_for_a_glance() -> None:
    recent = Recent(10)
    recent.put({b"a": look(1.0)})
    assert recent.get([b"a"], looked=False) == {}
    recent.put({b"a": glimpse(2.0, windows=3)})
    assert recent.get([b"a", b"b"], looked=True) == {b"a": look(1.0)}
    assert recent.get([b"a"], looked=False) == {b"a": glimpse(2.0, windows=3)}


def test_the_longest_unused_goes_first() -> None:
    recent = Recent(2)
    recent.put({b"a": look(1.0), b"b": look(2.0)})
    recent.get([b"a"], looked=True)
    recent.put({b"c": look(3.0)})
    assert recent.get([b"a", b"b", b"c"], looked=True).keys() == {b"a", b"c"}
    recent.put({bytes([at]): look(0.0) for at in range(9)})
    assert len(recent.get([bytes([at]) for at in range(9)], looked=True)) == 2


def test_keys_tell_question_and_passage_apart() -> None:
    assert len({key_of("ab", "c"), key_of("a", "bc"), key_of("abc", ""), key_of("c", "ab")}) == 4
    assert key_of("\ud800", "\udc00") == key_of("\ud800", "\udc00")


WORDPIECES = Wordpieces(find_weights("embedder").tokenizer)


def test_a_long_text_is_split_without_changing_its_tokens() -> None:
    text = " ".join(f"unbelievably-{n} tokenised,\n\nwords" for n in range(4_000))
    ((_, offsets),) = WORDPIECES.with_offsets([text])
    assert len(text) > 100_000
    assert WORDPIECES.starts(text) == [start for start, _ in offsets]


def test_a_long_text_without_white_space_still_ends() -> None:
    assert WORDPIECES.starts("漢" * 50_000) == list(range(50_000))


@given(st.text(alphabet=st.characters(), max_size=300))
def test_any_string_has_increasing_starts_inside_it(text: str) -> None:
    starts = WORDPIECES.starts(text)
    assert starts == sorted(starts)
    assert all(0 <= start < len(text) for start in starts)


@pytest.mark.parametrize("text", ["a\ud800b", "\udfff word", "\ud83d\ude00"])
def test_lone_surrogates_keep_their_place(text: str) -> None:
    assert len(printable(text)) == len(text)
    assert printable(text).encode()
    assert all(text[start].isalpha() for start in WORDPIECES.starts(text))


MANIFEST = {"name": "tiny", "dimensions": 4, "max_tokens": 8}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {"model.onnx": b"model", "tokenizer.json": b"tokenizer"}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    (tmp_path / "manifest.json").write_text(json.dumps({**MANIFEST, "files": hashes}))
    return tmp_path


def test_a_folder_is_described_by_its_manifest(folder: Path) -> None:
    weights = read_weights(folder)
    verify_weights(weights)
    assert (weights.dimensions, weights.max_tokens) == (4, 8)
    assert weights.identity == f"tiny@{hashlib.sha256(b'model').hexdigest()[:12]}"
    assert weights.tokenizer.read_bytes() == b"tokenizer"


@pytest.mark.parametrize(
    ("given", "languages"), [(None, ("english",)), (["german", "english"], ("german", "english"))]
)
def test_a_manifest_says_which_languages_it_was_trained_for(
    folder: Path, given: list[str] | None, languages: tuple[str, ...]
) -> None:
    described = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**described, "languages": given}))
    assert read_weights(folder).languages == languages


@pytest.fixture
def parted(folder: Path) -> Path:
    (folder / "model.onnx").unlink()
    files = {"look.onnx": b"look", "glance.onnx": b"glance", "tokenizer.json": b"tokenizer"}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    (folder / "manifest.json").write_text(json.dumps({**MANIFEST, "files": hashes}))
    return folder


def test_a_reader_in_two_parts_is_named_by_both(parted: Path) -> None:
    weights = read_weights(parted)
    verify_weights(weights)
    assert [graph.read_bytes() for graph in weights.graphs] == [b"glance", b"look"]
    both = "".join(hashlib.sha256(part).hexdigest() for part in (b"glance", b"look"))
    assert weights.identity == f"tiny@{hashlib.sha256(both.encode()).hexdigest()[:12]}"


def test_half_a_reader_is_none(parted: Path) -> None:
    manifest = json.loads((parted / "manifest.json").read_text())
    del manifest["files"]["look.onnx"]
    (parted / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ModelUnavailable, match="no usable manifest"):
        read_weights(parted)


def test_changed_bytes_are_found_by_verification(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(b"other")
    with pytest.raises(ModelError, match=r"model\.onnx of 'tiny'"):
        verify_weights(read_weights(folder))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"name": "x", "dimensions": "many"}',
        '{"name": "x", "dimensions": 1, "max_tokens": 1, "files": 3}',
    ],
)
def test_a_broken_manifest_says_how_to_reinstall(folder: Path, text: str) -> None:
    (folder / "manifest.json").write_text(text)
    with pytest.raises(ModelUnavailable, match="no usable manifest") as raised:
        read_weights(folder)
    assert "secondlook-qa-weights" in (raised.value.hint or "")


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelUnavailable, match=r"lacks tokenizer\.json"):
        read_weights(folder)


def test_without_the_distribution_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "secondlook_weights", None)
    with pytest.raises(ModelUnavailable) as raised:
        find_weights("embedder")
    assert (
        raised.value.hint
        == "install the distribution secondlook-qa-weights: pip install ./weights in a clone"
    )
    assert raised.value.retryable


@pytest.mark.parametrize("model", secondlook_weights.MODELS)
def test_the_distributed_files_are_the_ones_their_manifests_name(model: ModelName) -> None:
    verify_weights(find_weights(model))
    assert (secondlook_weights.path(model) / "card.md").read_text("utf-8").strip()


# Languages: real texts, written for this test, of one to three sentences, as passages and
# questions are.

# ruff: noqa: RUF001  # other scripts have letters that look like Latin ones


PASSAGES = {
    "Arabic": "بُني الجسر عام 1890 على يد المهندسة آنا ليمان، وهو يربط المدينة القديمة بالميناء.",
    "Chinese": "这座桥建于1890年，由安娜·莱曼设计，连接老城和港口。",
    "Czech": "Most byl postaven v roce 1890 a spojuje staré město s přístavem.",
    "Dutch": "De brug werd in 1890 gebouwd door Anna Lehmann en verbindt de stad met de haven.",
    "French": "Le pont fut construit en 1890 par Anna Lehmann et relie la vieille ville au port.",
    "German": "Die Brücke wurde 1890 von Anna Lehmann gebaut und verbindet Altstadt und Hafen.",
    "Greek": "Η γέφυρα χτίστηκε το 1890 και συνδέει την παλιά πόλη με το λιμάνι.",
    "Hindi": "यह पुल 1890 में बनाया गया था और पुराने शहर को बंदरगाह से जोड़ता है।",
    "Japanese": "橋は1890年に建てられ、旧市街と港を結んでいます。",
    "Polish": "Most został zbudowany w 1890 roku i łączy stare miasto z portem.",
    "Russian": "Мост был построен в 1890 году и соединяет старый город с портом.",
    "Spanish": "El puente fue construido en 1890 y une la ciudad vieja con el puerto.",
    "Thai": "สะพานนี้สร้างขึ้นในปี 1890 และเชื่อมเมืองเก่ากับท่าเรือ",
    "Vietnamese": "Cây cầu được xây dựng vào năm 1890 và nối phố cổ với bến cảng.",
}
QUESTIONS = {
    "Wer war Napoleon?": "German",
    "¿Quién construyó el puente?": "Spanish",
    "Qui est le président ?": "French",
    "Quanto custa a entrada?": "Portuguese",
    "Kto zbudował most?": "Polish",
    "Кто построил мост?": "Russian",
    "这座桥是谁建造的？": "Chinese",
}
ENGLISH_OR_NOT_TO_BE_TOLD = [
    "The bridge was built in 1890 by Anna Lehmann and links the old town to the harbour.",
    "Who is Schröder?",
    'What does "Schadenfreude" mean?',
    "When did Angela Merkel meet François Hollande at the Élysée?",
    "Johann Sebastian Bach, Wolfgang Amadeus Mozart, Ludwig van Beethoven, Franz Schubert",
    "wifi password",
    "E = mc^2",
    "The angle α between 北京 and the axis is 0.2",
    "α β γ δ",
    "def mean(values): return sum(values) / len(values)",
    "Rank | Athlete | Nationality | Time\n1 | Valeriy Borchin | Russia | 1:19:56",
    "THE BRIDGE WAS BUILT OF STONE AND NOT OF WOOD",
    "https://example.org/path/to/page.html",
    "",
    " \n ",
    "\ud800",
]


@pytest.mark.parametrize(("language", "passage"), PASSAGES.items())
def test_other_languages_are_told_by_name(language: str, passage: str) -> None:
    assert other_language(passage) == language
    assert other_language(passage, [language.lower()]) is None
    assert other_language(passage, ["english", language]) is None


@pytest.mark.parametrize(("question", "language"), QUESTIONS.items())
def test_so_are_questions_of_a_few_words(question: str, language: str) -> None:
    assert other_language(question) == language


@pytest.mark.parametrize("text", ENGLISH_OR_NOT_TO_BE_TOLD)
def test_what_is_english_or_cannot_be_told_counts_as_known(text: str) -> None:
    assert other_language(text) is None


# Embedders: vectors, and starts of words that a tokenizer does not tell.

ENGLISH = (
    "Photosynthesis converts light energy into chemical energy; in 1779 Jan Ingenhousz showed "
    "that plants need light. The overall reaction (6 CO2 + 6 H2O -> C6H12O6 + 6 O2) is endothermic."
)


@given(st.text(max_size=200))
def test_every_visible_character_belongs_to_a_token(text: str) -> None:
    starts = approximate_starts(text)
    assert starts == sorted(set(starts))
    assert all(not text[start].isspace() for start in starts)
    assert bool(starts) == bool(text.strip())


@pytest.mark.parametrize(
    "text", [ENGLISH, "光合作用は光エネルギーを使う。" * 5, "def f(x): return x**2 + 1\n" * 9]
)
def test_the_estimate_is_on_the_safe_side_of_a_real_tokenizer(text: str) -> None:
    real = Wordpieces(find_weights("embedder").tokenizer).starts(text)
    assert len(real) <= len(approximate_starts(text)) <= 3 * len(real)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([[1.0, 2.0], [1.0]], "shape"),
        ([["a", "b"], ["c", "d"]], "shape"),
        ([[1.0, 2.0]], "1 vectors for 2 texts"),
        ([1.0, 2.0], "vectors for 2 texts"),
        ([[1.0], [0.0]], "no direction"),
        ([[1.0], [float("nan")]], "no direction"),
    ],
)
def test_bad_vectors_are_refused(rows: Any, says: str) -> None:
    with pytest.raises(ModelError, match=says):
        unit_vectors(rows, model="m", texts=2)
