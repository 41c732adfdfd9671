"""Limits from the two figures that a person chooses."""

from __future__ import annotations

from secondlook.sandbox.port import Limits

_BYTES_IN_MEGABYTE = 1 << 20
_ADDRESSES_BESIDE_MEMORY = 1_610_612_736
"""What the libraries map without using it: half a gigabyte before a job begins, and room."""


def limits_for(*, seconds: float, megabytes: int) -> Limits:
    """`megabytes` is what the job may use beyond the libraries that it begins with."""
    resident = megabytes * _BYTES_IN_MEGABYTE
    return Limits(
        seconds=seconds, resident=resident, address_space=resident + _ADDRESSES_BESIDE_MEMORY
    )
