"""The embedded understander: a small text-to-text model that says what a question means. Each task
has its first word: `alone:` a follow-up said in full, `query:` a question over a table as a form,
`wants:` what a question wants, with its parts."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import numpy as np

from secondlook.reading.session import OnnxModel, printable
from secondlook.reading.weights import Weights, find_weights, verified

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

LONGEST_GIVEN, LONGEST_WRITTEN = 288, 96
REMEMBERED = 512
SEARCHED, BRANCHES, LEAST_LOGARITHM = 120, 4, float(np.log(0.01))
"""A search for other texts: tokens that are tried, ways to go on from each, and what is so unlikely
that it is not gone on with."""
ENDINGS = ("'", "s", "?", ",", ".", "ing", "ed", "d", "es", '"')  # What a word may be followed by
HEARD = ("read_v_0", "read_v_3")  # Which of its layers `vectors` takes
_WORD = re.compile(r"\w+(?:[-'\u2019.&]\w+)*")
_BEGIN, _END, _UNKNOWN = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Written:
    text: str
    likelihood: float  # 0..1: how likely the model holds this text, token by token, to be the one


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """Words by their tokens, and what may follow a whole one: marks and endings."""

    longer: Mapping[tuple[int, ...], set[int]]
    whole: set[tuple[int, ...]]
    endings: set[int]

    def next(self, written: tuple[int, ...]) -> set[int]:
        """Tokens that make the last word longer, end it, or begin another."""
        last: tuple[int, ...] = ()
        begins = self.longer[()]
        for token in written:
            if token in self.longer.get(last, ()):
                last = (*last, token)
            elif token in begins:
                last = (token,)
        found = self.longer.get(last, set())
        return found | begins | self.endings if last in self.whole else found


@dataclass(frozen=True, slots=True)
class _Begun:
    """A text so far."""

    tokens: tuple[int, ...]
    logarithm: float  # Of its likelihood
    read: Mapping[str, Floats]
    past: Mapping[str, Floats]
    folded: Mapping[str, str]
    """Words of what is given, by how the model sees them where it lacks a letter."""
    known: _Vocabulary | None = None  # The words that may be written, where not all may

    @property
    def is_whole(self) -> bool:
        return self.tokens[-1] == _END


class Understander:
    """Safe to call from several threads."""

    def __init__(self, weights: Weights) -> None:
        from tokenizers import Tokenizer

        self.name = weights.identity
        with verified(weights):
            self._reads, self._writes = map(OnnxModel, weights.graphs)
            self._tokenizer = Tokenizer.from_file(str(weights.tokenizer))
        self._shapes: Mapping[str, tuple[int, int]] = self._writes.inputs("past_")
        known = self._tokenizer.get_vocab()
        self._endings = {_END, *(known[one] for one in ENDINGS if one in known)}
        self._tokens = lru_cache(8 * REMEMBERED)(
            lambda word: tuple(self._tokenizer.encode(word).ids[:-1])
        )
        self.write = lru_cache(REMEMBERED)(self._write)
        self.several = lru_cache(REMEMBERED)(self._several)

    def _write(self, given: str, words: str = "") -> Written:
        """The likeliest text, one token after the other. With `words`, nothing is written but them
        and words of what is given: a name cannot become another."""
        begun = self._begun(given, words)
        for _ in range(LONGEST_WRITTEN):
            (begun,) = self._longer(begun, 1)
            if begun.is_whole:
                break
        return self._written(begun)

    def vectors(self, given: str) -> tuple[list[tuple[int, int]], Floats]:
        """Where each token stands in the text, and a vector of what the first half of the model
        makes of it there: a head that was fitted on them tells things that nobody writes."""
        read, offsets = self._begun(given).read, self._tokenizer.encode(given).offsets
        parts = [read[name][0].swapaxes(0, 1) for name in HEARD]
        made = np.concatenate([one.reshape(len(one), -1) for one in parts], axis=1)
        count = min(len(offsets), len(made))
        return offsets[:count], made[:count]

    def _several(self, given: str) -> list[Written]:
        """The likeliest texts, likeliest first, as far as `SEARCHED` tokens lead."""
        found, order = list[Written](), count()
        waiting = [(0.0, next(order), self._begun(given))]
        for _ in range(SEARCHED):
            while waiting and waiting[0][-1].is_whole:
                found.append(self._written(heappop(waiting)[-1]))
            if not waiting:
                break
            for one in self._longer(heappop(waiting)[-1], BRANCHES):
                if one.logarithm > LEAST_LOGARITHM:
                    heappush(waiting, (-one.logarithm, next(order), one))
        return found

    def _begun(self, given: str, words: str = "") -> _Begun:
        seen = "".join(map(self._letter, printable(given)))
        pairs = zip(_WORD.findall(seen), _WORD.findall(given), strict=False)
        folded = {one: other for one, other in pairs if one != other}
        ids = self._tokenizer.encode(seen).ids
        known = self._vocabulary(f"{seen} {words}") if words else None
        if len(ids) > LONGEST_GIVEN:
            ids = [*ids[: LONGEST_GIVEN - 1], _END]
        read = self._reads.run({"given": np.array([ids], dtype=np.int64)})
        past: dict[str, Floats] = {
            name: np.zeros((1, heads, 0, size), np.float32)
            for name, (heads, size) in self._shapes.items()
        }
        return _Begun((_BEGIN,), 0.0, read, past, folded, known)

    def _letter(self, letter: str) -> str:
        """Without its accent where the model knows it no other way. A sign stays what it is, so
        that words can be counted off against each other."""
        plain = letter.isascii() or not letter.isalpha()
        if plain or _UNKNOWN not in self._tokenizer.encode(letter).ids:
            return letter
        bare = normalize("NFKD", letter)[0]
        return bare if bare.isascii() else letter

    def _vocabulary(self, text: str) -> _Vocabulary:
        """Each word as it is written, without its marks, in small letters and with a capital."""
        longer: dict[tuple[int, ...], set[int]] = defaultdict(set)
        whole: set[tuple[int, ...]] = set()
        for raw in {*text.split(), *_WORD.findall(text)}:
            for word in {raw, raw.lower(), raw[:1].upper() + raw[1:]}:
                ids = self._tokens(word)
                whole.add(ids)
                for at, token in enumerate(ids):
                    longer[ids[:at]].add(token)
        return _Vocabulary(longer, whole, self._endings)

    def _longer(self, begun: _Begun, branches: int) -> list[_Begun]:
        """By each of the likeliest next tokens."""
        token = np.array([[begun.tokens[-1]]], np.int64)
        feed: dict[str, NDArray[Any]] = {**begun.read, **begun.past, "token": token}
        found = self._writes.run(feed)
        scores = found["scores"][0]
        if begun.known is not None:
            barred = np.ones(len(scores), dtype=bool)
            barred[list(begun.known.next(begun.tokens[1:]))] = False
            scores = np.where(barred, -np.inf, scores)
        scores = scores - scores.max()
        scores -= np.log(np.exp(scores).sum())
        past = {name: found[name.replace("past_", "now_")] for name in begun.past}
        return [
            replace(
                begun,
                tokens=(*begun.tokens, int(at)),
                logarithm=begun.logarithm + float(scores[at]),
                past=past,
            )
            for at in np.argsort(-scores)[:branches]
        ]

    def _written(self, begun: _Begun) -> Written:
        text = self._tokenizer.decode([one for one in begun.tokens[1:] if one != _END])
        text = _WORD.sub(lambda found: begun.folded.get(found[0], found[0]), text)
        return Written(text, float(np.exp(begun.logarithm)))


@cache
def understander() -> Understander:
    return Understander(find_weights("understander"))
