"""`GET /api/settings`: what a page needs to know of the server. No secret and no path."""

from __future__ import annotations

import asyncio
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Final, Literal

from fastapi import APIRouter, Depends, Path, Response
from pydantic import BaseModel, Field

from secondlook import __version__
from secondlook.errors import SecondlookError
from secondlook.graphs.registry import WORKFLOWS
from secondlook.server.problems import Problem, responses
from secondlook.server.runs import QUESTION_CHARACTERS
from secondlook.server.security import MEGABYTE
from secondlook.server.state import Served, served
from secondlook.server.uploads import FILES_PER_UPLOAD
from secondlook.telemetry import scraped

if TYPE_CHECKING:
    from secondlook.settings.sections import Settings

settings_router = APIRouter(prefix="/api", tags=["server"])
INSTALL_ANALYST: Final = "pip install plotly pandas"


class WorkflowShown(BaseModel):
    name: str = Field(examples=["linear"])
    about: str


class LimitsShown(BaseModel):
    question_characters: int
    upload_bytes: int
    files_per_upload: int


class SettingsShown(BaseModel):
    version: str
    workflows: list[WorkflowShown]
    workflow: str = Field(description="The usual one.")
    model: str = Field(description="`none` = answers come from the passages alone.")
    web_search: bool
    analyst_extra: bool = Field(description="Whether charts can be drawn.")
    install_analyst: str
    limits: LimitsShown
    token_required: bool
    libraries: list[str]
    sandbox: str | None = Field(description="What confines generated code; None = it is not run.")


def workflows() -> list[WorkflowShown]:
    return [WorkflowShown(name=item.name, about=item.about) for item in WORKFLOWS.values()]


@settings_router.get("/settings", summary="Settings that are safe to show")
async def show_settings(served: Annotated[Served, Depends(served)]) -> SettingsShown:
    settings = served.settings
    limits = LimitsShown(
        question_characters=QUESTION_CHARACTERS,
        upload_bytes=settings.serve.max_upload_mb * MEGABYTE,
        files_per_upload=FILES_PER_UPLOAD,
    )
    return SettingsShown(
        version=__version__,
        workflows=workflows(),
        workflow=settings.answer.workflow,
        model=model_shown(settings.models.default),
        web_search=settings.web.enable_web_search,
        analyst_extra=has_analyst(),
        install_analyst=INSTALL_ANALYST,
        limits=limits,
        token_required=served.guard.token.value is not None,
        libraries=list(served.libraries.names()),
        sandbox=await asyncio.to_thread(_sandbox, settings.sandbox.backend),
    )


def model_shown(spec: str) -> str:
    """Without the address it is reached at, and of a file its name alone."""
    kind, colon, name = spec.partition("@")[0].partition(":")
    return (
        f"{kind}{colon}{name.replace(chr(92), '/').rpartition('/')[2]}"
        if kind == "gguf"
        else (f"{kind}{colon}{name}")
    )


def has_analyst() -> bool:
    return all(find_spec(name) is not None for name in ("pandas", "plotly"))


@cache
def _sandbox(chosen: str) -> str | None:
    """Looked up once: it starts processes."""
    from secondlook.sandbox import available

    usable = (one.name for one in available() if one.usable and chosen in ("auto", one.name))
    return next(usable, None)


# `/api/graphs`: every workflow as nodes and edges, as the server's settings leave it.

graphs_router = APIRouter(prefix="/api/graphs", tags=["workflows"])


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


@graphs_router.get("", summary="List the workflows")
async def list_graphs() -> list[WorkflowShown]:
    return workflows()


@graphs_router.get("/{name}", summary="One workflow as a graph", responses=responses(404))
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


# Whether the server lives, and whether it can answer.

health_router = APIRouter(prefix="/api", tags=["server"])


class Health(BaseModel):
    status: Literal["ok"] = "ok"
    version: str = __version__


class Ready(BaseModel):
    ready: Literal[True] = True
    libraries: list[str]


@health_router.get("/health", summary="Whether the server lives")
async def health() -> Health:
    """Needs no token, and touches nothing."""
    return Health()


@health_router.get("/ready", summary="Whether it can answer", responses=responses(503))
async def ready(served: Annotated[Served, Depends(served)]) -> Ready:
    """Opens every library that is served, once."""
    names = served.libraries.names()
    for name in names:
        try:
            await asyncio.shield(served.libraries.aengine(name))
        except SecondlookError as error:
            raise Problem(
                503,
                "not_ready",
                f"the library {name!r} cannot be opened: {error.message}",
                hint=error.hint,
                headers={"Retry-After": "5"},
            ) from error
    return Ready(libraries=list(names))


# `GET /metrics`: what this server has done, for Prometheus to fetch.

metrics_router = APIRouter(tags=["server"])


@metrics_router.get(
    "/metrics",
    summary="Counts and times for Prometheus",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
        **responses(404),
    },
)
async def metrics(served: Annotated[Served, Depends(served)]) -> Response:
    """Where `serve.metrics` is set. Names and numbers alone: nothing that anybody asked."""
    if not served.settings.serve.metrics:
        raise Problem(
            404,
            "metrics_off",
            "this server keeps no metrics",
            hint="set serve.metrics where it runs, with the extra `telemetry`",
        )
    text = await asyncio.to_thread(scraped, served.settings)
    return Response(text, media_type="text/plain; version=0.0.4")
