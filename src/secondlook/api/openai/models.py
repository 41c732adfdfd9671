"""`/v1/models`: every workflow is a model, and `secondlook` is the one that is used by default."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Depends

from secondlook.api.openai.errors import AT_THE_DOOR, OpenAIRoute, Refused, responses
from secondlook.api.openai.forms import MODEL_PREFIX, Model, ModelList
from secondlook.api.state import Served, served
from secondlook.graphs.registry import WORKFLOWS

router = APIRouter(route_class=OpenAIRoute, tags=["openai"])
_STARTED = int(time.time())


@router.get("/v1/models", summary="The workflows, as models", responses=responses(*AT_THE_DOOR))
async def list_models(state: Annotated[Served, Depends(served)]) -> ModelList:
    usual = Model(
        id=MODEL_PREFIX,
        created=_STARTED,
        about=f"the server's usual way: {state.settings.answer.workflow}",
    )
    return ModelList(data=[usual, *(_model(name) for name in WORKFLOWS)])


@router.get("/v1/models/{model}", summary="One of them", responses=responses(*AT_THE_DOOR, 404))
async def get_model(model: str, state: Annotated[Served, Depends(served)]) -> Model:
    workflow_of(model)
    return next(one for one in (await list_models(state)).data if one.id == model)


def _model(name: str) -> Model:
    return Model(id=f"{MODEL_PREFIX}-{name}", created=_STARTED, about=WORKFLOWS[name].about)


def workflow_of(model: str) -> str | None:
    """The workflow that a model stands for; None = the usual one."""
    if model == MODEL_PREFIX:
        return None
    name = model.removeprefix(f"{MODEL_PREFIX}-")
    if name != model and name in WORKFLOWS:
        return name
    raise Refused(
        f"there is no model {model[:80]!r}: GET /v1/models lists them",
        param="model",
        code="model_not_found",
        status=404,
    )
