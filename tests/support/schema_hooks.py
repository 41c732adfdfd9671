"""What Schemathesis is told about this server: which things are there, and which refusals are
right. It loads this in its own process."""

import json
import os
from typing import Any

import schemathesis
from schemathesis.openapi.checks import RejectedPositiveData, UseAfterFree

THINGS = "SCHEMA_TEST_THINGS"
"""Environment variable: names of path parameters and one value each, as JSON."""
_MAKES_NO_SENSE = {
    "usage_error",  # such as a document that the library does not hold
    "conversation_missing",  # a run to go on from that is not there
    "file_gone",  # a document whose file was deleted
    "original_gone",  # the same, asked for as it was added
    "no_such_place",  # characters beyond the end of a text
    "no_figure",  # an answer without a chart
    "malformed_upload",  # a part without a file name, as generated forms may have
    "no_files",
    "unsupported_value",  # of OpenAI's API, such as a tool to be called
    "no_question",  # messages without one of the user at their end
}
"""What no schema can say: only the library knows whether a request that has the right form can be
carried out. A refusal of the form itself (`invalid_request`) is never right for valid data."""


@schemathesis.hook
def before_load_schema(_context: Any, raw_schema: dict[str, Any]) -> None:
    things = json.loads(os.environ[THINGS])
    for path in raw_schema["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", []):
                if parameter["in"] == "path" and parameter["name"] in things:
                    parameter["example"] = things[parameter["name"]]


@schemathesis.hook
def filter_failure(_context: Any, failure: Any, case: Any, response: Any) -> bool:
    """Whether it counts. A job that is stopped stays to be looked at, and a whole number must be
    written as one: 2.0, which is an integer to JSON Schema, is refused."""
    if isinstance(failure, UseAfterFree):
        return "/jobs/" not in case.operation.path
    if not isinstance(failure, RejectedPositiveData):
        return True
    return _code(response) not in _MAKES_NO_SENSE and "a valid integer" not in response.text


def _code(response: Any) -> str | None:
    told = response.json()
    code = told.get("error", told).get("code")
    return None if code is None else str(code)


@schemathesis.check
def status_is_listed(_context: Any, response: Any, case: Any) -> None:
    """`default` stands for what nobody foresaw; what an operation does answer with is named."""
    listed = set(case.operation.definition.raw["responses"]) - {"default"}
    asked_as_told = case.method.upper() == case.operation.method.upper()
    if asked_as_told and str(response.status_code) not in listed:
        raise AssertionError(f"{response.status_code} is not listed: {response.text[:300]}")
