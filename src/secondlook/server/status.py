"""What the server can do, whether it lives, its workflows as graphs, metrics, and its libraries."""

import asyncio
from functools import cache
from importlib.util import find_spec
from pathlib import PurePath
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, Field

from secondlook import __version__
from secondlook.errors import SecondlookError
from secondlook.graphs.registry import WORKFLOWS
from secondlook.library.about import entitle
from secondlook.models.specs import parse_spec
from secondlook.retrieval.terms import language_name
from secondlook.server.asking import run_rows
from secondlook.server.problems import Problem
from secondlook.server.runs import QUESTION_CHARACTERS
from secondlook.server.security import MEGABYTE
from secondlook.server.state import FromServer, Served
from secondlook.server.uploads import FILES_PER_UPLOAD
from secondlook.settings.sections import LANGUAGES
from secondlook.store.database import ALL
from secondlook.telemetry import scraped

router = APIRouter()
INSTALL_ANALYST: Final = "pip install plotly pandas"


class WorkflowShown(BaseModel):
    name: str = Field(examples=["linear"])
    about: str


class SettingsShown(BaseModel):
    version: str
    workflows: list[WorkflowShown]
    workflow: str = Field(description="The usual one.")
    model: str = Field(description="`none` = answers come from the passages alone.")
    web_search: bool
    max_risk: float | None = Field(description="Share of answers that may be wrong.")
    language: str = Field(description="Of libraries that are made or rebuilt.")
    languages: list[str]
    analyst_extra: bool = Field(description="Whether charts can be drawn.")
    install_analyst: str
    limits: dict[str, int]
    token_required: bool
    libraries: list[str]
    titles: dict[str, str] = Field(description="What each library is called, by its name.")
    own: list[str] = Field(description="Libraries that were made here, and can be deleted.")
    sandbox: str | None = Field(description="What confines generated code; None = it is not run.")


def workflows() -> list[WorkflowShown]:
    return [WorkflowShown(name=item.name, about=item.about) for item in WORKFLOWS.values()]


@router.get("/api/settings", tags=["server"])
async def show_settings(served: FromServer) -> SettingsShown:
    """What a page needs to know of the server. No secret and no path."""
    settings = served.settings
    titles = await asyncio.to_thread(served.libraries.titles)
    return SettingsShown(
        version=__version__,
        workflows=workflows(),
        workflow=settings.answer.workflow,
        model=parse_spec(settings.models.default).name,
        web_search=settings.web.enable_web_search,
        max_risk=settings.answer.max_risk,
        language=language_name(settings.library.language),
        languages=sorted({language_name(one) for one in LANGUAGES}),
        analyst_extra=all(find_spec(name) is not None for name in ("pandas", "plotly")),
        install_analyst=INSTALL_ANALYST,
        limits={
            "question_characters": QUESTION_CHARACTERS,
            "upload_bytes": settings.serve.max_upload_mb * MEGABYTE,
            "files_per_upload": FILES_PER_UPLOAD,
        },
        token_required=served.guard.token.value is not None,
        libraries=list(titles),
        titles=titles,
        own=[name for name in titles if served.libraries.may_delete(name)],
        sandbox=await asyncio.to_thread(_sandbox, settings.sandbox.backend),
    )


@cache
def _sandbox(chosen: str) -> str | None:
    """Looked up once: it starts processes."""
    from secondlook.sandbox import available

    usable = (one.name for one in available() if one.usable and chosen in ("auto", one.name))
    return next(usable, None)


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


@router.get("/api/graphs", tags=["workflows"])
async def list_graphs() -> list[WorkflowShown]:
    return workflows()


@router.get("/api/graphs/{name}", tags=["workflows"])
async def show_graph(
    name: Annotated[str, Path(max_length=100, examples=["linear"])], served: FromServer
) -> GraphShown:
    """As the server's settings make it."""
    workflow = WORKFLOWS.get(name)
    if workflow is None:
        hint = f"there are {', '.join(WORKFLOWS)}"
        raise Problem(404, "workflow_missing", f"there is no workflow {name!r}", hint=hint)

    def drawn() -> GraphShown:
        graph = workflow.build(served.settings).compile().get_graph()
        edges = [
            GraphEdge(**{name: getattr(edge, name) for name in ("source", "target", "conditional")})
            for edge in graph.edges
        ]
        labels = {one: one.strip("_").replace("_", " ") for one in graph.nodes}
        nodes = [GraphNode(id=one, label=label) for one, label in labels.items()]
        drawn = graph.draw_mermaid(with_styles=False).strip()
        about = workflow.about
        return GraphShown(name=name, about=about, nodes=nodes, edges=edges, mermaid=drawn)

    return await asyncio.to_thread(drawn)


class Health(BaseModel):
    status: Literal["ok"] = "ok"
    version: str = __version__


class Ready(BaseModel):
    ready: Literal[True] = True
    libraries: list[str]


@router.get("/api/health", tags=["server"])
async def health() -> Health:
    """Needs no token, and touches nothing."""
    return Health()


@router.get("/api/ready", tags=["server"])
async def ready(served: FromServer) -> Ready:
    """Opens every library that is served, once."""
    names = served.libraries.names()
    for name in names:
        try:
            await asyncio.shield(served.libraries.aengine(name))
        except SecondlookError as error:
            said = f"the library {name!r} cannot be opened: {error.message}"
            later = {"Retry-After": "5"}
            raise Problem(503, "not_ready", said, hint=error.hint, headers=later) from error
    return Ready(libraries=list(names))


@router.get(
    "/metrics",
    tags=["server"],
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(served: FromServer) -> Response:
    """Where `serve.metrics` is set. Names and numbers alone: nothing that anybody asked."""
    if not served.settings.serve.metrics:
        raise Problem(404, "metrics_off", "this server keeps no metrics: set serve.metrics")
    text = await asyncio.to_thread(scraped, served.settings)
    return Response(text, media_type="text/plain; version=0.0.4")


class LibraryForm(BaseModel):
    name: str = Field(examples=["default"])
    path: str | None = Field(description="The last part of its path.", examples=["library"])
    documents: int
    tables: int
    passages: int
    language: str
    failed: int = Field(description="Files that could not be read.")
    bytes: int
    writing: bool = Field(description="Whether something is being added right now.")


@router.get("/api/libraries", tags=["library"])
async def list_libraries(served: FromServer) -> list[LibraryForm]:
    """How many documents, tables and passages each of them holds."""
    names, found = ("documents", "tables", "passages", "bytes"), []
    for name in served.libraries.names():
        engine = await served.libraries.aengine(name)
        status = await asyncio.to_thread(engine.library.status)
        form = LibraryForm(
            **{one: getattr(status, one) for one in names},
            name=name,
            path=PurePath(status.path).name or None,
            language=language_name(status.language),
            failed=len(status.failed),
            writing=bool(served.jobs.active(name)) or status.writer is not None,
        )
        found.append(form)
    return found


# Libraries: made, named, deleted


class LibraryTitle(BaseModel, extra="forbid", strict=True):
    title: str = Field(min_length=1, max_length=200, examples=["Tax papers 2024"])


class NamedLibrary(BaseModel):
    name: str = Field(description="Its name in addresses, for good.", examples=["tax-papers-2024"])
    title: str = Field(examples=["Tax papers 2024"])
    can_delete: bool = Field(description="False for those that the server was started with.")


LibraryName = Annotated[str, Path(max_length=64)]


def _named(served: Served, name: str) -> NamedLibrary:
    title, can_delete = served.libraries.titles()[name], served.libraries.may_delete(name)
    return NamedLibrary(name=name, title=title, can_delete=can_delete)


@router.post("/api/libraries", status_code=201, tags=["library"])
async def make_library(asked: LibraryTitle, served: FromServer) -> NamedLibrary:
    """An empty one, beside the library that the server was started with."""
    name = await asyncio.to_thread(served.libraries.make, asked.title)
    return await asyncio.to_thread(_named, served, name)


@router.put("/api/libraries/{library}", tags=["library"])
async def name_library(
    library: LibraryName, asked: LibraryTitle, served: FromServer
) -> NamedLibrary:
    """Changes its title alone; addresses go on with its name."""

    await served.libraries.aengine(library)  # the usual one is made by the first who needs it

    def named() -> NamedLibrary:
        entitle(served.libraries.path(library), asked.title)
        return _named(served, library)

    return await asyncio.to_thread(named)


@router.delete("/api/libraries/{library}", status_code=204, tags=["library"])
async def delete_library(library: LibraryName, served: FromServer) -> Response:
    """With its documents, uploaded files and what was asked of it. Files elsewhere stay."""

    def delete() -> None:
        served.libraries.path(library)  # there is one
        if not served.libraries.may_delete(library):
            said = f"the library {library!r} was not made on this page"
            raise Problem(409, "library_kept", said, hint="remove its documents instead")
        runs = [run for run in served.runs.in_memory() if run.ask.library == library]
        if served.jobs.active(library) or not all(run.ended for run in runs):
            said = "something is being added to this library, or a question is being answered"
            raise Problem(409, "library_busy", said, hint="wait until it is done, or stop it")
        for row in run_rows(served.runs, ALL, short=False):
            if row.library == library:
                served.runs.forget(row.id)
        served.runs.work.submit(served.libraries.delete(library)).result(60)

    await asyncio.to_thread(delete)
    return Response(status_code=204)
