"""Settings lie below the rooms they set, so their defaults are written twice; they must agree."""

from __future__ import annotations

from dataclasses import fields

from secondlook.retrieval.chunk import ChunkOptions
from secondlook.retrieval.parse.source import ParseLimits
from secondlook.retrieval.search import SearchOptions
from secondlook.settings.sections import Settings


def test_search_defaults_agree() -> None:
    chosen, settings = SearchOptions(), Settings().search
    for option in fields(SearchOptions):
        if option.name == "pool":  # no setting
            continue
        assert getattr(chosen, option.name) == getattr(settings, option.name), option.name


def test_chunking_and_ingest_defaults_agree() -> None:
    settings = Settings()
    chunking = ChunkOptions()
    assert (chunking.tokens, chunking.overlap) == (
        settings.chunking.tokens,
        settings.chunking.overlap,
    )
    limits, ingest = ParseLimits(), settings.ingest
    assert limits.ocr == ingest.ocr
    assert limits.file_bytes == ingest.max_file_mb << 20
