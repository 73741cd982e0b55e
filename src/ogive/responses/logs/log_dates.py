"""Dates as logs write them."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta

_DATE = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d)[:-](\d\d)(?:[:-](\d\d)(\.\d{1,9})?\d*)?)?"
    r"\s*(?:Z|([+-])(\d\d)[:-]?(\d\d))?",
    re.ASCII,
)


def moment(text: str) -> float:
    """Seconds since 1970 of an ISO 8601 date, UTC without a time zone; -inf for other text.

    Logs also write dashes in the time.

    >>> moment("2024-01-01T10:00:00-05:00") - moment("2024-01-01T12-00-00")
    10800.0
    """
    match = _DATE.match(text)
    if match is None:
        return -math.inf
    day, hour, minute, second, fraction, sign, away_hours, away_minutes = match.groups()
    try:
        start = datetime.fromisoformat(day).replace(tzinfo=UTC)
        clock = timedelta(hours=int(hour or 0), minutes=int(minute or 0), seconds=int(second or 0))
        away = timedelta(hours=int(away_hours or 0), minutes=int(away_minutes or 0))
    except ValueError:  # a 31st of February
        return -math.inf
    seconds = clock - away if sign == "+" else clock + away
    return start.timestamp() + seconds.total_seconds() + float(fraction or 0)
