"""The agent on the page walks as it walked in the run; captions say what was recorded, in a real browser."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

import goalward as gw
from browsing import wait_until
from epoch_rows import epoch_rows
from goalward import agents

GRID = gw.worlds.grid_world()
EPISODES = 60
FIRST = "section.agent:nth-of-type(1)"


def learnt(name, world=GRID, episodes=EPISODES, **settings):
    agent = agents.find(name).from_settings(settings, world, episodes)
    return gw.learn(agent, world, episodes, 0, keep_replay=True, keep_steps=True, keep_plans=True)


@pytest.fixture(scope="module")
def runs():
    return [learnt("psrl"), learnt("q-learning")]


@pytest.fixture(scope="module")
def path(runs, tmp_path_factory):
    return gw.watch(*runs, world="grid-world").save(tmp_path_factory.mktemp("pages") / "watch.html")


def chances(model, state, action):
    """Return the probability of each successor."""
    return {int(successor): float(chance) for successor, chance in zip(*model.row(state, action), strict=True)}


def centre(state):
    """Return where a state, or the goal, lies on the map: the middle of its cell."""
    layout = GRID.layout
    row, column = divmod(int(layout.goals[0] if state == GRID.goal else layout.cells[state]), layout.columns)
    return [60 * column + 30, 60 * row + 30]


def dot(page):
    return [float(number) for number in re.findall(r"[\d.]+", page.get_attribute(f"{FIRST} .dot", "transform"))]


def test_every_step_is_on_the_page(visit, path, runs):
    page = visit(path)
    for place, run in enumerate(runs):
        steps = page.evaluate(f"""(() => {{
            const replay = window.goalward.replays[{place}];
            const counted = (length, value) => Array.from({{ length }}, (_, index) => value(index));
            return counted(replay.count, (frame) => counted(replay.pathLength(frame), (k) => replay.stepAt(frame, k)))
                .flat().map(({{ state, action, successor }}) => [state, action, successor]);
        }})()""")
        walked = run.trajectory
        assert steps == np.stack([walked.states, walked.actions, walked.next_states], axis=1).tolist()
        assert page.evaluate(f"Array.from(window.goalward.replays[{place}].ends)") == np.cumsum(run.steps).tolist()


def test_the_dot_goes_where_the_agent_went(visit, path, runs):
    page = visit(path)
    walked = runs[0].trajectory
    slips = 0
    assert dot(page) == centre(walked.states[0])
    for step in range(60):
        page.keyboard.press(".")
        state, action, successor = walked.states[step], walked.actions[step], walked.next_states[step]
        assert dot(page) == centre(successor)
        words = page.inner_text(f"{FIRST} .step")
        row = chances(GRID, state, action)
        slipped = row[successor] < max(row.values())
        slips += slipped
        name = f"“{GRID.action_name(action)}” in row {state // 4}, column {state % 4}"
        assert words.startswith(f"episode {1 + np.count_nonzero(walked.next_states[:step] == GRID.goal)}, step ")
        assert name in words
        assert ("slips" in words) == (slipped and successor != GRID.goal)
        assert page.locator(f"{FIRST} .slip-word").get_attribute("visibility") == ("visible" if slipped else "hidden")
        arrived = "arrived" in page.get_attribute(f"{FIRST} .map", "class")
        assert arrived == (successor == GRID.goal) == ("reaches the goal" in words)
    assert slips > 3
    page.keyboard.press(",")
    assert dot(page) == centre(walked.next_states[58])
    wait_until(page, "location.hash.slice(1) === window.goalward.address.text")
    again = visit(path, page.evaluate("location.hash.slice(1)"))
    assert dot(again) == centre(walked.next_states[58])


def test_play_walks_and_the_trail_fades(visit, path):
    page = visit(path, "epoch=20&speed=run")
    page.evaluate("""() => {
        const dot = document.querySelector('.dot');
        window.passed = new Set();
        new MutationObserver(() => window.passed.add(dot.getAttribute('transform'))).observe(dot, { attributes: true });
    }""")
    page.keyboard.press(" ")
    wait_until(page, "window.goalward.lead.frame > 21")
    page.keyboard.press(" ")
    # It was also seen on its way between two cells.
    passed = [re.findall(r"[\d.]+", place) for place in page.evaluate("[...window.passed]")]
    assert any(float(number) % 60 != 30 for place in passed for number in place)
    shown = page.eval_on_selector_all(
        f"{FIRST} .trail > path:not([visibility=hidden])",
        "all => all.map((line) => Number(line.getAttribute('opacity')))",
    )
    assert shown == sorted(shown, reverse=True)
    assert len(shown) > 1


def test_without_motion_the_dot_jumps(visit, path, runs):
    page = visit(path, "speed=step", reduced_motion="reduce")
    page.keyboard.press(" ")
    wait_until(page, "window.goalward.part > 0.3")
    at = page.evaluate("[window.goalward.part, document.querySelector('.dot').getAttribute('transform')]")
    page.keyboard.press(" ")
    corners = [centre(state) for state in (*runs[0].trajectory.states[:12], GRID.goal)]
    assert [float(number) for number in re.findall(r"[\d.]+", at[1])] in corners


def caption(page):
    return " ".join(page.inner_text(f"{FIRST} .why").split())


def test_captions_are_recorded_facts(visit, path, runs):
    """Checked against the plans and the steps of the run, epoch by epoch."""
    run = runs[0]
    page = visit(path)
    best = float(gw.solve(GRID).values[GRID.initial_state])
    A, S = GRID.actions, GRID.states
    counts = np.zeros((S, A, S + 1), dtype=int)
    away = 0
    for epoch, (plan, record) in enumerate(zip(run.plans, epoch_rows(run.epochs), strict=True)):
        text = caption(page)
        assert f"pay {shown(plan.values[GRID.initial_state])} from the start" in text
        assert f"the best policy pays {shown(best)}" in text
        imagined = re.search(
            r"imagines that “(\w+)” in row (\d), column (\d), (never tried|tried (\d+) times?) so far,"
            r" leads (.*?) \((\d+) %; in truth (\S+ ?%)\)",
            text,
        )
        assert imagined is not None, text
        action, row, column, _tries, number, where, chance, truth = imagined.groups()
        state, index = 4 * int(row) + int(column), GRID.action_names.index(action)
        assert plan.policy[state] == index
        # It is about the state where the epoch begins, unless the agent imagines that its action has no effect there.
        here = run.trajectory.states[record.start_step]
        leads_on = any(
            chance >= 0.05 for other, chance in chances(plan.model, here, plan.policy[here]).items() if other != here
        )
        assert state == here or not leads_on
        away += here != GRID.initial_state and state == here
        assert int(number or 0) == counts[state, index].sum(), (epoch, text)
        steps = {"right": state + 1, "left": state - 1, "up": state - 4, "down": state + 4, "to the goal": GRID.goal}
        other = re.fullmatch(r"to row (\d), column (\d)", where)
        successor = 4 * int(other[1]) + int(other[2]) if other else min(steps[where], GRID.goal)
        assert chances(plan.model, state, index)[successor] == pytest.approx(int(chance) / 100, abs=0.0051)
        assert chances(GRID, state, index).get(successor, 0.0) == pytest.approx(
            float(re.match(r"\d+", truth)[0]) / 100, abs=0.006
        )
        learned = re.search(
            r"learnt that “(\w+)” in row (\d), column (\d) led (\S+)(?: \w+)* (?:only time|in (\d+) of (\d+) tries)",
            text,
        )
        if epoch:
            action, row, column, *_, seen, all_times = learned.groups()
            tried = counts[4 * int(row) + int(column), GRID.action_names.index(action)]
            assert (int(seen or 1), int(all_times or 1)) == (tried.max(), tried.sum())
        inside = slice(record.start_step, record.start_step + record.steps)
        walked = run.trajectory
        np.add.at(counts, (walked.states[inside], walked.actions[inside], walked.next_states[inside]), 1)
        page.keyboard.press("ArrowRight")
    assert away > 10


def test_the_end_says_how_long_the_trips_were(visit, path, runs):
    page = visit(path, "epoch=end")
    first, lately = runs[0].steps[0], runs[0].steps[-6:].mean()
    assert f"Its first trip took {first} steps. Its last 6 trips took {shown(lately)} steps on" in caption(page)


def shown(value):
    return f"{value:.3g}"


def test_why_it_planned_again_is_what_the_counts_say(visit, path, runs):
    """The visits that ended an epoch, counted again from the steps of the run, before it and in it."""
    run = runs[0]
    page = visit(path)
    walked = run.trajectory
    future = [
        ("have more", "will have more"), ("have doubled", "will have doubled"), ("was tried", "will have been tried"),
        ("had reached", "will have reached"), ("was over", "will be over"),
    ]  # fmt: skip
    pairs = walked.states * GRID.actions + walked.actions
    kinds = set()
    why = ""
    for plan, record in zip(run.plans, epoch_rows(run.epochs), strict=True):
        text = caption(page)
        assert f"It planned again because {why}." in text if why else "It planned again" not in text
        end = record.start_step + record.steps
        pair = pairs[end - 1]
        name = f"“{GRID.action_name(pair % 4)}” in row {pair // 16}, column {pair // 4 % 4}"
        before = np.count_nonzero(pairs[: record.start_step] == pair)
        inside = np.count_nonzero(pairs[record.start_step : end] == pair)
        goals = np.count_nonzero(walked.next_states[record.start_step : end] == GRID.goal)
        reasons = []
        if inside == plan.stop_after_visits.flat[pair]:
            counts = f"({before:,} before, {inside:,} in this epoch)"
            more = "more than " if inside > before else ""
            doubled = f"the tries of {name} have {more}doubled {counts}"
            reasons.append(doubled if before else f"{name} was tried for the first time")
        if goals == plan.stop_after_goals:
            often = "once" if goals == 1 else f"{goals} times"
            reasons.append(f"it had reached the goal {often}, as often as this plan allows")
        if end == len(pairs):
            reasons.append("the run was over")
        kinds.add(tuple(reason.split(" ")[0] for reason in reasons))
        why = ", and ".join(reasons)
        ahead = why
        for now, later in future:
            ahead = ahead.replace(now, later)
        assert f"This epoch will end because {ahead}." in text
        for _ in range(record.steps):
            assert "This epoch will end because" in caption(page)
            page.keyboard.press(".")
        assert f"This epoch ends because {why}." in caption(page)
        why = why.replace("this epoch", "that epoch")
        page.keyboard.press("ArrowRight")
    assert len(kinds) >= 3


@pytest.mark.parametrize(
    ("name", "settings", "reason"),
    [
        ("psrl-episode", {}, "it had reached the goal once, as often as this plan allows"),
        ("tsde", {}, "the plan was for a fixed number of steps"),
        ("bernstein-ssp", {"scale": 0.01}, "was to be tried for the first time"),
    ],
)
def test_other_reasons_have_words_of_their_own(visit, tmp_path, name, settings, reason):
    page = visit(gw.watch(learnt(name, GRID, 5, **settings)).save(tmp_path / "page.html"))
    last = int(page.evaluate("window.goalward.lead.last"))
    reasons = [page.evaluate(f"window.goalward.lead.whyEnded({frame})") for frame in range(last)]
    assert any(reason in words for words in reasons), reasons


def test_pointing_at_a_state_shows_what_the_agent_imagines(visit, path, runs):
    page = visit(path, "epoch=10")
    page.hover(f"{FIRST} .cell[data-state='5']")
    plan = runs[0].plans[9]
    row = {state: chance for state, chance in chances(plan.model, 5, plan.policy[5]).items() if chance >= 0.05}
    assert page.locator(f"{FIRST} .imagined > g").count() == len(row)
    assert f"{round(100 * max(row.values()))} %" in page.inner_text(f"{FIRST} .step")
    page.mouse.move(5, 5)
    assert page.locator(f"{FIRST} .imagined > g").count() == 0
    # An action of the chosen state, also one that the plan does not play.
    page.click(f"{FIRST} .cell[data-state='5']")
    other = next(action for action in range(4) if action != plan.policy[5])
    page.hover(f"#cell .row-button >> nth={other}")
    row = {state: chance for state, chance in chances(plan.model, 5, other).items() if chance >= 0.05}
    assert page.locator(f"{FIRST} .imagined > g").count() == len(row)
    assert f"“{GRID.action_name(other)}” in row 1, column 1: it imagines " in page.inner_text(f"{FIRST} .step")


def test_map_and_chosen_state_are_in_view_together(visit, path):
    page = visit(path, "epoch=10")
    page.click(f"{FIRST} .cell[data-state='6']")
    boxes = [page.locator(name).bounding_box() for name in (f"{FIRST} .map", "#cell")]
    assert boxes[1]["x"] > boxes[0]["x"] + boxes[0]["width"]
    assert abs(boxes[1]["y"] - boxes[0]["y"]) < 120
    assert all(box["y"] < 700 for box in boxes)
    # A phone: a sheet at the bottom, with the map above it.
    phone = visit(path, "epoch=10&cell=2,2", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    boxes = [phone.locator(name).bounding_box() for name in (f"{FIRST} .map", "#cell")]
    assert boxes[1]["y"] + boxes[1]["height"] == pytest.approx(844, abs=2)
    assert boxes[0]["y"] >= -1
    assert boxes[0]["y"] + boxes[0]["height"] < boxes[1]["y"]
    small = phone.eval_on_selector_all(
        "button, select, summary",
        "all => all.filter((one) => one.offsetParent && Math.min(one.offsetHeight, one.offsetWidth) < 40)"
        ".map((one) => one.textContent)",
    )
    assert small == []
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_player_is_directly_under_the_map_on_a_phone(visit, path):
    page = visit(path, viewport={"width": 390, "height": 844})
    for place in (0, 1):  # under the map of the agent that the slider follows
        page.locator("section.agent .toggle").nth(place).click()
        map_box, player = page.locator("section.agent .map-host").nth(place).bounding_box(), page.locator(".player")
        assert 0 <= player.bounding_box()["y"] - (map_box["y"] + map_box["height"]) <= 12
    page.set_viewport_size({"width": 1280, "height": 900})
    assert page.locator(".controls > .player").count() == 1


def test_a_rival_can_be_hidden(visit, path):
    page = visit(path, "agents=0")
    assert page.locator("section.agent").nth(1).is_hidden()
    assert page.locator(".regret .curve").count() == 1
    page.click("[aria-label=agents] button[data-value='1']")
    assert page.locator("section.agent").nth(0).is_hidden()
    assert page.inner_text(".epoch-label").startswith("snapshot")
    page.click("[aria-label=agents] button[data-value=both]")
    assert page.locator(".regret .curve").count() == 2


def test_the_slider_marks_the_ends_of_epochs_and_episodes(visit, path, runs):
    page = visit(path)
    frames = runs[0].replay.frames
    starts = np.array([frame.start_step for frame in frames])
    last = len(frames) - 1
    shown = [float(x) for x in re.findall(r"M([\d.]+),0", page.get_attribute(".slider-marks .episodes", "d"))]
    expected = []
    for end in np.cumsum(runs[0].steps):
        frame = min(int(np.searchsorted(starts, end, side="left")) - 1, last - 1)
        expected.append(1000 * (frame + (end - starts[frame]) / (starts[frame + 1] - starts[frame])) / last)
    assert set(shown) <= {round(place, 1) for place in expected} | {round(place + 0.1, 1) for place in expected}
    assert len(shown) > 20


def test_the_chart_says_who_is_better_and_by_how_much(visit, path, runs):
    page = visit(path)
    mine, rival = (float(run.gap_regret[-1]) for run in runs)
    words = page.inner_text(".verdict-line")
    assert f"psrl lost {mine:.0f}, and q-learning lost {rival:.0f} in cost compared with the best policy" in words
    better = "psrl" if mine < rival else "q-learning"
    assert f"{better} lost less while learning: the difference is {abs(rival - mine):.3g}" in words
    lately = [run.steps[-6:].mean() for run in runs]
    same = "both took about the same" if max(lately) <= 1.05 * min(lately) else "the agents took"
    trips = f"{same}: psrl {shown(lately[0])}, q-learning {shown(lately[1])} steps per trip."
    assert f"In the last 6 episodes {trips}" in words
    meaning = page.inner_text(".verdict-line + p")
    assert "gap regret: the sum of the expected extra costs of all actions that the agent played." in meaning
    assert "realised regret: the cost that the agent paid, minus the average cost" in meaning
    assert page.locator(".curve-label").all_text_contents() in (["psrl", "q-learning"], ["q-learning", "psrl"])
    page.click("button[data-value=steps] >> text=steps per episode")
    ends = page.eval_on_selector_all(".regret .curve", "all => all.map((curve) => Number(curve.dataset.last))")
    assert ends == [run.steps[-1] for run in runs]


def test_screen_readers_hear_states_and_captions(visit, path, runs):
    page = visit(path, "epoch=10")
    plan = runs[0].plans[9]
    label = page.get_attribute(f"{FIRST} .cell[data-state='6']", "aria-label")
    assert re.fullmatch(rf"row 1, column 2: {GRID.action_name(plan.policy[6])}, \d\.\d+", label)
    assert page.get_attribute(f"{FIRST} .why", "aria-live") == "polite"
    page.keyboard.press(" ")
    assert page.get_attribute(f"{FIRST} .why", "aria-live") == "off"
    page.keyboard.press(" ")
    page.focus(f"{FIRST} .map")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    active = page.get_attribute(f"{FIRST} .map", "aria-activedescendant")
    assert page.inner_text("#cell h2") == "State: row 1, column 0"
    assert page.get_attribute(f"#{active}", "aria-label").startswith("row 1, column 0: ")
    page.keyboard.press("Escape")
    assert page.locator("#cell .hint").is_visible()


CUT_OFF = """() => [...document.querySelectorAll("button, select, input, summary, [tabindex='0']")]
    .filter((one) => one.getClientRects().length)
    .filter((one) => {
        const ring = one.getBoundingClientRect();
        for (let around = one.parentElement; around !== document.body; around = around.parentElement) {
            const box = around.getBoundingClientRect();
            const hides = getComputedStyle(around).overflowX !== "visible";
            if (hides && (ring.left - 4 < box.left || ring.right + 4 > box.right)) return true;
        }
        return false;
    }).map((one) => one.textContent)"""


def test_nothing_cuts_off_the_ring_around_what_has_the_focus(visit, path):
    """The ring is four pixels wide, with its distance."""
    for size in ({"width": 1280, "height": 900}, {"width": 390, "height": 844}):
        assert visit(path, "epoch=10&cell=2,2", viewport=size).evaluate(CUT_OFF) == []


def test_print_has_no_controls(visit, path):
    page = visit(path, "epoch=10&cell=1,2")
    page.emulate_media(media="print")
    assert (
        page.eval_on_selector_all(
            "button, select, input", "all => all.filter((one) => one.offsetParent && !one.closest('table')).length"
        )
        == 0
    )
    assert page.locator(f"{FIRST} .map").is_visible()


def test_agents_that_plan_once_are_shown_as_their_counts_grow(visit, tmp_path):
    run = learnt("uniform")
    page = visit(gw.watch(run).save(tmp_path / "page.html"))
    totals = page.evaluate("""(() => {
        const replay = window.goalward.replays[0];
        return Array.from({ length: replay.count }, (_, frame) => {
            replay.moveTo(frame);
            return replay.visits.reduce((one, other) => one + other, 0);
        });
    })()""")
    assert totals[0] == 0
    assert totals[-1] == run.total_steps
    assert all(later <= max(earlier + 1, 1.06 * earlier) for earlier, later in itertools.pairwise(totals))
    # Layers that would need values, a belief or a truth that is missing are not offered.
    assert page.eval_on_selector_all("[aria-label=layer] button", "all => all.map((one) => one.dataset.value)") == [
        "visits",
        "gap",
        "replanned",
    ]


def test_pits_and_giving_up_have_signs(visit, tmp_path):
    world = gw.worlds.make("grid-map", text="S..\n.O.\n..G", success=0.8).with_give_up(30.0)
    page = visit(gw.watch(learnt("psrl", world, 20)).save(tmp_path / "page.html"), "epoch=end")
    assert page.locator(".map .pit").count() == 1
    assert "pit: the only way out is to give up" in page.inner_text(".scale .signs")
    assert "give up" in page.inner_text(".scale .signs")
    pit = page.get_attribute(".cell[data-state='4']", "aria-label")
    assert pit.startswith("row 1, column 1, a pit: give up")
    # One pit does not flatten the scale: the other states still differ in colour.
    fills = set(page.eval_on_selector_all(".map .cell .state", "all => all.map((one) => one.getAttribute('fill'))"))
    values = gw.solve(world).values
    high = float(re.search(r"≥ ([\d.]+)", page.inner_text(".scale .ends"))[1])
    assert high < values[4]
    assert len(fills) > 3


def test_the_edge_of_a_graph_lights_up(visit, tmp_path):
    river = gw.worlds.make("river-swim")
    run = learnt("psrl", river, 10)
    page = visit(gw.watch(run).save(tmp_path / "page.html"))
    assert page.locator(".possible path").count() > 5
    walked = run.trajectory
    for step in range(12):
        page.keyboard.press(".")
        shown = page.eval_on_selector(
            ".trail > path", "line => [line.getAttribute('visibility'), line.getAttribute('d')]"
        )
        ways = page.evaluate(f"window.goalward.maps[0].way({walked.states[step]}, {walked.next_states[step]})")
        numbers = [number for point in ways for number in point]
        assert shown[0] == "visible"
        assert [float(text) for text in re.findall(r"-?[\d.]+(?:e-\d+)?", shown[1])] == pytest.approx(numbers)
    assert page.get_attribute(".cell[data-state='0']", "aria-label").startswith("0: ")
    assert page.text_content(".ink .action") in ("swim", "drift", "any")


@pytest.mark.parametrize(("name", "shape"), [("FrozenLake-v1", (4, 4)), ("CliffWalking-v1", (4, 12))])
def test_environments_that_are_grids_look_like_maps(visit, tmp_path, name, shape):
    gymnasium = pytest.importorskip("gymnasium")
    world = gw.from_gymnasium(gymnasium.make(name)).with_give_up(20.0)
    page = visit(gw.watch(learnt("psrl", world, 3)).save(tmp_path / "page.html"), "epoch=end")
    assert page.locator("svg.map.grid .cell").count() == shape[0] * shape[1] - 1
    assert page.evaluate("window.goalward.world.actionNames.toSorted()") == ["down", "give up", "left", "right", "up"]
    signs = page.inner_text(".scale .signs")
    # Holes have no way out; no step leads onto the cliff, which sends the walker back to the start.
    assert ("pit" in signs, "no step leads here" in signs) == ((True, False) if shape == (4, 4) else (False, True))
    assert page.locator(".map .pit, .map .closed").count() == (4 if shape == (4, 4) else 10)


def test_taxi_is_a_map_with_a_floor_for_each_errand(visit, tmp_path):
    """Its walls, depots and errands, as the environment itself describes and decodes them."""
    gymnasium = pytest.importorskip("gymnasium")
    bare = gymnasium.make("Taxi-v4").unwrapped
    world = gw.from_gymnasium(bare)
    run = learnt("q-learning", world, 3)
    page = visit(gw.watch(run).save(tmp_path / "page.html"))
    drawn = np.asarray(bare.desc).astype(str)[1:-1, 1:-1]
    letters = page.eval_on_selector_all(f"{FIRST} .letter", "all => all.map((one) => one.textContent)")
    assert sorted(set(letters)) == sorted(set(drawn[:, ::2].ravel()) - {" "})
    floors = page.locator(f"{FIRST} select option").all_text_contents()
    errands = [f"passenger {place}" for place in ("at R", "at G", "at Y", "at B", "in the taxi")]
    reached = [f"{errand}, going to {to}" for errand in errands for to in "RGYB" if not errand.endswith(f"at {to}")]
    assert floors[1:] == [*reached, "before the first step", "passenger delivered"]
    walked = run.trajectory
    for step in range(60):
        if step:  # the page opens after the first step, because the start has no place on the map
            page.keyboard.press(".")
        state = walked.next_states[step]
        if state == world.goal:
            break
        row, column, passenger, to = bare.decode(state)
        assert dot(page) == [60 * column + 30, 60 * row + 30]
        errand = f"{errands[passenger]}, going to {'RGYB'[to]}"
        assert page.locator(f"{FIRST} select option").first.text_content() == f"the agent's: {errand}"
        visible = page.locator(f"{FIRST} .cell:visible").evaluate_all("all => all.map((one) => one.ariaLabel)")
        assert len(visible) == 25
        assert all(f", {errand}: " in label for label in visible)
        if step == 1:
            walls = page.evaluate(
                "(({ floors, inks, shownFloor }) => [...inks[floors.indexOf(shownFloor)]"
                ".querySelectorAll('.bar-between')].map((one) => one.getAttribute('d')))(window.goalward.maps[0])"
            )
            assert sorted(walls) == sorted(
                f"M{60 * (x + 1) // 2},{60 * y}v60" for y, x in np.argwhere(drawn == "|").tolist()
            )
    page.select_option(f"{FIRST} select", label="passenger delivered")
    assert page.locator(f"{FIRST} .star:visible").count() == 4
    assert page.locator(f"{FIRST} .cell:visible").count() == 0
    wait_until(page, "location.hash.includes('floor=21')")
