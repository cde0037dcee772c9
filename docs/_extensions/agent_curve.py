"""The directive `agent-curve`: draws the regret of an agent that learns on GridWorld while the pages are built.

The argument is the agent's name. `:tuned:` adds a line for the same agent with other settings, for example
``:tuned: scale = 0.003``. The figure also shows PSRL-SSP and the uniformly random policy.
"""

import base64
import html
import io
import tempfile
import tomllib
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import goalward as gw
from goalward.results.results import Results

EPISODES, RUNS = 1_000, 3


def compared(agent: str, tuned: str) -> Results:
    """Return the results of a small study of the agent, PSRL-SSP and the uniformly random policy."""
    agents: list[dict[str, Any]] = [{"agent": agent}]
    if tuned:
        agents.append({"agent": agent, "label": f"{agent}, {tuned}", "settings": tomllib.loads(tuned)})
    agents += [{"agent": name} for name in ("psrl", "uniform") if name != agent]
    study = gw.Study.from_dict(
        {
            "name": f"curve-{agent}",
            "runs": RUNS,
            "episodes": EPISODES,
            "max_steps": 1_000_000,
            "worlds": [{"world": "grid-world-v0", "label": "GridWorld"}],
            "agents": agents,
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        return gw.run(study, folder, workers=1)


class AgentCurve(SphinxDirective):
    """Draws the regret of an agent."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"tuned": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Return the picture and its caption."""
        agent, tuned = self.arguments[0], self.options.get("tuned", "")
        file = io.BytesIO()
        gw.plot(compared(agent, tuned), axes="log").savefig(file, format="svg")
        data = base64.b64encode(file.getvalue()).decode("ascii")
        what = f"Gap regret of {agent} on GridWorld, {EPISODES:,} episodes, mean of {RUNS} runs"
        picture = f'<img class="curve" alt="{html.escape(what)}" src="data:image/svg+xml;base64,{data}">'
        caption = nodes.paragraph("", f"{what}, made when this page was built.")
        return [nodes.raw("", picture, format="html"), caption]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("agent-curve", AgentCurve)
    return {"parallel_read_safe": True}
