"""What a results folder has that none of its stored designs names: runs of deleted designs, and what they needed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from goalward.errors import FileError
from goalward.files import is_inside
from goalward.studies.store import Store

__all__ = ["Leftovers", "find_leftovers"]


@dataclass(frozen=True)
class Leftovers:
    """Files that no study needs: of runs, of failures, and attachments."""

    runs: list[Path]
    failures: list[Path]
    attachments: list[Path]

    @property
    def size(self) -> int:
        """How many bytes the files take."""
        return sum(path.lstat().st_size for path in self.paths)

    @property
    def paths(self) -> list[Path]:
        """All of them."""
        return [*self.runs, *self.failures, *self.attachments]

    def remove(self) -> None:
        """Remove the files; raises FileError if one cannot be removed."""
        for path in self.paths:
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise FileError(f"{path}: cannot be removed ({error.strerror or error})") from None


def find_leftovers(store: Store) -> Leftovers:
    """Look for files that no stored design needs; raises FileError if a design cannot be read.

    Symbolic links that lead out of the folder are not followed.
    """
    keys: set[str] = set()
    needed: set[str] = set()
    for reference in [reference for name in store.studies() for reference in store.designs(name)]:
        design = store.read_design(reference)  # one that is damaged might name any of the runs
        for cell in design.cells:
            specs = design.specs(cell)
            keys.update(spec.key for spec in specs)
            needed |= {f"{specs[0].model_digest}.npz", f"{specs[0].agent_source}.py"}
    runs, failures, attachments = (
        sorted(path for path in store.folder.glob(pattern) if is_inside(path, store.folder))
        for pattern in ("runs/*/*.parquet", "failed/*.json", "attachments/*.*")
    )
    return Leftovers(
        [path for path in runs if path.stem not in keys or path != store.path(path.stem)],
        [path for path in failures if path.stem not in keys],
        [path for path in attachments if path.suffix in (".npz", ".py") and path.name not in needed],
    )
