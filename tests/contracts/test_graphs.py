"""What holds for every workflow in the registry, under every combination of its flags."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import pytest

from secondlook.errors import UsageError
from secondlook.graphs.registry import WORKFLOWS, workflow
from tests.support.engine import settings_of

if TYPE_CHECKING:
    from secondlook.settings.sections import Settings

FLAGS = (
    ("adaptive", "enable_adaptive_retrieval"),
    ("web", "enable_web_search"),
    ("answer", "enable_sentence_check"),
    ("answer", "enable_abstention"),
    ("answer", "enable_answer_grading"),
)
DOCS = Path(__file__).parents[2] / "docs"


def combinations() -> list[Settings]:
    found = []
    for values in itertools.product([False, True], repeat=len(FLAGS)):
        sections: dict[str, dict[str, Any]] = {}
        for (section, flag), value in zip(FLAGS, values, strict=True):
            sections.setdefault(section, {})[flag] = value
        found.append(settings_of(**sections))
    return found


@pytest.mark.parametrize("name", WORKFLOWS)
def test_channels_are_the_declared_keys(name: str) -> None:
    """A mistyped key would silently become a channel of its own."""
    for settings in combinations():
        graph = workflow(name).build(settings)
        declared = set(get_type_hints(graph.state_schema))
        assert set(graph.channels) == declared


@pytest.mark.parametrize("name", WORKFLOWS)
def test_every_node_is_reachable_and_reaches_the_end(name: str) -> None:
    for settings in combinations():
        drawn = workflow(name).build(settings).compile().get_graph()
        forward: dict[str, set[str]] = {}
        backward: dict[str, set[str]] = {}
        for edge in drawn.edges:
            forward.setdefault(edge.source, set()).add(edge.target)
            backward.setdefault(edge.target, set()).add(edge.source)
        assert _reached("__start__", forward) == set(drawn.nodes)
        assert _reached("__end__", backward) == set(drawn.nodes)


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


def _reached(start: str, ways: dict[str, set[str]]) -> set[str]:
    seen, todo = {start}, [start]
    while todo:
        for node in ways.get(todo.pop(), set()) - seen:
            seen.add(node)
            todo.append(node)
    return seen
