"""Which visit to a node is going on: what it calls is journaled under it."""

from __future__ import annotations


def current_visit() -> str:
    """Nodes, from the outer graph to the inner, and step of the inner one, which are the same when
    the step is done again; "" outside of a graph."""
    from langgraph.config import get_config

    try:
        told = get_config().get("metadata", {})
    except RuntimeError:  # nobody runs a graph here
        return ""
    within = str(told.get("langgraph_checkpoint_ns", "")).split("|")
    # What stands behind the names is of one checkpoint, and a run may have lost them all.
    nodes = ".".join(name.partition(":")[0] for name in within)
    return f"{nodes} {told['langgraph_step']}" if "langgraph_step" in told else ""
