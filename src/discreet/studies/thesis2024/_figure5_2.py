"""Figure 5.2: figure 2 of Azize & Basu (2022) again, in section 5.5.1 of Azize's thesis."""

from dataclasses import replace

from ..azize2022 import _figure2 as figure2

FIGURE = replace(
    figure2.FIGURE, study="thesis2024", number="5.2", where="thesis, section 5.5.1, figure 5.2"
)
