"""Commands that are more than one call: serve, view, report, read, evaluate."""

from __future__ import annotations

import json as json_text
import os
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ogive.cli.output import (
    end,
    picked,
    say_if_long,
    typed,
    with_own_words,
    write_files,
    write_table,
)
from ogive.cli.signature import ADDED, Call, added_scales, command
from ogive.cli.sources import (
    CONFIDENCE,
    ITEMS,
    MODEL,
    READING,
    RESPONSES,
    SCORES,
    SEED,
    SELECTOR,
    TABLE,
    UNSET,
    Parameter,
    argument,
    check_facts,
    input_file,
    option,
    output_file,
    read_bank,
    switch,
    with_facts,
)
from ogive.errors import InputError
from ogive.results.numbers import shown

if TYPE_CHECKING:
    from ogive.data.responses import Responses


KEY = "OGIVE_API_KEY"
LOCAL = ("127.0.0.1", "::1", "localhost")


@command(
    gate=argument("Gate that CapabilityGate.save wrote, .json."),
    host=option("Address to listen on; 0.0.0.0 for all interfaces.", str, "127.0.0.1"),
    port=option("Port; 0 for any free port.", int, 8000, min=0, max=65535),
    max_rows=option("Maximum number of rows in a request.", int, 1_000, min=1),
    max_bytes=option("Maximum number of bytes in a request.", int, 1_048_576, min=1),
    max_seconds=option(
        "Seconds until a request without an answer is refused.", float, 10.0, min=0.1
    ),
    key_file=input_file("File of API keys, one per line; read again when it changes."),
    log_requests=switch("Write a line of JSON per request to the log.", "--log-requests"),
)
def serve(call: Call) -> None:
    """Serve a gate over HTTP: which cases the model may decide, and which go to a person.

    The service is described at /openapi.json. If the environment variable OGIVE_API_KEY is set,
    requests need it in the header X-API-Key. SIGTERM and Ctrl-C let running requests finish.
    """
    from ogive._load import load_only
    from ogive.capability.http_requests import RequestLimits
    from ogive.capability.http_service import serve as run
    from ogive.capability.model_process import REQUESTS

    if call.log_requests:
        REQUESTS.setLevel("INFO")
    console, host, key_file = call.console, call.host, call.key_file
    limits = RequestLimits(
        rows=call.max_rows, body_bytes=call.max_bytes, answer_seconds=call.max_seconds
    )
    key = os.environ.get(KEY)
    needs_key = key is not None or key_file is not None
    gate = load_only("gate", call.gate)

    def ready(address: str) -> None:
        console.say(f"Serving {call.gate} at {address}, described at {address}/openapi.json")
        if not needs_key and host not in LOCAL:
            console.remark(f"Anyone who reaches {host} can use it: set {KEY} to require a key.")
        console.document({"address": address, "features": dict(gate.kinds_), "key": needs_key})

    run(gate, host=host, port=call.port, limits=limits, api_key=key, key_file=key_file, ready=ready)


# Pages.


@command(
    paths=Parameter(
        "Responses (.csv, .tsv, .parquet, .jsonl), evaluation logs or folders of them, an "
        "item bank, or a folder that a command wrote.",
        list[Path],
        argument=True,
    ),
    model=MODEL,
    port=option("Port; 0 for any free port.", int, 0, min=0, max=65535),
    browser=switch("Open the page in the browser.", "--browser/--no-browser", default=True),
)
def view(call: Call) -> None:
    """Explore responses, logs or an item bank in the browser, while they are still written.

    The page is served on this machine only (127.0.0.1), to whoever has the address with its token;
    nothing is sent elsewhere. Responses are calibrated in the background. Files that change are
    read again. Further logs can be dropped onto the page. Ctrl-C ends it.
    """
    from ogive.reporting.app_server import check_installed
    from ogive.reporting.app_server import view as run
    from ogive.reporting.session import ViewSession

    check_installed()
    console, session = call.console, ViewSession(call.paths, call.model)
    with console.progress("Reading"):
        session.look()

    def ready(address: str) -> None:
        rows, items = session.opened.shape
        console.say(f"{rows:,} models, {items:,} items: {address}")
        console.remark("Ctrl-C ends it.")
        console.document({"address": address, "respondents": rows, "items": items})

    run(session, port=call.port, browser=call.browser, ready=ready)
    console.say("Ended.")


@command(
    sources=argument(
        "Responses (.csv, .tsv, .parquet, .jsonl), an item bank, or a folder that decode, "
        "confusion, portfolio, capability or demo wrote.",
        list[Path],
    ),
    out=output_file("Page to write, .html.", (".html", ".htm"), Path("report.html")),
    title=option("Page title.", str, show_default="the file names"),
    instances=input_file(
        "Instances behind the items, shown next to them: a table (.csv, .tsv, .parquet) "
        "whose first column names items."
    ),
    model=MODEL,
    **ADDED,
    items=ITEMS,
    **READING,
)
def report(call: Call) -> None:
    """Make one page of results that opens anywhere: headline, tables, figures, item explorer.

    Responses are calibrated and diagnosed first.
    """
    from ogive.data.response_files import read_responses
    from ogive.data.table_files import read_table
    from ogive.reporting.page import write_report
    from ogive.reporting.sources import analysed, read_source

    console, sources, out = call.console, call.sources, call.out
    asked = {name: value for name, value in call.settings(*ADDED).items() if value is not None}
    added: list[Any] = []

    def analyse(path: Path) -> list[Any]:
        table = read_responses(path, layout=call.layout, kind=call.kind, progress=False)
        table = with_facts(table, call.items)
        say_if_long(console, "report", table)
        scales = added_scales(table, call.groups, call.dimensions)
        added.extend(scales)
        ranked, *others = analysed(table, call.model)
        return [ranked, *scales, *others]

    instances, results = None, []
    with console.progress("Analysing") as report_step:
        if call.instances is not None:
            frame = read_table(call.instances)
            instances = frame.set_index(frame.columns[0])
        for done, source in enumerate(sources):
            report_step(done, len(sources), f"reading {source.name}")
            results += read_source(source, analyse)
        if asked and not added:
            raise InputError("--groups and --dimensions are for responses, and none were given.")
    with console.progress("Writing the page"):
        names = ", ".join(source.name for source in sources)
        write_report(
            out,
            [with_own_words(each) for each in results],
            title=call.title or names,
            instances=instances,
            command=typed(),
            settings={"model": call.model, "sources": names, **asked},
        )
    verdict = [*_verdict(results), *(each.meaning for each in added)]
    for text in (*verdict, f"Report: {out}"):
        console.say(text)
    console.document({"meaning": verdict, "out": out, "bytes": out.stat().st_size})
    end(*(getattr(each, "converged", True) for each in results))


def _verdict(results: list[Any]) -> list[str]:
    """Return the first thing that the page says; results may come in groups, by name."""
    for each in results:
        group = each if isinstance(each, dict) else getattr(each, "found", None)
        for one in group.values() if isinstance(group, dict) else [each]:
            if meaning := getattr(one, "meaning", ""):
                return [str(meaning)]
    return []


# Logs of evaluations.

MOST_FILES = 20  # that are shown
METRIC = option(
    "Score to read; if repeated, the first that a log contains.", list[str], show_default="usual"
)


@command(
    logs=argument("Logs, or folders: lm-eval, Inspect, HELM, Every Eval Ever, OpenML.", list[Path]),
    out=output_file(
        "Table of responses to write; .parquet keeps the facts, too.", RESPONSES, UNSET
    ),
    metric=METRIC,
    filter=option("Filter of lm-eval to read.", str, show_default="strict or first"),
    epochs=option(
        "How to combine several responses of a model to the same item; mean keeps their "
        "number, too.",
        str,
        "mean",
        ("mean", "grades", "first"),
    ),
    variants=option(
        "separate or merge what a model answered under different conditions; or, repeatable, "
        "the conditions that make respondents, such as shots.",
        list[str],
        show_default="separate",
    ),
    name=option(
        "New name of a model, or of the models in a folder or file; repeatable.",
        list[str],
        metavar="OLD=NEW",
    ),
    keep_text=switch("Keep the text and the target of each item.", "--keep-text"),
    choices=output_file("Table of the options that models chose to write, where logs tell.", TABLE),
    files=output_file(
        "Table of the log files to write: what was read from each, and what was not.", TABLE
    ),
)
def read(call: Call) -> None:
    """Read evaluation logs of language models into one table of responses.

    Folders are searched for logs. What is left out is counted, with the reason.
    """
    rename = {}
    for text in call.name or []:
        old, sign, new = text.rpartition("=")  # the last, because paths may hold others
        if not sign or not old or not new:
            raise InputError(f"--name is {shown(text)}, but it should be OLD=NEW.")
        rename[old] = new
    from ogive.data.frames import option_frame
    from ogive.data.logs.read_logs import in_mebibytes, read_logs

    console, out = call.console, call.out
    with console.progress("Reading logs") as report:
        result = read_logs(
            call.logs,
            metric=call.metric or None,
            variants=_variants(call.variants or []),
            rename=rename,
            keep_choices=call.choices is not None,
            progress=in_mebibytes(report),
            **call.settings("filter", "epochs", "keep_text"),
        )
    responses, files, chosen = result.responses, result.files, result.choices
    responses.save(out)
    verdict, *others = result.sentences()
    console.say(verdict)
    if len(files) <= MOST_FILES:
        counts = files[["rows", "read", "dropped", "task", "model", "format"]]
        console.show(counts.set_index(files["file"].map(_distinct(files["file"]))))
    console.say(f"Responses: {out}")
    if call.choices is not None and chosen is None:
        console.say("Choices: the logs do not say which option was chosen.")
    elif call.choices is not None and chosen is not None:
        write_table(option_frame(chosen), call.choices)
        console.say(f"Choices: {call.choices}")
    if call.files is not None:
        write_table(files.set_index("file"), call.files)
        console.say(f"Files: {call.files}")
    lost = []
    facts = dict.fromkeys([*responses.item_facts, *responses.respondent_facts])
    if facts and out.suffix.lower() != ".parquet":
        lost = [f"A CSV keeps no facts ({', '.join(facts)}); name a .parquet file to keep them."]
    for text in (*others, *lost):
        console.say(text)
    console.document(
        {
            "models": responses.respondents,
            "items": responses.n_items,
            "kind": responses.kind,
            "meaning": result.sentences(),
            "left_out": result.left_out,
            "notes": [*result.notes, *lost],
            "files": files,
            "out": out,
        }
    )


def _variants(given: list[str]) -> str | list[str]:
    """Return one of the words that stand alone, or conditions; without any, the default."""
    from ogive.data.logs.respondents import MERGE, SEPARATE

    words = [word for word in given if word in (SEPARATE, MERGE)]
    if words and len(given) > 1:
        raise InputError(f"--variants {words[0]} stands alone; leave the others out.")
    return words[0] if words else given or SEPARATE


def _distinct(files: pd.Series) -> dict[str, str]:
    """Return the name of each file, with its folder if others have the same name."""
    often = Counter(Path(file).name for file in files)
    return {
        file: "/".join(Path(file).parts[-1 if often[Path(file).name] == 1 else -2 :])
        for file in files
    }


INSPECT, LM_EVAL = "inspect", "lm-eval"
REPORTED = (
    *("accuracy", "accuracy_se", "accuracy_low", "accuracy_high"),
    *("ability", "ability_se", "confidence", "reason", "skipped"),
)


@command(
    "ogive.evaluation.asking:evaluate_adaptively",
    responses=SCORES,
    harness=option("What runs and scores the items.", str, UNSET, (INSPECT, LM_EVAL)),
    harness_model=option(
        "Model to ask, as the harness names it: openai/gpt-4o in Inspect, hf in lm-eval.",
        str,
        UNSET,
    ),
    folder=option(
        "Folder for logs and journal; after a crash, the same command resumes.", Path, UNSET
    ),
    task=option(
        "Task to run, as the harness takes it: a name or a file; repeatable, with the name "
        "that it has in the responses.",
        list[str],
        metavar="[NAME=]TASK",
        show_default="names in the responses",
    ),
    setting=option(
        "Further argument of the harness, such as temperature=0 or "
        "model_args=pretrained=gpt2; repeatable.",
        list[str],
        metavar="NAME=VALUE",
    ),
    bank=input_file(
        "Item bank that `ogive calibrate` wrote.", show_default="calibrated on the responses"
    ),
    model=MODEL,
    budget=option("Items to ask.", min=1),
    max_se="Stop at this standard error of the ability.",
    batch_size=option("Items asked at once.", int, 5, min=1),
    method=option(
        "auto: a fixed short form, where a replay of the responses finds it better.",
        names="ogive.evaluation.adaptive_replay:METHODS",
    ),
    selector=SELECTOR,
    metric=METRIC,
    confidence=CONFIDENCE,
    out=output_file("Table of responses, .csv or .parquet.", TABLE),
    items=ITEMS,
    **READING,
    random_state=SEED,
)
def evaluate(call: Call) -> None:
    """Ask a model the most informative items, in Inspect or lm-eval, and predict its accuracy.

    Responses of earlier models, with task and id of their items, say what each item is, and are
    calibrated unless --bank is given. They are also replayed, which tells whether a short form is
    better and how wide intervals must be. Without --out, the responses are printed as CSV.
    """
    import ogive as og
    from ogive.evaluation.adaptive_replay import bank_from

    console, folder = call.console, call.folder
    table = with_facts(call.read_responses(), call.items)
    check_facts(table, ["task", "id"], "--harness")
    make: Any = og.inspect_ask if call.harness == INSPECT else og.lm_eval_ask
    ask = make(
        call.harness_model,
        table,
        folder,
        tasks=_tasks(call.task or [], table),
        metric=call.metric,
        settings=_harness_settings(call.setting or []),
    )
    bank = bank_from(table, call.model) if call.bank is None else read_bank(call.bank)
    title = f"Asking {call.harness_model}"
    with console.progress(title) as report, redirect_stdout(sys.stderr):
        result = call.function(
            bank,
            ask,
            journal=folder / "journal.jsonl",
            respondent=call.harness_model,
            progress=report,
            **call.arguments,
        )
    frame = result.to_frame()
    console.finding(
        result,
        frame,
        call.out,
        written={**write_files({"Responses": (call.out, lambda: frame)}), "Logs": folder},
        **picked(result, *REPORTED),
        folder=folder,
        responses=frame,
    )


def _tasks(given: Sequence[str], table: Responses) -> Any:
    """Return tasks by their names in the responses, or one task; None if none is given."""
    names = set(table.item_groups("task"))
    pairs = [one.partition("=") for one in given]
    odd = [
        one
        for one, (name, mark, _) in zip(given, pairs, strict=True)
        if not mark or name not in names
    ]
    if given and not odd:
        return {name: task for name, _, task in pairs}
    if len(given) > 1:
        raise InputError(
            f"--task is {shown(odd[0])}; with several, give each as NAME=TASK, where NAME is a "
            f"task of the responses: {', '.join(sorted(names)[:5])}."
        )
    return given[0] if given else None


def _harness_settings(given: Sequence[str]) -> dict[str, Any]:
    """Return arguments of the harness, read as JSON if they are JSON."""
    settings: dict[str, Any] = {}
    for one in given:
        name, mark, value = one.partition("=")
        if not (mark and name.isidentifier()):
            raise InputError(f"--setting is {shown(one)}, but it should be NAME=VALUE.")
        try:
            settings[name] = json_text.loads(value)
        except ValueError:
            settings[name] = value
    return settings
