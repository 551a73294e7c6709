"""Live trials, which protect real people, and rehearsals, which protect nobody."""

from .rehearsal import Rehearsal
from .strata import Strata
from .trial import Trial

__all__ = ["Rehearsal", "Strata", "Trial"]
