"""Scanned pages and pictures: read by the models of `rapidocr` where that package is installed,
else by the program `tesseract`. Languages that the person names are tesseract's."""

from __future__ import annotations

import importlib.util
import io
import os
import shutil
import subprocess
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from secondlook.errors import Damaged, LimitExceeded
from secondlook.retrieval.parse.grid import Line

if TYPE_CHECKING:
    from secondlook.retrieval.parse.source import ParseLimits

Recognizer = Callable[[Any], list[Line]]
"""Reads a picture of PIL."""

HINT = (
    "pip install rapidocr has scans read; so does tesseract with pillow (pip install pillow; "
    "Debian: apt-get install tesseract-ocr)"
)
DPI = 300
MOST_PIXELS = 40_000_000
_COLUMNS = 12
_LEAST_SURE = 0.5  # lines that the models are less sure of are specks and lines of a drawing


def recognizer(limits: ParseLimits) -> Recognizer | None:
    """None where scans cannot or must not be read."""
    has_models, program = usable()
    if limits.ocr == "off":
        return None
    if has_models and (limits.ocr_language is None or program is None):
        return _read_by_models
    if program is None:
        return None
    seconds = min(50.0, limits.idle_seconds * 0.9)
    language = limits.ocr_language or "eng"
    return partial(_read_by_program, program=program, language=language, seconds=seconds)


@cache
def usable() -> tuple[bool, str | None]:
    """Whether the models are there, and where the program is."""
    if importlib.util.find_spec("PIL") is None:
        return False, None
    return importlib.util.find_spec("rapidocr") is not None, shutil.which("tesseract")


@cache
def _models() -> Any:
    from rapidocr import RapidOCR

    one_thread = {"EngineConfig.onnxruntime.intra_op_num_threads": 1}  # the pool keeps cores busy
    return RapidOCR(params={"Global.log_level": "critical", **one_thread})


def _read_by_models(picture: Any) -> list[Line]:
    import numpy as np

    read = _models()(np.asarray(picture.convert("RGB")))
    if read.txts is None:
        return []
    found = []
    for box, text, sure in zip(read.boxes, read.txts, read.scores, strict=True):
        if text.strip() and sure >= _LEAST_SURE:
            # Pictures count downward, pages upward.
            (left, top), (right, bottom) = box.min(axis=0).tolist(), box.max(axis=0).tolist()
            found.append(Line(text.strip(), left, right, -bottom, -top))
    return found


def _read_by_program(picture: Any, *, program: str, language: str, seconds: float) -> list[Line]:
    stored = io.BytesIO()
    picture.convert("L").save(stored, "PNG", dpi=(DPI, DPI))
    command = [program, "-", "-", "-l", language, "--dpi", str(DPI), "tsv"]
    # One thread each: the pool already keeps every core busy.
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program, no shell, data on stdin
            command,
            input=stored.getvalue(),
            capture_output=True,
            check=False,
            timeout=seconds,
            env=environment,
        )
    except subprocess.TimeoutExpired as error:
        raise LimitExceeded(f"OCR of a page took over {seconds:.0f} s") from error
    if done.returncode != 0:
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise Damaged(
            f"OCR failed: {reason[-1] if reason else done.returncode}",
            hint=f"is the language {language!r} installed? see: tesseract --list-langs",
        )
    # Words of tesseract's table, put back into lines with their boxes.
    grouped: dict[tuple[str, ...], list[tuple[str, float, float, float, float]]] = {}
    for row in done.stdout.decode("utf-8", "replace").splitlines()[1:]:
        cells = row.split("\t")
        if len(cells) == _COLUMNS and cells[0] == "5" and cells[11].strip():
            left, top, width, height = (float(cell) for cell in cells[6:10])
            word = (cells[11].strip(), left, left + width, top, top + height)
            grouped.setdefault(tuple(cells[1:5]), []).append(word)
    found = []
    for words in grouped.values():
        texts, lefts, rights, tops, bottoms = zip(*words, strict=True)
        found.append(Line(" ".join(texts), min(lefts), max(rights), -max(bottoms), -min(tops)))
    return found
