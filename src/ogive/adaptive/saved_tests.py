"""An adaptive test as JSON: the items it asks from, and its parts by name with their settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ogive.adaptive.estimators import PosteriorMean, PosteriorMode, StepRule
from ogive.adaptive.initializers import DifficultyPercentile, FixedAbility, PopulationMean
from ogive.adaptive.selectors import (
    ContentBalance,
    FullScore,
    MaximumInformation,
    NearestByLot,
    NearestDifficulty,
    Randomesque,
    RandomItem,
)
from ogive.adaptive.stoppers import AnyOf, AtLeast, Budget, Reliability, StandardError
from ogive.calibration.bank_reading import calibration_from
from ogive.calibration.bank_writing import document_of
from ogive.errors import FileError, InputError
from ogive.files import (
    DAMAGED,
    PathLike,
    check_version,
    require_keys,
    why_damaged,
    write_json,
)

if TYPE_CHECKING:
    from ogive.adaptive.adaptive_test import AdaptiveTest

KIND, VERSION = "adaptive-test", 1
ROLES = ("initializer", "selector", "estimator", "stopper")
KEYS = ("calibration", *ROLES, "random_state")
PARTS: dict[str, type] = {
    part.__name__: part
    for part in (
        *(DifficultyPercentile, FixedAbility, PopulationMean),
        *(ContentBalance, FullScore, MaximumInformation, NearestByLot, NearestDifficulty),
        *(Randomesque, RandomItem),
        *(PosteriorMean, PosteriorMode, StepRule),
        *(AnyOf, AtLeast, Budget, Reliability, StandardError),
    )
}


def save_test(test: AdaptiveTest, path: PathLike) -> Path:
    """Write a test whose parts are all those of this package."""
    target = Path(path)
    if target.suffix.lower() != ".json":
        raise InputError(
            f"Cannot save an adaptive test as '{target.name}': its ending is '{target.suffix}'. "
            "Use .json."
        )
    document = {
        "calibration": document_of(test.calibration),
        **{role: _written(getattr(test, role), role) for role in ROLES},
        "random_state": int(test.random_state),
    }
    write_json(target, KIND, VERSION, document)
    return target


def settings_from(file: Path, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the `AdaptiveTest` that `save_test` wrote."""
    check_version(file, document, VERSION)
    require_keys(file, document, KEYS)
    try:
        return {
            "calibration": calibration_from(document["calibration"]),
            **{role: _restored(document[role], role) for role in ROLES},
            "random_state": document["random_state"],
        }
    except DAMAGED as error:
        raise not_usable(file, error) from error


def not_usable(file: Path, error: Exception) -> FileError:
    """Say why a file does not hold a test that can be used."""
    return FileError(
        f"'{file}' is not an adaptive test that this Ogive can use: {why_damaged(error)} "
        "If it was edited, restore a copy or save it again."
    )


def _written(given: Any, role: str) -> Any:
    """A part as JSON: its name, its class with settings, or a list of such parts."""
    if isinstance(given, str):
        return given
    if isinstance(given, list | tuple):
        return [_written(one, role) for one in given]
    name = type(given).__name__
    if not is_dataclass(given) or PARTS.get(name) is not type(given):
        raise InputError(
            f"The {role} is a {name}, which is not a part of Ogive, so this test cannot be "
            "saved. Use a named part, or build the test in code each time."
        )
    settings = {field.name: getattr(given, field.name) for field in fields(given)}
    return {name: {key: _setting(value, role) for key, value in settings.items()}}


def _setting(value: Any, role: str) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, bool | int | float | str):
        return value
    return value.item() if hasattr(value, "item") else _written(value, role)


def _restored(written: Any, role: str) -> Any:
    if isinstance(written, str):
        return written
    if isinstance(written, list):
        return [_restored(one, role) for one in written]
    if not isinstance(written, dict) or len(written) != 1:
        raise InputError(f"its {role} is {written!r:.60}, not the name of a part with settings")
    ((name, settings),) = written.items()
    if name not in PARTS or not isinstance(settings, dict):
        raise InputError(f"its {role} is {name!r:.40}, which is unknown here")
    return PARTS[name](**{key: _restored_setting(value, role) for key, value in settings.items()})


def _restored_setting(value: Any, role: str) -> Any:
    """A part is stored under the name of its class; other mappings are settings themselves."""
    if isinstance(value, list) or (isinstance(value, dict) and set(value) <= set(PARTS)):
        return _restored(value, role)
    return value
