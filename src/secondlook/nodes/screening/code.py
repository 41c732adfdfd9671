"""Whether a text is a piece of a program, and whether that fetches, sends or destroys."""

from __future__ import annotations

import re

_CODE = re.compile(
    r"```|^\s*(?:import|from) [\w.]+(?: import\b|\s*$|[,;]| as )"
    r"|\bimport [a-z_][\w.]*(?:,| as |\s*$| [a-z_]+ ?=)"
    r"|\b(?:def|class|function|func|fn) \w+\s*[(:{]|\breturn [\w(\"']+[;)]|\w+\.\w+\([^)]*\)|\w\(\)"
    r"|[\w\]\)] ?(?:==|!=|\+=|-=|=>|->|::|&&|\|\||:=) ?[\w\"'(\[]|^\s*[a-z_]\w* ?= ?[\w\"'\[({]"
    r"|<\w+(?: [\w-]+=\"[^\"]*\")+ ?/?>|</\w+>|<script|[{}]\s*$|\)\s*;\s*$"
    r"|^\s*[$#>]\s?(?:sudo|curl|wget|rm|pip|npm|bash|sh)\b"
    r"|\b[a-z]\w{0,12} ?= ?[\"'][^\"'\n]*[\"']|\b\w{1,12} ?\+ ?\w{1,12} ?\+ ?\w{1,12}\b"
    r"|\b(?:sudo|curl -|wget http|rm -rf|chmod \+|pip install|npm install)\b",
    re.MULTILINE,
)
HARMFUL = re.compile(
    # What is fetched is run.
    r"\b(?:curl|wget|urlretrieve|urlopen|requests\.get|\.request\(|download)[\s\S]{0,500}?"
    r"(?:\bexec\(|os\.system|\bsubprocess|chmod \+x|\| ?(?:ba)?sh\b|\beval\(|popen|startfile)"
    # What lies on this machine is sent away.
    r"|(?:open\(|environ|getenv|cookie|/proc/|psutil|winreg|lsusb|lspci|uname|platform\.)"
    r"[\s\S]{0,500}?(?:\.post\(|\.get\(|\.send(?:all|mail|_message)?\(|storbinary|upload|urlopen\("
    r"|\.request\(|curl|\.put\()"
    # The machine, or others, are attacked.
    r"|\brm -rf|\bmkfs\b|\bnmap\b|\bscapy\b|\bparamiko\b|/dev/\w"
    r"|/etc/(?:passwd|shadow)|\bshutdown\b|\bminer|\bsystemctl (?:stop|disable)|\bos\.kill\b"
    r"|\btaskkill\b|\biptables\b|\bpsexec\b|\bsshpass\b|\bsmbclient\b|\bmodbus|\bscada\b"
    r"|\bioctl\b|\bwmic?\b"
    r"|\bdmidecode\b|\blsmod\b|\bdriverquery\b|\bctypes\b|\bpymem\b|\breadprocessmemory\b"
    r"|\.connect\(\("
    r"|range\(1, ?25[456]\)"
)
"""Meets plain text: small letters."""


def is_code(text: str) -> bool:
    return _CODE.search(text) is not None


def is_harmful(text: str) -> bool:
    return HARMFUL.search(text.casefold()) is not None
