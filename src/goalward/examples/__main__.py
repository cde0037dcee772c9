"""``python -m goalward.examples`` copies the examples into a new folder ``examples``."""

import shutil
import sys

from goalward.examples import FOLDER

try:
    shutil.copytree(FOLDER, "examples", ignore=shutil.ignore_patterns("__*", "results"))
except FileExistsError:
    sys.exit("goalward: the folder examples already exists; run this command in another folder")
