"""Run folders of HELM: per_instance_stats.json, run_spec.json and scenario_state.json.

An instance has a list of statistics; one of them is the metric of the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ogive._files import is_plain, is_there
from ogive.data.logs.json_documents import Pieces, small_json
from ogive.data.logs.merge_runs import as_label
from ogive.data.logs.runs import (
    NO_IDENTITY,
    Items,
    LogSettings,
    Passed,
    Run,
    as_fact,
    as_name,
    as_score,
    content_hash,
    no_metric,
    part,
    shortened,
    subject_and_document,
)
from ogive.data.names import Fact
from ogive.data.text_files import text_bytes
from ogive.errors import FileError

STATS, SPEC, STATE = "per_instance_stats.json", "run_spec.json", "scenario_state.json"
PERTURBED = "of perturbed instances"

# The metric that HELM's own tables show for a group of runs, by the prefix of its name, unless it
# is the first of those preferred below. Bits per byte, where less is better, must be asked for.
MAIN = {
    **dict.fromkeys(("narrative_qa", "natural_qa", "quac"), ("f1_score",)),
    **dict.fromkeys(
        (
            *("boolq", "imdb", "raft", "civil_comments", "wikifact", "babi_qa", "legalbench"),
            *("synthetic_reasoning", "legal_support", "lsat_qa", "med_qa", "decodingtrust"),
            *("entity_data_imputation", "entity_matching"),
        ),
        ("quasi_exact_match",),
    ),
    **dict.fromkeys(("summarization", "billsum", "multilexsum", "eurlexsum"), ("rouge_2",)),
    **dict.fromkeys(
        ("harm_bench", "simple_safety_tests", "xstest", "anthropic_red_team"), ("safety_score",)
    ),
    "bbq": ("bbq_accuracy", "quasi_exact_match"),
    "code_apps": ("test_avg",),
    "code_humaneval": ("pass",),
    "dyck_language": ("exact_match_indicator",),
    "gsm": ("final_number_exact_match", "exact_match_indicator"),
    "infinite_bench_en_sum": ("rouge_l",),
    "msmarco_regular": ("RR@10",),
    "msmarco_trec": ("NDCG@10",),
    "omni_math": ("omni_math_accuracy",),
    "openai_mrcr": ("openai_mrcr_accuracy",),
    "ruler": ("ruler_string_match_part",),
    "synthetic_reasoning_natural": ("f1_set_match",),
    "wildbench": ("wildbench_score_rescaled",),
    "wmt_14": ("bleu_4",),
}
PREFERRED = (
    *("math_equiv_chain_of_thought", "math_equiv", "final_number_exact_match"),
    *("ifeval_strict_accuracy", "chain_of_thought_correctness", "exact_match"),
    *("quasi_exact_match", "prefix_exact_match", "f1_score", "rouge_l", "bleu_4"),
)


@dataclass(frozen=True)
class Helm:
    """HELM: one folder per run."""

    name: str = "helm"

    def recognises(self, path: Path, beginning: bytes) -> bool:  # noqa: ARG002
        """Recognise the file names of HELM; a run that lacks its statistics is recognised too."""
        lacking = path.name == SPEC and not is_there(path.parent / STATS)
        return path.name == STATS or lacking

    def read(self, path: Path, wanted: LogSettings, items: Items, passed: Passed) -> Iterator[Run]:
        """Yield one run: a model on a scenario."""
        if path.name == SPEC:
            raise FileError(
                f"'{path.parent}' is a run of HELM without {STATS}, so there is nothing to read."
            )
        spec = small_json(path.with_name(SPEC), wanted.max_bytes)
        run = self._run(path, spec)
        teller = _Teller(run, items, spec, self._asked(path, run, wanted), wanted)
        with text_bytes(path, wanted.max_bytes, passed) as stream:
            for instance in Pieces(stream, f"'{path}'").elements():
                teller.add(instance)
        if teller.available and not run.metric:
            raise no_metric(path, teller.preferred, sorted(teller.available))
        if others := [name for name in teller.known if name != run.metric]:
            run.unread["metric"] = others
        if not run.rows:
            raise FileError(f"'{path}' holds no instances, so there is nothing to read.")
        yield run

    def _asked(self, path: Path, run: Run, wanted: LogSettings) -> dict[str, _Asked]:
        """Return the questions by id, from the scenario state; a broken one is remarked on."""
        try:
            return _questions(path.with_name(STATE), wanted)
        except FileError as error:
            run.remarks.append(f"no texts, so items are known by id: {str(error).rstrip('.')}")
            return {}

    def _run(self, path: Path, spec: Mapping[str, Any]) -> Run:
        folder = path.absolute().parent.name
        named = as_name(spec.get("name")) or folder
        model = as_name(part(spec, "adapter_spec", "model")) or _argument(named, "model")
        if model is None:
            raise FileError(
                f"'{path}' does not name its model: {SPEC} in its folder is missing or damaged. "
                "Copy the whole folder of the run."
            )
        run = Run(path, self.name, model, _task(named), repeats="trials")
        run.about = {"source": "helm"}
        run.conditions = conditions(part(spec, "adapter_spec"))
        return run


_NO_TASK = ("model", "model_deployment", "max_train_instances", "temperature", "num_outputs")
_TEMPLATE = (
    *("instructions", "global_prefix", "global_suffix", "input_prefix", "input_suffix"),
    *("reference_prefix", "reference_suffix", "output_prefix", "output_suffix"),
    *("chain_of_thought_prefix", "chain_of_thought_suffix", "instance_prefix", "substitutions"),
)


def conditions(adapter: object) -> dict[str, Fact]:
    """Return shots, temperature, method, template and deployment."""
    given: Mapping[str, Any] = adapter if isinstance(adapter, Mapping) else {}
    template = [given.get(name) for name in _TEMPLATE]
    found = {
        "shots": as_fact(given.get("max_train_instances")),
        "temperature": as_fact(given.get("temperature")),
        "max_tokens": as_fact(given.get("max_tokens")),
        "method": as_fact(given.get("method")),
        "template": f"#{content_hash(*template)[:6]}" if any(template) else None,
        "deployment": as_fact(given.get("model_deployment")),
    }
    return {name: value for name, value in found.items() if value is not None}


def _task(name: str) -> str:
    """Return the name of a run without its model: scenario and arguments."""
    scenario, _, rest = name.partition(":")
    kept = [text for text in rest.split(",") if text.partition("=")[0] not in _NO_TASK]
    return f"{scenario}:{','.join(kept)}" if any(kept) else scenario


def _argument(name: str, key: str) -> str | None:
    parts = name.replace(":", ",").split(",")
    return next((text.partition("=")[2] for text in parts if text.startswith(f"{key}=")), None)


def _preferred(spec: Mapping[str, Any]) -> tuple[str, ...]:
    groups = spec.get("groups")
    names = [*(groups if isinstance(groups, list) else []), spec.get("name", "")]
    by_length = sorted(MAIN, key=len, reverse=True)  # the longest prefix is the most specific
    keys = [next((key for key in by_length if str(name).startswith(key)), None) for name in names]
    main = [metric for key in keys if key for metric in MAIN[key]]
    return (*dict.fromkeys(main), *PREFERRED)


class _Asked(NamedTuple):
    """What an instance asks."""

    content: str  # a hash of question and right answer
    text: str | None
    target: str | None
    chosen: str | None = None  # the text of the option


@dataclass
class _Teller:
    """Adds instances to a run."""

    run: Run
    items: Items
    spec: Mapping[str, Any]
    asked: Mapping[str, _Asked]
    wanted: LogSettings
    available: Counter[str] = field(default_factory=Counter)

    @property
    def preferred(self) -> tuple[str, ...]:
        """The metrics to read, the first that an instance has."""
        return self.wanted.metrics or _preferred(self.spec)

    @property
    def known(self) -> list[str]:
        """The metrics of these instances that some table of HELM shows."""
        main = {name for names in MAIN.values() for name in names}
        return [name for name in self.available if name in main or name in PREFERRED]

    def add(self, instance: object) -> None:
        """Add one instance of one trial."""
        identity, run = as_name(part(instance, "instance_id")), self.run
        if identity is None:
            run.leave_out(NO_IDENTITY)
            return
        if part(instance, "perturbation"):
            run.leave_out(PERTURBED)
            return
        found = _stats(instance)
        self.available.update(found.keys())
        if not run.metric:
            run.metric = next((name for name in self.preferred if name in found), "")
        score, split = found.get(run.metric, (None, None))
        known = self.asked.get(identity)
        content = None if known is None else known.content
        place = self.items.place(run.task, identity, content, together=content is not None)
        if run.add(place, score):
            subject = subject_and_document(part(self.spec, "scenario_spec", "args"))["subject"]
            facts: dict[str, Fact] = {"split": split, "subject": subject}
            if known is not None and self.wanted.keep_text:
                facts |= {"text": known.text, "target": known.target}
            self.items.tell(place, facts)
            if known is not None and self.wanted.keep_choices:
                run.choose(self.items, place, known.chosen, as_label(known.target))


def _stats(instance: object) -> dict[str, tuple[float | None, Fact]]:
    """Return mean and split of each statistic; an empty statistic has neither."""
    found: dict[str, tuple[float | None, Fact]] = {}
    several = part(instance, "stats")
    for stat in several if isinstance(several, list) else []:
        name = part(stat, "name", "name")
        if not isinstance(name, str) or part(stat, "name", "perturbation"):
            continue
        mean = as_score(part(stat, "mean"))
        if mean is None and part(stat, "count") == 1:
            mean = as_score(part(stat, "sum"))
        found.setdefault(name, (mean, as_fact(part(stat, "name", "split"))))
    return found


def _questions(path: Path, wanted: LogSettings) -> dict[str, _Asked]:
    """Return question and right answer of each instance, if the scenario state exists."""
    found: dict[str, _Asked] = {}
    if not is_plain(path):
        return found
    with text_bytes(path, wanted.max_bytes) as stream:
        pieces = Pieces(stream, f"'{path}'")
        for key, is_list in pieces.members():
            if key != "request_states" or not is_list:
                pieces.value()
                continue
            for state in pieces.elements():
                instance = part(state, "instance")
                identity = as_name(part(instance, "id"))
                text = part(instance, "input", "text")
                if identity is None or identity in found or not isinstance(text, str):
                    continue
                if part(instance, "perturbation"):
                    continue
                target = _right(instance)
                asked = content_hash(text, target), shortened(text), target
                found[identity] = _Asked(*asked, _chosen(state))
    return found


def _chosen(state: object) -> str | None:
    """Return the text of the option that a model named by its letter."""
    options, answers = part(state, "output_mapping"), part(state, "result", "completions")
    if not isinstance(options, dict) or not isinstance(answers, list) or not answers:
        return None
    said = part(answers[0], "text")
    return as_label(options.get(said.strip()[:1])) if isinstance(said, str) else None


def _right(instance: object) -> str | None:
    references = part(instance, "references")
    for reference in references if isinstance(references, list) else []:
        tags = part(reference, "tags")
        if isinstance(tags, list) and "correct" in tags:
            return shortened(part(reference, "output", "text"))
    return None
