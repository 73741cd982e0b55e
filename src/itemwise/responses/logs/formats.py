"""The formats of logs that are known; a new one is a module and a line here."""

from __future__ import annotations

from itemwise.responses.logs.every_eval_ever import EveryEvalEver
from itemwise.responses.logs.helm import Helm
from itemwise.responses.logs.inspect_ai import InspectAI
from itemwise.responses.logs.lm_eval import LmEval
from itemwise.responses.logs.openml_predictions import OpenMLPredictions
from itemwise.responses.logs.runs import LogFormat

_ALL: tuple[type[LogFormat], ...] = (EveryEvalEver, LmEval, InspectAI, Helm, OpenMLPredictions)

LOG_FORMATS: dict[str, type[LogFormat]] = {str(one.name): one for one in _ALL}
