"""`python -m discreet.theory FOLDER` draws the two pictures of docs/theory.md."""

from __future__ import annotations

import sys
from pathlib import Path

from . import price_picture, regime_picture

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
regime_picture(path=folder / "regimes.png")
price_picture(path=folder / "price.png")
