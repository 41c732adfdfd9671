"""Which addresses a page of the open web may lie on, and which it may not.

The list is spelled out: what the standard library calls private differs between the versions of
Python. Sources: the IANA special-purpose address registries for IPv4 and IPv6.
"""

from __future__ import annotations

from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Networks: TypeAlias = tuple[tuple[IPv4Network | IPv6Network, str], ...]


def _networks(**described: str) -> Networks:
    return tuple(
        (ip_network(network), what.replace("_", " "))
        for what, many in described.items()
        for network in many.split()
    )


_METADATA = _networks(
    # The services of cloud providers that hand out credentials to whoever asks from within.
    a_metadata_service="169.254.169.254 169.254.170.2 100.100.100.200 168.63.129.16 192.0.0.192 "
    "fd00:ec2::254"
)
_PRIVATE = _networks(
    loopback="127.0.0.0/8 ::1/128",
    private="10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 198.18.0.0/15 fc00::/7 fec0::/10",
    link_local="169.254.0.0/16 fe80::/10",
    shared_by_a_carrier="100.64.0.0/10",
)
_NEVER = _networks(
    unspecified="0.0.0.0/8 ::/128",
    multicast="224.0.0.0/4 ff00::/8",
    reserved="240.0.0.0/4 192.0.0.0/24 192.88.99.0/24 100::/64 2001::/23 5f00::/16",
    for_documentation="192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20",
    IPv4_within_IPv6="::/96 ::ffff:0:0/96 ::ffff:0:0:0/96 2002::/16 64:ff9b:1::/48",
)
_NAT64 = IPv6Network("64:ff9b::/96")
"""Networks without IPv4 reach it through these: the last 32 bits are the address that is meant."""
_ASSIGNED = IPv6Network("2000::/3")


def objection(address: str, *, allow_private: bool = False) -> str | None:
    """What kind of address it is, where no page is read from that kind; None for public ones."""
    try:
        meant = _meant(ip_address(address))
    except ValueError:
        return "no address"
    if metadata := _named(meant, _METADATA):
        return metadata
    if private := _named(meant, _PRIVATE):
        return None if allow_private else private
    if never := _named(meant, _NEVER):
        return never
    is_assigned = isinstance(meant, IPv4Address) or meant in _ASSIGNED
    return None if is_assigned else "not assigned"


def _meant(address: Address) -> Address:
    if isinstance(address, IPv6Address) and address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def _named(address: Address, networks: Networks) -> str | None:
    return next((what for network, what in networks if address in network), None)
