"""A gate as JSON and skops, validated.

The limits of a gate, and the tables that describe them, as JSON; nothing in it is trusted.

A gate in two files, without pickle: its limits and scale as JSON, its model as skops.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

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
from ogive.capability.decisions import ACCURACIES, COUNTS, SHARES, Limits, PromisedLimits
from ogive.capability.guarantees import ALL, BYS, GROUP, Promise, promised_by
from ogive.capability.selective_risk import Accepted, Rivals
from ogive.capability.trust import CAPABILITY, KINDS, PROBABILITY, Trust
from ogive.data.saved_estimators import packed, unpacked
from ogive.errors import FileError, InputError
from ogive.stats.array_backend import Floats

if TYPE_CHECKING:
    import pandas as pd

    from ogive.capability.gate import CapabilityGate


BY_TEST = ("limit", "limit_se", "slope", "middle")
BY_TRUST = ("slope", "middle", "offset")
WEIGHTS = ("intercept", "on_sure", "on_capability")
TEST, TARGET = "test", "target"


def written_limits(limits: Limits | PromisedLimits) -> dict[str, Any]:
    """Return limits by an adaptive test, or trust and promise."""
    if isinstance(limits, Limits):
        return {"from": TEST, **{name: as_texts(getattr(limits, name)) for name in BY_TEST}}
    trust, promise = limits.trust, limits.promise
    return {
        "from": TARGET,
        "trust": {
            "kind": trust.kind,
            **{name: as_texts(getattr(trust, name)) for name in BY_TRUST},
            **{name: getattr(trust, name) for name in WEIGHTS},
        },
        "promise": {
            "by": promise.by,
            "names": list(promise.names),
            "edge": as_texts(promise.edge),
            "few": promise.few.tolist(),
        },
    }


def read_limits(
    written: Mapping[str, Any], gate: CapabilityGate, n_classes: int
) -> Limits | PromisedLimits:
    """Restore limits; they have to be of the kind that the gate was asked for."""
    if written["from"] != (TEST if gate.target_accuracy is None else TARGET):
        raise ValueError("its limits and the accuracy it was asked for do not fit each other")
    if written["from"] == TARGET:
        trust = _trust(written["trust"], n_classes)
        return PromisedLimits(trust, _promise(written["promise"], gate))
    limit, error, slope, middle = (as_floats(written[name], n_classes) for name in BY_TEST)
    if np.isnan(limit).any() or not np.isfinite([slope, middle]).all() or (slope <= 0).any():
        raise ValueError("a limit is not a number, or trust does not fall with difficulty")
    if (error < 0).any():
        raise ValueError("a standard error is below 0")
    return Limits(limit, error, slope, middle)


def _trust(written: Mapping[str, Any], n_classes: int) -> Trust:
    kind = written["kind"]
    if kind not in KINDS:
        raise ValueError(f"its trust is {kind!r:.20}")
    slope, middle, offset = (as_floats(written[name], n_classes) for name in BY_TRUST)
    intercept, on_sure, on_capability = as_floats([written[name] for name in WEIGHTS])
    numbers = np.concatenate([slope, middle, offset, [intercept, on_sure, on_capability]])
    if not np.isfinite(numbers).all() or (slope <= 0).any() or min(on_sure, on_capability) < 0:
        raise ValueError("its trust is not a number, or does not fall with difficulty")
    if (on_sure > 0) != (kind != CAPABILITY) or (on_capability > 0) != (kind != PROBABILITY):
        raise ValueError("its trust does not rest on what it says")
    return Trust(
        kind, slope, middle, offset, float(intercept), float(on_sure), float(on_capability)
    )


def _promise(written: Mapping[str, Any], gate: CapabilityGate) -> Promise:
    by, names = written["by"], tuple(str(name) for name in written["names"])
    if by not in BYS or by != gate.by_:
        raise ValueError("its promise is not for those it was asked for")
    if by == ALL:
        expected: tuple[str, ...] = ("all",)
    elif by == GROUP:
        expected = () if gate.group_fact_ is None else gate.group_fact_.labels
    else:
        expected = tuple(str(label) for label in gate.classes_.tolist())
    edge = as_floats(written["edge"], len(expected))
    few = written["few"]
    if names != expected or np.isnan(edge).any() or len(few) != len(edge):
        raise ValueError("its promise does not fit its classes or groups")
    if not all(isinstance(one, bool) for one in few):
        raise ValueError("its promise does not say which parts are too small")
    if (edge[np.array(few, dtype=bool)] < np.inf).any():
        raise ValueError("it accepts cases where it promises nothing")
    target, alpha = gate.target_accuracy, gate.alpha
    return Promise(by, float(target or 0), alpha, names, edge, np.array(few, dtype=bool))


def read_capability(
    written: Mapping[str, Any], classes: Any, limits: Limits | PromisedLimits
) -> pd.DataFrame:
    """Restore the table of predicted classes, which has to show the limits that decide."""
    import pandas as pd

    from ogive.capability.decisions import REPORTED

    columns = {name: as_floats(written[name], len(classes)) for name in REPORTED}
    _check_counts(columns)
    if not all(
        np.allclose(columns[name], value, equal_nan=True)
        for name, value in zip(REPORTED, limits.by_class(), strict=False)
    ):
        raise ValueError("the limits it reports are not those it decides by")
    frame = pd.DataFrame(columns, index=pd.Index(classes, name="class"))
    return frame.astype(dict.fromkeys(COUNTS, np.int64))


def written_parts(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the table of parts, by column."""
    texts = {name: frame[name].tolist() for name in ("by", "part", "promised")}
    numbers = {name: as_texts(frame[name]) for name in (*COUNTS, *SHARES, *ACCURACIES)}
    return {**texts, **numbers}


def read_parts(written: Mapping[str, Any]) -> pd.DataFrame:
    """Restore the table of parts."""
    import pandas as pd

    by, promised = list(written["by"]), list(written["promised"])
    if not set(by) <= set(BYS) or not all(isinstance(one, bool) for one in promised):
        raise ValueError("its parts are neither classes nor groups")
    names = [str(name) for name in written["part"]]
    numbers = {name: as_floats(written[name], len(by)) for name in (*COUNTS, *SHARES, *ACCURACIES)}
    _check_counts(numbers)
    frame = pd.DataFrame({"by": by, "part": names, **numbers, "promised": promised})
    return frame.astype(dict.fromkeys(COUNTS, np.int64))


def read_groups(written: Mapping[str, Any] | None) -> GroupFact | None:
    """Restore what is known of groups."""
    if written is None:
        return None
    labels, numeric = written["labels"], written["numeric"]
    if (
        not labels
        or not all(isinstance(one, str) for one in labels)
        or len(set(labels)) < len(labels)
    ):
        raise ValueError("its groups are not different texts")
    if not isinstance(written["name"], str) or not isinstance(numeric, bool):
        raise ValueError("its groups have no name")
    return GroupFact(written["name"], tuple(labels), numeric)


def read_shares(written: Mapping[str, Any]) -> dict[str, float]:
    """Restore the share that each kind of trust was expected to accept."""
    values = as_floats(list(written.values()))
    if not set(written) <= set(KINDS) or not ((values >= 0) & (values <= 1)).all():
        raise ValueError("what it was expected to accept are not shares")
    return dict(zip(written, values.tolist(), strict=True))


def as_texts(values: Any) -> list[Any]:
    """Return numbers as JSON values: infinity and NaN as text."""
    numbers = [value.item() if hasattr(value, "item") else value for value in values]
    return [value if math.isfinite(value) else str(value) for value in numbers]


def as_floats(values: Any, n: int | None = None) -> Floats:
    """Return numbers from JSON values, `n` of them."""
    known = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}
    if any(isinstance(value, bool) for value in values):
        raise ValueError("true and false are not numbers")
    found = np.array([known[v] if isinstance(v, str) else float(v) for v in values], dtype=float)
    if n is not None and found.shape != (n,):
        raise ValueError(f"there are {len(found)} values for {n} classes or groups")
    return found


def as_count(value: Any) -> int:
    """Return a number of cases."""
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r:.20} is not a number of cases")
    return value


def _check_counts(columns: Mapping[str, Floats]) -> None:
    held, taken = (columns[name] for name in COUNTS)
    if not ((taken >= 0) & (taken <= held) & (held % 1 == 0) & (taken % 1 == 0)).all():
        raise ValueError("accepted cases are not some of those held out")
    shares = np.array([columns[name] for name in ACCURACIES])[:, taken > 0]
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError("an accuracy is not a share of accepted cases")


KIND, VERSION = "gate", 1
KEYS = (
    "scikit_learn",
    "settings",
    "features",
    "case_difficulty",
    "groups",
    "limits",
    "capability",
    "parts",
    "acceptance",
    "trust_shares",
    "rivals",
    "notes",
    "model",
)
QUANTILES, TABLE = "quantiles", "table"
SUM = "sha256"  # of all the above, to detect edits
SETTINGS = ("target_accuracy", "alpha", "by", "trust", "rule", "test_size")


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
        "groups": None if gate.group_fact_ is None else asdict(gate.group_fact_),
        "limits": written_limits(gate.limits_),
        "capability": {name: as_texts(column) for name, column in gate.capability_.items()},
        "parts": written_parts(gate.parts_),
        "acceptance": None if gate.acceptance_ is None else _written_acceptance(gate.acceptance_),
        "trust_shares": dict(gate.trust_shares_),
        "rivals": None if gate.rivals_ is None else _written_rivals(gate.rivals_),
        "notes": list(gate.notes_),
        "model": {"file": beside.name, "sha256": hashlib.sha256(content).hexdigest()},
    }
    # A kill at any moment leaves a whole gate, the old one or this: it names its model by checksum.
    coming = _next(beside)
    _settle(target, beside)
    write_bytes(coming, content)
    write_json(target, KIND, VERSION, {**document, SUM: _sum(document)})
    _settle(target, beside)
    return target


def _settle(file: Path, beside: Path) -> None:
    """Give a model its own name, once the gate names it; a save that was killed is ended so, too.

    Otherwise, a second kill would replace the only copy of the model that the gate names.
    """
    coming = _next(beside)
    try:
        if not is_plain(coming) or not is_plain(file):
            return
        named = json.loads(file.read_bytes())["model"]["sha256"]
        if hashlib.sha256(coming.read_bytes()).hexdigest() == named:
            coming.replace(beside)
    except (*DAMAGED, RecursionError):  # not a gate that could be lost
        return
    except OSError as error:  # the gate is whole, with its model under the other name
        raise FileError(f"'{beside}' cannot be replaced: {error.strerror}.") from error


def _next(beside: Path) -> Path:
    """Return where a model is until the gate that names it has replaced the one before."""
    return beside.with_name(f"{beside.stem}.next.skops")


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


def _sum(document: Mapping[str, Any]) -> str:
    """Checksum of the contents, in the order of the file, since the order of features matters."""
    part = json.dumps([document[key] for key in KEYS], default=str)
    return hashlib.sha256(part.encode()).hexdigest()


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
    if hashlib.sha256(content).hexdigest() != entry.get("sha256") and is_there(_next(beside)):
        content = readable_file(_next(beside), max_bytes).read_bytes()
    if not content:
        check_present(beside)
    if hashlib.sha256(content).hexdigest() != entry.get("sha256"):
        raise FileError(
            f"'{beside}' is not the model that was saved with '{file.name}': its SHA-256 differs. "
            "One of the two was damaged or replaced; restore both from the same save."
        )

    def check(found: Any) -> None:
        labels = np.asarray(getattr(found, "classes_", ()))
        if not hasattr(found, "predict") or not np.array_equal(labels, gate.classes_):
            raise InputError(
                f"it holds a {type(found).__name__}, not a classifier of these classes"
            )

    return unpacked(beside, content, check, "model", "CapabilityGate.save", max_bytes)


def _refuse_other_release(file: Path, saved: Any) -> None:
    """Refuse a model of another release of scikit-learn, which may predict differently."""
    import sklearn

    here = sklearn.__version__
    if not isinstance(saved, str) or saved.split(".")[:2] != here.split(".")[:2]:
        raise FileError(
            f"'{file}' was saved with scikit-learn {saved!s:.20}, and this is {here}: its model "
            "may predict differently here. Fit and save the gate again, or install that release."
        )


def _restore(gate: CapabilityGate, document: Mapping[str, Any]) -> None:
    """Everything but the model."""
    gate.set_params(**{name: document["settings"][name] for name in (*SETTINGS, "random_state")})
    gate.check_settings()
    if not isinstance(document["settings"]["default_model"], bool):
        raise ValueError("default_model is neither true nor false")
    gate.case_difficulty_ = CaseDifficulty.from_dict(document["case_difficulty"])
    coding = document["settings"]["coding"]
    if coding not in (None, TABLE, QUANTILES):
        raise ValueError(f"its coding is {coding!r:.20}")
    if coding is not None:
        own = gate.case_difficulty_
        chosen = own.coding_ if coding == TABLE else coding
        gate.case_difficulty = CaseDifficulty(chosen, levels=own.levels, model=own.model)
    gate.classes_ = gate.case_difficulty_.classes_
    k = len(gate.classes_)
    gate.features_ = _features(document["features"])
    gate.n_features_in_ = len(gate.features_.kinds)
    if gate.features_.named:
        gate.feature_names_in_ = np.array(list(gate.features_.kinds), dtype=object)
    gate.group_fact_ = read_groups(document["groups"])
    grouped = gate.group_fact_ is not None
    gate.by_ = promised_by(gate.by, gate.target_accuracy, grouped=grouped)
    gate.limits_ = read_limits(document["limits"], gate, k)
    gate.capability_ = read_capability(document["capability"], gate.classes_, gate.limits_)
    gate.parts_ = read_parts(document["parts"])
    given = document["acceptance"]
    if (given is None) != (gate.target_accuracy is None):
        raise ValueError("what it accepts and the accuracy it was asked for do not fit each other")
    gate.acceptance_ = None if given is None else _acceptance(given, gate)
    gate.trust_shares_ = read_shares(document["trust_shares"])
    rivals = document["rivals"]
    gate.rivals_ = None if rivals is None else _rivals(rivals, k)
    gate.notes_ = [str(note) for note in document["notes"]]


def _features(written: Mapping[str, Any]) -> Features:
    kinds = {str(name): kind for name, kind in written["kinds"].items()}
    if not kinds or not set(kinds.values()) <= {NUMBER, TEXT}:
        raise ValueError("its features are not numbers and texts")
    return Features(kinds, named=bool(written["named"]))


def _written_settings(gate: CapabilityGate) -> dict[str, Any]:
    """Return settings to fit the same gate again; a random generator cannot be saved."""
    made, seed = gate.case_difficulty, gate.random_state
    table = made is not None and not isinstance(made.coding, str)
    return {
        **{name: getattr(gate, name) for name in SETTINGS},
        "random_state": int(seed) if isinstance(seed, int | np.integer) else None,
        "default_model": gate.estimator is None,
        "coding": None if made is None else (TABLE if table else QUANTILES),
    }


def _written_acceptance(found: Accepted) -> dict[str, Any]:
    return {**asdict(found), "threshold": as_texts([found.threshold])[0]}


def _acceptance(written: Mapping[str, Any], gate: CapabilityGate) -> Accepted:
    counts = {name: as_count(written[name]) for name in ("n_cases", "n_accepted", "n_right")}
    if not counts["n_right"] <= counts["n_accepted"] <= counts["n_cases"]:
        raise ValueError("more cases are right than accepted, or accepted than there are")
    threshold, target, alpha = (
        float(as_floats([written[name]])[0]) for name in ("threshold", "target", "alpha")
    )
    if (target, alpha) != (gate.target_accuracy, gate.alpha):
        raise ValueError("what it accepts is not what it was asked for")
    return Accepted(threshold, target, alpha, **counts)


def _written_rivals(rivals: Rivals) -> dict[str, Any]:
    return {
        "threshold": as_texts([rivals.threshold])[0],
        "wrong": [as_texts(one) for one in rivals.wrong],
        "held_out": list(rivals.held_out),
    }


def _rivals(written: Mapping[str, Any], n_classes: int) -> Rivals:
    wrong = tuple(np.sort(as_floats(one)) for one in written["wrong"])
    held = tuple(as_count(n) for n in written["held_out"])
    if not len(wrong) == len(held) == n_classes:
        raise ValueError("its confidence data does not fit the classes")
    if any(len(one) > n or np.isnan(one).any() for one, n in zip(wrong, held, strict=True)):
        raise ValueError("there is more confidence in wrong cases than there are cases")
    return Rivals(float(as_floats([written["threshold"]])[0]), wrong, held)
