"""Every step that can be switched belongs to a workflow, so that an ablation can try it."""

from __future__ import annotations

from secondlook.graphs.registry import WORKFLOWS
from secondlook.settings.sections import SECTIONS


def switches() -> set[str]:
    return {
        f"{section}.{name}"
        for section, model in SECTIONS.items()
        for name, field in model.model_fields.items()
        if field.annotation is bool and (name.startswith("enable_") or name == "rerank")
    }


def test_every_switch_is_a_flag_of_some_workflow_and_no_other_is() -> None:
    flags = {flag for workflow in WORKFLOWS.values() for flag in workflow.flags}
    assert flags == switches()
    assert "search.rerank" in flags


def test_no_flag_is_named_twice() -> None:
    for workflow in WORKFLOWS.values():
        assert len(set(workflow.flags)) == len(workflow.flags)
