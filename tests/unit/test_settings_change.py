"""Settings and keys that a person sets by a command: nothing else is lost, and no key is shown."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

from secondlook.cli import models as models_command
from secondlook.errors import SettingsError
from secondlook.models.langchain import translated
from secondlook.models.specs import parse_spec
from secondlook.settings import change, load, user_file
from secondlook.settings.keys import keep_key, kept_keys, keys_file
from tests.support.model_desk import Desk, desk_in

if TYPE_CHECKING:
    from pathlib import Path

KEY = "sk-not-to-be-seen-4711"
WRITTEN = """\
# mine
[models] # who answers
default = "none" # for now

[search]
k = 7   # a few more
"""


@pytest.fixture
def desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Desk:
    made = desk_in(tmp_path, monkeypatch, capsys)
    user_file().parent.mkdir(parents=True)
    user_file().write_text(WRITTEN, "utf-8")
    return made


def test_one_value_changes_and_all_else_stays(desk: Desk) -> None:
    assert desk.run("config", "set", "models.default", "ollama:small").code == 0
    changed = user_file().read_text("utf-8")
    assert changed == WRITTEN.replace('"none"', '"ollama:small"')
    assert desk.run("config", "get", "models.default").out == "ollama:small\n"
    assert desk.run("config", "set", "serve.roots", "/a, /b").code == 0
    assert desk.run("config", "set", "models.servers.judge", "model").code == 0
    loaded = load()
    assert loaded.settings.serve.roots == ("/a", "/b")
    assert loaded.settings.models.servers.judge == "model"
    for key in ("serve.roots", "models.servers.judge"):
        assert desk.run("config", "unset", key).code == 0
    assert tomllib.loads(user_file().read_text("utf-8"))["models"]["default"] == "ollama:small"
    assert load().settings.serve.roots == ()


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("serch.k", "5", "Did you mean 'search.k'"),
        ("search.k", "five", "must be a whole number"),
        ("search.k", "0", "greater than or equal to 1"),
        ("models.default", "opnai:x", "Did you mean 'openai:x'"),
        ("models.default", "openai:x@http://me:secret@127.0.0.1/v1", "SECONDLOOK_MODELS_DEFAULT"),
        ("runs.store", "postgresql://me:secret@host/runs", "SECONDLOOK_RUNS_STORE"),
        ("OPENAI_API_KEY", KEY, "secondlook models key openai"),
        ("chunking.overlap", "190", "at most half"),
        ("library.language", "klingon", "must be a known language"),
    ],
)
def test_what_is_wrong_or_secret_is_refused(desk: Desk, key: str, value: str, said: str) -> None:
    found = desk.run("config", "set", key, value)
    assert found.code == 2
    assert said in found.err
    assert "me:secret" not in found.err
    assert KEY not in found.err
    assert user_file().read_text("utf-8") == WRITTEN


def test_where_another_place_wins_that_is_said(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECONDLOOK_SEARCH_K", "3")
    found = desk.run("config", "set", "search.k", "9", "--json")
    assert found.json["overridden_by"] == "SECONDLOOK_SEARCH_K"
    assert "here SECONDLOOK_SEARCH_K overrides it" in found.err


def test_a_file_that_cannot_be_added_to_stays(desk: Desk) -> None:
    short = 'models.default = "none"\nsearch = {k = 7}\n'
    user_file().write_text(short, "utf-8")
    found = desk.run("config", "set", "models.servers.judge", "model")
    assert (found.code, "by hand" in found.err) == (2, True)
    assert user_file().read_text("utf-8") == short


def test_killed_in_between_the_old_file_is_there(desk: Desk) -> None:
    """At its last step before the file takes the place of the old one."""
    script = (
        "import os, pathlib\n"
        "from secondlook.settings import change\n"
        "pathlib.Path.replace = lambda *_: os._exit(9)\n"
        "change({'search.k': 9}, check=bool)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=False, env=os.environ)
    assert done.returncode == 9
    assert user_file().read_text("utf-8") == WRITTEN
    change({"search.k": 9}, check=bool)  # and the lock is free
    assert load().settings.search.k == 9


def test_what_the_caller_refuses_is_not_written(desk: Desk) -> None:
    def refuse(_: object) -> None:
        raise SettingsError("no")

    with pytest.raises(SettingsError):
        change({"search.k": 9}, check=refuse)
    assert user_file().read_text("utf-8") == WRITTEN


# Keys


def test_a_key_is_kept_for_its_owner_and_shown_to_nobody(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{KEY}\n"))
    told = [desk.run("models", "key", "openai")]
    assert told[0].code == 0
    assert stat.S_IMODE(keys_file().stat().st_mode) == 0o600
    keys_file().chmod(0o644)
    spec = parse_spec("openai:gpt-4o")
    assert spec.key == KEY
    assert stat.S_IMODE(keys_file().stat().st_mode) == 0o600
    told += [desk.run(*one) for one in (("models", "key"), ("config",), ("doctor",), ("models",))]
    assert all(KEY not in one.out + one.err for one in told)
    assert "openai" in told[1].err
    assert parse_spec("openai:small@http://127.0.0.1:9/v1").key is None  # it is not theirs
    monkeypatch.setenv("OPENAI_API_KEY", "from the environment")
    assert spec.key == "from the environment"
    monkeypatch.delenv("OPENAI_API_KEY")
    error = translated(RuntimeError(f"wrong key {KEY}"), spec, "text")
    assert KEY not in str(error)
    assert desk.run("models", "key", "openai", "--forget").code == 0
    assert kept_keys() == {}
    assert desk.run("models", "key", "opnai").code == 2


def test_at_a_terminal_a_key_is_typed_without_echo(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models_command, "is_terminal", lambda _: True)
    monkeypatch.setattr(models_command, "getpass", lambda _: KEY)
    assert desk.run("models", "key", "groq").code == 0
    assert kept_keys() == {"groq": KEY}
    monkeypatch.setattr(models_command, "getpass", lambda _: "")
    assert desk.run("models", "key", "groq").code == 2
    keep_key("groq", None)
