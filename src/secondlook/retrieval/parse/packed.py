"""Zip files that are read without trusting what they claim, and XML without entities."""

from __future__ import annotations

import zipfile
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from secondlook.errors import Damaged, Encrypted, ExtractionError, LimitExceeded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from secondlook.retrieval.parse.source import Budget, Source

_ENCRYPTED_FLAG = 0x1
_BLOCK = 1 << 20
_MOST_TAGS = 5_000_000
"""Of one part: several thousand pages of an office document. Empty tags cost memory, not text."""
BROKEN_ZIP = (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError, ValueError)


class Package:
    """An office file or book: parts by name, each checked against the budget as it is read."""

    def __init__(self, archive: zipfile.ZipFile, budget: Budget) -> None:
        self._archive = archive
        self._budget = budget
        self.names = frozenset(archive.namelist())

    def read(self, name: str) -> bytes:
        return read_member(self._archive, self._archive.getinfo(name), self._budget)

    def xml(self, name: str) -> Any:
        """The root element of a part; None when there is no such part."""
        return parse_xml(self.read(name)) if name in self.names else None


@contextmanager
def package(source: Source) -> Iterator[Package]:
    """Opens a zip-based document after checking what it would expand to."""
    with source.open() as stream:
        try:
            archive = zipfile.ZipFile(stream)
        except BROKEN_ZIP as error:
            raise Damaged(f"its zip container cannot be opened: {error}") from error
        with archive:
            check_expansion(archive, source.budget)
            yield Package(archive, source.budget)


def check_expansion(archive: zipfile.ZipFile, budget: Budget) -> None:
    """Refuses by the declared sizes, before anything is decompressed. Spends nothing."""
    declared = sum(info.file_size for info in archive.infolist())
    spent = budget.expanded
    budget.spend_expanded(declared)
    budget.expanded = spent


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, budget: Budget) -> bytes:
    """The bytes of a member, counted while they come: declared sizes may lie."""
    if info.flag_bits & _ENCRYPTED_FLAG:
        raise Encrypted("it is protected by a password")
    blocks: list[bytes] = []
    try:
        with archive.open(info) as stream:
            while block := stream.read(_BLOCK):
                budget.spend_expanded(len(block))
                budget.beat()
                blocks.append(block)
    except BROKEN_ZIP as error:
        raise Damaged(f"{info.filename!r} inside it is damaged: {error}") from error
    return b"".join(blocks)


def parse_xml(data: bytes) -> Any:
    """The root element. Entities stay unresolved, nothing outside is ever loaded."""
    from lxml import etree

    if data.count(b"<") > _MOST_TAGS:
        raise LimitExceeded(f"one of its parts has more than {_MOST_TAGS:,} XML tags")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False,
        huge_tree=len(data) > _BLOCK, remove_comments=True, remove_pis=True, recover=False,
    )  # fmt: skip
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise _refused(str(error)) from error


def _refused(said: str) -> ExtractionError:
    """The XML library's verdict in words that mean something to the owner of the file."""
    if "Amplification" in said or "entity loop" in said:
        return LimitExceeded("its XML declares entities that expand beyond all measure")
    if "depth" in said:
        return LimitExceeded("its XML is nested too deeply")
    return Damaged(f"its XML is damaged: {said}")


def local(element: Any) -> str:
    """The tag without its namespace; "" for what is no element."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: Any, name: str) -> str | None:
    """The value of an attribute, whatever namespace it is written in."""
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return str(value)
    return None


def child_text(root: Any, name: str) -> str | None:
    """The text of the first element of that name."""
    if root is None:
        return None
    for element in root.iter():
        if local(element) == name:
            return "".join(element.itertext()).strip() or None
    return None
