"""What a client is told when something goes wrong: problem details (RFC 9457), with what to do."""

from __future__ import annotations

import http
import json
import logging
import re
from typing import TYPE_CHECKING, Any, Final

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, BeforeValidator, Field
from starlette.exceptions import HTTPException

from secondlook import errors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fastapi import FastAPI, Request

log = logging.getLogger(__name__)
MEDIA_TYPE: Final = "application/problem+json"
SCHEMA: Final = "#/components/schemas/ProblemDetails"
UNEXPECTED: Final = "unexpected"
_RETRY_SECONDS = "2"
_MOST_MISTAKES = 5
_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")
_STATUS: tuple[tuple[type[errors.SecondlookError], int], ...] = (
    (errors.UsageError, 422),
    (errors.SettingsError, 422),
    (errors.RunMissing, 404),
    (errors.RunTaken, 409),
    (errors.RunStoreAway, 503),
    (errors.LibraryMissing, 404),
    (errors.LibraryBusy, 503),
    (errors.LibraryUnreachable, 503),
    (errors.LibraryReadOnly, 409),
    (errors.LibraryError, 500),
    (errors.LimitExceeded, 413),
    (errors.Unsupported, 415),
    (errors.ExtractionError, 422),
    (errors.ModelUnavailable, 503),
    (errors.BudgetExceeded, 429),
    (errors.SandboxError, 503),
    (errors.TableError, 422),
    (errors.WebSearchError, 502),
)
"""The first that fits; any other is a failure of the server (500)."""


class ProblemDetails(BaseModel):
    """What went wrong, and what to do about it (RFC 9457)."""

    type: str = Field(examples=["urn:secondlook:problem:run_missing"])
    title: str = Field(examples=["Not Found"])
    status: int = Field(examples=[404])
    code: str = Field(description="What a program can tell it by.", examples=["run_missing"])
    detail: str = Field(examples=["there is no run '20260102-abc'"])
    hint: str | None = Field(
        default=None, description="What to do.", examples=["GET /api/runs lists them"]
    )
    instance: str | None = Field(default=None, description="The path that was asked for.")


class Problem(HTTPException):
    """Raised anywhere in a request; becomes problem details."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        hint: str | None = None,
        title: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, detail, dict(headers) if headers else None)
        self.code = code
        self.hint = hint
        self.title = title or http.HTTPStatus(status).phrase

    def details(self, instance: str | None = None) -> ProblemDetails:
        return ProblemDetails(
            type=f"urn:secondlook:problem:{self.code}",
            title=self.title,
            status=self.status_code,
            code=self.code,
            detail=self.detail,
            hint=self.hint,
            instance=instance,
        )


def problem_of(error: Exception) -> Problem:
    """Any error as a problem. One that nobody foresaw is logged, and its words stay here."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, errors.SecondlookError):
        return _of_ours(error)
    if isinstance(error, RequestValidationError):
        return _of_validation(error)
    if isinstance(error, HTTPException):
        return _of_http(error)
    log.error("a request failed", exc_info=error)
    return Problem(
        500,
        UNEXPECTED,
        "something went wrong that nobody foresaw",
        hint="the server's log has the details; secondlook doctor checks the installation",
    )


def problem_response(problem: Problem, instance: str | None = None) -> JSONResponse:
    return JSONResponse(
        problem.details(instance).model_dump(mode="json"),
        status_code=problem.status_code,
        headers=dict(problem.headers or {}),
        media_type=MEDIA_TYPE,
    )


def install(app: FastAPI) -> None:
    async def answer(request: Request, error: Exception) -> JSONResponse:
        return problem_response(problem_of(error), request.url.path)

    for kind in (errors.SecondlookError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, answer)


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """How an operation says in OpenAPI which problems it may answer with."""
    return {status: described(status) for status in statuses}


def described(status: int) -> dict[str, Any]:
    return {
        "description": http.HTTPStatus(status).phrase,
        "content": {MEDIA_TYPE: {"schema": {"$ref": SCHEMA}}},
    }


def _of_ours(error: errors.SecondlookError) -> Problem:
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    headers = {"Retry-After": _RETRY_SECONDS} if error.retryable else None
    code = _CAPITAL.sub("_", type(error).__name__).lower()
    return Problem(status, code, error.message, hint=error.hint, headers=headers)


def _of_validation(error: RequestValidationError) -> Problem:
    mistakes = error.errors()
    if any(one["type"] == "json_invalid" for one in mistakes):
        return Problem(
            400,
            "malformed_json",
            f"the body is not valid JSON: {mistakes[0]['ctx']['error']}",
            hint="send one JSON object in UTF-8",
        )
    return Problem(422, "invalid_request", _mistakes(mistakes), hint="/docs shows what is taken")


def _mistakes(mistakes: Sequence[Any]) -> str:
    """In words; what was sent is not repeated, as it may be long or private."""
    shown = [f"{_place(one['loc'])}: {one['msg']}" for one in mistakes[:_MOST_MISTAKES]]
    more = len(mistakes) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more > 0 else "")


def _place(loc: Sequence[object]) -> str:
    """`body.documents.0`; a name that a client made up is cut short."""
    return ".".join(str(part)[:40] for part in loc)


def _of_http(error: HTTPException) -> Problem:
    phrase = http.HTTPStatus(error.status_code).phrase
    code = phrase.lower().replace(" ", "_").replace("-", "_")
    hint = "/docs shows what there is" if error.status_code in {404, 405} else None
    detail = (
        error.detail
        if error.detail and error.detail != phrase
        else _PLAIN.get(error.status_code, phrase.lower())
    )
    return Problem(error.status_code, code, detail, hint=hint, headers=error.headers)


_PLAIN = {
    404: "there is nothing at this address",
    405: "this address does not take such a request",
    400: "the request cannot be read",
}


# Data as it goes over the wire: JSON that every parser takes.


def wire(model: BaseModel) -> str:
    """A number that is none (NaN) is kept by our own files, and is no JSON: it goes as null."""
    text = model.model_dump_json()
    if "NaN" not in text and "Infinity" not in text:
        return text
    return json.dumps(json.loads(text, parse_constant=lambda _: None), ensure_ascii=False)


def json_response(model: BaseModel, status: int = 200) -> Response:
    return Response(wire(model), status_code=status, media_type="application/json")


# A whole number in a body of JSON: `5` and `5.0` are one, `"5"` and `true` are none.


def _without_fraction(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


OrWithPoint = BeforeValidator(_without_fraction)
"""For an `int` of a strict model; behind its bounds, so that OpenAPI tells them."""
