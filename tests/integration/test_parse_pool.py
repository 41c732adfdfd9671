"""The pool against parsers that really crash, hang, leak and lie, in real processes."""

import io
import sys
import time
from collections.abc import Callable
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pytest

from secondlook.errors import Damaged, LimitExceeded, NoText
from secondlook.retrieval.parse import ocr
from secondlook.retrieval.parse.extract import extract_bytes
from secondlook.retrieval.parse.pool import ParserPool
from secondlook.retrieval.parse.source import Parsed, ParseLimits
from secondlook.sandbox import kernel

HOSTILE_RTF = '''
import os, pickle, signal, socket, struct, sys, time

def say(body):
    for pipe in range(3, 12):
        try: os.write(pipe, struct.pack("<Q", len(body)) + body)
        except OSError: pass

def rtf_to_text(raw, **options):
    """Stands where the real RTF parser stands, and does what the file says."""
    print("chatter on stdout"); print("chatter on stderr", file=sys.stderr)
    if "segfault" in raw: os.kill(os.getpid(), signal.SIGSEGV)
    if "quit" in raw: os._exit(7)
    if "leave" in raw: sys.exit(3)
    if "memory" in raw: return "x" * (1 << 40)
    if "hang" in raw: time.sleep(600)
    if "deep" in raw: return rtf_to_text(raw)
    if "plant" in raw: open(os.path.join(sys.prefix, "planted"), "w")
    if "call" in raw: socket.create_connection(("127.0.0.1", 9), timeout=5)
    if "pickle" in raw: say(pickle.dumps(["a message", "of an older version"]))
    if "lie" in raw: say(b'{"parsed": [{"member": 5, "extracted": {"text": ["x"]}}]}')
    if "name" in raw:
        said = '{"parsed": [{"member": "", "sha256": "%s", "bytes": 1, "extracted": null, '
        said += '"error": ["a", "b", "c"]}]}'
        say((said % (raw.rstrip("}").split()[-1] * 16)).encode())
    if "threads" in raw:
        tasks = "/proc/self/task"
        states = [open(f"{tasks}/{one}/status").read() for one in os.listdir(tasks)]
        return " ".join(one.split("NoNewPrivs:")[1].split()[0] for one in states)
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
    out, err = capfd.readouterr()
    # gRPC of another test's index server may speak in this process.
    assert (out, [one for one in err.splitlines() if "chttp2_transport" not in one]) == ("", [])


@pytest.mark.usefixtures("hostile_parser")
def test_a_parser_that_a_file_took_over_gets_nowhere(rtf: Callable[[str, str], Path]) -> None:
    deeds = ["plant", "call", "pickle", "lie"]
    with ParserPool(1) as pool:
        found = outcomes(pool, [rtf(deed, deed) for deed in deeds])
        named = outcomes(pool, [rtf("up", "name ../."), rtf("other", "name abcd")])
        threads = outcomes(pool, [rtf("threads", "threads")])["threads"].extracted
    assert "something else than its hash" in str(named["up"].error)
    assert "another file" in str(named["other"].error)
    assert not Path(sys.prefix, "planted").exists()
    assert all(isinstance(found[deed].error, Damaged) for deed in deeds), found
    assert "EOFError" in str(found["pickle"].error)
    assert "not what was agreed" in str(found["lie"].error)
    if kernel.version():
        assert "PermissionError" in str(found["plant"].error)
        assert "PermissionError" in str(found["call"].error)
        assert threads is not None
        assert "0" not in threads.text, "a thread kept its rights"


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


# Scans through real OCR: the models of rapidocr, and the program tesseract.

PIL = pytest.importorskip("PIL")
LINES = [
    "The harbour master keeps a register",
    "of every vessel that enters the bay.",
    "In the year 1893 he counted 412 ships.",
]


def picture(lines: list[str]) -> Any:
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("L", (1240, 700), 255)
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(size=44)
    for number, line in enumerate(lines):
        draw.text((100, 100 + 70 * number), line, font=font, fill=0)
    return image


def scan(*pages: list[str]) -> bytes:
    stream = io.BytesIO()
    first, *rest = [picture(lines) for lines in pages]
    first.save(stream, "PDF", save_all=True, append_images=rest, resolution=150)
    return stream.getvalue()


def likeness(text: str) -> float:
    return SequenceMatcher(None, text, " ".join(LINES)).ratio()


@pytest.mark.parametrize("language", [None, "eng"], ids=["models", "tesseract"])
def test_a_scanned_pdf_is_read(language: str | None, tmp_path: Path) -> None:
    path = tmp_path / "scan.pdf"
    path.write_bytes(scan(LINES, ["Second page of the register"]))
    with ParserPool(1, ParseLimits(ocr_language=language)) as pool:
        ((_, parsed),) = pool.parse([("scan", path)])
    extracted = parsed[0].extracted
    assert extracted is not None, parsed[0].error
    assert likeness(extracted.text[extracted.pages[0].start : extracted.pages[0].end]) > 0.9
    assert "Second page" in extracted.text[extracted.pages[1].start :]
    assert extracted.notes == ("read by OCR: pages 1, 2",)


def test_pictures_are_read_and_blank_scans_and_missing_languages_named() -> None:
    stream = io.BytesIO()
    picture(LINES).save(stream, "TIFF")
    extracted = extract_bytes(stream.getvalue(), "scan.tiff")[0].extracted
    assert extracted is not None
    assert likeness(extracted.text) > 0.9
    assert "OCR found no text" in str(extract_bytes(scan([""]), "blank.pdf")[0].error)
    error = extract_bytes(scan(LINES), "a.pdf", ParseLimits(ocr_language="xxx"))[0].error
    assert isinstance(error, Damaged)
    assert "xxx" in (error.hint or "")


def test_without_ocr_a_scan_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "usable", lambda: (False, None))
    error = extract_bytes(scan(LINES), "a.pdf")[0].error
    assert isinstance(error, NoText)
    assert "pip install rapidocr" in (error.hint or "")
    assert "tesseract-ocr" in (error.hint or "")
    assert isinstance(extract_bytes(scan(LINES), "a.pdf", ParseLimits(ocr="off"))[0].error, NoText)
