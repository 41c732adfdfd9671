"""`/api/graphs`: every workflow as nodes and edges, as the server's settings leave it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends, Path
from pydantic import BaseModel, Field

from secondlook.api.problems import Problem, responses
from secondlook.api.settings_shown import WorkflowShown, workflows
from secondlook.api.state import Served, served
from secondlook.graphs.registry import WORKFLOWS

if TYPE_CHECKING:
    from secondlook.settings import Settings

router = APIRouter(prefix="/api/graphs", tags=["workflows"])


class GraphNode(BaseModel):
    id: str = Field(examples=["retrieve"])
    label: str = Field(examples=["retrieve"])


class GraphEdge(BaseModel):
    source: str
    target: str
    conditional: bool = Field(description="Taken only where the run decides so.")


class GraphShown(BaseModel):
    name: str
    about: str
    nodes: list[GraphNode] = Field(description="`__start__` and `__end__` among them.")
    edges: list[GraphEdge]
    mermaid: str


@router.get("", summary="List the workflows")
async def list_graphs() -> list[WorkflowShown]:
    return workflows()


@router.get("/{name}", summary="One workflow as a graph", responses=responses(404))
async def show_graph(
    name: Annotated[str, Path(max_length=100, examples=["linear"])],
    served: Annotated[Served, Depends(served)],
) -> GraphShown:
    if name not in WORKFLOWS:
        raise Problem(
            404,
            "workflow_missing",
            f"there is no workflow {name!r}",
            hint=f"there are {', '.join(WORKFLOWS)}",
        )
    return await asyncio.to_thread(_drawn, name, served.settings)


def _drawn(name: str, settings: Settings) -> GraphShown:
    workflow = WORKFLOWS[name]
    graph = workflow.build(settings).compile().get_graph()
    return GraphShown(
        name=name,
        about=workflow.about,
        nodes=[GraphNode(id=one, label=_label(one)) for one in graph.nodes],
        edges=[
            GraphEdge(source=edge.source, target=edge.target, conditional=edge.conditional)
            for edge in graph.edges
        ],
        mermaid=graph.draw_mermaid(with_styles=False).strip(),
    )


def _label(node: str) -> str:
    return node.strip("_").replace("_", " ")
