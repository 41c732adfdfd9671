"""Errors in OpenAI's form: `{"error": {"message", "type", "param", "code"}}`.

Routes raise as everywhere; what the door before them refuses comes as problem details. Both end
here, so that a client of OpenAI's never meets another form below `/v1`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from secondlook.api.openai.forms import ErrorBody, ErrorDetail
from secondlook.api.problems import MEDIA_TYPE, Problem, problem_of
from secondlook.errors import SecondlookError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PREFIX = "/v1"
AT_THE_DOOR = (401, 403, 421)
"""What any request may be answered with before a route sees it."""
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_OF_THE_BODY = frozenset({"content-type", "content-length"})
"""Headers that a rewritten body has of its own."""
_OWN_STATUS = {422: 400}
"""OpenAI knows no 422: what is wrong with a request is a bad request."""


class Refused(Problem):
    """A request that cannot be carried out as it is."""

    def __init__(
        self, detail: str, *, param: str | None = None, code: str = "invalid", status: int = 400
    ) -> None:
        super().__init__(status, code, detail)
        self.param = param


class OpenAIRoute(APIRoute):
    """A route whose errors have OpenAI's form, with the parameter that is wrong."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as error:
                return _response(problem_of(error), param=_parameter(error.errors()))
            except (SecondlookError, HTTPException) as error:
                param = error.param if isinstance(error, Refused) else None
                return _response(problem_of(error), param=param)
            except Exception as error:  # noqa: BLE001  # nobody outside of here knows this form
                return _response(problem_of(error))

        return guarded


class OpenAIErrors:
    """Around the whole server: turns problem details below `/v1` into OpenAI's form."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        ours = scope["type"] == "http" and is_ours(scope["path"])
        await self.app(scope, receive, _Rewriting(scope, receive, send) if ours else send)


class _Rewriting:
    """Passes on what is sent, but for problem details, which are collected and rewritten."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_problem(message):
            self._start = message
        elif self._start is None or message["type"] != "http.response.body":
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._rewritten(self._start)

    async def _rewritten(self, start: Message) -> None:
        headers = Headers(raw=start["headers"])
        told = json.loads(self._body)
        problem = Problem(start["status"], told["code"], told["detail"], hint=told.get("hint"))
        kept = {name: value for name, value in headers.items() if name not in _OF_THE_BODY}
        await _response(problem, headers=kept)(self._scope, self._receive, self._send)


def is_ours(path: str) -> bool:
    return path == PREFIX or path.startswith(f"{PREFIX}/")


def error_body(problem: Problem, param: str | None = None) -> ErrorBody:
    status = problem.status_code
    kind = "server_error" if status >= 500 else _TYPES.get(status, "invalid_request_error")  # noqa: PLR2004
    message = f"{problem.detail} ({problem.hint})" if problem.hint else problem.detail
    return ErrorBody(error=ErrorDetail(message=message, type=kind, param=param, code=problem.code))


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """How an operation says in OpenAPI which errors it may answer with."""
    return {status: {"model": ErrorBody} for status in statuses}


def _response(
    problem: Problem, *, param: str | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    return JSONResponse(
        error_body(problem, param).model_dump(mode="json"),
        status_code=_OWN_STATUS.get(problem.status_code, problem.status_code),
        headers={**(problem.headers or {}), **(headers or {})},
    )


def _is_problem(start: Message) -> bool:
    kind = Headers(raw=start.get("headers", [])).get("content-type", "")
    return kind.partition(";")[0] == MEDIA_TYPE


def _parameter(mistakes: Sequence[Any]) -> str | None:
    """`messages[0].role`, as OpenAI names it; None where the whole body is wrong."""
    named = ""
    for part in mistakes[0]["loc"][1:] if mistakes else ():
        if part == "str" or str(part).startswith("list["):
            break  # from here on pydantic names the forms that it tried
        named += f"[{part}]" if isinstance(part, int) else f".{part}" if named else str(part)
    return named or None
