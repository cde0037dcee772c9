"""The examples of the README as a package: ``from goalward.examples.warehouse import Warehouse``.

The files are in ``examples/`` of the repository, and beside this file in an installed package.
``python -m goalward.examples`` copies the files into a new folder ``examples``, which the README uses.
"""

from pathlib import Path

HERE = Path(__file__).parent
FOLDER = HERE if (HERE / "warehouse.py").exists() else HERE.parents[2] / "examples"
__path__ = [str(HERE), str(FOLDER)]
