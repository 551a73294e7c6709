"""What all tests share: derandomised hypothesis, and a matplotlib that needs no screen."""

from __future__ import annotations

import matplotlib as mpl
from hypothesis import HealthCheck, settings

mpl.use("Agg")
settings.register_profile(
    "discreet",
    derandomize=True,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("discreet")
