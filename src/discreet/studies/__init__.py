"""The published figures, run again: pictures, tidy data, and what was found of every statement.

>>> from discreet.studies import STUDIES, figure
>>> figure("azize2022", "8").title
'The choice of α'
"""

from ._base import Figure, Finding, Lab, Panel, Reproduction, Size, Statement, Verdict
from ._registry import STUDIES, Study, all_figures, figure, study

__all__ = [
    "STUDIES",
    "Figure",
    "Finding",
    "Lab",
    "Panel",
    "Reproduction",
    "Size",
    "Statement",
    "Study",
    "Verdict",
    "all_figures",
    "figure",
    "study",
]
