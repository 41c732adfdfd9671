"""Any cross-encoder that sentence-transformers can load, in the embedded reader's first place. It
says how relevant each passage is; where in the best ones the answer stands, and whether there is
one at all, the embedded reader says. What the two scores are worth together nobody has measured, so
the pair has a name of its own, which no shipped calibration bears."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from secondlook.errors import ModelError, ModelUnavailable
from secondlook.reading.embedders import approximate_starts, load_transformer
from secondlook.reading.languages import trained_for
from secondlook.reading.port import Choose, Reader, Reading, glimpse
from secondlook.reading.reader import QUESTION_TOKENS, REMEMBERED, WINDOW_OVERLAP, Recent, key_of
from secondlook.reading.session import printable

_DEFAULT_TOKENS = 512
_MOST_TOKENS = 8192  # A tokenizer without a limit declares an astronomical one
_SPECIAL_TOKENS = 4
_BATCH = 16
_WEIGHTS = {".safetensors", ".bin", ".json"}
_SHORT_HASH = 12


class CrossEncoderReader:
    """Implements `Reader`. Needs sentence-transformers, and with it torch. A passage longer than
    the model sees is scored in overlapping windows; the best one speaks for it."""

    def __init__(self, model: str, spans: Reader) -> None:
        self._named = model
        self._spans = spans
        self._model = load_transformer("CrossEncoder", model)
        self._one_at_a_time = threading.Lock()
        self._recent = Recent(REMEMBERED)
        labels = getattr(self._model, "num_labels", None)
        if labels is None:
            labels = getattr(getattr(self._model, "config", None), "num_labels", 1)
        if labels != 1:
            raise ModelUnavailable(
                f"{model!r} sorts into {labels} classes; a reader needs one number, the relevance",
                hint="name a cross-encoder made for reranking, such as "
                "cross-encoder/ms-marco-MiniLM-L6-v2",
            )
        self.name = f"sentence-transformers:{model}{_version(self._model, model)}+{spans.name}"
        """Names both models as exactly as can be told: a calibration holds for these two."""
        self.languages = trained_for(spans)
        """Those of the reader that finds the spans: a cross-encoder does not say its own."""
        # Before version 6 the limit was called otherwise; asking newer ones for that warns.
        told = getattr(self._model, "max_seq_length", None)
        declared = told or getattr(self._model, "max_length", None)
        seen = declared if declared and declared <= _MOST_TOKENS else _DEFAULT_TOKENS
        self._room = max(seen - QUESTION_TOKENS - _SPECIAL_TOKENS, seen // 2)
        """Tokens of a passage that the model sees beside a question of usual length."""

    def read(
        self, question: str, passages: Sequence[str], *, choose: Choose | None = None
    ) -> list[Reading]:
        keys = [key_of(question, passage) for passage in passages]
        known = self._recent.get(keys, looked=False)
        asked = printable(question)
        new = {
            key: _windows(printable(passage), self._room)
            for key, passage in zip(keys, passages, strict=True)
            if key not in known
        }
        scores = iter(self._predicted([(asked, part) for parts in new.values() for part in parts]))
        made = {
            key: glimpse(max(next(scores) for _ in parts), windows=len(parts))
            for key, parts in new.items()
        }
        self._recent.put(made)
        known |= made
        scored = [known[key] for key in keys]
        chosen = list(range(len(passages)))
        if choose is not None:
            chosen = sorted(set(choose([one.relevance for one in scored])))
        looks = self._spans.read(question, [passages[at] for at in chosen])
        for at, look in zip(chosen, looks, strict=True):
            relevance = scored[at].relevance
            scored[at] = replace(look, relevance=relevance, glance=relevance)
        return scored

    def _predicted(self, pairs: list[tuple[str, str]]) -> list[float]:
        if not pairs:
            return []
        with self._one_at_a_time:
            scores = np.asarray(
                self._model.predict(
                    pairs,
                    batch_size=_BATCH,
                    show_progress_bar=False,
                    # Raw logits, as the embedded reader gives them, whatever the model's default.
                    activation_fn=lambda scores: scores,
                    convert_to_numpy=True,
                )
            )
        if scores.shape != (len(pairs),) or not np.all(np.isfinite(scores)):
            raise ModelError(f"{self._named!r} did not give one number for each passage")
        return [float(score) for score in scores]


def _version(model: Any, name: str) -> str:
    """Which one of the models of this name: the hash of a folder, the commit of a download."""
    if (folder := Path(name)).is_dir():
        digest = hashlib.sha256()
        for file in sorted(one for one in folder.rglob("*") if one.suffix in _WEIGHTS):
            with file.open("rb") as weights:
                digest.update(hashlib.file_digest(weights, "sha256").digest())
        return f"@{digest.hexdigest()[:_SHORT_HASH]}"
    commit = getattr(getattr(model, "config", None), "_commit_hash", None)
    return f"@{commit[:_SHORT_HASH]}" if commit else ""


def _windows(passage: str, room: int) -> list[str]:
    """The passage in parts that the model sees whole. Tokens are counted on the safe side."""
    starts = [*approximate_starts(passage), len(passage)]
    tokens, overlap = len(starts) - 1, min(WINDOW_OVERLAP, room // 4)
    if tokens <= room:
        return [passage]
    return [
        passage[starts[first] : starts[min(first + room, tokens)]]
        for first in range(0, tokens - overlap, room - overlap)
    ]
