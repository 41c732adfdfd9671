"""What holds for `research` under every combination of its flags: each node can be reached and
reaches the end, the channels are the declared ones, and the bounds are of these nodes."""

from __future__ import annotations

import itertools
from functools import cache
from typing import TYPE_CHECKING, Any, get_type_hints

from secondlook.graphs.registry import WORKFLOWS
from secondlook.graphs.research import (
    build,
    most_by_node,
    switched,
)
from secondlook.nodes.state import Choices
from tests.support.engine import settings_of

if TYPE_CHECKING:
    from langgraph.graph import StateGraph

    from secondlook.settings.sections import Settings

FLAGS = WORKFLOWS["research"].flags
SHAPING = (
    "research.enable_screen",
    "research.enable_memory",
    "research.enable_recall",
    "research.enable_classification",
    "answer.enable_quarantine",
    "research.enable_replanning",
    "research.enable_choosing",
)
"""Flags that change the graph; the others change what a node does."""
SEES_CHOICES = {"screen", "classify", "choose", "finish"}


def with_flags(values: dict[str, bool], **limits: int) -> Settings:
    sections: dict[str, dict[str, Any]] = {"research": dict(limits)}
    for flag, value in values.items():
        section, name = flag.split(".")
        sections.setdefault(section, {})[name] = value
    return settings_of(**sections)


@cache
def shapes() -> dict[tuple[bool, ...], Settings]:
    """One of the settings for each graph that they can make."""
    found: dict[tuple[bool, ...], Settings] = {}
    for values in itertools.product([False, True], repeat=len(SHAPING)):
        for cycles in (1, 4):
            flags = dict(zip(SHAPING, values, strict=True))
            settings = with_flags(flags, max_cycles=cycles)
            found.setdefault(tuple(switched(settings).values()), settings)
    return found


def edges(graph: StateGraph[Any, Any]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Where each node leads, and where it is reached from, as the builder has them: to compile so
    many graphs takes minutes."""
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


def reached(start: str, ways: dict[str, set[str]]) -> set[str]:
    seen, todo = {start}, [start]
    while todo:
        for node in ways.get(todo.pop(), set()) - seen:
            seen.add(node)
            todo.append(node)
    return seen


def test_every_step_can_be_there_and_not_be_there() -> None:
    """Recall needs the memory; everything else is free."""
    assert len(shapes()) == 3 * 2**5
    assert all(set(values) == {False, True} for values in zip(*shapes(), strict=True))


def test_no_other_flag_changes_the_graph() -> None:
    assert set(SHAPING) <= set(FLAGS)
    usual = switched(settings_of())
    for flag in set(FLAGS) - set(SHAPING):
        for value in (False, True):
            assert switched(with_flags({flag: value})) == usual


def test_each_node_is_reachable_and_reaches_the_end_and_channels_are_declared() -> None:
    for settings in shapes().values():
        graph = build(settings)
        nodes = {*graph.nodes, "__start__", "__end__"}
        forward, backward = edges(graph)
        assert reached("__start__", forward) == nodes
        assert reached("__end__", backward) == nodes
        assert set(most_by_node(settings)) == set(graph.nodes)
        assert set(graph.channels) == set(get_type_hints(graph.state_schema))


def test_nodes_that_plan_search_and_write_do_not_see_the_choices() -> None:
    """langgraph hands a node the keys that it names: what is not there cannot leak."""
    graph = build(with_flags(dict.fromkeys(FLAGS, True)))
    seeing = {
        node
        for node, spec in graph.nodes.items()
        if set(get_type_hints(Choices)) & set(get_type_hints(spec.input_schema))
    }
    assert seeing == SEES_CHOICES
