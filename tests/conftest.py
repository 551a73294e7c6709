"""What all tests share: derandomised hypothesis, and a matplotlib that needs no screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import matplotlib as mpl
import pytest
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


@pytest.fixture(autouse=True, scope="session")
def no_padding() -> Iterator[None]:
    """Skip the waiting for windows of live noise to end; tests of time take `unpadded.padded`."""
    from discreet.privacy import _secure as secure

    def unpadded(environment: str, draw: Callable[[int], list[int]], number: int) -> list[int]:
        return draw(number)

    with pytest.MonkeyPatch.context() as patch:
        unpadded.padded = secure.padded  # type: ignore[attr-defined]
        patch.setattr(secure, "padded", unpadded)
        patch.setattr(secure, "AHEAD", 1)  # so that what a test changes is seen at once
        yield


@pytest.fixture(autouse=True)
def _no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may have a terminal of any width."""
    monkeypatch.delenv("COLUMNS", raising=False)
