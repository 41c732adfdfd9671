"""Whatever a job says, the program gets plain data or a refusal within bounds, and goes on."""

import base64
import errno
import json
import math
import os
import struct
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from secondlook.sandbox import outcomes, seccomp
from secondlook.sandbox.outcomes import TooMuch, Unreadable, Witnessed, outcome_of, read_reply
from secondlook.sandbox.port import LENGTH, Frame, Limits, Outcome, encode_reply
from secondlook.sandbox.seccomp import CHANGES_FILES, GUARDED, HARMLESS, MACHINES

TOKEN = "0123456789abcdef"  # noqa: S105 - of no job at all
LIMITS = Limits(seconds=5.0, stdout_bytes=1_000, reply_bytes=10_000, frame_rows=3)
PNG = b"\x89PNG\r\n\x1a\n rest"
FIGURE = b'{"data": [NaN], "layout": {"title": "</script><script>"}}'
SENT = {"columns": ["a"], "rows": [[1], [2], [3], [4]], "total_rows": 4}
EXAMPLES = 2_000 if os.environ.get("SECONDLOOK_SOAK") else 40
QUICK = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


def document(**fields: Any) -> dict[str, Any]:
    return {"token": TOKEN, "status": "ok", "memory": 1, "figures": [], **fields}


def read(whole: dict[str, Any], *attachments: bytes) -> Outcome:
    return read_reply(encode_reply(whole, attachments), token=TOKEN, limits=LIMITS)


def raw(text: str) -> bytes:
    return LENGTH.pack(len(text.encode())) + text.encode()


def test_an_honest_reply_comes_back_as_it_was() -> None:
    value = {"a": [1, 0.1 + 0.2, None, True, "é"], "nan": math.nan, "most": -math.inf}
    sent = document(
        result=value, has_result=True, frame=SENT, frames={"o": SENT}, figures=["plotly", "png"]
    )
    outcome = read(sent, FIGURE, PNG)
    assert isinstance(outcome.result, dict)
    assert outcome.result["a"] == [1, 0.30000000000000004, None, True, "é"]
    assert math.isnan(outcome.result["nan"])  # type: ignore[arg-type]
    expected = Frame(("a",), ((1,), (2,), (3,)), 4)  # cut to the limit
    assert (outcome.frame, outcome.frames) == (expected, {"o": expected})
    drawn = json.loads(outcome.figures[0].data)
    assert drawn == {"data": [None], "layout": {"title": "</script><script>"}}
    assert "<" not in outcome.figures[0].data  # no markup in a page
    assert base64.b64decode(outcome.figures[1].data) == PNG


def test_halves_of_characters_and_endless_integers_become_writable() -> None:
    outcome = read(document(result=["\ud800", {"\udfff": 10**30}]))
    assert outcome.result == ["?", {"?": str(10**30)}]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        LENGTH.pack(5) + b"ab",
        raw("[]"),
        raw("[" * 100_000 + "]" * 100_000),
        LENGTH.pack(3) + b"\xff\xfe\xfd",
        raw(json.dumps({"status": "ok"})),
        raw(json.dumps(document(token=TOKEN[1:]))),
        raw(json.dumps(document())) * 2,
    ],
    ids=range(8),
)
def test_bytes_that_are_no_reply(data: bytes) -> None:
    with pytest.raises(Unreadable):
        read_reply(data, token=TOKEN, limits=LIMITS)


@pytest.mark.parametrize(
    "fields",
    [
        {"status": ["ok"]},
        {"memory": 2**70},
        {"frame": {"columns": ["a"], "rows": [[1, 2]], "total_rows": 1}},
        {"frames": [1]},
        {"figures": ["plotly"]},
        {"status": "error", "failure": {"kind": 1, "message": ""}},
        {"result": json.loads("[" * 100 + "]" * 100)},
    ],
    ids=str,
)
def test_replies_of_another_shape(fields: dict[str, Any]) -> None:
    with pytest.raises(Unreadable):
        read(document(**fields))


def test_more_values_than_memory_should_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcomes, "_MOST_CONTAINERS", 10)
    with pytest.raises(TooMuch):
        read(document(result=[[]] * 20))
    seen = Witnessed(reply=bytearray(encode_reply(document(result=[[]] * 20), ())))
    assert outcome_of(seen, token=TOKEN, limits=LIMITS, ended=lambda: None).status == "output"


# Any bytes

FIELDS = st.sampled_from([*document(), "result", "frame", "frames", "failure", "columns", "rows"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=12,
)


def is_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(type(key) is str and is_plain(one) for key, one in value.items())
    if isinstance(value, list):
        return all(is_plain(one) for one in value)
    return value is None or type(value) in (bool, int, float, str)


def survives(data: bytes) -> None:
    """The outcome is plain through and through, or it is refused."""
    try:
        outcome = read_reply(data, token=TOKEN, limits=LIMITS)
    except Unreadable:
        return
    assert is_plain(outcome.result)
    json.dumps(outcome.result).encode("utf-8")
    for frame in (outcome.frame, *outcome.frames.values()):
        for row in frame.rows if frame is not None else ():
            assert len(row) == len(frame.columns)  # type: ignore[union-attr]
            assert all(map(is_plain, row))


@QUICK
@given(
    st.binary(max_size=500), st.integers(0, 2**64 - 1), st.dictionaries(FIELDS, VALUES), st.data()
)
def test_any_reply_is_survived(
    junk: bytes, length: int, fields: dict[str, Any], data: st.DataObject
) -> None:
    survives(junk)
    survives(LENGTH.pack(length) + junk)
    survives(encode_reply({**document(), **fields, "token": TOKEN}, [junk]))
    changed = bytearray(encode_reply(document(result=1, frame=SENT, figures=["plotly"]), [FIGURE]))
    for _ in range(data.draw(st.integers(1, 8))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    survives(bytes(changed))


# The list of system calls, run through a small interpreter of the kernel's filter language.

ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOW, KILL = 0x7FFF0000, 0x80000000
REFUSE, UNKNOWN = 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS
DANGEROUS = {
    # socket, clone, fork, vfork, execve, kill, ptrace, mount, bpf, io_uring_setup, memfd_create
    "x86_64": (41, 56, 57, 58, 59, 62, 101, 165, 321, 425, 319),
    "aarch64": (198, 220, 221, 129, 117, 40, 280, 425, 279),
}
"""And tgkill, pidfd_send_signal, process_vm_readv, userfaultfd, keyctl, unshare, setns, symlinkat,
linkat, execveat, name_to_handle_at, pipe2."""
DANGEROUS_TOO = {
    "x86_64": (234, 424, 310, 323, 250, 272, 308, 266, 265, 322, 303, 293),
    "aarch64": (131, 424, 270, 282, 219, 97, 268, 36, 37, 281, 264, 59),
}


def decision(
    machine: str, number: int, *arguments: int, may_write: bool = True, architecture: int = 0
) -> int:
    data = struct.pack(
        "=iIQ6Q",
        number,
        architecture or ARCHITECTURE[machine],
        0,
        *(*arguments, 0, 0, 0, 0, 0, 0)[:6],
    )
    steps = list(struct.iter_unpack("=HBBI", seccomp.program(may_write=may_write)))
    at = accumulator = 0
    while True:
        code, if_true, if_false, value = steps[at]
        at += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, value)
        elif code == 0x06:
            return int(value)
        else:
            holds = {
                0x15: accumulator == value,
                0x35: accumulator >= value,
                0x45: bool(accumulator & value),
            }[code]
            at += if_true if holds else if_false


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(seccomp, "machine", lambda: request.param)
    return str(request.param)


def number(machine: str, name: str) -> int:
    found = (HARMLESS | CHANGES_FILES | GUARDED)[name][MACHINES.index(machine)]
    assert found is not None
    return found


def test_what_python_needs_is_allowed(machine: str) -> None:
    for name in ("read", "write", "mmap", "munmap", "futex", "exit_group", "newfstatat", "brk"):
        assert decision(machine, number(machine, name)) == ALLOW


def test_what_reaches_others_is_refused(machine: str) -> None:
    for dangerous in (*DANGEROUS[machine], *DANGEROUS_TOO[machine]):
        assert decision(machine, dangerous) == REFUSE, dangerous


def test_every_number_that_is_not_listed_is_refused(machine: str) -> None:
    position = MACHINES.index(machine)
    listed = {each[position] for each in (HARMLESS | CHANGES_FILES | GUARDED).values()}
    for other in set(range(600)) - listed:
        assert decision(machine, other) == REFUSE


def test_calls_of_another_processor_kill(machine: str) -> None:
    assert decision(machine, 0, architecture=0x40000003) == KILL


def test_the_other_numbering_of_the_same_calls_kills(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp, "machine", lambda: "x86_64")
    assert decision("x86_64", 0x40000000 | 41) == KILL


def test_without_a_folder_nothing_is_opened_for_change(machine: str) -> None:
    openat = number(machine, "openat")
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_CREAT, os.O_TRUNC, os.O_RDONLY | os.O_TRUNC):
        assert decision(machine, openat, 0, 0, flags, may_write=False) == REFUSE
        assert decision(machine, openat, 0, 0, flags) == ALLOW
    assert decision(machine, openat, 0, 0, os.O_RDONLY | os.O_CLOEXEC, may_write=False) == ALLOW
    for name in ("unlinkat", "mkdirat", "ftruncate", "renameat2"):
        assert decision(machine, number(machine, name), may_write=False) == REFUSE
        assert decision(machine, number(machine, name)) == ALLOW


def test_only_harmless_forms_of_what_could_reach_others(machine: str) -> None:
    duplicate, set_owner, set_signal = (0, 0), (0, 8), (0, 10)
    is_terminal, push_input = (0, 0x5401), (0, 0x5412)
    set_name, set_parent_death_signal = (15,), (1,)
    read_limit, set_limit, of_another = (0, 7, 0, 1 << 40), (0, 7, 1 << 40), (77, 7, 0)
    for name, allowed, refused in (
        ("fcntl", duplicate, [set_owner, set_signal]),
        ("ioctl", is_terminal, [push_input]),
        ("prctl", set_name, [set_parent_death_signal]),
        ("prlimit64", read_limit, [set_limit, of_another]),
    ):
        assert decision(machine, number(machine, name), *allowed) == ALLOW
        for each in refused:
            assert decision(machine, number(machine, name), *each) == REFUSE


def test_newer_forms_are_answered_as_unknown(machine: str) -> None:
    for name in ("clone3", "openat2"):
        assert decision(machine, number(machine, name)) == UNKNOWN
