"""No text commands the terminal that it is shown on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from secondlook.cli.command import one_line, output

if TYPE_CHECKING:
    import pytest

RETITLED = "who \x1b]0;pwned\x07voted\x9b31m?"


def test_commands_in_a_text_are_shown_and_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    output().print(Text(RETITLED))
    output().print(Padding(Text(f"a\tb\n{RETITLED}", style="bold"), (0, 0, 0, 4)))
    out = capsys.readouterr().out
    assert out.count("who \ufffd]0;pwnedvoted\ufffd31m?") == 2  # rich itself drops the bell
    assert not {"\x1b", "\x07", "\x9b"} & set(out)


def test_a_line_holds_no_commands() -> None:
    assert one_line(f" {RETITLED}\n b") == "who \ufffd]0;pwned\ufffdvoted\ufffd31m? b"
