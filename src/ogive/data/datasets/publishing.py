"""Publish data sets as a benchmark suite on OpenML.

A suite is a list of tasks, so each data set needs one. Nothing is sent unless requested.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ogive.data.datasets.dataset import Dataset
from ogive.data.datasets.openml import ALIAS, ONE_AT_A_TIME, number_of, openml_package, said_by
from ogive.errors import FileError, InputError
from ogive.results.numbers import counted, listed, repeated, shown

if TYPE_CHECKING:
    import pandas as pd


KEY_VARIABLE = "OPENML_APIKEY"
KEY_REFUSED = (102, 103)  # as OpenML numbers its errors: no key, a wrong key
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # not in XML
_ON_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, repr=False)
class Publication:
    """A suite of OpenML, and its number and address once it was sent."""

    name: str
    description: str
    alias: str | None
    datasets: tuple[str, ...]
    tasks: tuple[int, ...]  # the OpenML task of each data set
    server: str | None = None  # None: the one that the package `openml` is configured for
    suite: int | None = None  # None: nothing was sent
    address: str | None = None

    @property
    def meaning(self) -> str:
        """Say whether the suite was published, in one sentence."""
        what = f"The suite '{self.name}' of {counted(len(self.tasks), 'task')}"
        if self.suite is None:
            return f"{what} is ready for {self.server or 'OpenML'}; nothing was sent."
        return f"{what} is published: {self.address}, or 'openml-suite:{self.suite}'."

    def to_frame(self) -> pd.DataFrame:
        """Return one row per data set, with its task."""
        import pandas as pd

        return pd.DataFrame({"task": self.tasks}, index=pd.Index(self.datasets, name="dataset"))

    def __repr__(self) -> str:
        tasks = zip(self.datasets, self.tasks, strict=True)
        return "\n".join([self.meaning, *(f"  {name}: task {task}" for name, task in tasks)])


def publish_suite(
    datasets: Any,
    *,
    name: str,
    description: str,
    alias: str | None = None,
    dry_run: bool = True,
    server: str | None = None,
    api_key: str | None = None,
) -> Publication:
    """Publish data sets as a benchmark suite on OpenML; by default (`dry_run`), only show it.

    `datasets` are sources like "openml-task:31", data sets loaded from them, numbers of tasks, or a
    mapping from names to any of these: {"credit-g": 31}. `name` and `description` are shown on
    OpenML, `alias` is a short name for addresses. `server` is the address of another OpenML, such
    as the test server "https://test.openml.org/api/v1/xml".

    Sending makes a public suite in your name and needs your API key: `api_key`, the variable
    OPENML_APIKEY, or the key that the package `openml` is configured with for this server. It is
    tried once; OpenML publishes the whole suite or, if it answers with an error, nothing.

    >>> import ogive as og
    >>> suite = og.publish_suite([31, 3], name="Two tasks", description="For the example.")
    >>> suite.tasks
    (31, 3)
    """
    tasks = _tasks(datasets)
    publication = Publication(
        name=_text("name", name),
        description=_text("description", description),
        alias=_checked_alias(alias),
        datasets=tuple(tasks),
        tasks=tuple(tasks.values()),
        server=None if server is None else _checked_address(server),
    )
    return publication if dry_run else _sent(publication, api_key)


def _tasks(datasets: Any) -> dict[str, int]:
    """Return the task of each data set by name; one error lists all that have none."""
    found = {name: _task(source) for name, source in _named(datasets)}
    lacking = [shown(name) for name, task in found.items() if task is None]
    if lacking:
        raise InputError(
            f"{listed(lacking, 'data set')} without an OpenML task, but a suite is a list of "
            "tasks. Name the task of each, like 'openml-task:31' or, in Python, "
            "{'credit-g': 31}; the page of a data set at https://www.openml.org lists its tasks."
        )
    tasks = {name: task for name, task in found.items() if task is not None}
    if not tasks:
        raise InputError("There is no data set to publish. Give at least one.")
    if twice := sorted(repeated(map(str, tasks.values()))):
        raise InputError(f"{listed(twice, 'task')} given more than once. Leave the second out.")
    return tasks


def _named(datasets: Any) -> list[tuple[str, Any]]:
    """Return each source with a name; a single source becomes a list of one."""
    if isinstance(datasets, Mapping):
        return [(str(name), source) for name, source in datasets.items()]
    if isinstance(datasets, str | Dataset) or not isinstance(datasets, Iterable):
        datasets = [datasets]
    named = [(s.name if isinstance(s, Dataset) else str(s), s) for s in datasets]
    names = [name for name, _ in named]
    if twice := sorted(map(shown, repeated(names))):
        raise InputError(f"{listed(twice, 'data set')} given more than once. Leave the second out.")
    return named


def _task(source: Any) -> int | None:
    """Return the number of the task of a source; None if it names none."""
    if isinstance(source, Dataset):
        return source.task
    if isinstance(source, Integral) and not isinstance(source, bool):
        return number_of(str(source), "task")
    prefix, _, rest = str(source).partition(":")
    if prefix == "openml-suite":
        raise InputError(
            f"{shown(str(source))} is a suite already. Name those of its tasks that you chose, "
            "like 'openml-task:31'."
        )
    return number_of(rest, "task") if prefix == "openml-task" else None


def _text(argument: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"The {argument} of a suite is {shown(value)}. Give some text.")
    if _UNPRINTABLE.search(value):
        raise InputError(
            f"The {argument} of a suite is {shown(value)}, with control characters. Remove them."
        )
    return value.strip()


def _checked_alias(alias: Any) -> str | None:
    if alias is None:
        return None
    if not isinstance(alias, str) or not ALIAS.fullmatch(alias) or alias.isdigit():
        raise InputError(
            f"alias is {shown(alias)}, but it should be up to 64 letters, digits, '-', '_' or '.', "
            "and no plain number, like 'my-suite'."
        )
    return alias


def _checked_address(server: Any) -> str:
    """Return the address, if a key may be sent there: encrypted, or on this machine."""
    try:
        parts = urlsplit(server)
        host = parts.hostname
    except (AttributeError, TypeError, ValueError):
        parts, host = urlsplit(""), None
    if host and (parts.scheme == "https" or (parts.scheme == "http" and host in _ON_THIS_MACHINE)):
        return str(server)
    raise InputError(
        f"server is {shown(server)}, but it should be an address that begins with https://, like "
        "https://test.openml.org/api/v1/xml: an API key must not be sent unencrypted."
    )


def _sent(publication: Publication, api_key: str | None) -> Publication:
    """Send the suite once; the key appears in no message and in no result."""
    openml = openml_package()
    usual = openml.config.server
    server = _checked_address(publication.server or usual)
    key = _key(api_key, openml.config.apikey if server == usual else None)
    # A second try could make a second suite, if only the answer to the first was lost.
    with _settings(openml, server=server, apikey=key, connection_n_retries=1):
        try:
            made = openml.study.create_benchmark_suite(
                publication.name,
                publication.description,
                list(publication.tasks),
                publication.alias,
            ).publish()
            suite, address = int(made.study_id), str(made.openml_url)
        except Exception as error:  # the package raises whatever its own parts raise
            # The cause could contain the key, so it is dropped.
            raise _explained(openml, error, key) from None
    return replace(publication, server=server, suite=suite, address=address)


def _key(given: str | None, configured: str | None) -> str:
    key = given or os.environ.get(KEY_VARIABLE) or configured
    if not key:
        raise InputError(
            "Sending a suite needs an API key of this OpenML server, but there is none. Set the "
            f"environment variable {KEY_VARIABLE}, or give api_key; the key is in your "
            "profile at https://www.openml.org."
        )
    return str(key)


@contextmanager
def _settings(openml: Any, **values: Any) -> Iterator[None]:
    """Change the global settings of the package `openml` temporarily."""
    with ONE_AT_A_TIME:
        before = {name: getattr(openml.config, name) for name in values}
        try:
            for name, value in values.items():
                setattr(openml.config, name, value)
            yield
        finally:
            for name, value in before.items():
                setattr(openml.config, name, value)


def _explained(openml: Any, error: Exception, key: str) -> InputError | FileError:
    """Explain what went wrong, and whether a suite may have been made."""
    code = getattr(error, "code", None)
    said = said_by(error, key)
    if isinstance(error, openml.exceptions.OpenMLNotAuthorizedError) or code in KEY_REFUSED:
        return InputError(
            "OpenML refused the API key; nothing was published. Compare it with the key in your "
            "profile: another server, such as the test server, has other keys."
        )
    if isinstance(error, openml.exceptions.OpenMLServerException):
        return InputError(
            f"OpenML refused the suite: {said} (code {code}). Nothing was published. Check that "
            "each task exists and that the alias is not taken."
        )
    site = openml.config.get_server_base_url()
    return FileError(
        f"The suite could not be sent, or the answer was lost: {type(error).__name__}, "
        f"{shown(said)}. It may have been made: look for it at {site} before you send it again."
    )
