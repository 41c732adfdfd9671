"""`/api/models` and the settings that the page may change: they count for the next question."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import BaseModel, Field

from secondlook.engine.cast import cast_rows
from secondlook.engine.request import check_risk
from secondlook.errors import UsageError
from secondlook.models import hub
from secondlook.models.calls import open_models
from secondlook.models.discovery import reachable, served_at
from secondlook.models.specs import NONE, Cast, ModelSpec, is_loopback, parse_spec
from secondlook.retrieval.web.service import open_web
from secondlook.server.asking import Strict
from secondlook.server.fetches import Fetch  # noqa: TC001
from secondlook.server.state import FromServer, Served  # noqa: TC001
from secondlook.server.status import SettingsShown, show_settings
from secondlook.settings import change
from secondlook.settings.sections import LANGUAGES, Language, Settings

if TYPE_CHECKING:
    from secondlook.models.discovery import Reachable


def owner(request: Request, served: FromServer) -> None:
    """Without a token only who sits at this machine: a proxy may let anybody through."""
    served.guard.check_owner(request.headers)


router = APIRouter(prefix="/api", tags=["server"])
Address = Annotated[str, Field(max_length=300)]
KnownLanguage = Annotated[Language, Field(json_schema_extra={"enum": sorted(LANGUAGES)})]
OWNER = [Depends(owner)]


class UsableModel(BaseModel):
    name: str = Field(examples=["ollama:qwen2.5"])
    address: str | None = Field(description="On this machine, where it is not the usual one.")
    about: str = Field(description="Where it runs.", examples=["A file on this machine"])
    local: bool
    size: int | None = Field(description="Bytes of its file.")
    fix: str | None = Field(description="What to do before it can be used.")
    chosen: bool


class KnownModel(BaseModel):
    name: str
    licence: str
    gigabytes: float
    memory: float = Field(description="Gigabytes that it takes.")
    about: str
    fetch: Fetch | None


class RoleServed(BaseModel):
    role: str
    workflow: str | None
    model: str
    local: bool | None
    mode: str | None


class ModelsShown(BaseModel):
    roles: list[RoleServed]
    usable: list[UsableModel]
    known: list[KnownModel] = Field(description="That can be fetched.")


class SettingsChange(Strict):
    """What is left out stays."""

    model: str | None = Field(default=None, max_length=500, description="A name that is listed.")
    address: Address | None = Field(default=None, description="Of the model, on this machine.")
    web_search: bool | None = None
    max_risk: float | None = Field(default=None, gt=0, lt=1, description="null = no limit.")
    language: KnownLanguage | None = None


class SettingsChanged(SettingsShown):
    overridden: dict[str, str] = Field(description="What will count instead at the next start.")


@router.get("/models")
async def show_models(
    request: Request,
    served: FromServer,
    address: Annotated[Address | None, Query(description="Of a server to look at.")] = None,
) -> ModelsShown:
    """Who serves which role, and what could. Takes a few seconds."""
    if address is not None:
        owner(request, served)
    address = _checked_address(address)
    return await asyncio.to_thread(_listed, served, address)


def _listed(served: Served, address: str | None) -> ModelsShown:
    settings, fetches = served.settings, served.fetches.all()
    chosen = parse_spec(settings.models.default)
    if address and not served_at(address):
        hint = "start the server; OpenAI-compatible addresses mostly end in /v1"
        raise UsageError(f"no models are offered at {address}", hint=hint)
    roles = [
        RoleServed(**row | {"model": parse_spec(row["model"]).name}) for row in cast_rows(settings)
    ]
    usable = [_usable(one, chosen) for one in reachable(settings.models, address)]
    known = [
        KnownModel(
            **{name: getattr(one, name) for name in KnownModel.model_fields if name != "fetch"},
            fetch=fetches.get(one.name),
        )
        for one in hub.known_models().values()
    ]
    return ModelsShown(roles=roles, usable=usable, known=known)


def _usable(one: Reachable, chosen: ModelSpec) -> UsableModel:
    spec = one.spec
    return UsableModel(
        name=spec.name,
        address=spec.address if spec.local else None,
        about=_where(spec),
        local=spec.local,
        size=one.size,
        fix=one.fix,
        chosen=spec == chosen,
    )


def _where(spec: ModelSpec) -> str:
    if spec.provider == "gguf":
        return "A file on this machine"
    if spec.provider == "ollama":
        return f"Ollama, on {'this' if spec.local else 'another'} machine"
    if spec.local:
        return "A server on this machine"
    return f"Hosted ({spec.provider}): questions and passages are sent there"


def _checked_address(address: str | None) -> str | None:
    """A client may send the server to this machine alone: elsewhere it would carry keys along."""
    if address is None:
        return None
    address = address.strip().rstrip("/")
    spec = parse_spec(f"openai:any@{address}")
    if spec.address is None or not is_loopback(spec.address):
        hint = "secondlook config set models.default openai:MODEL@ADDRESS, where the server runs"
        raise UsageError("only addresses on this machine are looked at", hint=hint)
    return spec.address


@router.put("/settings", dependencies=OWNER)
async def change_settings(body: SettingsChange, served: FromServer) -> SettingsChanged:
    """For the questions asked from now on; those that run keep theirs."""
    overridden = await asyncio.to_thread(_changed, served, body)
    await asyncio.wrap_future(served.runs.work.submit(served.runs.let_go()))
    shown = await show_settings(served)
    return SettingsChanged(**shown.model_dump(), overridden=overridden)


def _changed(served: Served, body: SettingsChange) -> dict[str, str]:
    given = body.model_fields_set
    values: dict[str, Any] = {}
    with served.changing:
        settings = served.settings
        if body.model is not None:
            values["models.default"] = _chosen(body.model, body.address, settings).text
        if body.web_search is not None:
            values["web.enable_web_search"] = body.web_search
        if body.language is not None:
            values["library.language"] = body.language
        if "max_risk" in given:
            values["answer.max_risk"] = body.max_risk
        for key, value in values.items():
            section, _, name = key.partition(".")
            made = type(getattr(settings, section)).model_validate(
                getattr(settings, section).model_dump() | {name: value}
            )
            settings = settings.model_copy(update={section: made})
        if settings.web.enable_web_search:
            open_web(settings.web)
        open_models(settings)  # one that cannot be used is told now, not to the next who asks
        if body.max_risk is not None:
            check_risk(served.libraries.engine().library, body.max_risk)
        keeps = bool(served.keeps and values)
        overridden = change(values, check=lambda file: Cast(file.models)) if keeps else {}
        served.libraries.change(settings)
    return overridden


def _chosen(name: str, address: str | None, settings: Settings) -> ModelSpec:
    """Only what is listed: no other file is opened for a client, and no other address asked."""
    if name == NONE:
        return parse_spec(NONE)
    if address is not None:
        address = _checked_address(address)
        return parse_spec(f"{name}@{address}", place="model")
    for one in reachable(settings.models):
        if name in {one.spec.name, one.spec.text}:
            return one.spec
    raise UsageError(f"there is no model {name[:100]!r} here", hint="GET /api/models lists them")


# Fetching a model of the short list

ModelName = Annotated[str, Path(max_length=100)]


class FetchAsked(Strict):
    name: str = Field(max_length=100)


@router.post("/models/fetches", status_code=202, dependencies=OWNER)
async def fetch_model(body: FetchAsked, served: FromServer) -> Fetch:
    """One that was stopped goes on where it was."""
    return served.fetches.start(body.name)


@router.get("/models/fetches/{name}")
async def show_fetch(name: ModelName, served: FromServer) -> Fetch:
    return served.fetches.get(name)


@router.delete("/models/fetches/{name}", dependencies=OWNER)
async def stop_fetch(name: ModelName, served: FromServer) -> Fetch:
    """What came is kept. It ends a moment later."""
    return served.fetches.stop(name)
