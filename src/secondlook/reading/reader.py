"""The embedded reader: question and passage read together give relevance, an answer span and
whether there is an answer at all; claim and evidence, whether the one follows from the other."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from secondlook.errors import ModelUnavailable
from secondlook.reading.port import Reading, glimpse
from secondlook.reading.session import CLS, SEP, OnnxModel, Wordpieces, Workers
from secondlook.reading.weights import INSTALL_HINT, Weights, find_weights, verified

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from secondlook.reading.port import Choose
    from secondlook.reading.session import Feed, Outputs

    Texts = Mapping[bytes, str]
    """Passages by what they are remembered under."""

QUESTION_TOKENS = 64
CLAIM_TOKENS = 128
ANSWER_TOKENS = 30
WINDOW_OVERLAP = 96
REMEMBERED = 4096  # Readings kept at hand: those of some hundred questions
_SPECIAL_TOKENS = 3
_STATES = 256  # Glances whose state is kept for the look: about half a megabyte each


@dataclass(frozen=True, slots=True)
class _Window:
    """The part of one passage that fits beside the question in one pass."""

    passage: bytes
    question: Sequence[int]
    ids: Sequence[int]
    offsets: Sequence[tuple[int, int]]
    glance: float | None = None
    state: NDArray[np.float32] | None = None  # Where the glance stopped

    @property
    def feed(self) -> Feed:
        tokens = np.array([[CLS, *self.question, SEP, *self.ids, SEP]], dtype=np.int64)
        types = np.zeros_like(tokens)
        # As in training: the closing [SEP] is not the passage's.
        types[0, len(self.question) + 2 : -1] = 1
        return {"ids": tokens, "types": types}


class OnnxReader:
    """Implements `Reader` and `Judge`. A passage longer than the model sees is read in overlapping
    windows; the window with the highest relevance speaks for the passage."""

    def __init__(
        self,
        weights: Weights | None = None,
        *,
        threads: int | None = None,
        remembered: int = REMEMBERED,
    ) -> None:
        self._weights = weights or find_weights("reader")
        self._workers = Workers(threads)
        with verified(self._weights):
            self._wordpieces = Wordpieces(self._weights.tokenizer)
            *first, self._last = (OnnxModel(graph) for graph in self._weights.graphs)
        self._first = first[0] if first else None
        self._recent = Recent(remembered)

    @property
    def name(self) -> str:
        return self._weights.identity

    @property
    def languages(self) -> tuple[str, ...]:
        """What it was trained for; what its scores mean for other texts nobody knows."""
        return self._weights.languages

    @property
    def glances(self) -> bool:
        """Whether it can tell passages apart before it looks at them."""
        return self._first is not None

    @property
    def judges(self) -> bool:
        return "support" in self._last.outputs

    def forget(self) -> None:
        """Reads everything anew, for those who measure what reading takes."""
        self._recent.clear()

    def read(
        self, question: str, passages: Sequence[str], *, choose: Choose | None = None
    ) -> list[Reading]:
        keys = [key_of(question, passage) for passage in passages]
        texts = dict(zip(keys, passages, strict=True))
        if choose is None or not self._first:
            looks = self._looks(question, texts)
            return [looks[key] for key in keys]
        glances, begun = self._glances(question, texts)
        chosen = {keys[at] for at in choose([glances[key].relevance for key in keys])}
        looks = self._looks(question, {key: texts[key] for key in texts if key in chosen}, begun)
        return [looks.get(key) or glances[key] for key in keys]

    def judge(self, claims: Sequence[tuple[str, str]]) -> list[float]:
        """How far each evidence supports its claim, as a raw logit; long evidence is read in
        windows, and the one that speaks most for the claim counts."""
        if not self.judges:
            raise ModelUnavailable(
                f"the reader {self.name!r} has no head that judges support", hint=INSTALL_HINT
            )
        windows = [
            window
            for claim, evidence in dict.fromkeys(claims)
            for window in self._windows(claim, {key_of(claim, evidence): evidence}, CLAIM_TOKENS)
        ]
        windows.sort(key=_shortness)
        best: dict[bytes, float] = {}
        for window, logits in self._workers.map(self._looked, windows):
            support = float(logits["support"][0])
            best[window.passage] = max(support, best.get(window.passage, support))
        return [best[key_of(claim, evidence)] for claim, evidence in claims]

    def _glances(self, question: str, texts: Texts) -> tuple[dict[bytes, Reading], list[_Window]]:
        """A glimpse of every passage, and the windows from which to look on."""
        known = self._recent.get(texts, looked=False)
        new = {key: text for key, text in texts.items() if key not in known}
        windows = self._windows(question, new, QUESTION_TOKENS)
        begun = self._workers.map(self._glanced, windows[:_STATES])
        rest = self._workers.map(self._glanced, windows[_STATES:])
        begun += [replace(one, state=None) for one in rest]
        # The best window of each passage speaks for it.
        seen: dict[bytes, list[float]] = {}
        for window in begun:
            seen.setdefault(window.passage, []).append(window.glance or 0.0)
        made = {key: glimpse(max(found), windows=len(found)) for key, found in seen.items()}
        self._recent.put(made)
        return known | made, begun

    def _looks(
        self, question: str, texts: Texts, begun: Sequence[_Window] = ()
    ) -> dict[bytes, Reading]:
        """A reading of every passage, going on from the glances at hand."""
        known = self._recent.get(texts, looked=True)
        windows = [one for one in begun if one.passage in texts and one.passage not in known]
        started = {window.passage for window in windows}
        rest = {key: text for key, text in texts.items() if key not in known.keys() | started}
        windows += self._windows(question, rest, QUESTION_TOKENS)
        found: dict[bytes, list[Reading]] = {}
        for window, logits in self._workers.map(self._looked, windows):
            found.setdefault(window.passage, []).append(_reading(window, logits))
        made: dict[bytes, Reading] = {}
        for key, readings in found.items():
            best = max(readings, key=lambda reading: (reading.relevance, -reading.start))
            glances = [reading.glance for reading in readings if reading.glance is not None]
            made[key] = replace(best, windows=len(readings), glance=max(glances, default=None))
        self._recent.put(made)
        self._recent.put(
            {
                key: glimpse(one.glance, windows=one.windows)
                for key, one in made.items()
                if one.glance is not None
            }
        )
        return known | made

    def _glanced(self, window: _Window) -> _Window:
        assert self._first is not None  # noqa: S101 - nothing else glances
        made = self._first.run(window.feed)
        return replace(window, glance=float(made["glance"][0]), state=made["state"])

    def _looked(self, window: _Window) -> tuple[_Window, Outputs]:
        if not self._first:
            return window, self._last.run(window.feed)
        begun = window if window.state is not None else self._glanced(window)
        feed = {"state": begun.state, "types": begun.feed["types"]}
        return begun, self._last.run(feed)  # type: ignore[arg-type]

    def _windows(self, question: str, texts: Texts, limit: int) -> list[_Window]:
        """All of every text beside the question, of which at most `limit` tokens are taken. Longest
        first: the last passes are short ones, so no core waits long at the end."""
        (asked,) = self._wordpieces.ids([question], limit=limit)
        room = self._weights.max_tokens - len(asked) - _SPECIAL_TOKENS
        encoded = self._wordpieces.with_offsets(list(texts.values()))
        windows = [
            _Window(key, asked, ids[start : start + room], offsets[start : start + room])
            for key, (ids, offsets) in zip(texts, encoded, strict=True)
            for start in window_starts(len(ids), room)
        ]
        return sorted(windows, key=_shortness)


def _shortness(window: _Window) -> int:
    return -len(window.ids) - len(window.question)


def window_starts(tokens: int, room: int) -> range:
    """Evenly advancing windows of `room` tokens that together cover all of them."""
    step = room - WINDOW_OVERLAP
    return range(0, max(tokens - WINDOW_OVERLAP, 1), step) if tokens > room else range(1)


def _reading(window: _Window, logits: Outputs) -> Reading:
    starts, ends = logits["start"][0], logits["end"][0]
    null = float(starts[0] + ends[0])
    first, size = len(window.question) + 2, len(window.ids)
    score, start, end = null, 0, 0
    if size:
        score, *span = best_span(starts[first : first + size], ends[first : first + size])
        start, end = window.offsets[span[0]][0], window.offsets[span[1]][1]
    return Reading(
        relevance=float(logits["relevance"][0]),
        answerable=float(logits["answerable"][0]),
        start=start,
        end=end,
        span_score=score,
        null_score=null,
        glance=window.glance,
    )


def best_span(starts: NDArray[np.float32], ends: NDArray[np.float32]) -> tuple[float, int, int]:
    """Score, first and last token of the best answer of at most ANSWER_TOKENS tokens."""
    padded = np.concatenate([ends, np.full(ANSWER_TOKENS - 1, -np.inf, dtype=ends.dtype)])
    reach = np.lib.stride_tricks.sliding_window_view(padded, ANSWER_TOKENS)
    start, length = divmod(int((starts[:, None] + reach).argmax()), ANSWER_TOKENS)
    return float(starts[start] + ends[start + length]), start, start + length


# What the reader found lately, so that a second search of the same run reads nothing twice.

_KEY_BYTES = 16


def key_of(question: str, passage: str) -> bytes:
    """Short for any text: long passages are not kept alive by what was found in them."""
    digest = hashlib.blake2b(digest_size=_KEY_BYTES)
    for part in (question, passage):
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.digest()


class Recent:
    """At most `limit` readings, the latest used. Safe to call from several threads."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: OrderedDict[tuple[bool, bytes], Reading] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, keys: Iterable[bytes], *, looked: bool) -> dict[bytes, Reading]:
        """Those looked at, or those glanced at: the one does not stand for the other."""
        found: dict[bytes, Reading] = {}
        with self._lock:
            for key in keys:
                if (looked, key) in self._kept:
                    self._kept.move_to_end((looked, key))
                    found[key] = self._kept[looked, key]
        return found

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()

    def put(self, readings: Mapping[bytes, Reading]) -> None:
        with self._lock:
            for key, reading in readings.items():
                self._kept[reading.looked, key] = reading
                self._kept.move_to_end((reading.looked, key))
            while len(self._kept) > self._limit:
                self._kept.popitem(last=False)
