"""`secondlook models`: who serves which role, and what a model was measured to do."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import asdict, replace
from getpass import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secondlook.cli.command import (
    Call,
    argument,
    command,
    flag,
    is_terminal,
    messages,
    option,
    print_json,
)
from secondlook.cli.progress import download_watched
from secondlook.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from secondlook.models.probe import GradingFigures, Probe
    from secondlook.models.specs import ModelSpec
    from secondlook.settings.sections import Settings


@command(
    "\b\nExamples (docs/models.md):\n"
    "  secondlook models get                 which models there are to fetch\n"
    "  secondlook models get qwen3-4b        fetch one, 2.5 GB\n"
    "  secondlook models probe gguf:~/models/qwen.gguf\n"
    "  secondlook models key openai          keep a key where only you can read it\n"
)
def models(
    call: Call,
    *,
    action: str | None = argument(None, "Do this instead of listing.", "[probe|get|key]"),
    model: str | None = argument(
        None, "What to measure (provider:model), to fetch, or a provider.", "NAME"
    ),
    to: Path | None = option(None, "Folder for a fetched model.", "FOLDER"),
    seconds: float = option(120.0, "Most time for the search of the context.", "S", min=1),
    longest: int = option(16_384, "Longest prompt that is tried, in tokens.", "N", min=256),
    again: bool = flag("--again", "Measure although it was measured before."),
    forget: bool = flag("--forget", "Keep the key of that provider no more."),
) -> None:
    """List roles and what serves each, measure or fetch a model, or keep a key."""
    if action is None:
        from secondlook.engine.cast import cast_rows
        from secondlook.models.specs import parse_spec

        settings = call.load().settings
        rows = cast_rows(settings)
        if call.as_json:
            print_json({"roles": rows})
        else:
            wide = max(len(row["model"]) for row in rows)
            for row in rows:
                name = f"{row['workflow']}.{row['role']}" if row["workflow"] else row["role"]
                told = f"{name:<20}  {row['model']:<{wide}}  {', '.join(_about(row))}"
                sys.stdout.write(told.rstrip() + "\n")
            if not parse_spec(settings.models.default).named:
                call.say("No model is set: answers are extracted from your documents.")
                call.say("hint: secondlook doctor shows which models are within reach")
    elif action == "probe":
        _probe(call, model, seconds=seconds, longest=longest, again=again)
    elif action == "get":
        _get(call, model, to)
    elif action == "key":
        _key(call, model, forget=forget)
    else:
        hint = f"To measure a model: secondlook models probe {action}; others: models get, key"
        raise UsageError(f"{action!r} is nothing that `secondlook models` does", hint=hint)


def _get(call: Call, name: str | None, folder: Path | None) -> None:
    from secondlook.models.discovery import lacking
    from secondlook.models.hub import described, fetched, known_models

    if name is None:
        known = list(known_models().values())
        if call.as_json:
            print_json({"models": [asdict(one) for one in known]})
            return
        for one in known:
            told = f"{one.gigabytes:.1f} GB, takes {one.memory:g} GB of memory, {one.licence}"
            sys.stdout.write(f"{one.name:<20}{told}; {one.about}\n")
        call.say("hint: secondlook models get NAME; any other: models get OWNER/REPO/FILE.gguf")
        return
    file = described(name)
    licence = f", licence {file.licence}" if file.licence else ""
    call.say(f"{file.repo}, {file.path}, {file.size / 1e9:.1f} GB{licence}")
    with download_watched(call, file.size) as (listen, checking):
        path = fetched(file, folder, listen=listen, checking=checking)
    spec = f"gguf:{path}"
    if call.as_json:
        print_json({"model": spec, "sha256": file.sha256, "bytes": file.size, "repo": file.repo})
    else:
        sys.stdout.write(f"{spec}\n")
    if command := lacking("gguf"):
        call.say(f"To run it: {command}")
    call.say(f"To ask with it: secondlook ask --model {spec} QUESTION")
    call.say(f"For always: secondlook config set models.default {shlex.quote(spec)}")


def _key(call: Call, name: str | None, *, forget: bool) -> None:
    from secondlook.models.specs import KEY_VARIABLES
    from secondlook.settings.keys import keep_key, kept_keys, keys_file
    from secondlook.settings.sections import nearest

    if name is None:
        kept = sorted(kept_keys())
        said = f"Keys are kept for {', '.join(kept)}." if kept else "No key is kept."
        call.tell({"kept": kept, "providers": sorted(KEY_VARIABLES)}, said)
        return
    provider, _, address = name.partition("@")
    if provider not in KEY_VARIABLES:
        meant = nearest(provider, KEY_VARIABLES)
        guess = f"Did you mean {meant!r}? " if meant else ""
        hint = f"{guess}Providers with a key: {', '.join(sorted(KEY_VARIABLES))}."
        raise UsageError(f"there is no provider {provider!r} that takes a key", hint=hint)
    name = f"{provider}@{address.rstrip('/')}" if address else provider
    if forget:
        was = keep_key(name, None)
        said = f"The key for {name} is forgotten." if was else f"No key was kept for {name}."
        call.tell({"provider": name, "kept": False}, said)
        return
    if is_terminal(sys.stdin):
        key = getpass(f"Key for {name} (it is not shown): ").strip()
    else:
        key = sys.stdin.read().strip()
    if not key or len(key.split()) != 1:
        said = "a key is one word, and none was given" if not key else "a key has no spaces"
        raise UsageError(said, hint=f"secondlook models key {name} < FILE, or type it when asked")
    keep_key(name, key)
    call.tell({"provider": name, "kept": True}, f"Kept for {name}, in {keys_file()}.")
    if os.environ.get(KEY_VARIABLES[provider], "").strip():
        call.say(f"note: {KEY_VARIABLES[provider]} is set, and is used instead")


def _about(row: dict[str, Any]) -> Iterator[str]:
    if not row["serves"]:
        return
    yield "on this machine" if row["local"] else "elsewhere"
    price = row["price"]
    if price is None:
        yield "price unknown"
    elif price["input"] or price["output"]:
        yield f"${price['input']:g} in, ${price['output']:g} out per million tokens"
    yield f"objects by {row['mode']}" + ("" if row["probed"] else " (not probed)")
    if row["role"] == "grade" and row["probed"]:
        grading = row["grading"]
        fit = grading and ("fit to grade" if grading["fit"] else "unfit to grade")
        yield fit or "grading not probed"
    yield from (f"{name} {value:g}" for name, value in row["options"].items() if name != "mode")


def _probe(call: Call, model: str | None, *, seconds: float, longest: int, again: bool) -> None:
    from secondlook.models.probe import store_probe, stored_probe
    from secondlook.nodes.grade import fit_of

    settings = call.load({"models.default": model}).settings
    found: list[Probe] = []
    for spec in _wanted(settings, model):
        probe = None if again else stored_probe(spec)
        fit = fit_of(probe) if probe is not None else None
        if probe is not None and fit and fit.passages is not None and fit.answers is not None:
            call.say(f"{spec.text} was measured on {probe.measured}; --again measures it anew.")
        else:
            probe = _measured(call, spec, settings, probe, seconds=seconds, longest=longest)
            store_probe(spec, probe)
        found.append(probe)
    if call.as_json:
        print_json({"probes": [asdict(probe) for probe in found]})
        return
    for probe in found:
        for name, value in _facts(probe):
            sys.stdout.write(f"{name:<12}{value}\n")


def _wanted(settings: Settings, model: str | None) -> list[ModelSpec]:
    from secondlook.models.specs import ROLES, Cast, parse_spec

    cast = Cast(settings.models)
    specs = [cast.part(role).spec for role in ROLES]
    if model is not None:
        specs = [parse_spec(model, place="MODEL")]
    named = {spec.text: spec for spec in specs if spec.named}
    if not named:
        hint = "Name one, such as: secondlook models probe ollama:qwen2.5"
        raise UsageError("there is no model to measure", hint=hint)
    return list(named.values())


def _measured(
    call: Call, spec: ModelSpec, settings: Settings, known: Probe | None, **how: Any
) -> Probe:
    import asyncio

    from secondlook.models.calls import open_chat
    from secondlook.models.probe import Prober, store_probe
    from secondlook.nodes.probe import probe_answers, probe_passages

    async def measure(listen: Callable[[str], None]) -> Probe:
        chat = open_chat(spec, settings.models)
        try:
            probe = known
            if probe is None:
                probe = await Prober(chat, spec, listen, **how).run()
                store_probe(spec, probe)  # grading takes longer: Ctrl-C must not lose this
            # As a run would ask it, in the mode that was just measured.
            from secondlook.models.budget import Ledger
            from secondlook.models.calls import Models
            from secondlook.models.journal import MemoryJournal
            from secondlook.models.prices import Caps

            alone = settings.models.model_copy(update={"default": spec.text, "roles": ()})
            own = settings.model_copy(update={"models": alone})
            models = Models(own, open_chat=lambda _: chat, probes=lambda _: probe)
            kept: Any = {"ledger": Ledger(Caps()), "journal": MemoryJournal()}
            asker = models.asker(run="probe", workflow="", **kept)
            passages = await probe_passages(asker, listen)
            answers = await probe_answers(asker, listen)
            return replace(probe, grading=passages, answer_grading=answers)
        finally:
            await chat.aclose()

    call.say(f"Measuring {spec.text} ...")
    if not call.shows_progress:
        return asyncio.run(measure(lambda _: None))
    with messages().status("starting") as status:
        return asyncio.run(measure(status.update))


def _facts(probe: Probe) -> list[tuple[str, str]]:
    from secondlook.nodes.grade import in_words

    def measured(value: float | None, form: str, unit: str) -> str:
        return "unknown" if value is None else f"{value:{form}} {unit}"

    def graded(figures: GradingFigures | None) -> str:
        if figures is None:
            return "grading not measured"
        return f"{'fit' if figures.fit else 'unfit'} to grade: {in_words(figures)}"

    known = probe.json_rates.items()
    rates = [f"{mode} {'refused' if rate is None else f'{rate:.0%}'}" for mode, rate in known]
    context = "not measurable with this model"
    if probe.context_tokens:
        context = f"{probe.context_tokens:,} tokens; beyond that prompts are cut silently"
    elif probe.seen_tokens:
        context = f"beginning seen of {probe.seen_tokens:,} tokens"
    declared = f"{probe.declared_tokens:,} declared" if probe.declared_tokens else "not declared"
    return [
        ("model", probe.spec),
        ("objects by", f"{probe.mode} (valid: {', '.join(rates)})"),
        ("context", f"{context} ({declared})"),
        ("reading", measured(probe.prefill_rate, ",.0f", "tokens/s")),
        ("writing", measured(probe.decode_rate, ",.0f", "tokens/s")),
        ("first token", measured(probe.first_token_seconds, ".2f", "s")),
        ("passages", graded(probe.grading)),
        ("answers", graded(probe.answer_grading)),
        ("measured", f"{probe.measured}, {probe.calls} calls in {probe.seconds:.1f} s"),
    ]
