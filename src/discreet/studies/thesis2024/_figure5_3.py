"""Figure 5.3: figure 3 of Azize & Basu (2022) again, in section 5.5.1 of Azize's thesis."""

from dataclasses import replace

from ..azize2022 import _figure3 as figure3

FIGURE = replace(
    figure3.FIGURE, study="thesis2024", number="5.3", where="thesis, section 5.5.1, figure 5.3"
)
