"""Guarantees verified by execution: release kernels run on symbols, and losses by algebra."""

from ._forms import Cells, Form, NotAffine, PublicCells, RewardForm, Symbol, Tape, Values, cells
from ._result import Verification, Worst, is_tight, main_number, spent, within
from ._shifts import UNHIDDEN, Candidate, Loss, System, losses, sharpened, undominated
from ._source import symbolic

__all__ = [
    "UNHIDDEN",
    "Candidate",
    "Cells",
    "Form",
    "Loss",
    "NotAffine",
    "PublicCells",
    "RewardForm",
    "Symbol",
    "System",
    "Tape",
    "Values",
    "Verification",
    "Worst",
    "cells",
    "is_tight",
    "losses",
    "main_number",
    "sharpened",
    "spent",
    "symbolic",
    "undominated",
    "within",
]
