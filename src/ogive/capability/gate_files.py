"""A gate in two files, without pickle: its rule and scale as JSON, its model as skops.

Nothing in the files is trusted: numbers, shapes and names are checked, then a checksum.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ogive._files import (
    DAMAGED,
    PathLike,
    check_present,
    check_version,
    is_plain,
    is_there,
    readable_file,
    require_keys,
    why_damaged,
    write_bytes,
    write_json,
)
from ogive.capability.case_difficulty import CaseDifficulty
from ogive.capability.cases import NUMBER, TEXT, Features, GroupFact
from ogive.capability.decisions import ACCURACIES, COUNTS, REPORTED, SHARES
from ogive.capability.guarantees import (
    ALL,
    BYS,
    GROUP,
    AcceptanceRule,
    Guarantee,
    guaranteed_by,
)
from ogive.capability.selective_risk import Accepted, ConfidenceBaseline
from ogive.capability.trust import CAPABILITY, KINDS, PROBABILITY, Trust
from ogive.data.saved_estimators import packed, unpacked
from ogive.errors import FileError, InputError
from ogive.stats.array_backend import Floats

if TYPE_CHECKING:
    from ogive.capability.gate import CapabilityGate


KIND, VERSION = "gate", 1
KEYS = (
    "scikit_learn",
    "settings",
    "features",
    "case_difficulty",
    "groups",
    "rule",
    "capability",
    "parts",
    "acceptance",
    "trust_shares",
    "baseline",
    "notes",
    "model",
)
SUM = "sha256"  # key of the checksum of all the above, to detect edits
SETTINGS = ("target_accuracy", "alpha", "by", "trust", "rule", "test_size")
QUANTILES, TABLE = "quantiles", "table"
RULE = ("trust", "threshold", "too_few", "limit_se")
BY_CLASS = ("slope", "middle", "offset")  # of trust
WEIGHTS = ("intercept", "on_confidence", "on_capability")  # of trust


def save_gate(gate: CapabilityGate, path: PathLike) -> Path:
    """Write a fitted gate as `path`, which ends in .json, and its model beside it as .skops."""
    import sklearn
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(gate)
    except NotFittedError as error:
        raise InputError("The gate is not fitted yet. Call fit first.") from error
    target = Path(path)
    if target.suffix.lower() != ".json":
        raise InputError(
            f"Cannot save a gate as '{target.name}': its ending is '{target.suffix}'. Use .json; "
            "the model is written beside it as .skops."
        )
    content = packed(gate.estimator_, "model")
    beside = target.with_suffix(".skops")
    document = {
        "scikit_learn": sklearn.__version__,
        "settings": _written_settings(gate),
        "features": {"kinds": dict(gate.features_.kinds), "named": gate.features_.named},
        "case_difficulty": gate.case_difficulty_.to_dict(),
        "groups": as_json(gate.group_fact_),
        "rule": {name: as_json(getattr(gate.acceptance_rule_, name)) for name in RULE},
        "capability": {name: as_json(column) for name, column in gate.capability_.items()},
        "parts": {name: as_json(column) for name, column in gate.parts_.items()},
        "acceptance": as_json(gate.acceptance_),
        "trust_shares": dict(gate.trust_shares_),
        "baseline": as_json(gate.baseline_),
        "notes": list(gate.notes_),
        "model": {"file": beside.name, "sha256": hashlib.sha256(content).hexdigest()},
    }
    # A kill at any moment leaves a whole gate, the old one or this: it names its model by checksum.
    _finish_save(target, beside)
    write_bytes(_pending(beside), content)
    write_json(target, KIND, VERSION, {**document, SUM: _sum(document)})
    _finish_save(target, beside)
    return target


def _finish_save(file: Path, beside: Path) -> None:
    """Give a model its own name, once the gate names it; also ends a save that was killed.

    Otherwise, a second kill would replace the only copy of the model that the gate names.
    """
    pending = _pending(beside)
    try:
        if not is_plain(pending) or not is_plain(file):
            return
        named = json.loads(file.read_bytes())["model"]["sha256"]
        if hashlib.sha256(pending.read_bytes()).hexdigest() == named:
            pending.replace(beside)
    except (*DAMAGED, RecursionError):  # not a gate that could be lost
        return
    except OSError as error:  # the gate is whole, with its model under the other name
        raise FileError(f"'{beside}' cannot be replaced: {error.strerror}.") from error


def _pending(beside: Path) -> Path:
    """Return the name of a model until the gate that names it has replaced the one before."""
    return beside.with_name(f"{beside.stem}.next.skops")


def _sum(document: Mapping[str, Any]) -> str:
    """Return a checksum of the contents in the order of the file: the order of features matters."""
    part = json.dumps([document[key] for key in KEYS], default=str)
    return hashlib.sha256(part.encode()).hexdigest()


def restore_gate(
    gate: CapabilityGate, file: Path, document: Mapping[str, Any], max_bytes: int
) -> CapabilityGate:
    """Restore in a new gate what `save_gate` wrote, trusting nothing in the files."""
    from sklearn.base import clone

    check_version(file, document, VERSION)
    require_keys(file, document, (*KEYS, SUM))
    if document[SUM] != _sum(document):
        raise FileError(
            f"'{file}' was edited or damaged: its SHA-256 differs from that of the gate that was "
            "saved. Restore a copy, or save the gate again."
        )
    try:
        _restore(gate, document)
    except DAMAGED as error:
        raise FileError(
            f"'{file}' is not a gate that this Ogive can use: {why_damaged(error)} "
            "If it was edited, restore a copy or save it again."
        ) from error
    _refuse_other_release(file, document["scikit_learn"])
    gate.estimator_ = _model(file, document["model"], gate, max_bytes)
    if not document["settings"]["default_model"]:
        gate.estimator = clone(gate.estimator_)
    return gate


def _restore(gate: CapabilityGate, document: Mapping[str, Any]) -> None:
    """Restore everything but the model."""
    settings = document["settings"]
    gate.set_params(**{name: settings[name] for name in (*SETTINGS, "random_state")})
    gate.check_settings()
    if not isinstance(settings["default_model"], bool):
        raise ValueError("default_model is neither true nor false")
    gate.case_difficulty_ = CaseDifficulty.from_dict(document["case_difficulty"])
    coding = settings["coding"]
    if coding not in (None, TABLE, QUANTILES):
        raise ValueError(f"its coding is {coding!r:.20}")
    if coding is not None:
        own = gate.case_difficulty_
        chosen = own.coding_ if coding == TABLE else coding
        gate.case_difficulty = CaseDifficulty(chosen, levels=own.levels, model=own.model)
    gate.classes_ = gate.case_difficulty_.classes_
    gate.features_ = _features(document["features"])
    gate.n_features_in_ = len(gate.features_.kinds)
    if gate.features_.named:
        gate.feature_names_in_ = np.array(list(gate.features_.kinds), dtype=object)
    gate.group_fact_ = _groups(document["groups"])
    grouped = gate.group_fact_ is not None
    gate.by_ = guaranteed_by(gate.by, gate.target_accuracy, grouped=grouped)
    gate.acceptance_rule_ = _rule(document["rule"], gate)
    gate.capability_ = _capability(document["capability"], gate)
    gate.parts_ = _parts(document["parts"])
    gate.acceptance_ = _acceptance(document["acceptance"], gate)
    gate.trust_shares_ = _trust_shares(document["trust_shares"])
    gate.baseline_ = _baseline(document["baseline"], len(gate.classes_))
    gate.notes_ = [str(note) for note in document["notes"]]


def _model(file: Path, entry: Any, gate: CapabilityGate, max_bytes: int) -> Any:
    """Read the model next to the file, if it is the one that was saved with it."""
    name = entry.get("file") if isinstance(entry, dict) else None
    if not isinstance(name, str) or Path(name).name != name or not name.endswith(".skops"):
        raise FileError(
            f"'{file}' names no model beside it: \"file\" is {name!r:.60}, but it should be a "
            "name that ends in .skops. Save the gate again."
        )
    beside = file.with_name(name)
    content = readable_file(beside, max_bytes).read_bytes() if is_there(beside) else b""
    if hashlib.sha256(content).hexdigest() != entry.get("sha256") and is_there(_pending(beside)):
        content = readable_file(_pending(beside), max_bytes).read_bytes()
    if not content:
        check_present(beside)
    if hashlib.sha256(content).hexdigest() != entry.get("sha256"):
        raise FileError(
            f"'{beside}' is not the model that was saved with '{file.name}': its SHA-256 differs. "
            "One of the two was damaged or replaced; restore both from the same save."
        )

    def check(model: Any) -> None:
        labels = np.asarray(getattr(model, "classes_", ()))
        if not hasattr(model, "predict") or not np.array_equal(labels, gate.classes_):
            raise InputError(
                f"it holds a {type(model).__name__}, not a classifier of these classes"
            )

    return unpacked(beside, content, check, "model", "CapabilityGate.save", max_bytes)


def _refuse_other_release(file: Path, saved: Any) -> None:
    """Refuse a model of another release of scikit-learn, which may predict differently."""
    import sklearn

    installed = sklearn.__version__
    if not isinstance(saved, str) or saved.split(".")[:2] != installed.split(".")[:2]:
        raise FileError(
            f"'{file}' was saved with scikit-learn {saved!s:.20}, and this is {installed}: its "
            "model may predict differently here. Fit and save the gate again, or install that "
            "release."
        )


# --- Parts of the document, read with their checks ---


def _written_settings(gate: CapabilityGate) -> dict[str, Any]:
    """Return settings to fit the same gate again; a random generator cannot be saved."""
    scale, seed = gate.case_difficulty, gate.random_state
    table = scale is not None and not isinstance(scale.coding, str)
    return {
        **{name: getattr(gate, name) for name in SETTINGS},
        "random_state": int(seed) if isinstance(seed, int | np.integer) else None,
        "default_model": gate.estimator is None,
        "coding": None if scale is None else (TABLE if table else QUANTILES),
    }


def _features(written: Mapping[str, Any]) -> Features:
    kinds = {str(name): kind for name, kind in written["kinds"].items()}
    if not kinds or not set(kinds.values()) <= {NUMBER, TEXT}:
        raise ValueError("its features are not numbers and texts")
    return Features(kinds, named=bool(written["named"]))


def _groups(written: Mapping[str, Any] | None) -> GroupFact | None:
    if written is None:
        return None
    labels, numeric = written["labels"], written["numeric"]
    texts = all(isinstance(one, str) for one in labels)
    if not labels or not texts or len(set(labels)) < len(labels):
        raise ValueError("its groups are not different texts")
    if not isinstance(written["name"], str) or not isinstance(numeric, bool):
        raise ValueError("its groups have no name")
    return GroupFact(written["name"], tuple(labels), numeric)


def _rule(written: Mapping[str, Any], gate: CapabilityGate) -> AcceptanceRule:
    """Restore the rule; what its groups are follows from the settings."""
    by_test, labels = gate.target_accuracy is None, tuple(map(str, gate.classes_.tolist()))
    names = labels
    if not by_test and gate.by_ == ALL:
        names = ("all",)
    elif not by_test and gate.by_ == GROUP:
        names = () if gate.group_fact_ is None else gate.group_fact_.labels
    if by_test != (written["limit_se"] is not None):
        raise ValueError("its limits and the accuracy it was asked for do not fit each other")
    threshold, too_few = as_floats(written["threshold"], len(names)), written["too_few"]
    if np.isnan(threshold).any() or len(too_few) != len(threshold):
        raise ValueError("its thresholds do not fit its classes or groups")
    if not all(isinstance(one, bool) for one in too_few):
        raise ValueError("it does not say which parts are too small")
    if (threshold[np.array(too_few, dtype=bool)] < np.inf).any():
        raise ValueError("it accepts cases where it promises nothing")
    limit_se = as_floats(written["limit_se"], len(labels)) if by_test else None
    if limit_se is not None and (limit_se < 0).any():
        raise ValueError("a standard error is below 0")
    guarantee = None
    if gate.target_accuracy is not None:
        guarantee = Guarantee(float(gate.target_accuracy), gate.alpha, gate.by_)
    trust = _trust(written["trust"], len(labels))
    flags = np.array(too_few, dtype=bool)
    return AcceptanceRule(trust, names, threshold, flags, guarantee, limit_se)


def _trust(written: Mapping[str, Any], n_classes: int) -> Trust:
    kind = written["kind"]
    if kind not in KINDS:
        raise ValueError(f"its trust is {kind!r:.20}")
    slope, middle, offset = (as_floats(written[name], n_classes) for name in BY_CLASS)
    weights = as_floats([written[name] for name in WEIGHTS])
    intercept, on_confidence, on_capability = weights.tolist()
    numbers = np.concatenate([slope, middle, offset, weights])
    if (
        not np.isfinite(numbers).all()
        or (slope <= 0).any()
        or min(on_confidence, on_capability) < 0
    ):
        raise ValueError("its trust is not a number, or does not fall with difficulty")
    if (on_confidence > 0) != (kind != CAPABILITY) or (on_capability > 0) != (kind != PROBABILITY):
        raise ValueError("its trust does not rest on what it says")
    return Trust(kind, slope, middle, offset, intercept, on_confidence, on_capability)


def _capability(written: Mapping[str, Any], gate: CapabilityGate) -> pd.DataFrame:
    """Restore the table of predicted classes, which has to show the limits that decide."""
    columns = {name: as_floats(written[name], len(gate.classes_)) for name in REPORTED}
    _check_counts(columns)
    by_class = dict(zip(REPORTED, gate.acceptance_rule_.by_class(), strict=False))
    if not all(np.allclose(columns[k], value, equal_nan=True) for k, value in by_class.items()):
        raise ValueError("the limits it reports are not those it decides by")
    frame = pd.DataFrame(columns, index=pd.Index(gate.classes_, name="class"))
    return frame.astype(dict.fromkeys(COUNTS, np.int64))


def _parts(written: Mapping[str, Any]) -> pd.DataFrame:
    by, promised = list(written["by"]), list(written["promised"])
    if not set(by) <= set(BYS) or not all(isinstance(one, bool) for one in promised):
        raise ValueError("its parts are neither classes nor groups")
    names = [str(name) for name in written["part"]]
    numbers = {name: as_floats(written[name], len(by)) for name in (*COUNTS, *SHARES, *ACCURACIES)}
    _check_counts(numbers)
    frame = pd.DataFrame({"by": by, "part": names, **numbers, "promised": promised})
    return frame.astype(dict.fromkeys(COUNTS, np.int64))


def _check_counts(columns: Mapping[str, Floats]) -> None:
    held_out, taken = (columns[name] for name in COUNTS)
    whole = (held_out % 1 == 0) & (taken % 1 == 0)
    if not ((taken >= 0) & (taken <= held_out) & whole).all():
        raise ValueError("accepted cases are not some of those held out")
    shares = np.array([columns[name] for name in ACCURACIES])[:, taken > 0]
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError("an accuracy is not a share of accepted cases")


def _acceptance(written: Mapping[str, Any] | None, gate: CapabilityGate) -> Accepted | None:
    if (written is None) != (gate.target_accuracy is None):
        raise ValueError("what it accepts and the accuracy it was asked for do not fit each other")
    if written is None:
        return None
    counts = {name: as_count(written[name]) for name in ("n_cases", "n_accepted", "n_right")}
    if not counts["n_right"] <= counts["n_accepted"] <= counts["n_cases"]:
        raise ValueError("more cases are right than accepted, or accepted than there are")
    threshold, target, alpha = as_floats([written[k] for k in ("threshold", "target", "alpha")])
    if (target, alpha) != (gate.target_accuracy, gate.alpha):
        raise ValueError("what it accepts is not what it was asked for")
    return Accepted(float(threshold), float(target), float(alpha), **counts)


def _trust_shares(written: Mapping[str, Any]) -> dict[str, float]:
    values = as_floats(list(written.values()))
    if not set(written) <= set(KINDS) or not ((values >= 0) & (values <= 1)).all():
        raise ValueError("what it was expected to accept are not shares")
    return dict(zip(written, values.tolist(), strict=True))


def _baseline(written: Mapping[str, Any] | None, n_classes: int) -> ConfidenceBaseline | None:
    if written is None:
        return None
    wrong = tuple(np.sort(as_floats(one)) for one in written["wrong"])
    held_out = tuple(as_count(n) for n in written["held_out"])
    if not len(wrong) == len(held_out) == n_classes:
        raise ValueError("its confidence data does not fit the classes")
    if any(len(one) > n or np.isnan(one).any() for one, n in zip(wrong, held_out, strict=True)):
        raise ValueError("there is more confidence in wrong cases than there are cases")
    return ConfidenceBaseline(float(as_floats([written["threshold"]])[0]), wrong, held_out)


def as_json(value: Any) -> Any:
    """Return numbers, texts, arrays and dataclasses as JSON values: infinity and NaN as text."""
    if is_dataclass(value):
        return {field.name: as_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, list | tuple | np.ndarray | pd.Series):
        return [as_json(one) for one in value]
    plain = value.item() if isinstance(value, np.generic) else value
    return str(plain) if isinstance(plain, float) and not math.isfinite(plain) else plain


def as_floats(values: Any, n: int | None = None) -> Floats:
    """Return numbers from JSON values, `n` of them."""
    known = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}
    if any(isinstance(value, bool) for value in values):
        raise ValueError("true and false are not numbers")
    numbers = np.array([known[v] if isinstance(v, str) else float(v) for v in values], dtype=float)
    if n is not None and numbers.shape != (n,):
        raise ValueError(f"there are {len(numbers)} values for {n} classes or groups")
    return numbers


def as_count(value: Any) -> int:
    """Return a number of cases."""
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r:.20} is not a number of cases")
    return value
