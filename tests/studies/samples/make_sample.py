"""Write a sample of the present results version beside this file: ``python tests/studies/samples/make_sample.py``."""

import shutil
from pathlib import Path
from unittest.mock import patch

import goalward as gw
from goalward.studies.run_spec import RESULTS_VERSION

STUDY = {
    "name": "sample",
    "runs": 2,
    "episodes": 20,
    "worlds": [{"world": "grid-world", "sweep": {"columns": [2, 3]}}],
    "agents": [
        {"agent": "psrl", "settings": {"prior": "dirichlet"}, "sweep": {"prior.concentration": [0.1, 1.0]}},
    ],
}

if __name__ == "__main__":
    folder = Path(__file__).parent / f"results-{RESULTS_VERSION}"
    shutil.rmtree(folder, ignore_errors=True)
    facts = patch("goalward.studies.run_file.host", lambda: {"name": "sample"})
    with facts, patch("platform.node", lambda: "sample"):
        gw.run(gw.Study.from_dict(STUDY, "/"), folder, workers=1, tags=["kept"])
    (folder / "active").rmdir()
