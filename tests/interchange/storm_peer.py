"""Storm's side of the tests: runs in an interpreter that has stormpy, and prints JSON.

    python storm_peer.py export PRISM FOLDER     build a model, write it in all ways, print what Storm says of it
    python storm_peer.py check FILE...           read models that goalward wrote, print what Storm says of them
    python storm_peer.py reach FILE...           the same for the largest probability of reaching the goal

What Storm says: the least expected cost of reaching the label goal, for every state, and which states have the label.
With ``export``, FOLDER/NAME.json gets the same, so that the files can be kept as samples.
"""

import json
import sys
from pathlib import Path

import stormpy
from stormpy import io
from stormpy.environments import Environment, MinMaxMethod

FORMULA = 'R{"cost"}%s=? [F "goal"]'
REACHED = 'P%s=? [F "goal"]'


def answers(model, formula=FORMULA):
    environment = Environment()
    solver = environment.solver()
    solver.force_soundness = True
    solver.min_max().method = MinMaxMethod.OPTIMISTIC_VALUE_ITERATION
    solver.min_max().precision = stormpy.Rational(1e-9)
    solver.min_max().relative_termination_criterion = True
    formula = stormpy.parse_property(
        formula % ("" if "DTMC" in str(model.model_type) else "max" if formula == REACHED else "min")
    )
    result = stormpy.model_checking(model, formula, environment=environment)
    values = [None if value == float("inf") else value for value in result.get_value_vector()]
    return {"values": values, "goals": [int(state) for state in model.labeling.get_states("goal")]}


def export(prism, folder):
    options = stormpy.BuilderOptions()
    options.set_build_all_labels(True)
    options.set_build_all_reward_models(True)
    plain = stormpy.build_model(io.parse_prism_program(str(prism)), options=options)
    options.set_build_choice_labels(True)
    options.set_build_state_valuations(True)
    named = stormpy.build_model(io.parse_prism_program(str(prism)), options=options)
    name = prism.stem
    io.export_to_umb(plain, str(folder / f"{name}.umb"))
    io.export_to_drn(plain, str(folder / f"{name}.drn"))
    io.export_to_drn(named, str(folder / f"{name}-named.drn"))
    for compression in ("XZ", "NO_COMPRESSION"):
        umb = io.UmbExportOptions()
        umb.compression = io.CompressionMode.__members__[compression]
        io.export_to_umb(named, str(folder / f"{name}-named-{compression.lower()}.umb"), options=umb)
    found = answers(plain)
    (folder / f"{name}.json").write_text(json.dumps(found) + "\n")
    return found


def check(path, formula=FORMULA):
    build = stormpy.build_model_from_umb if path.suffix == ".umb" else stormpy.build_model_from_drn
    return answers(build(str(path)), formula)


if __name__ == "__main__":
    verb, *paths = sys.argv[1:]
    if verb == "export":
        print(json.dumps(export(Path(paths[0]), Path(paths[1]))))
    else:
        print(json.dumps([check(Path(path), REACHED if verb == "reach" else FORMULA) for path in paths]))
