"""The page of a replay, in a real browser: it shows what was recorded, and plans as `solve` does."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from scipy.stats import dirichlet

import goalward as gw
from browsing import wait_until
from goalward import agents
from goalward.cli import main
from goalward.errors import SettingError
from goalward.learning.regret import optimum
from goalward.pages.page import Block, script_json
from goalward.pages.watch import MOST_MODEL_NUMBERS

GRID = gw.worlds.grid_world()
EPISODES = 120
CELLS = "section.agent:nth-of-type({}) .cell"


@pytest.fixture(scope="module")
def runs():
    rivals = (agents.find(name).from_settings({}, GRID, EPISODES) for name in ("psrl", "bernstein-ssp"))
    return [gw.learn(agent, GRID, EPISODES, 0, keep_replay=True, keep_plans=True) for agent in rivals]


@pytest.fixture(scope="module")
def path(runs, tmp_path_factory):
    return gw.watch(*runs, world="grid-world").save(tmp_path_factory.mktemp("pages") / "watch.html")


def actions_on(page, agent=1):
    """Return the actions that a map shows, state by state."""
    return page.eval_on_selector_all(CELLS.format(agent), "cells => cells.map((cell) => cell.dataset.actions)")


def texts_on(page, agent=1):
    return page.eval_on_selector_all(CELLS.format(agent), "cells => cells.map((cell) => cell.dataset.text)")


def curve_ends(page):
    return page.eval_on_selector_all(
        ".regret .curve", "curves => Object.fromEntries(curves.map((c) => [c.dataset.agent, Number(c.dataset.last)]))"
    )


def test_curves_end_where_the_runs_do(visit, path, runs):
    page = visit(path, "regret=regret&axes=linear")
    expected = {run.agent.name: run.regret[-1] for run in runs}
    assert curve_ends(page) == pytest.approx(expected, rel=1e-12)
    page.click("button[data-value=gap_regret]")
    assert curve_ends(page) == pytest.approx({run.agent.name: run.gap_regret[-1] for run in runs}, rel=1e-12)
    linear = page.get_attribute(".regret .line", "d")
    page.click("button[data-value=log]")
    assert page.get_attribute(".regret .line", "d") != linear


def test_the_slider_moves_the_policy(visit, path, runs):
    page = visit(path)
    for epoch in (0, 17, len(runs[0].epochs) - 1):
        page.locator("input[type=range]").fill(str(epoch))
        assert actions_on(page) == [str(action) for action in runs[0].plans[epoch].policy]
        shown = [float(text) for text in texts_on(page)]
        assert shown == pytest.approx(runs[0].plans[epoch].values, rel=6e-3, abs=6e-3)
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    assert page.inner_text(".epoch-label") == f"epoch 12 of {len(runs[0].epochs)}"


def test_the_address_restores_the_view(visit, path):
    page = visit(path)
    page.locator("input[type=range]").fill("19")
    page.click("button[data-value=gap]")
    page.click(f"{CELLS.format(1)}[data-state='6']")
    wait_until(page, "location.hash.includes('layer=gap') && location.hash.includes('cell=')")
    view = page.evaluate("location.hash.slice(1)")
    assert set(view.split("&")) >= {"epoch=20", "layer=gap", "cell=1,2"}
    again = visit(path, view)
    assert (actions_on(again), texts_on(again)) == (actions_on(page), texts_on(page))
    assert again.inner_text("#cell h2") == page.inner_text("#cell h2") == "State: row 1, column 2"
    # Another link to the page that is open.
    again.evaluate("location.hash = 'epoch=5&layer=value'")
    wait_until(again, "document.querySelector('.epoch-label').textContent.startsWith('epoch 5 ')")
    again.keyboard.press("End")
    wait_until(again, "location.hash === '#epoch=end'")
    assert visit(path, "epoch=end").inner_text(".epoch-label").startswith("end")


def test_space_plays_after_a_click_on_a_button(visit, path):
    page = visit(path)
    page.click("button[data-value=visits]")
    page.keyboard.press(" ")
    assert page.get_attribute("button.play", "aria-label") == "pause"
    page.keyboard.press(" ")
    assert page.get_attribute("button.play", "aria-label") == "play"
    # A control that the keyboard has reached keeps the key.
    page.focus("button[data-value=gap]")
    page.keyboard.press(" ")
    assert page.get_attribute("button[data-value=gap]", "aria-pressed") == "true"
    page.focus(".words summary")
    page.keyboard.press(" ")
    assert page.locator(".words dl").is_visible()
    assert page.get_attribute("button.play", "aria-label") == "play"


def test_layers_show_what_was_recorded(visit, path, runs):
    page = visit(path, "epoch=31&layer=visits")
    frame = runs[0].replay.frames[30]
    counts = np.zeros((GRID.states, GRID.actions), dtype=int)
    for each in runs[0].replay.frames[:30]:
        np.add.at(counts.reshape(-1), each.seen // (GRID.states + 1), each.times)
    assert [int(text) for text in texts_on(page)] == counts.sum(axis=1).tolist()
    page.keyboard.press("5")
    gaps = optimum(GRID).gaps[np.arange(GRID.states), frame.played.argmax(axis=1)]
    assert [float(text.replace("−", "-")) for text in texts_on(page)] == pytest.approx(gaps, abs=6e-3)
    page.keyboard.press("4")
    uncertain = page.evaluate("Array.from({length: 11}, (_, state) => window.goalward.replays[0].uncertainty(state))")
    belief = gw.Dirichlet(0.1).belief(runs[0].agent.task)
    for each in runs[0].replay.frames[:30]:
        np.add.at(belief.counts, each.seen, each.times)
    expected = [
        np.mean([np.sqrt(dirichlet(alpha).var().sum()) for alpha in rows])
        for rows in belief.alpha.reshape(GRID.states, GRID.actions, -1)
    ]
    assert uncertain == pytest.approx(expected, rel=1e-9)
    # The rival keeps no belief: its map stays empty, nothing is filled in.
    assert set(texts_on(page, 2)) == {""}


def walled(ssp, wall, costs=None):
    """Return the world in which the way into a state is staying where one is."""
    P = ssp.to_dense()
    for state in range(ssp.states):
        P[state, :, state] += P[state, :, wall]
        P[state, :, wall] -= P[state, :, wall]
    P[wall] = 0.0
    P[wall, :, ssp.goal] = 1.0  # nobody gets there; any row will do
    return gw.SSP.from_dense(P, ssp.costs if costs is None else costs, ssp.initial_state)


def planned(page, agent=0):
    return np.array(
        page.evaluate(f"Array.from(window.goalward.whatIf.plans[{agent}].values, (v) => v === Infinity ? 1e308 : v)")
    )


def test_replanning_gives_the_values_of_the_planner(visit, path, runs):
    page = visit(path, "epoch=41&cell=1,2&model=truth")
    page.click("button.strong")
    assert planned(page) == pytest.approx(gw.solve(GRID, 1e-10).values, rel=1e-9)
    # The model of each agent's plan, as far as 32 bits keep it.
    page.click("button[data-value=plan]")
    for place, run in enumerate(runs):
        frame = page.evaluate(f"window.goalward.replays[{place}].frame")
        assert planned(page, place) == pytest.approx(run.plans[frame].values, rel=1e-5)
    # A wall and another cost, in the expected model.
    page.click("button[data-value=mean]")
    page.click(".what-if .toggle")
    page.locator("input[type=number]").fill("2.5")
    page.click(f"{CELLS.format(1)}[data-state='3']")
    page.locator("input[type=number]").fill("0.25")
    page.click("button.strong")
    belief = gw.Dirichlet(0.1).belief(runs[0].agent.task)
    for each in runs[0].replay.frames[:40]:
        np.add.at(belief.counts, each.seen, each.times)
    costs = GRID.costs.copy()
    costs[3] = 0.25
    expected = gw.solve(walled(belief.mean(), 6, costs), 1e-10).values
    shown = planned(page)
    others = np.arange(GRID.states) != 6
    assert shown[others] == pytest.approx(expected[others], rel=1e-9)
    wait_until(page, "location.hash.includes('walls=6')")


def test_replanning_without_the_model_of_the_epoch(visit, tmp_path):
    """A large world has models of few epochs: the mean of the posterior takes their place, or nothing is drawn."""
    rooms = gw.worlds.make("four-rooms")
    settings = {"psrl": {"prior": "dirichlet"}, "q-learning": {}}
    rivals = (agents.find(name).from_settings(settings[name], rooms, 2) for name in settings)
    runs = [gw.learn(agent, rooms, 2, keep_replay=True) for agent in rivals]
    page = visit(gw.watch(*runs).save(tmp_path / "page.html"), "epoch=4&cell=1,1&model=plan")
    assert page.evaluate("window.goalward.replays.map((replay) => replay.plannedModel())") == [None, None]
    page.click("button.strong")
    belief = gw.Dirichlet(0.1).belief(runs[0].agent.task)
    for each in runs[0].replay.frames[:3]:
        np.add.at(belief.counts, each.seen, each.times)
    expected = gw.solve(belief.mean(), 1e-10)
    assert planned(page) == pytest.approx(expected.values, rel=1e-9)
    assert actions_on(page) == page.evaluate("Array.from(window.goalward.whatIf.plans[0].policy, String)")
    assert "expected model" in page.inner_text("section.agent:nth-of-type(1) .why")
    # The rival keeps no posterior: what it plays is not what replanning would give.
    assert {*actions_on(page, 2), *texts_on(page, 2)} == {""}
    assert "no model" in page.inner_text("section.agent:nth-of-type(2) .why")
    page.click("button[data-value=value]")
    assert "" not in actions_on(page, 2)
    assert "model" not in page.inner_text("section.agent:nth-of-type(2) .why")


def test_large_worlds_have_no_layer_of_new_plans(visit, tmp_path):
    large = gw.worlds.make("sparse-mdp", states=600)
    page = visit(gw.watch(gw.learn(agents.Uniform(), large, 1)).save(tmp_path / "page.html"), "layer=replanned")
    assert page.locator("button[data-value=replanned]").count() == 0
    assert page.inner_text(".scale .what").startswith("visits")
    page.keyboard.press("6")
    assert page.inner_text(".scale .what").startswith("visits")


def test_giving_up_has_a_mark_and_an_explanation(tmp_path):
    pit = gw.worlds.make("grid-map", text="S.G\n.O.")
    run = gw.learn(gw.agents.PSRL(), pit.with_give_up(5.0), 5, keep_replay=True)
    page = gw.watch(run)
    assert page.document["world"]["actionMarks"] == ["←", "→", "↑", "↓", "↺"]
    assert "<dt>↺ give up</dt>" in page.html


def test_events_lead_to_their_epochs(visit, path, runs):
    page = visit(path)
    page.click(".events >> text=first goal")
    first = int(np.argmax(runs[0].epochs.goals > 0))
    assert page.inner_text(".epoch-label") == f"epoch {first + 1} of {len(runs[0].epochs)}"
    page.click(".events >> text=last changed its plan at the start cell")
    actions = [plan.policy[GRID.initial_state] for plan in runs[0].plans]
    last = max(epoch for epoch in range(1, len(actions)) if actions[epoch] != actions[epoch - 1])
    assert page.inner_text(".epoch-label") == f"epoch {last + 1} of {len(runs[0].epochs)}"


def test_the_rival_is_shown_at_the_same_episode_or_step(visit, path, runs):
    """Replays keep every step here, so the trajectories say where both agents are."""
    page = visit(path, f"epoch={len(runs[0].epochs) - 20}&step=2")
    mine = run_time(page, 0)
    episode = int(np.searchsorted(np.cumsum(runs[0].steps), mine, side="right"))
    within = mine - int(runs[0].steps[:episode].sum())
    begins = int(runs[1].steps[:episode].sum())
    assert run_time(page, 1) == min(begins + within, begins + int(runs[1].steps[episode]))
    page.keyboard.press("l")
    assert page.inner_text(".epoch-label").endswith(f"of {len(runs[1].epochs)}")
    page.keyboard.press("l")
    page.click("button[data-value=steps] >> text=by steps")
    assert run_time(page, 0) == run_time(page, 1)
    assert page.text_content(".regret .axes .name") == "step"


def run_time(page, agent):
    return page.evaluate(f"window.goalward.replays[{agent}].time")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_it_fits_the_screen_in_every_scheme(visit, path, width, scheme):
    page = visit(path, "epoch=30&cell=1,2", viewport={"width": width, "height": 900}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ground, ink = page.evaluate(
        "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    )
    luminance = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ground, ink)]
    assert (luminance[0] > luminance[1]) == (scheme == "light")


def test_a_theme_in_the_address_colours_names_and_curves_alike(visit, path):
    page = visit(path, "theme=dark")
    colour = "one => getComputedStyle(one).stroke"
    curve = page.eval_on_selector(".regret .line", colour)
    assert page.eval_on_selector("section.agent svg.swatch line", colour) == curve


def test_another_theme_keeps_the_look_of_each_agent(visit, runs, tmp_path):
    """One label is contained in the other."""
    page = visit(gw.watch(*runs, labels=["psrl", "not psrl"]).save(tmp_path / "page.html"), "cell=1,2&theme=light")
    swatches = "all => all.map((each) => [each.parentNode.textContent, getComputedStyle(each.firstChild).stroke])"
    light = page.eval_on_selector_all("svg.swatch", swatches)
    page.click("text=theme: light")
    dark = page.eval_on_selector_all("svg.swatch", swatches)
    assert dark == visit(tmp_path / "page.html", "cell=1,2&theme=dark").eval_on_selector_all("svg.swatch", swatches)
    assert dark != light
    assert len(set(map(tuple, dark))) == 2


def test_worlds_without_a_grid(visit, tmp_path):
    river = gw.worlds.make("river-swim")
    run = gw.learn(agents.PSRL(), river, 10)
    page = visit(gw.watch(run, world="river-swim").save(tmp_path / "graph.html"), "epoch=9")
    assert page.locator("svg.map.graph .cell").count() == river.states
    assert page.locator(".edges path").count() > 0
    large = gw.worlds.make("sparse-mdp", states=80)
    page = visit(gw.watch(gw.learn(agents.Uniform(), large, 2)).save(tmp_path / "list.html"))
    assert page.locator(".list-map .cell").count() == 80
    assert "estimates no costs" in page.inner_text(".notes")


def test_environments_without_a_model_list_the_states_they_met_by_name(visit, tmp_path):
    gymnasium = pytest.importorskip("gymnasium")
    env = gw.Environment(gymnasium.make("Blackjack-v1"), goal=1.0, give_up_cost=5.0)
    run = gw.learn(agents.make("q-learning"), env, 5, keep_replay=True, keep_steps=True)
    page = visit(gw.watch(run).save(tmp_path / "page.html"))
    met = sorted({int(state) for state in run.trajectory.states} | {run.agent.task.initial_state})
    names = [run.agent.task.encoding.name(state) for state in met]
    listed = page.locator(".list-map .cell td:first-child").all_text_contents()
    assert [name.removesuffix(" (start)") for name in listed] == names
    assert "(" in names[0]
    plays = " or ".join(page.locator(".list-map .cell td:last-child").all_text_contents())
    assert set(plays.split(" or ")) <= {"stick", "hit", "give up"}


def test_layers_of_a_world_with_many_pairs(visit, tmp_path):
    """Browsers refuse calls with more than about 120,000 arguments."""
    S, A = 33_000, 4
    rows = np.arange(S * A + 1)
    successors = np.repeat(np.arange(1, S + 1), A).astype(np.int64)
    successors[: S * (A - 1)] = S
    chain = gw.SSP.from_rows(rows, successors, np.ones(S * A), np.ones((S, A)))
    page = visit(gw.watch(gw.learn(agents.Uniform(), chain, 1)).save(tmp_path / "large.html"))
    for layer in ("gap", "visits"):
        page.click(f"button[data-value={layer}]")
        assert page.inner_text(".scale .what").startswith(layer)
        assert page.inner_text(".scale .ends") != ""


HOSTILE = [
    "<script>window.hit=1</script>",
    '"><img src=x onerror="window.hit=1">',
    "\u2028</script><b>x",
    "{{7*7}} ${1}",
]


def test_names_from_users_stay_text(visit, tmp_path):
    rows = [(name, "<svg onload=alert(1)>", HOSTILE[(place + 1) % 4], 0.5, 1.0) for place, name in enumerate(HOSTILE)]
    rows += [(name, "<svg onload=alert(1)>", "done", 0.5, 1.0) for name in HOSTILE]
    world = gw.SSP.from_transitions(rows, goals=["done"])
    run = gw.learn(agents.PSRL(), world, 20)
    page = visit(gw.watch(run, labels=[HOSTILE[0]], world=HOSTILE[1]).save(tmp_path / "p.html"), "cell=1&epoch=3")
    assert page.evaluate("window.hit") is None
    assert HOSTILE[0] in page.inner_text("h1")
    assert HOSTILE[1] in page.inner_text("h1")
    assert page.inner_text("#cell h2") == f"State: {HOSTILE[1]}"
    assert page.locator("img, b:text-is('x')").count() == 0


def test_the_policy_of_the_page_stops_what_is_not_its_own(visit, path, browser):
    page = browser.new_page()
    blocked = []
    page.on("console", lambda message: blocked.append(message.text))
    page.goto(path.resolve().as_uri())
    page.wait_for_selector("html[data-ready]")
    page.evaluate("""() => {
        const script = document.createElement('script');
        script.textContent = 'window.hit = 1';
        document.body.append(script);
        return fetch('https://example.org/').catch(() => 0);
    }""")
    assert page.evaluate("window.hit") is None
    policy = re.compile("Content[ -]Security[ -]Policy")
    for _ in range(100):
        if len([text for text in blocked if policy.search(text)]) >= 2:
            break
        page.wait_for_timeout(100)
    else:
        raise AssertionError(f"the page blocked too little: {blocked}")
    page.close()


def test_a_notebook_shows_the_page_in_a_frame(visit, runs, tmp_path):
    frame = gw.watch(runs[0])._repr_html_()
    assert frame.startswith('<iframe srcdoc="')
    (tmp_path / "notebook.html").write_text(f"<html data-ready><body>{frame}</body></html>", encoding="utf-8")
    page = visit(tmp_path / "notebook.html")
    inside = page.frame_locator("iframe")
    inside.locator("html[data-ready]").wait_for()
    assert "psrl" in inside.locator("h1").inner_text()


def test_ten_thousand_episodes_fit_three_megabytes():
    """The sizes of what grows: no browser needed, and no long run."""
    agent, rival = agents.PSRL(), agents.make("tsde")
    pages = [gw.watch(gw.learn(each, GRID, 10_000)) for each in (agent, rival)]
    assert all(len(page.html.encode()) < 3e6 for page in pages)
    assert MOST_MODEL_NUMBERS * 4 * 4 / 3 < 1.5e6


def test_what_cannot_be_watched():
    with pytest.raises(SettingError, match="watch needs one or two runs"):
        gw.watch()
    run = gw.learn(agents.Uniform(), GRID, 2)
    other = gw.learn(agents.Uniform(), gw.worlds.grid_world(rows=2), 2)
    with pytest.raises(SettingError, match="different worlds"):
        gw.watch(run, other)
    with pytest.raises(SettingError, match=r"must have 2 different texts"):
        gw.watch(run, run, labels=["a", "a"])
    with pytest.raises(SettingError, match=r"page\.pdf: pages are HTML files"):
        gw.watch(run).save("page.pdf")


def test_documents_are_safe_inside_a_script_element():
    text = script_json({"a": "</script><!--\u2028 & é", "b": float("inf")})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"a": "</script><!--\u2028 & é", "b": None}
    block = Block()
    assert [block.put([1, 2, 3], "u1"), block.put([1.5], "f8")] == [
        {"type": "u1", "at": 0, "size": 3}, {"type": "f8", "at": 8, "size": 1},
    ]  # fmt: skip


def test_the_verb(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as done:
        main(["watch", "grid-world", "--rival", "q-learning", "--episodes", "20", "--out", "page.html"])
    assert done.value.code == 0
    printed = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"psrl: 20 episodes, \d+ steps", printed[0])
    assert re.fullmatch(r"q-learning: 20 episodes, [\d,]+ steps", printed[1])
    assert printed[2] == "written: page.html"
    assert (tmp_path / "page.html").stat().st_size > 10_000
    for arguments, message in (
        (["--out", "page.pdf"], "pages are HTML files"), (["--rival-set", "delta=1"], "choose a rival with --rival"),
        (["--agent", "psrll"], "psrl"),
    ):  # fmt: skip
        with pytest.raises(SystemExit) as done:
            main(["watch", "grid-world", "--episodes", "2", *arguments])
        assert done.value.code == 2
        assert message in capsys.readouterr().err


def test_environments_are_called_by_their_names(visit, tmp_path):
    pytest.importorskip("gymnasium")
    page = tmp_path / "page.html"
    with pytest.raises(SystemExit) as done:
        main(["watch", "CliffWalking-v1", "--episodes", "2", "--out", str(page)])
    assert done.value.code == 0
    assert visit(page).inner_text("h1") == "psrl in CliffWalking-v1"
