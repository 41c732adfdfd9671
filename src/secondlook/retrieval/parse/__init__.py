"""Files in, text out: every format, in worker processes that a bad file cannot take down."""

from __future__ import annotations

from secondlook.retrieval.parse.extract import extract, extract_bytes
from secondlook.retrieval.parse.limits import PARSER_VERSION, Parsed, ParseLimits
from secondlook.retrieval.parse.pool import ParserPool

__all__ = ["PARSER_VERSION", "ParseLimits", "Parsed", "ParserPool", "extract", "extract_bytes"]
