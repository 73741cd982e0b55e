"""What can go wrong in a way that a caller can act on."""

from __future__ import annotations

from ogive._installation import install_command


class OgiveError(Exception):
    """Base of every error that Ogive raises on purpose.

    Such are `InputError` (a ValueError), `FileError` (an OSError), `HarnessError` and
    `ClusterError` (RuntimeErrors) and `MissingExtraError`.

    >>> import ogive as og
    >>> try:
    ...     og.load("nowhere.json")
    ... except og.OgiveError as error:
    ...     print(type(error).__name__)
    FileError
    """


class InputError(OgiveError, ValueError):
    """A value that was given cannot be used; the message says which and what to do."""


class FileError(OgiveError, OSError):
    """A file cannot be read or written; the message names it."""


class HarnessError(OgiveError, RuntimeError):
    """An evaluation harness could not ask a model; the message says what it said."""


class ClusterError(OgiveError, RuntimeError):
    """A cluster cannot do the work, or is lost; the message says what to do."""


class MissingExtraError(OgiveError, ImportError):
    """A part of Ogive needs a package that is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"This needs the package '{package}', which is not installed. "
            f"Install it with: {install_command(extra)}"
        )
