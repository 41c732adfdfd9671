"""Running an ONNX model on every core, one text per pass.

Each pass runs on one thread and several passes run side by side. Against one pass at a time
spread over all cores this needs no hand-over between threads inside a pass and no padding to
the longest text of a batch, and it makes results independent of batch mates: dynamic int8
takes one scale per tensor, so texts that share a pass change each other's last digits.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from secondlook.errors import ModelError, ModelUnavailable, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

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
            hint="pip install --force-reinstall secondlook-weights onnxruntime",
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
