"""Scanned pages and pictures through the `tesseract` program, where it is installed."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from secondlook.errors import Damaged, LimitExceeded, NoText, Unsupported
from secondlook.retrieval.parse.compose import Composer
from secondlook.retrieval.parse.flow import Line, flow

if TYPE_CHECKING:
    from secondlook.document import Extracted
    from secondlook.retrieval.parse.limits import ParseLimits
    from secondlook.retrieval.parse.source import Budget, Source

HINT = (
    "install the extra (pip install 'secondlook[ocr]') and tesseract "
    "(Debian: apt-get install tesseract-ocr) to have scans read"
)
_DPI = 300
_MOST_PIXELS = 40_000_000
_PAGE_SECONDS = 50.0
_COLUMNS = 12
_WORD_LEVEL = "5"


@dataclass(frozen=True, slots=True)
class Reader:
    program: str
    language: str
    page_seconds: float = _PAGE_SECONDS

    def read_page(self, document: Any, index: int, budget: Budget) -> list[Line]:
        """The lines of one PDF page, rendered and read."""
        budget.beat()
        page = document[index]
        try:
            width, height = page.get_size()
            scale = min(_DPI / 72, (_MOST_PIXELS / max(width * height, 1.0)) ** 0.5)
            picture = page.render(scale=scale, grayscale=True).to_pil()
        finally:
            page.close()
        return self.read_picture(picture)

    def read_picture(self, picture: Any) -> list[Line]:
        stored = io.BytesIO()
        picture.convert("L").save(stored, "PNG", dpi=(_DPI, _DPI))
        return _lines(self._run(stored.getvalue()))

    def _run(self, png: bytes) -> str:
        command = [self.program, "-", "-", "-l", self.language, "--dpi", str(_DPI), "tsv"]
        # One thread each: the pool already keeps every core busy.
        environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}
        try:
            done = subprocess.run(  # noqa: S603 - a fixed program, no shell, data on stdin
                command, input=png, capture_output=True, check=False,
                timeout=self.page_seconds, env=environment,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise LimitExceeded(f"OCR of a page took over {self.page_seconds:.0f} s") from error
        if done.returncode != 0:
            reason = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise Damaged(
                f"OCR failed: {reason[-1] if reason else done.returncode}",
                hint=f"is the language {self.language!r} installed? see: tesseract --list-langs",
            )
        return done.stdout.decode("utf-8", "replace")


def usable() -> bool:
    """Whether scans can be read here: the program and the picture library are both there."""
    return _program() is not None


@cache
def _program() -> str | None:
    try:
        import PIL.Image  # noqa: F401 - only asked whether it is there
    except ImportError:
        return None
    return shutil.which("tesseract")


def reader(limits: ParseLimits) -> Reader | None:
    program = _program()
    if limits.ocr == "off" or program is None:
        return None
    return Reader(program, limits.ocr_language, min(_PAGE_SECONDS, limits.idle_seconds * 0.9))


def parse_image(source: Source) -> Extracted:
    """A picture, or every frame of a TIFF."""
    tool = reader(source.budget.limits)
    if tool is None:
        raise Unsupported("it is an image, which only OCR can read", hint=HINT)
    composer = Composer(source.budget)
    flow(_frames(source, tool), composer, outline={}, beat=source.budget.beat)
    if not composer.length:
        raise NoText("OCR found no text in the image")
    composer.about.notes.append("read by OCR")
    return composer.finish("image")


def _frames(source: Source, tool: Reader) -> list[list[Line]]:
    import PIL.Image
    import PIL.ImageSequence

    pages: list[list[Line]] = []
    try:
        with source.open() as stream, PIL.Image.open(stream) as picture:
            if picture.width * picture.height > _MOST_PIXELS * 4:
                raise LimitExceeded(f"the image has {picture.width} x {picture.height} pixels")
            for frame in PIL.ImageSequence.Iterator(picture):
                source.budget.spend_pages(len(pages) + 1)
                pages.append(tool.read_picture(frame))
    except PIL.Image.DecompressionBombError as error:
        raise LimitExceeded("the image has far more pixels than a scan has") from error
    except (OSError, ValueError, SyntaxError, EOFError) as error:
        raise Damaged(f"the image cannot be opened: {_said(error)}") from error
    return pages


def _said(error: Exception) -> str:
    """PIL names the stream that it read from, by its place in memory, which tells nobody anything
    and is another one each time."""
    import PIL

    unknown = isinstance(error, PIL.UnidentifiedImageError)
    return "it is damaged, or of a kind that is not known" if unknown else str(error)


def _lines(tsv: str) -> list[Line]:
    """Words of tesseract's table, put back into lines with their boxes."""
    grouped: dict[tuple[str, ...], list[tuple[str, float, float, float, float]]] = {}
    for row in tsv.splitlines()[1:]:
        cells = row.split("\t")
        if len(cells) == _COLUMNS and cells[0] == _WORD_LEVEL and cells[11].strip():
            left, top, width, height = (float(cell) for cell in cells[6:10])
            word = (cells[11].strip(), left, left + width, top, top + height)
            grouped.setdefault(tuple(cells[1:5]), []).append(word)
    return [_line(words) for words in grouped.values()]


def _line(words: list[tuple[str, float, float, float, float]]) -> Line:
    text = " ".join(word for word, *_ in words)
    left, right = min(word[1] for word in words), max(word[2] for word in words)
    top, bottom = min(word[3] for word in words), max(word[4] for word in words)
    # Pictures count downward, pages upward.
    return Line(text, left, right, -bottom, -top)
