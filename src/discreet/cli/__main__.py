"""`python -m discreet.cli` is the console script."""

from . import main

main()
