"""Running an ONNX model on every core, one text per pass, and text to token ids and offsets. Each
pass runs on one thread and several run side by side: no hand-over between threads inside a pass, no
padding, and results do not depend on batch mates (dynamic int8 takes one scale per tensor, so texts
that share a pass change each other's last digits)."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from secondlook.errors import ModelError, ModelUnavailable, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    Feed = Mapping[str, NDArray[Any]]
    Outputs = dict[str, NDArray[np.float32]]

Item = TypeVar("Item")
Made = TypeVar("Made")


class Workers:
    """The threads that run passes side by side. Models whose passes alternate share them."""

    def __init__(self, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise UsageError(f"threads must be at least 1, not {threads!r}")
        # A container or taskset may grant fewer cores than the machine has.
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        self.threads = threads or cores or 1
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="secondlook-model")

    def map(self, work: Callable[[Item], Made], items: Sequence[Item]) -> list[Made]:
        """What comes of each item, in order, computed side by side."""
        if len(items) < 2 or self.threads == 1:  # noqa: PLR2004
            return [work(item) for item in items]
        return list(self._pool.map(work, items))


class OnnxModel:
    """A loaded model. Safe to call from several threads."""

    def __init__(self, file: Path) -> None:
        # onnxruntime reports to its makers and leaves files in the home folder unless this is set
        # before it is imported; the call is for programs that have imported it before us.
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
        import onnxruntime

        onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        # The graphs are written fused. Left alone they load faster, and no other version of
        # onnxruntime can turn them into something slower or slightly different.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 3
        try:
            self._session: Any = onnxruntime.InferenceSession(
                str(file), sess_options=options, providers=["CPUExecutionProvider"]
            )
        except Exception as failure:
            raise ModelUnavailable(
                f"{file.name!r} does not load: {failure}",
                hint="pip install --force-reinstall onnxruntime, and ./weights in a clone",
            ) from failure
        self.outputs = tuple(str(value.name) for value in self._session.get_outputs())

    def inputs(self, prefix: str) -> dict[str, tuple[int, int]]:
        """Of those that begin so: how many heads they have, and how wide each is."""
        known = {str(one.name): one.shape for one in self._session.get_inputs()}
        return {k: (int(v[1]), int(v[3])) for k, v in known.items() if k.startswith(prefix)}

    def run(self, feed: Feed) -> Outputs:
        """What one pass yields, by name."""
        try:
            return dict(zip(self.outputs, self._session.run(None, dict(feed)), strict=True))
        except Exception as failure:
            raise ModelError(f"the model failed on an input: {failure}") from failure


CLS, SEP = 101, 102
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_SPACE = re.compile(r"\s")
_PIECE_CHARS = 8_192
_PIECES_AT_ONCE = 128
# A word of more than 100 characters is one unknown token, so beyond this no text adds tokens
# before a model's limit is reached, short of pages of white space.
_CHARS_PER_TOKEN = 100


class Wordpieces:
    """A WordPiece tokenizer. Never changed after loading, hence safe to share between threads."""

    def __init__(self, file: Path) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(file))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def ids(self, texts: Sequence[str], *, limit: int) -> list[list[int]]:
        """Token ids without special tokens, at most `limit` per text."""
        heads = [printable(text)[: limit * _CHARS_PER_TOKEN] for text in texts]
        encoded = self._tokenizer.encode_batch_fast(heads, add_special_tokens=False)
        return [encoding.ids[:limit] for encoding in encoded]

    def with_offsets(self, texts: Sequence[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """All token ids of each text with the characters [start, end) each one covers."""
        safe = [printable(text) for text in texts]
        encoded = self._tokenizer.encode_batch(safe, add_special_tokens=False)
        return [(encoding.ids, encoding.offsets) for encoding in encoded]

    def starts(self, text: str) -> list[int]:
        """Where each token of a text of any length starts."""
        text = printable(text)
        cuts = [0]
        while cuts[-1] < len(text):
            # At white space, where no token can span the cut; elsewhere only if there is none.
            end = cuts[-1] + _PIECE_CHARS
            space = _SPACE.search(text, end, end + _PIECE_CHARS) if end < len(text) else None
            cuts.append(space.start() if space else min(end, len(text)))
        found: list[int] = []
        for first in range(0, len(cuts) - 1, _PIECES_AT_ONCE):
            group = cuts[first : first + _PIECES_AT_ONCE + 1]
            pieces = [text[start:end] for start, end in pairwise(group)]
            encoded = self._tokenizer.encode_batch(pieces, add_special_tokens=False)
            for base, encoding in zip(group, encoded, strict=False):
                found.extend([base + start for start, _ in encoding.offsets])
        return found


def printable(text: str) -> str:
    """Half a surrogate pair cannot leave Python as UTF-8; a mark takes its place, one for one."""
    return _LONE_SURROGATE.sub("\ufffd", text)
