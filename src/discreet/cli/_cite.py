"""`discreet cite`: the paper behind a policy."""

from __future__ import annotations

from typing import Annotated

from ._options import Json, argument
from ._output import print_json, print_text

NAME = "cite"
EXAMPLE = "discreet cite adap-klucb"


def command(
    name: Annotated[str, argument('A policy, the key of a reference, or "discreet".', "NAME")],
    json: Json = False,
) -> None:
    """Print the BibTeX entry of a policy's paper, of any reference, or of this package."""
    from .._front import cite

    found = cite(name)
    if json:
        print_json(found.to_dict())
    else:
        print_text(found.bibtex())
