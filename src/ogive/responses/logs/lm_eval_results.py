"""What the results beside lm-eval samples tell of the model, and of how it was asked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ogive.responses.logs.log_values import as_fact, as_name, part, settings
from ogive.responses.names_and_facts import Fact

IDENTITY = ("pretrained", "model", "model_name", "path")  # arguments that name the model
NO_CONDITION = ("until", "stop")


def model_name(results: Mapping[str, Any]) -> str | None:
    """The name of the model, or what its arguments call it."""
    name = as_name(results.get("model_name"))
    if name is not None:
        return name
    arguments = part(results, "config", "model_args")
    if isinstance(arguments, dict):
        arguments = f"pretrained={arguments.get('pretrained', '')}"
    match = re.search(r"(?:pretrained|model)=([^,]+)", str(arguments or ""))
    return as_name(match[1]) if match else None


def about(results: Mapping[str, Any], date: str) -> dict[str, Fact]:
    """Facts about the model and the run."""
    config = part(results, "config")
    precision = part(config, "model_dtype")
    return {
        "source": "lm-eval",
        "version": as_fact(results.get("lm_eval_version") or results.get("git_hash")),
        "date": date or None,
        "precision": precision.removeprefix("torch.") if isinstance(precision, str) else None,
        "parameters": as_fact(part(config, "model_num_parameters")),
        "revision": as_fact(part(config, "model_revision")),
        "arguments": as_fact(part(config, "model_args")),
    }


def conditions(results: Mapping[str, Any], task: str) -> dict[str, Fact]:
    """Shots, generation, templates, arguments of the model, and versions."""
    config = part(results, "configs", task)
    generation = settings(part(config, "generation_kwargs"))
    shots = part(results, "n-shot", task)
    found: dict[str, Fact] = {
        "shots": as_fact(part(config, "num_fewshot") if shots is None else shots),
        **{name: value for name, value in generation.items() if name not in NO_CONDITION},
        "system": _short(results.get("system_instruction_sha")),
        "chat_template": _short(results.get("chat_template_sha")),
        "multiturn": as_fact(results.get("fewshot_as_multiturn")),
        **_model_arguments(part(results, "config", "model_args")),
        "task_version": as_fact(part(results, "versions", task)),
        "version": as_fact(results.get("lm_eval_version") or results.get("git_hash")),
    }
    return {name: value for name, value in found.items() if value is not None}


def _short(digest: object) -> Fact:
    return f"#{digest[:6]}" if isinstance(digest, str) and digest else None


def _model_arguments(given: object) -> dict[str, Fact]:
    """Arguments of the model, as an object or as a=1,b=2, without those that name it."""
    if isinstance(given, str):
        pairs = (one.partition("=") for one in given.split(","))
        given = {name.strip(): value for name, sign, value in pairs if sign}
    found = settings(given)
    return {name: value for name, value in found.items() if name not in IDENTITY}


def groups(results: Mapping[str, Any], task: str) -> dict[str, Fact]:
    """The group that a task belongs to, and the smaller one within it."""
    told = results.get("group_subtasks")
    parents = {
        str(name): group
        for group, names in (told.items() if isinstance(told, dict) else ())
        for name in (names if isinstance(names, list) else ())
    }
    chain: list[str] = []
    while task in parents and task not in chain:
        chain.append(task)
        task = str(parents[task])
    if not chain:
        return {}
    nearest = str(parents[chain[0]])
    found: dict[str, Fact] = {"group": task}
    return found if nearest == task else found | {"subgroup": nearest}


def prompt_hashes(like: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The prompts of the first rows, by the documents that they ask about."""
    found: dict[str, str] = {}
    for row in like:
        document, prompt = as_name(row.get("doc_hash")), as_name(row.get("prompt_hash"))
        if document and prompt:
            found.setdefault(document, prompt)
    return found
