"""A writer of OLE compound files: Outlook messages, and what Office encrypts."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

_SECTOR, _MINI, _CUTOFF = 512, 64, 4096
_FREE, _END, _FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
_NOBODY = 0xFFFFFFFF


@dataclass
class Storage:
    """A folder of a compound file: streams by name, and further storages."""

    streams: dict[str, bytes] = field(default_factory=dict)
    storages: dict[str, Storage] = field(default_factory=dict)


@dataclass
class _Entry:
    name: str
    kind: int
    data: bytes = b""
    child: int = _NOBODY
    right: int = _NOBODY
    start: int = _END


def compound(root: Storage) -> bytes:
    entries = [_Entry("Root Entry", 5)]
    _add(root, entries, 0)
    mini, mini_fat = bytearray(), list[int]()
    sectors, fat = bytearray(), list[int]()
    for entry in entries[1:]:
        if entry.kind == 2 and len(entry.data) < _CUTOFF:
            entry.start = _chain(entry.data, mini, mini_fat, _MINI)
        elif entry.kind == 2:
            entry.start = _chain(entry.data, sectors, fat, _SECTOR)
    entries[0].data = bytes(mini)
    entries[0].start = _chain(bytes(mini), sectors, fat, _SECTOR)
    mini_fat_start = _chain(struct.pack(f"<{len(mini_fat)}I", *mini_fat), sectors, fat, _SECTOR)
    directory = _chain(b"".join(map(_record, entries)), sectors, fat, _SECTOR)
    fat_sector = len(fat)
    fat.append(_FAT)
    if len(fat) > _SECTOR // 4:
        raise ValueError("too large for one table of sectors")
    fat += [_FREE] * (_SECTOR // 4 - len(fat))
    header = struct.pack(
        "<8s16sHHHHH6xIIIIIIIIII", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"", 0x3E, 3, 0xFFFE, 9, 6,
        0, 1, directory, 0, _CUTOFF, mini_fat_start, min(1, len(mini_fat)), _END, 0, fat_sector,
    )  # fmt: skip
    header = header.ljust(_SECTOR, b"\xff")
    return header + bytes(sectors) + struct.pack(f"<{_SECTOR // 4}I", *fat)


def _add(storage: Storage, entries: list[_Entry], parent: int) -> None:
    """Children form a list to the right: an ordered tree, if an unbalanced one."""
    names = sorted(
        [*storage.streams, *storage.storages], key=lambda name: (len(name), name.upper())
    )
    before = None
    for name in names:
        is_stream = name in storage.streams
        entries.append(_Entry(name, 2 if is_stream else 1, storage.streams.get(name, b"")))
        index = len(entries) - 1
        if before is None:
            entries[parent].child = index
        else:
            entries[before].right = index
        before = index
        if not is_stream:
            _add(storage.storages[name], entries, index)


def _chain(data: bytes, sectors: bytearray, table: list[int], size: int) -> int:
    count = -(-len(data) // size)
    if not count:
        return _END
    start = len(table)
    sectors += data.ljust(count * size, b"\x00")
    table += [*range(start + 1, start + count), _END]
    return start


def _record(entry: _Entry) -> bytes:
    name = entry.name.encode("utf-16-le") + b"\x00\x00"
    return struct.pack(
        "<64sHBBIII16xI8x8xIII", name, len(name), entry.kind, 1, _NOBODY, entry.right, entry.child,
        0, entry.start, len(entry.data), 0,
    )  # fmt: skip


def message(texts: dict[int, str], attachments: dict[str, bytes]) -> bytes:
    """An Outlook message: text properties by number, attachments by name."""
    root = _with_properties(
        texts, {}, header=struct.pack("<8xIIII8x", 0, len(attachments), 0, len(attachments))
    )
    for number, (name, data) in enumerate(attachments.items()):
        inner = _with_properties({0x3707: name}, {0x3701: data}, header=bytes(8))
        root.storages[f"__attach_version1.0_#{number:08X}"] = inner
    return compound(root)


def _with_properties(texts: dict[int, str], blobs: dict[int, bytes], *, header: bytes) -> Storage:
    storage = Storage()
    records = header
    for number, text in texts.items():
        raw = text.encode("utf-16-le")
        storage.streams[f"__substg1.0_{number:04X}001F"] = raw
        records += struct.pack("<HHIII", 0x001F, number, 6, len(raw) + 2, 0)
    for number, data in blobs.items():
        storage.streams[f"__substg1.0_{number:04X}0102"] = data
        records += struct.pack("<HHIII", 0x0102, number, 6, len(data), 0)
    storage.streams["__properties_version1.0"] = records
    return storage
