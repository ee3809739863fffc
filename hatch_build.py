"""What a build adds to the package: the commit that it is built from, which ``intentc --version`` prints.

The commit is that of the checkout, or SOURCE_COMMIT where the build has no repository, as in an image. Of an archive of
sources that already has it nothing is asked. What nobody knows is left out, and ``--version`` says ``unknown``.
"""

from __future__ import annotations

import os
import runpy
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface[Any]):
    """Adds ``intentc/data/commit`` to wheels and archives of sources; an editable install asks git when it runs."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        of_version = runpy.run_path(str(root / "intentc" / "cli" / "version.py"))
        name = f"intentc/{of_version['COMMIT_FILE']}"
        if version == "editable" or (root / name).exists():
            return
        commit = os.environ.get("SOURCE_COMMIT") or of_version["commit_of_checkout"](root)
        if commit:
            self._folder = tempfile.TemporaryDirectory()
            file = Path(self._folder.name) / "commit"
            file.write_text(f"{commit}\n")
            build_data["force_include"][str(file)] = name

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "_folder"):
            self._folder.cleanup()
