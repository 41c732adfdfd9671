"""The pool against parsers that really crash, hang, leak and lie, in real processes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from secondlook.errors import Damaged, LimitExceeded
from secondlook.retrieval.parse.pool import ParserPool
from secondlook.retrieval.parse.source import Parsed, ParseLimits

if TYPE_CHECKING:
    from collections.abc import Callable

HOSTILE_RTF = '''
import os, signal, sys, time

def rtf_to_text(raw, **options):
    """Stands where the real RTF parser stands, and does what the file says."""
    print("chatter on stdout"); print("chatter on stderr", file=sys.stderr)
    if "segfault" in raw: os.kill(os.getpid(), signal.SIGSEGV)
    if "quit" in raw: os._exit(7)
    if "leave" in raw: sys.exit(3)
    if "memory" in raw: return "x" * (1 << 40)
    if "hang" in raw: time.sleep(600)
    if "deep" in raw: return rtf_to_text(raw)
    if "huge" in raw: return "words " * 2_000_000
    return raw
'''


@pytest.fixture
def hostile_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers find their modules where this process does: a hostile parser comes first."""
    package = tmp_path / "modules" / "striprtf"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "striprtf.py").write_text(HOSTILE_RTF)
    monkeypatch.syspath_prepend(str(package.parent))


@pytest.fixture
def rtf(tmp_path: Path) -> Callable[[str, str], Path]:
    def write(name: str, deed: str) -> Path:
        path = tmp_path / f"{name}.rtf"
        path.write_text("{\\rtf1 " + deed + "}")
        return path

    return write


def outcomes(pool: ParserPool, paths: list[Path]) -> dict[str, Parsed]:
    return {key: parsed[0] for key, parsed in pool.parse((path.stem, path) for path in paths)}


@pytest.mark.usefixtures("hostile_parser")
def test_a_crash_costs_one_file(
    rtf: Callable[[str, str], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    deeds = ["segfault", "quit", "leave", "memory", "deep", "well"]
    paths = [rtf(f"{deed}{copy}", deed) for copy in range(2) for deed in deeds]
    with ParserPool(2) as pool:
        found = outcomes(pool, paths)
    assert set(found) == {path.stem for path in paths}
    for copy in range(2):
        assert found[f"well{copy}"].extracted is not None
        assert "SIGSEGV" in str(found[f"segfault{copy}"].error)
        assert "exit code 7" in str(found[f"quit{copy}"].error)
        assert isinstance(found[f"leave{copy}"].error, Damaged)
        assert "memory" in str(found[f"memory{copy}"].error)
        assert "nested" in str(found[f"deep{copy}"].error)
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("hostile_parser")
def test_a_hang_is_ended_and_the_rest_goes_on(rtf: Callable[[str, str], Path]) -> None:
    limits = ParseLimits(idle_seconds=1.0)
    paths = [rtf("a", "well"), rtf("b", "hang"), rtf("c", "well"), rtf("d", "well")]
    with ParserPool(1, limits) as pool:
        found = outcomes(pool, paths)
    assert isinstance(found["b"].error, LimitExceeded)
    assert "no sign of life" in str(found["b"].error)
    assert all(found[name].extracted for name in "acd")


@pytest.mark.usefixtures("hostile_parser")
def test_closing_does_not_wait_for_a_hanging_parser(rtf: Callable[[str, str], Path]) -> None:
    pool = ParserPool(2)
    results = pool.parse((name, rtf(name, deed)) for name, deed in (("a", "well"), ("b", "hang")))
    assert next(results)[0] == "a"
    start = time.monotonic()
    pool.close()
    pool.close()
    assert time.monotonic() - start < 4
    with pytest.raises(ValueError, match="closed"):
        next(pool.parse([("x", Path("x"))]))
