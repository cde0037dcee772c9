"""The pages hang together: contents, links, commands, public names and their arguments, numbers in tables."""

import importlib
import inspect
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

import goalward as gw
from goalward import agents, worlds
from goalward.cli import app
from goalward.settings import settings_of

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))


def entries(page: Path) -> list[Path]:
    """Return the pages that the tables of contents of a page name."""
    blocks = re.findall(r"^```\{toctree\}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    return [(page.parent / f"{line}.md").resolve() for line in lines if line and not line.startswith(":")]


def test_every_page_is_in_one_table_of_contents() -> None:
    named = Counter(path for page in PAGES for path in entries(page))
    assert {path for path in named if not path.is_file()} == set()
    assert [path.name for path, times in named.items() if times > 1] == []
    assert {path.relative_to(DOCS).as_posix() for path in PAGES if path not in named} == {"index.md"}


def test_the_pages_stay_readable() -> None:
    """At most 22,000 words, code and tables included, without headers, contents and what is included from elsewhere."""
    count = 0
    for page in PAGES:
        text = re.sub(r"\A---\n.*?^---$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        text = re.sub(r"^```\{toctree\}\n.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        count += len([word for word in text.split() if re.search(r"\w", word)])
    assert count <= 22_000, f"docs/ has {count} words: say it once, or say less"


def slug(heading: str) -> str:
    """Return the anchor that GitHub and MyST give a heading."""
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("\\", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page and of the files that it includes."""
    text = page.read_text(encoding="utf-8")
    included = [anchors(page.parent / file) for file in re.findall(r"^```\{include\} (\S+)$", text, re.MULTILINE)]
    return {slug(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}.union(*included)


def test_links_lead_to_headings() -> None:
    broken = []
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(([^)#:\s]*)#([^)]+)\)", page.read_text(encoding="utf-8")):
            if anchor not in anchors(page.parent / target if target else page):
                broken.append(f"{page.relative_to(ROOT)} links to {target}#{anchor}")
    assert broken == []


def shown_commands() -> Iterator[tuple[str, list[str]]]:
    """Yield the commands of README and the pages, in blocks and inside sentences, with the page."""
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES):
        text = page.read_text(encoding="utf-8")
        blocks = re.findall(r"^```(?:sh|console|\{code-cell\} bash)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        commands = [found for block in blocks for found in re.findall(r"^(?:\$ )?(goalward .*)$", block, re.MULTILINE)]
        commands += re.findall(r"^ {4}(goalward [a-z].*)$", text, re.MULTILINE)
        commands += re.findall(r"`(goalward [a-z][^`]*)`", text)
        for command in commands:
            yield page.relative_to(ROOT).as_posix(), shlex.split(command.partition("||")[0], comments=True)[1:]


def test_commands_have_these_verbs_and_options() -> None:
    """Parsed, not run; the commands of the how-to pages are run in test_how_to.py."""
    group: Any = typer.main.get_command(app)
    parent = group.make_context("goalward", ["doctor"], resilient_parsing=True)
    wrong, count = [], 0
    for page, (verb, *arguments) in shown_commands():
        # `goalward status --check` in a sentence leaves the folder out.
        missing = group.commands[verb].params[0].param_type_name == "argument" and not any(
            not argument.startswith("-") for argument in arguments
        )
        try:
            group.commands[verb].make_context(verb, ["something"] * missing + arguments, parent=parent)
        except typer._click.exceptions.UsageError as error:
            wrong.append(f"{page}: goalward {verb} {' '.join(arguments)}: {error.message}")
        count += 1
    assert wrong == []
    assert count > 100


def test_every_public_name_is_in_the_reference() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "reference").glob("*.md"))
    described = set(re.findall(r"auto(?:class|function):: goalward\.(?:\w+\.)*(\w+)$", text, re.MULTILINE))
    packages = {"__version__", "agents", "continuous", "errors", "report", "theory", "worlds"}
    assert set(gw.__all__) - packages - {"GoalwardError"} <= described
    assert ":: goalward.errors" in text
    # The directive writes every entry of a registry.
    assert "{registered} goalward.agents" in text
    assert agents.known()
    assert "{registered} goalward.worlds" in text
    assert worlds.known()


def documented_members() -> Iterator[tuple[str, Any]]:
    """Yield the functions, classes and methods that the reference names: name, callable."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "reference").glob("*.md"))
    directive = re.compile(r"^\.\. auto(?:class|function):: (goalward(?:\.\w+)*)\.(\w+)\n((?:   :.*\n)*)", re.MULTILINE)
    for module, name, options in directive.findall(text):
        member = getattr(importlib.import_module(module), name)
        yield f"{module}.{name}", member
        if ":members:" in options:
            listed = re.search(r":members: (.+)", options)
            methods = listed[1].split(", ") if listed else [each for each in vars(member) if each[0] != "_"]
            for method in methods:
                if callable(getattr(member, method)):
                    yield f"{module}.{name}.{method}", getattr(member, method)


def description(member: Any) -> str:
    """Return the terms of the section Parameters, or else the docstring, and the fields that have their own text."""
    fields, text = [], inspect.getdoc(member) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n---|\Z)", text, re.MULTILINE | re.DOTALL)
    if section:
        text = " ".join(re.findall(r"^\S.*$", section[1], re.MULTILINE))
    if isinstance(member, type):
        source = inspect.getsource(member)
        fields = re.findall(r"^    (\w+): .*(?:  #: |\n    \"\"\")", source, re.MULTILINE)
    return f"{text} {' '.join(fields)}"


def test_every_argument_is_described() -> None:
    """An argument of a public function is named in its docstring; that of a constructor there or at its field."""
    missing, count = [], 0
    for name, member in documented_members():
        text = description(member)
        for parameter in inspect.signature(member).parameters:
            count += 1
            hidden = parameter in ("self", "cls") or parameter.startswith("_")
            if not hidden and not re.search(rf"(?<!\w){re.escape(parameter)}(?!\w)", text):
                missing.append(f"{name}({parameter})")
    assert count > 200
    assert missing == [], "name these arguments in the docstrings"


def test_every_setting_of_an_agent_is_on_its_page() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "reference").glob("agents-*.md"))
    for agent in agents.known():
        for name in settings_of(agents.find(agent)):
            described = f"`{name}`" in text or f"`{name}=" in text
            assert described, f"describe the setting {name} of {agent} in docs/reference/agents-*.md, by its family"


def test_values_in_the_table_of_worlds() -> None:
    """V*(start) as printed, and a row for every world."""
    page = (DOCS / "reference" / "worlds.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([\w-]+)` \| .* \| ([\d.]*) ?\|$", page, re.MULTILINE))
    assert rows.keys() >= set(worlds.known()), "add a row to the table in docs/reference/worlds.md"
    for name, value in rows.items():
        if value:
            world = gw.worlds.make(name)
            assert f"{gw.solve(world).values[world.initial_state]:.4f}" == value, name


def test_how_to_pages_are_short() -> None:
    """At most 400 words, without code."""
    for page in (DOCS / "how-to").glob("*.md"):
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        count = len(re.findall(r"\w+(?:[-–.'*]\w+)*", text))
        assert count <= 400, f"{page.name} has {count} words: say less"
