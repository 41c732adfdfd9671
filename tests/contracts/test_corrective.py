"""What holds for `corrective` under every combination of its flags: each node can be reached and
reaches the end, the channels are the declared ones, and the bounds are of these nodes."""

from __future__ import annotations

import itertools
import random
from functools import cache
from typing import TYPE_CHECKING, Any, get_type_hints

import pytest

from secondlook.graphs.corrective import Steps, build, most_asked, most_by_node, most_visits
from secondlook.graphs.registry import WORKFLOWS, workflow
from tests.support.engine import settings_of

if TYPE_CHECKING:
    from langgraph.graph import StateGraph

    from secondlook.settings.sections import Settings

FLAGS = WORKFLOWS["corrective"].flags
LIMITS: tuple[dict[str, int], ...] = ({}, {"max_rewrites": 0}, {"max_regenerations": 0})
"""A step that may be made no time is not there either."""


def with_flags(values: tuple[bool, ...], **limits: int) -> Settings:
    sections: dict[str, dict[str, Any]] = {"corrective": dict(limits)}
    for flag, value in zip(FLAGS, values, strict=True):
        section, name = flag.split(".")
        sections.setdefault(section, {})[name] = value
    return settings_of(**sections)


@cache
def shapes() -> dict[Steps, Settings]:
    """One of the settings for each graph that they can make: most flags change no edge."""
    found: dict[Steps, Settings] = {}
    for values in itertools.product([False, True], repeat=len(FLAGS)):
        for limits in LIMITS:
            settings = with_flags(values, **limits)
            found.setdefault(Steps.of(settings), settings)
    return found


def reached(start: str, ways: dict[str, set[str]]) -> set[str]:
    seen, todo = {start}, [start]
    while todo:
        for node in ways.get(todo.pop(), set()) - seen:
            seen.add(node)
            todo.append(node)
    return seen


def edges(graph: StateGraph[Any, Any]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Where each node leads, and where it is reached from. As the builder has them: to compile so
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


def test_every_combination_of_flags_makes_one_of_the_shapes() -> None:
    assert len(FLAGS) == 13
    assert len(shapes()) > 300, "each of the steps can be there and not be there"


@pytest.mark.unmeasured
def test_each_node_is_reachable_and_reaches_the_end_and_channels_are_declared() -> None:
    for settings in shapes().values():
        graph = build(settings)
        nodes = {*graph.nodes, "__start__", "__end__"}
        forward, backward = edges(graph)
        assert reached("__start__", forward) == nodes
        assert reached("__end__", backward) == nodes
        assert set(most_by_node(settings)) == set(graph.nodes)
        assert set(graph.channels) == set(get_type_hints(graph.state_schema))


@pytest.mark.parametrize("values", [(False,) * 13, (True,) * 13])
def test_all_off_and_all_on_compile(values: tuple[bool, ...]) -> None:
    settings = with_flags(values)
    drawn = build(settings).compile().get_graph()
    assert set(most_by_node(settings)) == set(drawn.nodes) - {"__start__", "__end__"}


def test_a_flag_that_is_off_never_raises_a_bound() -> None:
    pick = random.Random(7)
    for _ in range(200):
        values = tuple(pick.random() < 0.7 for _ in FLAGS)
        on, at = with_flags(values), pick.randrange(len(FLAGS))
        off = with_flags((*values[:at], False, *values[at + 1 :]))
        assert most_visits(off) <= most_visits(on)
        assert most_asked(off) <= most_asked(on)


@pytest.mark.parametrize("name", [name for name, one in WORKFLOWS.items() if one.visits])
def test_the_bound_of_a_workflow_without_a_loop_is_its_longest_way(name: str) -> None:
    """Of one with a loop, which only `linear` with answer grading has, two times round."""
    for flags in itertools.product([False, True], repeat=3):
        settings = settings_of(
            answer={"enable_answer_grading": flags[0]},
            web={"enable_web_search": flags[1]},
            adaptive={"enable_adaptive_retrieval": flags[2]},
        )
        graph = workflow(name).build(settings).compile().get_graph()
        ways: dict[str, set[str]] = {}
        for edge in graph.edges:
            ways.setdefault(edge.source, set()).add(edge.target)
        looped = "grade_answer" in ways
        assert _longest("__start__", ways, again=int(looped)) <= workflow(name).most_visits(
            settings
        )


def _longest(node: str, ways: dict[str, set[str]], *, again: int) -> int:
    """Nodes on the longest way from here to the end."""
    found = 0
    for target in ways.get(node, set()) - {"__end__"}:
        back = node == "grade_answer" and target == "answer"
        if back and not again:
            continue
        found = max(found, 1 + _longest(target, ways, again=again - back))
    return found
