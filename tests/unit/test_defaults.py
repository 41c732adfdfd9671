"""Settings lie below the rooms they set, so their defaults are written twice; they must agree."""

from __future__ import annotations

from dataclasses import fields

from secondlook.library.ingest import Pace
from secondlook.retrieval.chunk import ChunkOptions
from secondlook.retrieval.parse.source import ParseLimits
from secondlook.retrieval.search import SearchOptions
from secondlook.settings.sections import Settings


def test_search_defaults_agree() -> None:
    chosen, settings = SearchOptions(), Settings().search
    for option in fields(SearchOptions):
        assert getattr(chosen, option.name) == getattr(settings, option.name), option.name


def test_chunking_and_ingest_defaults_agree() -> None:
    settings = Settings()
    chunking = ChunkOptions()
    assert (chunking.tokens, chunking.overlap) == (
        settings.chunking.tokens,
        settings.chunking.overlap,
    )
    limits, pace, ingest = ParseLimits(), Pace(), settings.ingest
    assert (limits.idle_seconds, limits.ocr, limits.ocr_language) == (
        ingest.idle_seconds,
        ingest.ocr,
        ingest.ocr_language,
    )
    assert limits.file_bytes == ingest.max_file_mb << 20
    assert limits.table_bytes == ingest.max_table_mb << 20
    assert (pace.passages, pace.seconds) == (ingest.commit_passages, ingest.commit_seconds)
