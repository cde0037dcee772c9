"""The verb of the arena, as a user meets it."""

from __future__ import annotations

import json

AGENT = """
from goalward.agents import Agent, Plan

class Mine(Agent):
    def begin(self, task, rng):
        super().begin(task, rng)
        if task.actions == 8:
            task.refuse()

    def plan(self, state):
        return Plan(self.task.available / self.task.available.sum(axis=1, keepdims=True), stop_after_goals=1)

    def observe(self, steps):
        pass
"""


def test_an_agent_of_one_s_own_in_the_arena(call, tmp_path, monkeypatch) -> None:
    """One world refuses it by an error in its own file: the table names it and has all others."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_agent.py").write_text(AGENT)
    asked = ("arena", "--agent", "my_agent.py:Mine", "--runs", 1, "--episodes", 1, "--workers", 1)
    code, out, _ = call(*asked)
    assert code == 0
    assert "12 worlds for reporting: gap regret after 1 episodes relative to PSRL-SSP" in out
    assert "3 Mine" in out
    assert "Mine refuses sparse, 8 actions: the agent cannot be created (my_agent.py, line 8: AttributeError" in out
    assert "written: results/arena/arena-Mine.md" in out
    assert (tmp_path / "results/arena/arena-Mine.md").exists()
    assert (tmp_path / "results/arena/arena-Mine-long.csv").exists()
    code, out, _ = call(*asked, "--format", "json")
    assert code == 0
    document = json.loads(out)
    assert {row["agent"] for row in document["agents"] if row["group"] == "reporting"} == {
        "PSRL-SSP",
        "neighbourhoods",
        "Mine",
    }
    assert [cell["world"] for cell in document["cells"] if cell["refusal"]] == ["sparse, 8 actions"]
    assert {row["agent"] for row in document["long_agents"]} >= {"PSRL-SSP"}
