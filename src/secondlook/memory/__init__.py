"""What a run leaves behind and what it may spend.

`Ledger` holds a run to its budget, `Journal` keeps every model reply, `Recorder` writes the record
of runs without ever failing, `RunStore` reads it. `memory.checkpoints` is imported where graphs
are, because LangGraph's checkpointer is.
"""

from secondlook.memory.journal import Journal, JournalEntry, MemoryJournal, NoJournal
from secondlook.memory.ledger import Caps, Ledger, Price, Reservation, SetAside
from secondlook.memory.recorder import Recorder
from secondlook.memory.runs import RunStatus, RunStore, RunSummary, StoredRun

__all__ = [
    "Caps",
    "Journal",
    "JournalEntry",
    "Ledger",
    "MemoryJournal",
    "NoJournal",
    "Price",
    "Recorder",
    "Reservation",
    "RunStatus",
    "RunStore",
    "RunSummary",
    "SetAside",
    "StoredRun",
]
