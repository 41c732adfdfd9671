"""What a run leaves behind and what it may spend: ledger, journal, run store, checkpoints."""
