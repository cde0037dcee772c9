"""The examples of the README as a package: ``from goalward.examples.warehouse import Warehouse``.

They lie in ``examples/`` of the repository, and beside this file in an installed package.
``python -m goalward.examples`` copies them into a folder ``examples``, for the commands of the README.
"""

from pathlib import Path

HERE = Path(__file__).parent
FOLDER = HERE if (HERE / "warehouse.py").exists() else HERE.parents[2] / "examples"
__path__ = [str(HERE), str(FOLDER)]
