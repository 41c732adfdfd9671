"""What holds for every workflow in the registry, under every combination of its flags: each node
can be reached and reaches the end, the channels are the declared ones, the bounds are of these
nodes."""

from __future__ import annotations

import itertools
import random
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import pytest

from secondlook.errors import UsageError
from secondlook.graphs import corrective, research
from secondlook.graphs.registry import WORKFLOWS, workflow
from secondlook.nodes.state import Choices
from tests.support.bounds import most_asked
from tests.support.engine import reached, settings_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from langgraph.graph import StateGraph

    from secondlook.settings.sections import Settings

FLAGS = (
    "adaptive.enable_adaptive_retrieval",
    "web.enable_web_search",
    "answer.enable_sentence_check",
    "answer.enable_abstention",
    "answer.enable_answer_grading",
)
OF_CORRECTIVE = WORKFLOWS["corrective"].flags
OF_RESEARCH = WORKFLOWS["research"].flags
SHAPING = (
    "research.enable_screen",
    "research.enable_memory",
    "research.enable_recall",
    "research.enable_classification",
    "answer.enable_quarantine",
    "research.enable_replanning",
    "research.enable_choosing",
)
"""Flags that change the graph of `research`; the others change what a node does."""
DOCS = Path(__file__).parents[2] / "docs"


def with_flags(flags: Iterable[str], values: Iterable[bool], **limits: Any) -> Settings:
    sections: dict[str, dict[str, Any]] = {name: dict(given) for name, given in limits.items()}
    for flag, value in zip(flags, values, strict=True):
        section, name = flag.split(".")
        sections.setdefault(section, {})[name] = value
    return settings_of(**sections)


def combinations(flags: tuple[str, ...], **limits: Any) -> Iterator[Settings]:
    for values in itertools.product([False, True], repeat=len(flags)):
        yield with_flags(flags, values, **limits)


@cache
def shapes_of_corrective() -> dict[corrective.Steps, Settings]:
    """One of the settings for each graph that they can make: most flags change no edge. A step that
    may be made no time is not there either."""
    found: dict[corrective.Steps, Settings] = {}
    for limits in ({}, {"max_rewrites": 0}):
        for settings in combinations(OF_CORRECTIVE, corrective=limits):
            found.setdefault(corrective.Steps.of(settings), settings)
    return found


@cache
def shapes_of_research() -> dict[tuple[bool, ...], Settings]:
    found: dict[tuple[bool, ...], Settings] = {}
    for cycles in (1, 4):
        for settings in combinations(SHAPING, research={"max_cycles": cycles}):
            found.setdefault(tuple(research.switched(settings).values()), settings)
    return found


def ways_of(graph: StateGraph[Any, Any]) -> dict[str, set[str]]:
    """Where each node leads, as the builder has it: to compile so many graphs takes minutes."""
    ways: dict[str, set[str]] = {}
    for source, target in graph.edges:
        ways.setdefault(source, set()).add(target)
    for source, branches in graph.branches.items():
        for branch in branches.values():
            ways.setdefault(source, set()).update((branch.ends or {}).values())
    return ways


def assert_whole(graph: StateGraph[Any, Any]) -> None:
    nodes, forward = {*graph.nodes, "__start__", "__end__"}, ways_of(graph)
    backward: dict[str, set[str]] = {}
    for source, targets in forward.items():
        for target in targets:
            backward.setdefault(target, set()).add(source)
    assert reached("__start__", forward) == reached("__end__", backward) == nodes
    # A mistyped key would silently become a channel of its own.
    assert set(graph.channels) == set(get_type_hints(graph.state_schema))


@pytest.mark.parametrize("name", WORKFLOWS)
def test_each_node_is_reachable_and_reaches_the_end_and_channels_are_declared(name: str) -> None:
    for settings in combinations(FLAGS):
        assert_whole(workflow(name).build(settings))


@pytest.mark.unmeasured
def test_so_it_is_in_every_shape_of_corrective_and_research() -> None:
    for made in shapes_of_corrective().values():
        graph = corrective.build(made)
        assert_whole(graph)
        assert set(corrective.most_by_node(made)) == set(graph.nodes)
    for made in shapes_of_research().values():
        drawn = research.build(made)
        assert_whole(drawn)
        assert set(research.most_by_node(made)) == set(drawn.nodes)


def test_every_step_can_be_there_and_not_be_there() -> None:
    assert len(OF_CORRECTIVE) == 13
    assert len(shapes_of_corrective()) > 300
    assert len(shapes_of_research()) == 3 * 2**5, "recall needs the memory; all else is free"
    switched = zip(*shapes_of_research(), strict=True)
    assert all(set(values) == {False, True} for values in switched)
    assert set(SHAPING) <= set(OF_RESEARCH)
    usual = research.switched(settings_of())
    for flag, value in itertools.product(set(OF_RESEARCH) - set(SHAPING), (False, True)):
        assert research.switched(with_flags([flag], [value])) == usual


@pytest.mark.parametrize("value", [False, True])
def test_all_off_and_all_on_compile(*, value: bool) -> None:
    settings = with_flags(OF_CORRECTIVE, [value] * len(OF_CORRECTIVE))
    drawn = corrective.build(settings).compile().get_graph()
    assert set(corrective.most_by_node(settings)) == set(drawn.nodes) - {"__start__", "__end__"}


def test_a_flag_that_is_off_never_raises_a_bound() -> None:
    pick = random.Random(7)
    for _ in range(200):
        values = [pick.random() < 0.7 for _ in OF_CORRECTIVE]
        on = with_flags(OF_CORRECTIVE, values)
        values[pick.randrange(len(values))] = False
        off = with_flags(OF_CORRECTIVE, values)
        assert corrective.most_visits(off) <= corrective.most_visits(on)
        assert most_asked(corrective, off) <= most_asked(corrective, on)


@pytest.mark.parametrize("name", [name for name, one in WORKFLOWS.items() if one.visits])
def test_the_bound_of_a_workflow_without_a_loop_is_its_longest_way(name: str) -> None:
    """Of one with a loop, which only `linear` with answer grading has, two times round."""
    for settings in combinations(FLAGS):
        ways = ways_of(workflow(name).build(settings))
        longest = _longest("__start__", ways, again=int("grade_answer" in ways))
        assert longest <= workflow(name).most_visits(settings)


def _longest(node: str, ways: dict[str, set[str]], *, again: int) -> int:
    """Nodes on the longest way from here to the end."""
    found = 0
    for target in ways.get(node, set()) - {"__end__"}:
        back = node == "grade_answer" and target == "answer"
        if back and not again:
            continue
        found = max(found, 1 + _longest(target, ways, again=again - back))
    return found


def test_nodes_that_plan_search_and_write_do_not_see_the_choices() -> None:
    """langgraph hands a node the keys that it names: what is not there cannot leak."""
    graph = research.build(with_flags(OF_RESEARCH, [True] * len(OF_RESEARCH)))
    choices = set(get_type_hints(Choices))
    seeing = {
        node
        for node, spec in graph.nodes.items()
        if choices & set(get_type_hints(spec.input_schema))
    }
    assert seeing == {"screen", "classify", "choose", "finish"}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_node_names_the_slice_that_it_sees(name: str) -> None:
    """Where an annotation cannot be resolved, langgraph hands a node the whole state."""
    graph = workflow(name).build(settings_of(web={"enable_web_search": True}))
    for node, spec in graph.nodes.items():
        assert spec.input_schema is not graph.state_schema, node


@pytest.mark.parametrize("name", WORKFLOWS)
def test_the_diagram_in_the_documentation_is_the_graph(name: str) -> None:
    settings = settings_of(web={"enable_web_search": True})
    drawn = workflow(name).build(settings).compile().get_graph().draw_mermaid(with_styles=False)
    assert f"```mermaid\n{drawn.strip()}\n```" in (DOCS / "workflows.md").read_text("utf-8")


def test_an_unknown_workflow_is_named_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="no workflow 'lineal'") as failure:
        workflow("lineal")
    assert "linear" in (failure.value.hint or "")


def test_every_face_offers_every_workflow() -> None:
    from secondlook.cli import ask
    from secondlook.server import mcp_tools

    assert set(get_args(mcp_tools.WorkflowName)) == set(WORKFLOWS)
    assert all(name in ask._WORKFLOWS for name in WORKFLOWS)
