from __future__ import annotations

import pytest

from secondlook.retrieval.web.fetch import objection

PUBLIC = [
    "8.8.8.8",
    "93.184.216.34",
    "1.1.1.1",
    "172.15.255.255",
    "172.32.0.1",
    "192.167.1.1",
    "100.63.255.255",
    "100.128.0.1",
    "169.253.1.1",
    "223.255.255.255",
    "2606:2800:220:1:248:1893:25c8:1946",
    "2a00:1450:4001::1",
    "64:ff9b::5db8:d822",  # 93.184.216.34 as seen from a network without IPv4
]
PRIVATE = [
    ("127.0.0.1", "loopback"),
    ("127.255.255.254", "loopback"),
    ("::1", "loopback"),
    ("0:0:0:0:0:0:0:1", "loopback"),
    ("10.0.0.1", "private"),
    ("172.16.0.1", "private"),
    ("172.31.255.255", "private"),
    ("192.168.1.1", "private"),
    ("198.18.0.1", "private"),
    ("fc00::1", "private"),
    ("fd12:3456:789a::1", "private"),
    ("fec0::1", "private"),
    ("169.254.1.1", "link local"),
    ("fe80::1", "link local"),
    ("fe80::1%2", "link local"),
    ("100.64.0.1", "shared by a carrier"),
    ("100.127.255.255", "shared by a carrier"),
    ("64:ff9b::7f00:1", "loopback"),
    ("64:ff9b::a00:1", "private"),
]
NEVER = [
    ("169.254.169.254", "a metadata service"),
    ("169.254.170.2", "a metadata service"),
    ("100.100.100.200", "a metadata service"),
    ("168.63.129.16", "a metadata service"),
    ("192.0.0.192", "a metadata service"),
    ("fd00:ec2::254", "a metadata service"),
    ("64:ff9b::a9fe:a9fe", "a metadata service"),
    ("0.0.0.0", "unspecified"),  # noqa: S104
    ("0.1.2.3", "unspecified"),
    ("::", "unspecified"),
    ("224.0.0.1", "multicast"),
    ("239.255.255.250", "multicast"),
    ("ff02::1", "multicast"),
    ("240.0.0.1", "reserved"),
    ("255.255.255.255", "reserved"),
    ("192.0.0.8", "reserved"),
    ("2001::1", "reserved"),
    ("192.0.2.1", "for documentation"),
    ("198.51.100.7", "for documentation"),
    ("203.0.113.9", "for documentation"),
    ("2001:db8::1", "for documentation"),
    ("::ffff:127.0.0.1", "IPv4 within IPv6"),
    ("::ffff:8.8.8.8", "IPv4 within IPv6"),
    ("::ffff:a9fe:a9fe", "IPv4 within IPv6"),
    ("::127.0.0.1", "IPv4 within IPv6"),
    ("2002:7f00:1::", "IPv4 within IPv6"),
    ("64:ff9b:1::1", "IPv4 within IPv6"),
    ("4000::1", "not assigned"),
    ("2130706433", "no address"),
    ("0x7f.1", "no address"),
    ("localhost", "no address"),
    ("", "no address"),
]


@pytest.mark.parametrize("address", PUBLIC)
@pytest.mark.parametrize("allow_private", [False, True])
def test_public_addresses_are_read(address: str, allow_private: bool) -> None:
    assert objection(address, allow_private=allow_private) is None


@pytest.mark.parametrize(("address", "what"), PRIVATE)
def test_private_addresses_need_permission(address: str, what: str) -> None:
    assert objection(address) == what
    assert objection(address, allow_private=True) is None


@pytest.mark.parametrize(("address", "what"), NEVER)
@pytest.mark.parametrize("allow_private", [False, True])
def test_some_addresses_are_never_read(address: str, what: str, allow_private: bool) -> None:
    assert objection(address, allow_private=allow_private) == what
