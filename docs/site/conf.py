"""Sphinx settings of the web site; `make docs` builds it."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

from sphinx.addnodes import pending_xref
from sphinx.pycode import ModuleAnalyzer

from discreet import __version__

sys.path.insert(0, str(Path(__file__).parent))

from stage import homes, public

project = "discreet"
author = "The discreet authors"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
myst_heading_anchors = 4
default_role = "py:obj"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88
copybutton_prompt_text = "$ "
html_theme = "pydata_sphinx_theme"
html_title = "discreet"
html_theme_options = {
    "header_links_before_dropdown": 7,
    "collapse_navigation": True,
    "show_toc_level": 2,
    "show_prev_next": False,
}
html_static_path = ["static"]
html_css_files = ["house.css"]
html_show_sourcelink = False
html_copy_source = False
CODE = re.compile(r"(``.*?``|`[^`]*`)")
STARRED = re.compile(r" *\*{1,2}\w+: ")


def plain(app: Any, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: |x| and a * b mean what they say, outside of code."""
    for number, line in enumerate(lines):
        if STARRED.match(line):  # an argument, which napoleon knows
            continue
        parts = CODE.split(line)
        parts[::2] = [re.sub(r"([|*])", r"\\\1", part) for part in parts[::2]]
        lines[number] = "".join(parts)


HOMES = homes(public())


@cache
def named(name: str, module: str) -> object:
    """What a name means in the text of a module, imports for type checkers included."""
    loaded = importlib.import_module(module)
    if hasattr(loaded, name):
        return getattr(loaded, name)
    package = loaded.__package__ or ""
    for node in ast.walk(ast.parse(inspect.getsource(loaded))):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if name == (alias.asname or alias.name):
                    origin = resolve_name("." * node.level + (node.module or ""), package)
                    return getattr(importlib.import_module(origin), alias.name, None)
    return None


def stands(page: str) -> list[str]:
    """The modules in which the docstrings of an API page are written, those of bases included."""
    if not page.startswith("api/discreet."):
        return []
    package, _, name = page.removeprefix("api/").rpartition(".")
    documented = getattr(importlib.import_module(package), name)
    found = inspect.getmro(documented) if inspect.isclass(documented) else (documented,)
    modules = [getattr(each, "__module__", None) or "" for each in found]
    return [module for module in modules if module.startswith("discreet")]


def unambiguous(app: Any, doctree: Any) -> None:
    """Several packages have a `Design`: a name means what it means where the docstring stands."""
    own = stands(app.env.docname)
    for reference in doctree.findall(pending_xref):
        if reference.get("refdomain") != "py":
            continue
        reference.attributes.pop("refspecific", None)  # no search for whatever ends in that name
        target = reference["reftarget"]
        if "." not in target:
            meant = (HOMES.get(id(named(target, module))) for module in own)
            reference["reftarget"] = next((found for found in meant if found), target)


def one_signature(analyzer: ModuleAnalyzer, analyze: Any = ModuleAnalyzer.analyze) -> None:
    """Overloads are for type checkers; readers want the arguments with their defaults, once."""
    analyze(analyzer)
    analyzer.overloads = {}


def light(app: Any, doctree: Any) -> None:
    """Nodes made from reStructuredText hold a document with all of Sphinx, pickled once a page."""
    for node in doctree.findall():
        node.document = doctree


def setup(app: Any) -> None:
    ModuleAnalyzer.analyze = one_signature  # type: ignore[method-assign]
    app.connect("autodoc-process-docstring", plain)
    app.connect("doctree-read", unambiguous)
    app.connect("doctree-read", light)
