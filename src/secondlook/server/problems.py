"""Errors on the wire: problem details (RFC 9457) with what to do, and OpenAI's form below `/v1`."""

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
from starlette.routing import Match

from secondlook import errors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fastapi import FastAPI, Request

log = logging.getLogger(__name__)

MEDIA_TYPE: Final = "application/problem+json"
_RETRY_SECONDS = "2"
_MOST_MISTAKES = 5
_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")
_STATUS: dict[int, tuple[type[errors.SecondlookError], ...]] = {
    404: (errors.RunMissing, errors.LibraryMissing),
    409: (errors.RunTaken, errors.LibraryReadOnly),
    413: (errors.LimitExceeded,),
    415: (errors.Unsupported,),
    422: (errors.UsageError, errors.SettingsError, errors.ExtractionError, errors.TableError),
    429: (errors.BudgetExceeded,),
    502: (errors.WebSearchError,),
    503: (
        *(errors.RunStoreAway, errors.LibraryBusy, errors.LibraryUnreachable),
        *(errors.ModelUnavailable, errors.SandboxError),
    ),
}
"""The first that fits; any other is a failure of the server (500)."""


class ProblemDetails(BaseModel):
    """What went wrong, and what to do about it (RFC 9457)."""

    type: str = Field(examples=["urn:secondlook:problem:run_missing"])
    title: str = Field(examples=["Not Found"])
    status: int = Field(examples=[404])
    code: str = Field(description="For programs.", examples=["run_missing"])
    detail: str = Field(examples=["there is no run '20260102-abc'"])
    hint: str | None = Field(default=None, examples=["GET /api/runs lists them"])
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
        headers: Mapping[str, str] | None = None,
        param: str | None = None,
    ) -> None:
        super().__init__(status, detail, dict(headers) if headers else None)
        self.code = code
        self.hint = hint
        self.param = param  # the parameter that is wrong, as OpenAI's form names it

    def details(self, instance: str | None = None) -> ProblemDetails:
        return ProblemDetails(
            type=f"urn:secondlook:problem:{self.code}",
            title=http.HTTPStatus(self.status_code).phrase,
            status=self.status_code,
            instance=instance,
            **{name: getattr(self, name) for name in ("code", "detail", "hint")},
        )


def problem_of(error: Exception) -> Problem:
    """Any error as a problem. An unexpected one is logged, and its words stay in the log."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, errors.SecondlookError):
        status = next(
            (status for status, kinds in _STATUS.items() if isinstance(error, kinds)), 500
        )
        headers = {"Retry-After": _RETRY_SECONDS} if error.retryable else None
        code = _CAPITAL.sub("_", type(error).__name__).lower()
        return Problem(status, code, error.message, hint=error.hint, headers=headers)
    if isinstance(error, RequestValidationError):
        return _of_validation(error.errors())
    if isinstance(error, HTTPException):
        phrase = http.HTTPStatus(error.status_code).phrase
        code = phrase.lower().replace(" ", "_").replace("-", "_")
        hint = "/docs shows what there is" if error.status_code in {404, 405} else None
        return Problem(error.status_code, code, error.detail, hint=hint, headers=error.headers)
    log.error("a request failed", exc_info=error)
    said, hint = "an unexpected error happened", "the server's log has the details"
    return Problem(500, "unexpected", said, hint=hint)


def _of_validation(mistakes: Sequence[Any]) -> Problem:
    """What was sent is not repeated, as it may be long or private."""
    if any(one["type"] == "json_invalid" for one in mistakes):
        detail = f"the body is not valid JSON: {mistakes[0]['ctx']['error']}"
        return Problem(400, "malformed_json", detail, hint="send one JSON object in UTF-8")
    shown = [
        f"{'.'.join(str(part)[:40] for part in one['loc'])}: {one['msg']}"
        for one in mistakes[:_MOST_MISTAKES]
    ]
    if more := len(mistakes) - len(shown):
        shown.append(f"and {more} more")
    param = ""  # `messages[0].role`
    for part in mistakes[0]["loc"][1:] if mistakes else ():
        if part == "str" or str(part).startswith("list["):
            break  # from here on pydantic names the forms that it tried
        param += f"[{part}]" if isinstance(part, int) else f".{part}" if param else str(part)
    hint = "/docs shows what is taken"
    return Problem(422, "invalid_request", "; ".join(shown), hint=hint, param=param or None)


def problem_response(problem: Problem, path: str | None = None) -> JSONResponse:
    status, headers = problem.status_code, dict(problem.headers or {})
    if path is not None and (path == "/v1" or path.startswith("/v1/")):
        # OpenAI knows no 422: what is wrong with a request is a bad request.
        status = 400 if status == 422 else status  # noqa: PLR2004
        return JSONResponse(openai_error(problem), status_code=status, headers=headers)
    told = problem.details(path).model_dump(mode="json")
    return JSONResponse(told, status_code=status, headers=headers, media_type=MEDIA_TYPE)


def openai_error(problem: Problem) -> dict[str, Any]:
    status = problem.status_code
    known = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
    kind = "server_error" if status >= 500 else known.get(status, "invalid_request_error")  # noqa: PLR2004
    message = f"{problem.detail} ({problem.hint})" if problem.hint else problem.detail
    told = {"message": message, "type": kind, "param": problem.param, "code": problem.code}
    return {"error": told}


def install(app: FastAPI) -> None:
    async def answer(request: Request, error: Exception) -> JSONResponse:
        problem = problem_of(error)
        if problem.status_code == http.HTTPStatus.METHOD_NOT_ALLOWED:
            problem.headers = {"Allow": _allowed(request)}
        return problem_response(problem, request.url.path)

    for kind in (errors.SecondlookError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, answer)


def _allowed(request: Request) -> str:
    """The methods of every route of this path; Starlette names those of the first one alone."""

    def taken(method: str) -> bool:
        scope = {**request.scope, "method": method}
        return any(one.matches(scope)[0] is Match.FULL for one in request.app.routes)

    return ", ".join(filter(taken, ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")))


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: described(http.HTTPStatus(status).phrase) for status in statuses}


def described(phrase: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/ProblemDetails"}
    return {"description": phrase, "content": {MEDIA_TYPE: {"schema": schema}}}


def wire(model: BaseModel) -> str:
    """JSON that every parser takes: NaN, which our own files keep, goes as null."""
    text = model.model_dump_json()
    if "NaN" not in text and "Infinity" not in text:
        return text
    return json.dumps(json.loads(text, parse_constant=lambda _: None), ensure_ascii=False)


def json_response(model: BaseModel, status: int = 200) -> Response:
    return Response(wire(model), status_code=status, media_type="application/json")


OrWithPoint = BeforeValidator(
    lambda value: int(value) if isinstance(value, float) and value.is_integer() else value
)
"""For an `int` of a strict model: JSON's `5.0` is 5."""
