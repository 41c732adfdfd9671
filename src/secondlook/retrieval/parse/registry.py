"""Which function reads which kind of file. Parsers are imported when first needed."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from secondlook.document import Extracted
    from secondlook.errors import ExtractionError
    from secondlook.retrieval.parse.source import Source


@dataclass(frozen=True, slots=True)
class Carried:
    """A file inside another one: its bytes, or why they could not be had."""

    name: str
    data: bytes = b""
    error: ExtractionError | None = None
    size: int = 0


def _lazy(module: str, function: str) -> Callable[[Source], Any]:
    def call(source: Source) -> Any:
        found = import_module(f"secondlook.retrieval.parse.{module}")
        return getattr(found, function)(source)

    return call


PARSERS: dict[str, Callable[[Source], Extracted]] = {
    "pdf": _lazy("pdf", "parse_pdf"),
    "image": _lazy("ocr", "parse_image"),
    "docx": _lazy("docx", "parse_docx"),
    "pptx": _lazy("pptx", "parse_pptx"),
    "sheet": _lazy("sheets", "parse_sheets"),
    "csv": _lazy("sheets", "parse_csv"),
    "parquet": _lazy("stored_tables", "parse_parquet"),
    "sqlite": _lazy("stored_tables", "parse_sqlite"),
    "jsonl": _lazy("json_lines", "parse_json_lines"),
    "odt": _lazy("odf", "parse_odt"),
    "odp": _lazy("odf", "parse_odp"),
    "epub": _lazy("epub", "parse_epub"),
    "rtf": _lazy("rtf", "parse_rtf"),
    "html": _lazy("html", "parse_html"),
    "markdown": _lazy("markup", "parse_markdown"),
    "rst": _lazy("markup", "parse_rst"),
    "latex": _lazy("markup", "parse_latex"),
    "notebook": _lazy("notebook", "parse_notebook"),
    "json": _lazy("plain", "parse_json"),
    "xml": _lazy("plain", "parse_xml"),
    "subtitles": _lazy("plain", "parse_subtitles"),
    "code": _lazy("plain", "parse_code"),
    "text": _lazy("plain", "parse_text"),
}

STREAMED = frozenset({"csv", "jsonl", "parquet", "sqlite"})
"""Kinds of which only the beginning is read where they are large."""

CONTAINERS: dict[str, Callable[[Source], tuple[Extracted | None, Iterator[Carried]]]] = {
    "zip": _lazy("archive", "open_zip"),
    "tar": _lazy("archive", "open_tar"),
    "gzip": _lazy("archive", "open_compressed"),
    "bzip2": _lazy("archive", "open_compressed"),
    "xz": _lazy("archive", "open_compressed"),
    "mail": _lazy("mail", "open_mail"),
    "msg": _lazy("msg", "open_msg"),
}
