"""Nothing that arrives with data chooses an address, a key, or code: not a folder's settings file,
a library, a backup, or an answer. Only the person's own settings do."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
import subprocess
import sys
import tarfile
from base64 import b64encode
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, get_args

import pytest
import zstandard

from secondlook.answer import Answer
from secondlook.cli.main import main
from secondlook.errors import LibraryFormat, SecondlookError, SettingsError, UsageError
from secondlook.export.charts import write_table
from secondlook.library import backup
from secondlook.library.library import Library
from secondlook.models.specs import parse_spec
from secondlook.reading import load_embedder
from secondlook.settings import load, trust_record, user_file
from secondlook.settings.addresses import sent_to
from secondlook.settings.sections import FIELDS, ModelSettings, Settings, value_of
from secondlook.settings.trust import ALLOWED
from tests.support.chat_server import ChatServer
from tests.support.unprivileged import SECONDLOOK, environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic.fields import FieldInfo


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home" / name))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


# A folder's settings file.


def _written(key: str, value: object) -> str:
    section, _, name = key.rpartition(".")
    return f"[{section}]\n{name} = {json.dumps(value)}\n"


_OF_A_FORM = {
    "answer.workflow": "linear",
    "ingest.ocr": "off",
    "library.index": "milvus:http://127.0.0.1:9",
    "runs.store": "postgresql://elsewhere.example/runs",
}


def _other(field: FieldInfo, default: object) -> object:
    """A value that the setting may have and does not have by default."""
    choices = [one for one in get_args(field.annotation) if isinstance(one, str)]
    if choices:
        return next(one for one in choices if one != default)
    if isinstance(default, bool):
        return not default
    if isinstance(default, int | float):
        return type(default)(1 if default == 0 else default / 2)
    return ["x"] if isinstance(default, tuple) else "german"


@pytest.mark.parametrize("key", FIELDS)
def test_a_folders_file_sets_what_is_allowed_and_nothing_else(key: str, home: Path) -> None:
    default = value_of(Settings(), key)
    value = _OF_A_FORM.get(key) or _other(FIELDS[key], default)
    (home / "secondlook.toml").write_text(_written(key, value))
    if key in ALLOWED:
        found = load(environ={}).value(key)
        assert found != default
        if isinstance(found, Path):
            assert found.is_relative_to(home)
        return
    with pytest.raises(SettingsError) as refused:
        load(environ={})
    for named in (key, str(home / "secondlook.toml"), "secondlook trust"):
        assert named in f"{refused.value.message} {refused.value.hint}"
    with pytest.raises(SettingsError, match="a file that came with a folder"):
        load(preset="./secondlook.toml", environ={}, cwd=home / "..")


def test_what_is_allowed_is_ranking_language_and_the_way_to_answer() -> None:
    """No address, key, code, model, path of a file that is written, or check."""
    told = {key.partition(".")[0] for key in ALLOWED}
    assert told == {"library", "chunking", "ingest", "search", "adaptive", "answer"}
    checks = {key for key in FIELDS if key.startswith("answer.enable")}
    assert not ALLOWED & (checks | {"answer.trusted", "library.index", "ingest.exclude"})


@pytest.mark.parametrize(
    "path", ["../other", "/etc", "~/library", "s3://bucket/x", "./s3:/b", "out"]
)
def test_a_folders_library_lies_below_it(path: str, home: Path, tmp_path: Path) -> None:
    (home / "out").symlink_to(tmp_path)
    (home / "secondlook.toml").write_text(_written("library.path", path))
    with pytest.raises(SettingsError, match="below that folder"):
        load(environ={})


@pytest.mark.parametrize("place", [user_file, lambda: user_file().parent / "profiles" / "p.toml"])
def test_the_same_file_of_ones_own_is_ones_own_decision(place: Any) -> None:
    place().parent.mkdir(parents=True)
    place().write_text(_written("models.default", "openai:m@https://elsewhere.example/v1"))
    preset = "p" if place().name == "p.toml" else None
    assert "elsewhere" in load(preset=preset, environ={}).settings.models.default


def test_a_file_is_trusted_until_it_changes(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home / "secondlook.toml"
    file.write_text(_written("models.default", "openai:theirs"))
    assert main(["trust", "."]) == 2  # nobody is there to be asked
    assert "models.default = " in capsys.readouterr().err
    assert main(["config"]) == 2
    assert main(["trust", ".", "--yes"]) == 0
    assert main(["config"]) == 0
    if os.name == "posix":
        assert stat.S_IMODE(trust_record().stat().st_mode) == 0o600
    (home / "copy").mkdir()
    (home / "copy" / "secondlook.toml").write_bytes(file.read_bytes())
    with pytest.raises(SettingsError):
        load(cwd=home / "copy", environ={})
    assert load(environ={}).settings.models.default == "openai:theirs"
    file.write_text(_written("models.default", "openai:another"))
    assert main(["config"]) == 2
    assert main(["trust", ".", "--yes"]) == 0
    assert main(["trust", ".", "--undo"]) == 0
    assert main(["config"]) == 2
    monkeypatch.chdir(home / "copy")
    assert main(["trust", str(home), "--json"]) == 2


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("embedding.model", "sentence-transformers:./m"),
        ("reader.model", "sentence-transformers:some/model"),
        ("models.default", "gguf:./m.gguf"),
        ("models.roles", ["answer = huggingface:./m"]),
    ],
)
def test_a_folders_file_never_names_what_is_loaded(key: str, value: object, home: Path) -> None:
    """What lies beside a trusted file may change without it."""
    (home / "secondlook.toml").write_text(_written(key, value))
    assert main(["trust", ".", "--yes"]) == 0
    with pytest.raises(SettingsError, match="weights or code"):
        load(environ={})


# A library, and a backup of one.


@pytest.fixture
def eavesdropper() -> Iterator[ChatServer]:
    """A service at an address that came with data."""
    reply = {"data": [{"index": 0, "embedding": [1.0, 0.0]}]}
    with ChatServer(lambda _: "", facts={"/v1/embeddings": reply}) as server:
        yield server


@pytest.fixture
def copied(home: Path) -> Path:
    """A library as somebody handed it over."""
    (home / "a.txt").write_text("The harbour gate opens at six in the morning.")
    with Library.open(home / "copied") as library:
        library.add([home / "a.txt"])
    return home / "copied"


def _changed(library: Path, **said: object) -> None:
    file = library / "library.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | said))


@pytest.mark.parametrize("way", ["copied", "restored", "named by a folder", "switched while open"])
def test_a_library_does_not_choose_who_is_sent_the_question(
    *,
    way: str,
    copied: Path,
    home: Path,
    eavesdropper: ChatServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-of-mine")
    spec = f"openai:small@{eavesdropper.url}/v1"
    said = {"embedder_spec": spec, "embedder": "openai:small"}
    opened = Library.open(copied)
    _changed(copied, **said)
    at = ["--library", str(copied)]
    if way == "switched while open":
        with pytest.raises(LibraryFormat):
            opened.search("when does the gate open")
    elif way == "restored":
        with tarfile.open(home / "plain.tar", "w") as archive:
            archive.add(copied, "library")
        packed = zstandard.compress((home / "plain.tar").read_bytes())
        (home / "a.backup").write_bytes(packed)
        at = ["--library", str(home / "new")]
        main(["restore", str(home / "a.backup"), *at])
    elif way == "named by a folder":
        (home / "secondlook.toml").write_text(_written("library.path", "copied"))
        at = []
    opened.close()
    capsys.readouterr()
    assert main(["search", "when does the gate open", *at]) != 0
    assert not eavesdropper.requests
    told = capsys.readouterr().err
    assert json.dumps(spec) in told
    assert str(user_file()) in told
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text(_written("embedding.model", spec))
    main(["search", "when does the gate open", *at])
    assert eavesdropper.requests[0].headers["authorization"] == "Bearer sk-a-key-of-mine"


def test_a_library_does_not_choose_where_its_passages_lie(copied: Path) -> None:
    _changed(copied, index="s3://elsewhere/library/g1/index")
    with pytest.raises(LibraryFormat, match="another place for its passages"):
        Library.open(copied)


@pytest.mark.parametrize(
    ("part", "doing"),
    [
        ("writer.json", ["add", "a.txt"]),
        ("library.json", ["rebuild"]),
        ("texts", ["rebuild"]),
        ("texts/ab", ["library", "compact", "--purge"]),
        ("tables", ["remove", "a.txt", "--purge"]),
    ],
)
def test_a_link_in_a_library_leads_no_command_to_files_elsewhere(
    *, part: str, doing: list[str], copied: Path, home: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "letters").mkdir(parents=True)
    is_folder = not part.endswith(".json")
    mine = elsewhere / ("letters/thesis.txt" if is_folder else "mine.json")
    mine.write_text("{}")
    place = copied / part
    if place.exists():
        place.rename(home / "aside")
    place.symlink_to(elsewhere if is_folder else mine)
    assert main([*doing, "--library", str(copied)]) != 0
    assert mine.read_text() == "{}"
    with pytest.raises(LibraryFormat, match="is a link"):
        Library.open(copied)


def test_a_library_names_no_table_outside_of_itself(home: Path) -> None:
    (home / "pay.csv").write_text("name,pay\nAda,4711\n")
    with Library.open(home / "mine") as library, Library.open(home / "copied") as copied:
        for one in (library, copied):
            one.add(home / "pay.csv")
        (table,) = library.tables()
    (record,) = (home / "copied" / "tables" / "records").iterdir()
    outside = f"../../mine/tables/{table.id}"
    record.write_text(
        json.dumps({"tables": [{**table.model_dump(), "id": outside}], "problem": None})
    )
    with Library.open(home / "copied") as copied:
        assert copied.tables() == ()
        assert [one.said for one in copied.check()] == ["the record of its tables was changed"]


def test_no_module_of_the_working_folder_is_imported(tmp_path: Path) -> None:
    for name in ("typer", "numpy", "json"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('code of the folder ran')")
    command = [*SECONDLOOK, "--version"]
    told = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True)  # noqa: PLW1510
    assert told.stdout.startswith("secondlook "), told.stderr


@pytest.mark.parametrize(
    ("version", "name", "said"),
    [("5.9.1", "some/model", "may run code"), ("6.0.0", "all/mini", "a folder 'all/mini' here")],
)
def test_no_code_or_weights_of_a_folder_are_loaded_unasked(
    version: str, name: str, said: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("sentence_transformers")
    vars(module).update(SentenceTransformer=pytest.fail, __version__=version)
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    (home / "all" / "mini").mkdir(parents=True)
    with pytest.raises(SecondlookError, match=said):
        load_embedder(f"sentence-transformers:{name}")


# A password in an address.

_SECRETS = ("hunter2", "k-e-y")


def _form(provider: str, server: ChatServer) -> str:
    end = "" if provider == "ollama" else "/v1"
    host = server.url.removeprefix("http://")
    return f"{provider}:m@http://me:hunter2@{host}{end}?api_key=k-e-y"


@pytest.mark.parametrize("provider", ["openai", "ollama"])
def test_a_password_in_an_address_reaches_the_client_and_nothing_else(
    provider: str, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "a.txt").write_text("The harbour gate opens at six in the morning.")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another")
    with ChatServer(lambda _: "The gate opens at six [1].") as server:
        monkeypatch.setenv("SECONDLOOK_MODELS_DEFAULT", _form(provider, server))
        monkeypatch.setenv("SECONDLOOK_MODELS_ROLES", f"answer={_form(provider, server)}")
        main(["add", "a.txt"])
        main(["ask", "when does the gate open?", "--workflow", "linear", "--json"])
        for command in ("config", "doctor", "models", "models probe", "runs export last"):
            main([*command.split(), *([] if "export" in command else ["--json"])])
    asked = [one for one in server.requests if "chat" in one.path]
    assert asked
    for one in asked:
        assert one.headers["authorization"] == f"Basic {b64encode(b'me:hunter2').decode()}"
        assert one.path.endswith("?api_key=k-e-y")
    told = "".join(capsys.readouterr())
    stored = [file.read_bytes() for file in home.parent.rglob("*") if file.is_file()]
    assert server.url in told
    for secret in _SECRETS:
        assert secret not in told
        assert not any(secret.encode() in one for one in stored)


_ASKING = {"SECONDLOOK_MODELS_DEFAULT": "openai:m"}


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"SECONDLOOK_MODELS_DEFAULT": "openai:m@http://me:hunter2/x@host/v1"}, "%2F"),
        ({"SECONDLOOK_MODELS_DEFAULT": "openai:m@http://me:hunter2?x@host/v1"}, "%3F"),
        ({"SECONDLOOK_MODELS_DEFAULT": "nobody:m@http://me:hunter2@host/v1"}, "names no provider"),
        ({"SECONDLOOK_MODELS_DEFAULT": "openai:m@http://me:hunter2@host:99999/v1"}, "no address"),
        ({"SECONDLOOK_MODELS_ROLES": "answer=anthropic:m@http://me:hunter2@host"}, "ANTHROPIC_API"),
        ({"SECONDLOOK_EMBEDDING_MODEL": "openai:m@http://me:hunter2@127.0.0.1:9"}, "127.0.0.1:9"),
        ({"SECONDLOOK_MODELS_OPTIONS": "all.api_key=hunter2-and-so-forth"}, "no key"),
        ({"SECONDLOOK_WEB_URL": "http://me:hunter2@host"}, "plain address"),
        ({"SECONDLOOK_TELEMETRY_ENDPOINT": "http://me:hunter2@host"}, "plain address"),
        (_ASKING | {"OPENAI_BASE_URL": "http://me:hunter2@127.0.0.1:9/v1"}, "127.0.0.1:9"),
        (_ASKING | {"OPENAI_BASE_URL": "http://me:hunter2/@127.0.0.1:9/v1"}, "%2F"),
    ],
)
def test_a_password_is_in_no_error(
    variables: dict[str, str],
    said: str,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (home / "a.txt").write_text("The harbour gate opens at six in the morning.")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    for command in ("config", "doctor", "models", "add a.txt", "ask when?"):
        main([*command.split(" ", 1), "--debug"])
    told = "".join(capsys.readouterr())
    assert said in told
    assert "hunter2" not in told


@pytest.mark.parametrize("key", FIELDS)
def test_no_setting_shows_or_keeps_a_password(key: str) -> None:
    for address in ("http://me:hunter2@host", "s3://me:hunter2@bucket/x", "ftp://me:hunter2@host"):
        for form in (
            "",
            "x=",
            "milvus:",
            "openai:m@",
            "answer=openai:m@",
            "sentence-transformers:",
        ):
            try:
                loaded = load(texts={key: f"{form}{address}"}, environ={})
            except SettingsError as refused:
                told = f"{refused.message}{refused.hint}"
            else:
                told = f"{loaded.settings.model_dump_json()}{loaded.value(key)!r}"
            assert "hunter2" not in told


def test_an_embedder_sends_the_password_of_its_address(eavesdropper: ChatServer) -> None:
    address = eavesdropper.url.replace("//", "//me:hunter2@")
    load_embedder(f"openai:small@{address}/v1", api_key="sk-another").embed_query("when")
    sent = eavesdropper.requests[0].headers["authorization"]
    assert sent == f"Basic {b64encode(b'me:hunter2').decode()}"


def test_the_password_of_a_run_is_found_again_when_it_is_resumed() -> None:
    """The record has none: it stands in the person's settings."""
    told = ModelSettings(default="openai:m@http://me:hunter2@host/v1").model_dump_json()
    kept = parse_spec(ModelSettings.model_validate_json(told).default)
    assert "hunter2" not in f"{told}{kept}"
    assert sent_to(kept.base_url)["auth"] == ("me", "hunter2")


# Files that came with others.


def test_links_out_of_a_folder_are_followed_only_when_told(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("The safe opens with 4711.")
    (home / "a.txt").write_text("The harbour gate opens at six in the morning.")
    (home / "inside.txt").symlink_to(home / "a.txt")
    (home / "secret.txt").symlink_to(tmp_path / "outside" / "secret.txt")
    (home / "folder").symlink_to(tmp_path / "outside")
    assert main(["add", str(home)]) == 0
    told = "".join(capsys.readouterr())
    assert told.count("--follow-links") == 2
    main(["search", "which number opens the safe"])
    assert "4711" not in capsys.readouterr().out
    assert main(["add", str(home), "--follow-links"]) == 0
    main(["search", "which number opens the safe"])
    assert "4711" in capsys.readouterr().out
    assert main(["add", str(home / "secret.txt")]) == 0  # named outright


@pytest.mark.parametrize("way", ["large", "sparse", "many", "long name"])
def test_a_backup_that_unpacks_to_too_much_is_refused_and_leaves_nothing(
    way: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "_MOST_FILES", 20)
    packed = io.BytesIO()
    with (
        zstandard.ZstdCompressor().stream_writer(packed, closefd=False) as stream,
        tarfile.open(fileobj=stream, mode="w|") as archive,
    ):
        member = tarfile.TarInfo(f"library/{'x' * (3 << 20) if way == 'long name' else 'x'}")
        member.size = 8 << 20 if way == "large" else 0
        if way == "sparse":
            member.pax_headers = {"GNU.sparse.map": "0,0", "GNU.sparse.size": str(1 << 40)}
        for _ in range(30 if way == "many" else 1):
            archive.addfile(member, io.BytesIO(bytes(member.size)))
    (home / "a.backup").write_bytes(packed.getvalue())
    with pytest.raises(UsageError, match=r"too much here|is not a whole backup: .* about one"):
        Library.restore(home / "a.backup", home / "new", most_bytes=1 << 20)
    assert [file.name for file in home.iterdir()] == ["a.backup"]


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@a", "\t=1+1", "\r=1+1"])
def test_no_cell_of_an_exported_table_is_a_formula(cell: str, home: Path) -> None:
    write_table(Answer.model_construct(values={cell: cell}, analysis=None), home / "t.csv")
    with (home / "t.csv").open(encoding="utf-8-sig", newline="") as file:
        assert list(csv.reader(file))[1] == [f"'{cell}"] * 2
