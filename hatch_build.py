"""Build hook that turns relative links of the README into links to the repository, for the package index."""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

ROOT = Path(__file__).parent
LINK = re.compile(r"(!?\[[^]]*\]\()(?![a-z]+:)([^)#\s]+)")


class ReadmeHook(MetadataHookInterface):
    """Sets the field ``readme`` of the metadata."""

    def update(self, metadata):
        """Replace relative links and images; raise an error if a target does not exist."""
        version = re.search(r'^__version__ = "(.*)"', (ROOT / "src/goalward/__init__.py").read_text("utf-8"), re.M)[1]

        def absolute(match):
            before, target = match.groups()
            if not (ROOT / target).exists():
                raise ValueError(f"README.md links to {target}, which does not exist")
            kind = "raw" if before.startswith("!") else "tree" if (ROOT / target).is_dir() else "blob"
            return f"{before}{metadata['urls']['Source']}/{kind}/v{version}/{target}"

        text = LINK.sub(absolute, (ROOT / "README.md").read_text(encoding="utf-8"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
