"""Marks that keep untrusted text apart from what we tell a model, and the removal of false ones.

A text cannot close its own evidence and speak on as if it were us: the marks hold a key that is
derived from the run, which its author could not know, and whatever looks like one is disarmed.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

KEY_LENGTH = 8

EVIDENCE_MARK = re.compile(
    rf"<<(?:evidence-[0-9a-f]{{{KEY_LENGTH}}} (?P<number>\d{{1,3}})|end-[0-9a-f]{{{KEY_LENGTH}}})>>"
)
"""A mark of any run, as `EvidenceMarks` writes it; `number` is None for the closing one."""

# Whatever a reader, or a model, might take for one: other brackets, spaces, capitals.
_LOOKALIKE = re.compile(
    r"[<＜‹«《〈⟨]+(?=[\s/]*+(?:evidence|end)[\s_:–-]*+[0-9a-z]*+\s*+\d*+\s*+[>＞›»》〉⟩])",  # noqa: RUF001
    re.IGNORECASE,
)

CONTROL_MARK = re.compile(
    r"<\|[^|<>\s]{1,40}\|>"  # ChatML, Llama 3, Phi
    r"|<｜[^｜<>]{1,40}｜>"  # DeepSeek  # noqa: RUF001
    r"|</?(?:s|bos|eos|pad|unk|start_of_turn|end_of_turn)>"  # Llama 2, Mistral, Gemma
    r"|<</?SYS>>|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]",
    re.IGNORECASE,
)
"""Marks with which chat templates separate who speaks. Local servers read them wherever they
stand, so a passage that holds one could take the floor."""


@dataclass(frozen=True, slots=True)
class EvidenceMarks:
    """The marks of one run. An opening mark also ends the block before it."""

    key: str

    def opening(self, number: int) -> str:
        return f"<<evidence-{self.key} {number}>>"

    @property
    def closing(self) -> str:
        return f"<<end-{self.key}>>"

    def clean(self, text: str) -> str:
        """The text without anything that could be taken for one of our marks."""
        return without_evidence_marks(text).replace(self.key, "x" * len(self.key))

    def wrap(self, blocks: Sequence[str], *, first: int = 1) -> str:
        """Numbered blocks between their marks: what goes into an evidence hole."""
        opened = [
            f"{self.opening(number)} {self.clean(block)}"
            for number, block in enumerate(blocks, first)
        ]
        return "\n".join([*opened, self.closing])

    def enclose(self, text: str) -> str:
        """One text that is the same in many runs: the key, which no text can know, stands in the
        closing mark alone, so that all before it can be cached."""
        return f"{_OPENING} {self.clean(text)}\n{self.closing}"


_OPENING = "<<evidence 1>>"
_WRAPPED = re.compile(
    rf"(?:<<evidence-(?P<key>[0-9a-f]{{{KEY_LENGTH}}}) \d+>> .*\n<<end-(?P=key)>>"
    rf"|{_OPENING} .*\n<<end-[0-9a-f]{{{KEY_LENGTH}}}>>)",
    re.DOTALL,
)


def is_wrapped(text: str) -> bool:
    """Whether the text stands between evidence marks of one run."""
    return _WRAPPED.fullmatch(text) is not None


def evidence_marks(run: str) -> EvidenceMarks:
    return EvidenceMarks(hashlib.sha256(run.encode()).hexdigest()[:KEY_LENGTH])


def without_evidence_marks(text: str) -> str:
    """The text with round brackets where it imitates a mark of evidence; of the same length."""
    return _LOOKALIKE.sub(lambda found: "(" * len(found[0]), text)


def without_control_marks(text: str) -> str:
    """The text with a space inside every chat-template mark, which makes it plain text."""
    return CONTROL_MARK.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)
