"""`python -m discreet` is the console script."""

from .cli import main

main()
