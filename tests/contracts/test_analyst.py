"""What holds for `analyst` under every combination of its flags: each node can be reached and
reaches the end, the channels are the declared ones, and the bounds are of these nodes. And what its
prompts share, which a provider's cache lives on."""

from __future__ import annotations

import itertools
from functools import cache
from typing import TYPE_CHECKING, Any, get_type_hints

from secondlook.graphs.analyst import Steps, build, most_by_node, steps_of
from secondlook.roles.prompts import load, names
from secondlook.roles.prompts.marks import evidence_marks
from tests.support.engine import reached, settings_of

if TYPE_CHECKING:
    from langgraph.graph import StateGraph

    from secondlook.settings.sections import Settings

SHAPING = ("enable_understanding", "enable_grammar", "enable_alignment", "enable_remediation")
"""Flags that change the graph; the others change what a node does."""
PROMPTS = [name for name in names() if name.startswith("analyst_")]


def with_flags(values: dict[str, bool], **more: Any) -> Settings:
    return settings_of(analyst={**values, **more})


@cache
def shapes() -> dict[Steps, Settings]:
    """One of the settings for each graph that they can make."""
    found: dict[Steps, Settings] = {}
    for values in itertools.product([False, True], repeat=len(SHAPING)):
        for attempts, remedies in itertools.product((1, 2), (0, 3)):
            flags = dict(zip(SHAPING, values, strict=True))
            settings = with_flags(flags, max_code_attempts=attempts, max_remediations=remedies)
            found.setdefault(steps_of(settings), settings)
    return found


def edges(graph: StateGraph[Any, Any]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Where each node leads, and where it is reached from."""
    forward: dict[str, set[str]] = {}
    for source, target in graph.edges:
        forward.setdefault(source, set()).add(target)
    for source, branches in graph.branches.items():
        for branch in branches.values():
            forward.setdefault(source, set()).update((branch.ends or {}).values())
    backward: dict[str, set[str]] = {}
    for source, targets in forward.items():
        for target in targets:
            backward.setdefault(target, set()).add(source)
    return forward, backward


def test_every_step_can_be_there_and_not_be_there() -> None:
    assert len(shapes()) == 2 ** len(Steps._fields)
    for step in Steps._fields:
        assert {getattr(one, step) for one in shapes()} == {False, True}


def test_no_combination_of_flags_breaks_a_bound_or_a_channel() -> None:
    for settings in shapes().values():
        graph = build(settings)
        nodes = {*graph.nodes, "__start__", "__end__"}
        forward, backward = edges(graph)
        assert reached("__start__", forward) == nodes
        assert reached("__end__", backward) == nodes
        assert set(most_by_node(settings)) == set(graph.nodes)
        assert set(graph.channels) == set(get_type_hints(graph.state_schema))


def filled(name: str) -> tuple[str, str]:
    """A prompt with every hole filled by its own name."""
    prompt = load(name)
    values = {hole: f"({hole})" for hole in prompt.holes}
    system, user = prompt.render(**{**values, "tables": evidence_marks("run").enclose("TABLES")})
    return system.content, user.content


def test_all_prompts_begin_with_the_same_words_and_the_same_tables() -> None:
    """A cache knows a prompt by its beginning: what differs comes last."""
    assert len(PROMPTS) == 8
    begun = set()
    for name in PROMPTS:
        system, user = filled(name)
        head, _, rest = user.partition("(question)")
        begun.add((system, head))
        assert "TABLES" in head
        assert "TABLES" not in rest
    assert len(begun) == 1
