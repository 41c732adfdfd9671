"""A folder of more than 300 hostile files, the same on every machine, each with its purpose. The
names say what is wrong with a file. `MUST_FAIL` holds those that no parser may turn into text; of
the others either outcome is right, as long as the run goes on and says which it was."""

import os
import random
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support import files
from tests.support import hostile_forms as forms

GOOD = {
    "good/harbour.md": "# Harbour\n\nThe deepest berth of Kelpwick is 14.2 metres at low tide.\n",
    "good/bakery.txt": "Sourdough rests for eighteen hours before it is shaped and baked.\n",
    "good/bees.html": "<html><body><p>The beekeeper counted eleven hives.</p></body></html>",
    "good/ferry.csv": "ferry,departure\nMarigold,seven in the morning\n",
    "good/glacier.json": '{"glacier": "The glacier retreated by ninety metres."}',
}
QUESTIONS = {
    "good/harbour.md": "deepest berth of Kelpwick",
    "good/bakery.txt": "how long sourdough rests",
    "good/bees.html": "how many hives the beekeeper counted",
    "good/ferry.csv": "departure of the ferry Marigold",
    "good/glacier.json": "how far the glacier retreated",
}
MUST_FAIL = (
    "text/empty.", "text/blank.", "text/nul.", "text/control.", "text/mark.", "text/one-line.",
    "archive/bomb-declared.", "archive/encrypted.", "archive/lone-end.",
    "office/inflated.docx", "office/encrypted.docx", "pdf/encrypted.",
    "pdf/no-pages.", "pdf/pages-60000.", "pdf/header-only.", "special/", "named/elf.", "named/png.",
)  # fmt: skip
_BINARY = (
    "pdf docx pptx xlsx xls odt odp ods epub msg rtf doc ppt zip tar gz tgz bz2 xz png jpg tif gif "
    "bmp"
)
_TEXTUAL = "txt md html htm xml json ipynb csv tsv eml mhtml srt vtt tex rst py log yaml"
_CUTS = (4, 100, 0.5, 0.9, -1)
_FLIPS = (1, 64)


@dataclass(frozen=True, slots=True)
class Hostile:
    name: str
    """Path below the folder."""
    data: bytes


def hostile_files(secret: Path) -> Iterator[Hostile]:
    """Everything that is a plain file. External entities in them try to read `secret`."""
    for name, data in forms.pdf_forms().items():
        yield Hostile(f"pdf/{name}.pdf", data)
    for name, data in forms.archive_forms().items():
        yield Hostile(f"archive/{name}", data)
    for name, data in forms.office_forms(str(secret)).items():
        yield Hostile(f"office/{name}", data)
    for name, data in forms.text_forms(str(secret)).items():
        yield Hostile(f"text/{name}", data)
    yield from _derived()
    yield from _wrongly_named()


def valid_files() -> dict[str, bytes]:
    """One whole file of each format, to be cut and broken."""
    prose = files.PROSE
    return {
        "pdf": files.pdf([[prose], ["Second page"]], title="Tides", outline=[("One", 0)]),
        "docx": files.docx(files.word_paragraph(prose), title="Tides"),
        "pptx": files.pptx([("Tides", prose)], notes="Speak slowly"),
        "xlsx": forms.xlsx(),
        "odt": files.odf(f"<office:text><text:p>{prose}</text:p></office:text>"),
        "epub": files.epub({"one": f"<html><body><p>{prose}</p></body></html>"}),
        "eml": files.mail(prose, html=f"<p>{prose}</p>", attachments={"a.txt": b"attached words"}),
        "rtf": b"{\\rtf1\\ansi{\\fonttbl{\\f0 Arial;}}\\f0 " + prose.encode() + b"\\par}",
        "ipynb": files.notebook({"cell_type": "markdown", "source": prose}),
        "zip": files.zipped({"a.txt": prose, "b.md": f"# Title\n\n{prose}"}),
        "tar.gz": files.tarred({"a.txt": prose.encode(), "b.txt": b"more words"}, mode="w:gz"),
        "tar": files.tarred({"a.txt": prose.encode()}),
        "msg": forms.encrypted_ole(),
        "html": f"<html><head><title>T</title></head><body><p>{prose}</p></body></html>".encode(),
    }


def _derived() -> Iterator[Hostile]:
    """Cut short, and with flipped bits, at places that are the same in every run."""
    for suffix, data in valid_files().items():
        for cut in _CUTS:
            length = int(cut * len(data)) if isinstance(cut, float) else cut % len(data)
            yield Hostile(f"cut/at-{length}.{suffix}", data[:length])
        for count in _FLIPS:
            yield Hostile(
                f"flipped/{count}.{suffix}", flipped(data, count, seed=f"{suffix}{count}")
            )


def flipped(data: bytes, count: int, *, seed: str) -> bytes:
    rng = random.Random(seed)
    broken = bytearray(data)
    for _ in range(count):
        broken[rng.randrange(len(broken))] ^= 1 << rng.randrange(8)
    return bytes(broken)


def _wrongly_named() -> Iterator[Hostile]:
    rng = random.Random("noise")
    for suffix in (*_BINARY.split(), *_TEXTUAL.split()):
        yield Hostile(f"noise/random.{suffix}", rng.randbytes(2000))
    valid = valid_files()
    disguises = {
        "png.pdf": files.png(),
        "elf.docx": b"\x7fELF\x02\x01\x01" + rng.randbytes(900),
        "zip.txt": valid["zip"],
        "pdf.txt": valid["pdf"],
        "docx.xlsx": valid["docx"],
        "html.pdf": valid["html"],
        "text.pdf": files.PROSE.encode(),
        "ole.xls": forms.encrypted_ole(),
    }
    for name, data in disguises.items():
        yield Hostile(f"named/{name}", data)


def write_hostile_folder(folder: Path, *, every: int = 1) -> list[str]:
    """Fill the folder; returns the paths of all files that a run must account for. `every` thins
    the plain files out, for a shorter run; special and good ones always come."""
    secret = folder.parent / "secret.txt"
    secret.write_text(forms.CANARY, encoding="utf-8")
    written: list[Path] = []
    for number, item in enumerate(hostile_files(secret)):
        if number % every == 0:
            written.append(_write(folder / item.name, item.data))
    for name, text in GOOD.items():
        written.append(_write(folder / name, text.encode()))
    written.extend(_strange_names(folder))
    if os.name == "posix":
        written.extend(_special(folder / "special"))
    return [os.fspath(path) for path in written]


def _write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def _strange_names(folder: Path) -> Iterator[Path]:
    """Good contents under names that trip up tools; each name makes its content its own."""
    names = ["-rf.txt", "--help.md", "🦊 fox.txt", "a" * 246 + ".txt", " spaced .txt", "%00%s{}.md"]
    if os.name == "posix":
        names += ["line\nbreak.txt", "tab\tand\x1b[31mred.txt", "quote\"'`.txt", "back\\slash.txt"]
    if os.name == "posix" and os.uname().sysname == "Linux":
        names += [os.fsdecode(b"latin-\xe9\xff.txt"), os.fsdecode(b"\xff\xfe.md")]
        inside = folder / "names" / os.fsdecode(b"folder-\xe9")
        yield _write(inside / "inside.txt", b"Inside a folder of a strange name. " * 3)
    for number, name in enumerate(names):
        text = f"File number {number} bears a strange name. {files.PROSE}"
        yield _write(folder / "names" / name, text.encode())


def _special(folder: Path) -> Iterator[Path]:
    """What is no file, or cannot be read."""
    folder.mkdir(parents=True, exist_ok=True)
    os.mkfifo(folder / "pipe.txt")
    yield folder / "pipe.txt"
    with socket.socket(socket.AF_UNIX) as listening:
        _bind(listening, folder / "socket.txt")
    yield folder / "socket.txt"
    links = {
        "loop-a.txt": folder / "loop-b.txt",
        "loop-b.txt": folder / "loop-a.txt",
        "itself.txt": folder / "itself.txt",
        "dangling.txt": folder / "nowhere.txt",
        "parent": folder.parent,
        "device.txt": Path("/dev/zero"),
    }
    for name, target in links.items():
        (folder / name).symlink_to(target)
        yield folder / name
    locked = _write(folder / "locked.txt", b"Nobody may read this.")
    locked.chmod(0)
    yield locked
    closed = folder / "closed"
    closed.mkdir(mode=0)
    yield closed


def _bind(listening: socket.socket, path: Path) -> None:
    """Socket addresses are short: bind by a relative name."""
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        listening.bind(path.name)
    finally:
        os.chdir(before)


def unlock(folder: Path) -> None:
    """Give back the rights that were taken, so that the folder can be deleted."""
    for name in ("locked.txt", "closed"):
        place = folder / "special" / name
        if place.exists():
            place.chmod(0o700)
