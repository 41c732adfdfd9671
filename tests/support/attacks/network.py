"""Attacks that try to leave the machine, or to speak with others on it."""

from __future__ import annotations

from secondlook.sandbox.self_check import Attack

_TCP_LISTEN = """
import socket

def listen():
    with socket.socket() as waiting:
        waiting.bind(("0.0.0.0", 0))
        waiting.listen()

attempt("listens for TCP", listen)
"""
_UDP = """
import socket

def send():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as open_socket:
        open_socket.sendto(b"knock", (world["host"], world["tcp_port"]))

attempt("sent by UDP", send)
"""
_UNIX = """
import socket

attempt("made a unix socket", lambda: socket.socket(socket.AF_UNIX).close())
attempt("made a pair of sockets", socket.socketpair)
"""
_VSOCK = """
import socket

attempt("made a vsock", lambda: socket.socket(40, socket.SOCK_STREAM).close())
"""
_RAW = """
import socket

attempt("made a raw socket", lambda: socket.socket(17, socket.SOCK_RAW).close())
attempt("made a netlink socket", lambda: socket.socket(16, socket.SOCK_RAW).close())
"""

NETWORK = (
    Attack("tcp listener", _TCP_LISTEN),
    Attack("udp", _UDP),
    Attack("unix sockets", _UNIX),
    Attack("vsock", _VSOCK, provable=False),
    Attack("raw sockets", _RAW, provable=False),
)
