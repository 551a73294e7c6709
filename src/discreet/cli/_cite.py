"""`discreet cite`: the paper behind a policy."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated

from ..errors import InvalidArgument
from ._options import Json, argument
from ._output import print_json, print_text

NAME = "cite"
EXAMPLE = "discreet cite adap-klucb"


def command(
    name: Annotated[str, argument('A policy, the key of a reference, or "discreet".', "NAME")],
    json: Json = False,
) -> None:
    """Print the BibTeX entry of a policy's paper, of any reference, or of this package."""
    from ..policies._registry import every_entry
    from ..references import REFERENCES

    spelled, rows = name.lower(), every_entry()
    key = rows[spelled].reference if spelled in rows else spelled
    if key not in REFERENCES:
        known = [*rows, *REFERENCES]
        close = get_close_matches(spelled, known, n=3, cutoff=0.4)
        fix = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(known)}"
        raise InvalidArgument("name", "be a policy, a reference or discreet", name, fix)
    if json:
        print_json(REFERENCES[key].to_dict())
    else:
        print_text(REFERENCES[key].bibtex())
