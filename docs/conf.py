"""How Sphinx builds the pages: `make docs`. Warnings and failing cells are errors there."""

import html
import os
import re
import sys
from pathlib import Path
from typing import Any

import myst_nb.core.render
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.inspect import TypeAliasForwardRef

import goalward

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))
# Cells call goalward as a reader would, and find that of this environment.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"

project = "goalward"
author = "The goalward developers"
project_copyright = author
version = release = goalward.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "agent_curve",
    "command_line",
    "explanation_pictures",
    "field_table",
    "mathml",
    "module_docstring",
    "pictures",
    "registered",
]
exclude_patterns = ["_extensions"]
# Docstrings of several classes speak of `states`; which one is meant is clear to readers.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_math_renderer = "mathml"
html_title = f"goalward {release}"
html_static_path = ["_static", "first-run.png"]
html_css_files = ["goalward.css"]
html_favicon = "_static/favicon.svg"
html_show_sourcelink = False
html_theme_options = {
    "source_repository": "https://github.com/goalward/goalward/",
    "source_branch": "main",
    "source_directory": "docs/",
}
# Prompts and output are not copied.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "html_image"]
myst_heading_anchors = 3
# Examples are shown as they are typed: no quotes are curled, no dashes joined.
smartquotes = False

# Cells are executed in every build, in folders of their own, and an error in one ends the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_execution_in_temp = True
# Kernels may have to be compiled first.
nb_execution_timeout = 600
nb_merge_streams = True

# Docstrings write names between single backticks.
default_role = "code"
napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_type_aliases = {name: name for name in ("ArrayLike", "Bools", "Floats", "Int64s")}
# In unions they would be shown as TypeAliasForwardRef('Floats').
TypeAliasForwardRef.__repr__ = lambda alias: alias.name
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90

# Links to files of the repository that are pages here, too.
PAGES_OF_FILES = {
    r"(?:\.\./)+CONTRIBUTING\.md": "/contributing.md",
    r"(?:\.\./)+CHANGELOG\.md": "/changelog.md",
    r"(?:\.\./)+README\.md": "/index.md",
    r"(?:\.\./)+(SECURITY\.md|examples/[\w.]+)": r"https://github.com/goalward/goalward/blob/main/\1",
    r"(?:\.\./)+(benchmarks/results)(?=\))": r"https://github.com/goalward/goalward/tree/main/\1",
}


def follow_files(app: Sphinx, page: str, source: list[str]) -> None:
    """Let links that lead out of the folder lead to the page that includes the file."""
    for file, target in PAGES_OF_FILES.items():
        source[0] = re.sub(rf"\]\({file}", f"]({target}", source[0])


def list_attributes(app: Sphinx, what: str, name: str, member: object, options: object, lines: list[str]) -> None:
    """Turn a section Attributes into a list of terms: Napoleon cannot read several names on one line."""
    if what != "class" or "Attributes" not in lines:
        return
    start = lines.index("Attributes")
    listed = [f"``{line}``" if line and not line.startswith(" ") else line for line in lines[start + 2 :]]
    end = next((at for at, line in enumerate(listed) if line.startswith("``---")), len(listed) + 1) - 1
    lines[start:] = [".. rubric:: Attributes", "", *listed[:end], *lines[start + 2 + end :]]


def skip_fields(app: Sphinx, what: str, name: str, member: object, skip: bool, options: object) -> bool | None:
    """Leave out the fields of named tuples, which Python calls aliases for numbers; the class describes them."""
    return True if (getattr(member, "__doc__", None) or "").startswith("Alias for field number") else None


def join_streams(outputs: list[Any]) -> list[Any]:
    """Join the pieces in which a cell printed, as they are: myst-nb would start a new line at each piece."""
    joined: dict[Any, Any] = {}
    for place, output in enumerate(outputs):
        stream = output["name"] if output["output_type"] == "stream" else place
        if stream in joined:
            joined[stream]["text"] += output["text"]
        else:
            joined[stream] = output
    for output in joined.values():
        if output["output_type"] == "stream":
            output["text"] = re.sub(r".*\r(?=[^\n])", "", output["text"])
    return list(joined.values())


myst_nb.core.render.coalesce_streams = join_streams


def drop_empty_outputs(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Leave out what progress bars of notebooks print when they disappear."""
    for block in list(doctree.findall(nodes.literal_block)):
        if not block.astext().strip():
            block.parent.remove(block)


SITE = "https://goalward.readthedocs.io/en/latest/"
SUMMARY = "Learn the cheapest way to a goal in a world with unknown dynamics: stochastic shortest paths, online."


def add_social_tags(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Add what chats and social networks show of a link to a page."""
    title = html.escape(re.sub(r"<[^>]*>", "", context.get("title", project)))
    facts = {
        "title": title if title == project else f"{title} – {project}",
        "description": SUMMARY,
        "type": "website",
        "url": f"{SITE}{page}.html",
        "image": f"{SITE}_static/first-run.png",
    }
    tags = [f'<meta property="og:{name}" content="{text}">' for name, text in facts.items()]
    tags += [
        f'<meta name="description" content="{SUMMARY}">',
        '<meta name="twitter:card" content="summary_large_image">',
    ]
    context["metatags"] = context.get("metatags", "") + "\n".join(tags)


NUMPY, GYMNASIUM = "https://numpy.org/doc/stable/reference/", "https://gymnasium.farama.org/api/"
TYPES_ELSEWHERE = {
    "ArrayLike": f"{NUMPY}typing.html#numpy.typing.ArrayLike",
    "numpy.random.Generator": f"{NUMPY}random/generator.html#numpy.random.Generator",
    "np.random.Generator": f"{NUMPY}random/generator.html#numpy.random.Generator",
    "gymnasium.Env": f"{GYMNASIUM}env/#gymnasium.Env",
    "Path": "https://docs.python.org/3/library/pathlib.html#pathlib.Path",
    "pathlib.Path": "https://docs.python.org/3/library/pathlib.html#pathlib.Path",
    **dict.fromkeys(("Bools", "Floats", "Int64s", "NDArray"), f"{NUMPY}generated/numpy.ndarray.html"),
}
"""Types of other libraries in signatures, with the pages that describe them. Builds need no network for these."""


def link_elsewhere(app: Sphinx, env: Any, node: nodes.Element, content: nodes.Element) -> nodes.Node | None:
    """Link a type in a signature to the documentation of its library."""
    address = TYPES_ELSEWHERE.get(node.get("reftarget", ""))
    return nodes.reference("", "", content, internal=False, refuri=address) if address else None


def simplify_signature(
    app: Sphinx, what: str, name: str, member: object, options: object, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Show the types of settings without the rules that they are checked by; the text states those."""
    plain = signature and re.sub(r"Annotated\[([\w. |]+), [^\]]*?\](?=[ ,|=)\]])", r"\1", signature)
    return plain, returns


# The overloads of `learn` are for type checkers; the signature of the function itself shows the defaults.
analyzer = ModuleAnalyzer.for_module("goalward.learning.learn")
analyzer.analyze()
analyzer.overloads.clear()


def setup(app: Sphinx) -> None:
    """Connect the hooks."""
    app.connect("html-page-context", add_social_tags)
    app.connect("missing-reference", link_elsewhere)
    app.connect("doctree-resolved", drop_empty_outputs)
    app.connect("source-read", follow_files)
    app.connect("autodoc-process-docstring", list_attributes, priority=400)
    app.connect("autodoc-skip-member", skip_fields)
    app.connect("autodoc-process-signature", simplify_signature)
