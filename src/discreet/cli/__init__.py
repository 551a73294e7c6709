"""The command line: a second face of the library.

Every command builds the same objects as the Python calls of the same names and prints what they
return, for people or, with --json, for programs.
"""

from ._app import app, main

__all__ = ["app", "main"]
