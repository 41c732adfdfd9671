"""Which workflow answers when nobody names one."""

from __future__ import annotations

import pytest

from secondlook.engine.request import usual_workflow
from tests.support.engine import settings_of


@pytest.mark.parametrize(
    ("configured", "web", "meant"),
    [
        ("linear", False, "linear"),
        ("linear", True, "adaptive"),
        ("adaptive", False, "adaptive"),
        ("summary", True, "summary"),
        ("auto", True, "auto"),
    ],
)
def test_who_allows_the_web_means_the_workflow_that_has_it(
    configured: str, web: bool, meant: str
) -> None:
    settings = settings_of(answer={"workflow": configured}, web={"enable_web_search": web})
    assert usual_workflow(settings) == meant
