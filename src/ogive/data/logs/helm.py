"""Run folders of HELM: per_instance_stats.json, run_spec.json and scenario_state.json.

An instance has a list of statistics; one of them is the metric of the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from ogive._files import is_plain, is_there
from ogive.data.logs.json_documents import JsonStream, small_json
from ogive.data.logs.runs import (
    NO_IDENTITY,
    Items,
    LogSettings,
    OnBytes,
    Run,
    as_fact,
    as_name,
    as_score,
    content_hash,
    missing_metric,
    nested,
    nested_dict,
    nested_list,
    option_label,
    shortened,
    subject_and_document,
    without_missing,
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

    def read(
        self, path: Path, wanted: LogSettings, items: Items, on_bytes: OnBytes
    ) -> Iterator[Run]:
        """Yield one run: a model on a scenario."""
        if path.name == SPEC:
            raise FileError(
                f"'{path.parent}' is a run of HELM without {STATS}, so there is nothing to read."
            )
        spec = small_json(path.with_name(SPEC), wanted.max_bytes)
        run = self._start_run(path, spec)
        try:
            questions = _questions(path.with_name(STATE), wanted)
        except FileError as error:
            run.remarks.append(f"no texts, so items are known by id: {str(error).rstrip('.')}")
            questions = {}
        reader = _InstanceReader(run, items, spec, questions, wanted)
        with text_bytes(path, wanted.max_bytes, on_bytes) as stream:
            for instance in JsonStream(stream, f"'{path}'").elements():
                reader.add(instance)
        if reader.available and not run.metric:
            raise missing_metric(path, reader.preferred, sorted(reader.available))
        main = {*PREFERRED, *(name for names in MAIN.values() for name in names)}
        if others := [name for name in reader.available if name in main and name != run.metric]:
            run.unread["metric"] = others
        if not run.rows:
            raise FileError(f"'{path}' holds no instances, so there is nothing to read.")
        yield run

    def _start_run(self, path: Path, spec: Mapping[str, Any]) -> Run:
        folder = path.absolute().parent.name
        named = as_name(spec.get("name")) or folder
        model = as_name(nested(spec, "adapter_spec", "model")) or _argument(named, "model")
        if model is None:
            raise FileError(
                f"'{path}' does not name its model: {SPEC} in its folder is missing or damaged. "
                "Copy the whole folder of the run."
            )
        run = Run(path, self.name, model, _task(named), repeats="trials")
        run.model_facts = {"source": "helm"}
        run.conditions = conditions(nested(spec, "adapter_spec"))
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
    return without_missing(found)


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


class _Question(NamedTuple):
    """The question of an instance, and what was answered."""

    content: str  # a hash of question and right answer
    text: str | None
    target: str | None
    chosen: str | None = None  # the text of the option that the model chose


@dataclass
class _InstanceReader:
    """Adds instances to a run."""

    run: Run
    items: Items
    spec: Mapping[str, Any]
    questions: Mapping[str, _Question]
    wanted: LogSettings
    available: Counter[str] = field(default_factory=Counter)  # instances with each statistic

    @cached_property
    def preferred(self) -> tuple[str, ...]:
        """The metrics to read: the first that an instance has."""
        return self.wanted.metrics or _preferred(self.spec)

    def add(self, instance: object) -> None:
        """Add one instance of one trial."""
        identity, run = as_name(nested(instance, "instance_id")), self.run
        if identity is None:
            run.leave_out(NO_IDENTITY)
            return
        if nested(instance, "perturbation"):
            run.leave_out(PERTURBED)
            return
        statistics = _statistics(instance)
        self.available.update(statistics.keys())
        if not run.metric:
            run.metric = next((name for name in self.preferred if name in statistics), "")
        score, split = statistics.get(run.metric, (None, None))
        question = self.questions.get(identity)
        content = None if question is None else question.content
        item = self.items.number_of(run.task, identity, content, together=content is not None)
        if run.add(item, score):
            subject = subject_and_document(nested(self.spec, "scenario_spec", "args"))["subject"]
            facts: dict[str, Fact] = {"split": split, "subject": subject}
            if question is not None and self.wanted.keep_text:
                facts |= {"text": question.text, "target": question.target}
            self.items.add_facts(item, facts)
            if question is not None and self.wanted.keep_choices:
                right = option_label(question.target)
                run.add_choice(self.items, item, question.chosen, right)


def _statistics(instance: object) -> dict[str, tuple[float | None, Fact]]:
    """Return the mean and the split of each statistic; an empty statistic has neither."""
    statistics: dict[str, tuple[float | None, Fact]] = {}
    for stat in nested_list(instance, "stats"):
        name = nested(stat, "name", "name")
        if not isinstance(name, str) or nested(stat, "name", "perturbation"):
            continue
        mean = as_score(nested(stat, "mean"))
        if mean is None and nested(stat, "count") == 1:
            mean = as_score(nested(stat, "sum"))
        statistics.setdefault(name, (mean, as_fact(nested(stat, "name", "split"))))
    return statistics


def _questions(path: Path, wanted: LogSettings) -> dict[str, _Question]:
    """Return question and right answer of each instance, if the scenario state exists."""
    questions: dict[str, _Question] = {}
    if not is_plain(path):
        return questions
    with text_bytes(path, wanted.max_bytes) as stream:
        document = JsonStream(stream, f"'{path}'")
        for key, is_list in document.members():
            if key != "request_states" or not is_list:
                document.value()
                continue
            for state in document.elements():
                instance = nested(state, "instance")
                identity, text = as_name(nested(instance, "id")), nested(instance, "input", "text")
                if identity is None or identity in questions or not isinstance(text, str):
                    continue
                if nested(instance, "perturbation"):
                    continue
                right = (
                    shortened(nested(reference, "output", "text"))
                    for reference in nested_list(instance, "references")
                    if "correct" in nested_list(reference, "tags")
                )
                target = next(right, None)
                content = content_hash(text, target)
                questions[identity] = _Question(content, shortened(text), target, _chosen(state))
    return questions


def _chosen(state: object) -> str | None:
    """Return the text of the option that a model named by its letter."""
    answers = nested_list(state, "result", "completions")
    letter = nested(answers[0], "text") if answers else None
    options = nested_dict(state, "output_mapping")
    return option_label(options.get(letter.strip()[:1])) if isinstance(letter, str) else None
