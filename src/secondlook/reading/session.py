"""Running an ONNX model on every core, one text per pass.

Each pass runs on one thread and several passes run side by side. Against one pass at a time
spread over all cores this needs no hand-over between threads inside a pass and no padding to
the longest text of a batch, and it makes results independent of batch mates: dynamic int8
takes one scale per tensor, so texts that share a pass change each other's last digits.
"""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from secondlook.errors import ModelError, ModelUnavailable, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

if TYPE_CHECKING:
    Feed = Mapping[str, NDArray[Any]]
    Outputs = list[NDArray[np.float32]]

Item = TypeVar("Item")
Made = TypeVar("Made")


def allowed_cores() -> int:
    """Cores this process may use: a container or taskset may grant fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Workers:
    """The threads that run passes side by side. Models whose passes alternate share them."""

    def __init__(self, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise UsageError(f"threads must be at least 1, not {threads!r}")
        self.threads = threads or allowed_cores()
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="secondlook-model")

    def map(self, work: Callable[[Item], Made], items: Sequence[Item]) -> list[Made]:
        """What comes of each item, in order, computed side by side."""
        if len(items) < 2 or self.threads == 1:  # noqa: PLR2004
            return [work(item) for item in items]
        return list(self._pool.map(work, items))


class OnnxModel:
    """A loaded model and the threads that run it. Safe to call from several threads."""

    def __init__(
        self, file: Path, *, threads: int | None = None, workers: Workers | None = None
    ) -> None:
        self.workers = workers or Workers(threads)
        self._session = _open(file)
        self.outputs = tuple(str(value.name) for value in self._session.get_outputs())

    @property
    def threads(self) -> int:
        return self.workers.threads

    def run(self, feed: Feed) -> Outputs:
        try:
            outputs: Outputs = self._session.run(None, dict(feed))
        except Exception as failure:
            raise ModelError(f"the model failed on an input: {failure}") from failure
        return outputs

    def run_all(self, feeds: Sequence[Feed]) -> list[Outputs]:
        """The outputs of each feed, in order, computed side by side."""
        return self.workers.map(self.run, feeds)


def _open(file: Path) -> Any:
    onnxruntime = _engine()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # The graphs are written fused. Left alone they load faster, and no other version of
    # onnxruntime can turn them into something slower or slightly different.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(
            str(file), sess_options=options, providers=["CPUExecutionProvider"]
        )
    except Exception as failure:
        raise ModelUnavailable(
            f"{file.name!r} does not load: {failure}",
            hint="pip install --force-reinstall onnxruntime, and ./weights in a clone",
        ) from failure


def _engine() -> Any:
    """onnxruntime, which may not report to its makers: nothing leaves this machine unasked.

    Its telemetry is on unless this variable is set before it is imported, and leaves files in the
    home folder; the call is for programs that have imported it before us.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    return onnxruntime


# Text to token ids and back to character offsets, safe for any string Python can hold.

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
        encoded = self._tokenizer.encode_batch(
            [printable(text) for text in texts], add_special_tokens=False
        )
        return [(encoding.ids, encoding.offsets) for encoding in encoded]

    def starts(self, text: str) -> list[int]:
        """Where each token of a text of any length starts."""
        found: list[int] = []
        pieces = list(_pieces(printable(text)))
        for first in range(0, len(pieces), _PIECES_AT_ONCE):
            group = pieces[first : first + _PIECES_AT_ONCE]
            encoded = self._tokenizer.encode_batch(
                [piece for _, piece in group], add_special_tokens=False
            )
            for (base, _), encoding in zip(group, encoded, strict=True):
                found.extend([base + start for start, _ in encoding.offsets])
        return found


def printable(text: str) -> str:
    """Half a surrogate pair cannot leave Python as UTF-8; a mark takes its place, one for one."""
    return _LONE_SURROGATE.sub("\ufffd", text) if _LONE_SURROGATE.search(text) else text


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Cut at white space, where no token can span the cut; elsewhere only if there is none."""
    start = 0
    while start < len(text):
        end = start + _PIECE_CHARS
        if end < len(text):
            space = _SPACE.search(text, end, end + _PIECE_CHARS)
            end = space.start() if space else end
        yield start, text[start:end]
        start = end
