"""What models said when they were asked to rewrite, so that the same question costs no second call.

Kept for as long as the models are open, and for each set of them apart: another program, another
evaluation or another test starts with nothing.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from secondlook.models import Asker, Finish, Message, Models, Role

MOST_KEPT = 512


class Said(NamedTuple):
    text: str
    finish: Finish


class Rewrites:
    """The replies of one set of models: those asked for last, safe for several threads."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._held: OrderedDict[str, Said] = OrderedDict()
        self._turn = threading.Lock()

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: str) -> Said | None:
        with self._turn:
            if key in self._held:
                self._held.move_to_end(key)
            return self._held.get(key)

    def put(self, key: str, said: Said) -> None:
        with self._turn:
            self._held[key] = said
            self._held.move_to_end(key)
            while len(self._held) > self._most:
                self._held.popitem(last=False)


_all: WeakKeyDictionary[Models, Rewrites] = WeakKeyDictionary()
_all_turn = threading.Lock()


def rewrites_of(models: Models) -> Rewrites:
    with _all_turn:
        return _all.setdefault(models, Rewrites())


def key_of(asker: Asker, role: Role, messages: Sequence[Message], *, max_tokens: int) -> str:
    """Everything that shapes a reply: who is asked, what, and how."""
    options = asker.models.cast.part(role, asker.workflow).options
    said = [[message.role, message.content] for message in messages]
    shaping = [asker.name(role), said, max_tokens, options.temperature, options.seed]
    return hashlib.sha256(json.dumps(shaping).encode()).hexdigest()
