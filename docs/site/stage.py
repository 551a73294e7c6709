"""Write the sources of the web site: the pages, the papers of the project, and the API reference.

Pages stay plain Markdown that reads well anywhere. The rest of a site (a page per section of
docs/index.md, tables of contents, a page per public name) is written here, into another folder.
"""

from __future__ import annotations

import importlib
import inspect
import re
import shutil
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SOURCE = ROOT / "src"
PAPERS = ("CONTRIBUTING", "CHANGELOG", "SECURITY", "GOVERNANCE", "CODE_OF_CONDUCT")
SECTION = re.compile(r"^## (.+)\n", re.MULTILINE)
ENTRY = re.compile(r"^- \[(.+?)\]\((.+?)\.md\)", re.MULTILINE)


def contents(names: list[str]) -> str:
    """A table of contents that the theme shows beside the page."""
    return "\n".join(["```{toctree}", ":hidden:", "", *names, "```", ""])


def moved(text: str) -> str:
    """Links as they are once papers and pages lie in one folder."""
    papers = "|".join(PAPERS)
    text = re.sub(rf"\]\((?:\.\./)?({papers})\.md", lambda m: f"]({m[1].lower()}.md", text)
    return re.sub(r"\]\(docs/", "](", text)


def stage_pages(folder: Path) -> None:
    for file in DOCS.rglob("*.*"):
        inside = file.relative_to(DOCS)
        if inside.parts[0] == "site" or inside.name == "index.md":
            continue
        (folder / inside).parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".md":
            (folder / inside).write_text(moved(file.read_text(encoding="utf-8")), encoding="utf-8")
        else:
            shutil.copyfile(file, folder / inside)
    for name in PAPERS:
        text = moved((ROOT / f"{name}.md").read_text(encoding="utf-8"))
        (folder / f"{name.lower()}.md").write_text(text, encoding="utf-8")


def stage_sections(folder: Path, packages: list[str]) -> None:
    """Each section of the map becomes a page, which the theme shows as a tab."""
    text = moved((DOCS / "index.md").read_text(encoding="utf-8"))
    _, *parts = SECTION.split(text)
    names = []
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        entries = [link for _, link in ENTRY.findall(body)]
        if title == "Reference":
            body = f"{body.rstrip()}\n\nPublic names, by package:\n\n" + "".join(
                f"- [`{package}`](api/{package}.md)\n" for package in packages
            )
            entries += [f"api/{package}" for package in packages]
        names.append(f"section-{title.lower()}")
        page = f"# {title}\n\n{body.strip()}\n\n{contents(entries)}"
        (folder / f"{names[-1]}.md").write_text(page, encoding="utf-8")
    landing = (DOCS / "site" / "landing.md").read_text(encoding="utf-8")
    (folder / "index.md").write_text(f"{landing}\n{contents(names)}", encoding="utf-8")


def public() -> dict[str, ModuleType]:
    """Packages and modules without an underscore that promise something."""
    found = {}
    for file in sorted((SOURCE / "discreet").rglob("*.py")):
        parts = file.relative_to(SOURCE).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        if not any(part.startswith("_") for part in parts) and parts[-1] != "demo":
            module = importlib.import_module(".".join(parts))
            found[module.__name__] = module
    return found


def homes(modules: dict[str, ModuleType]) -> dict[int, str]:
    """Where each class or function is documented: at its shortest public path."""
    paths = defaultdict(list)
    for module in modules.values():
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                paths[id(value)].append(f"{module.__name__}.{name}")
    return {
        key: min(found, key=lambda path: (path.count("."), path)) for key, found in paths.items()
    }


def first_line(value: object) -> str:
    if not (inspect.isclass(value) or callable(value) or isinstance(value, ModuleType)):
        return f"A value of type `{type(value).__name__}`."
    return (inspect.getdoc(value) or "").partition("\n")[0].replace("|", "\\|").replace("*", "\\*")


def directive(path: str, value: object) -> str:
    if inspect.isclass(value):
        kind, options = "autoclass", ["members:", "inherited-members: object, tuple, Exception"]
    elif inspect.isfunction(value):
        kind, options = "autofunction", []
    else:
        return ""
    lines = [f".. {kind}:: {path}", *(f"   :{option}" for option in options)]
    return "\n".join(["```{eval-rst}", *lines, "```", ""])


def stage_reference(folder: Path) -> list[str]:
    modules = public()
    home = homes(modules)
    api = folder / "api"
    api.mkdir(parents=True)
    for package, module in modules.items():
        rows, own = [], []
        for name in sorted(module.__all__, key=str.lower):
            value = getattr(module, name)
            path = home.get(id(value))
            if path == f"{package}.{name}":
                page = f"# `{path}`\n\n{directive(path, value)}"
                (api / f"{path}.md").write_text(page, encoding="utf-8")
                own.append(path)
            elif isinstance(value, ModuleType) and value.__name__ in modules:
                path = value.__name__
            link = f"[`{name}`]({path}.md)" if path else f"`{name}`"
            rows.append(f"| {link} | {first_line(value)} |")
        text = (inspect.getdoc(module) or "").partition("\n")[0]
        table = "\n".join(["| name | |", "|---|---|", *rows])
        page = f"# `{package}`\n\n{text}\n\n{table}\n\n{contents(own)}"
        (api / f"{package}.md").write_text(page, encoding="utf-8")
    return sorted(modules)


def stage(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    stage_pages(folder)
    stage_sections(folder, stage_reference(folder))


if __name__ == "__main__":
    stage(Path(sys.argv[1]))
