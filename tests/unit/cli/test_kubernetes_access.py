"""Which cluster `intentc kubernetes` mirrors: what the configuration permits of a kubeconfig."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from intentc.cli.commands.kubernetes import cluster_access
from intentc.loading.configuration import Configuration, FilePath
from intentc.loading.configuration.sections import Intentc, Kubernetes
from intentc.model import InvalidInput


def _configured(path: Path, *, programs: bool = False) -> Configuration:
    return Configuration(intentc=Intentc(kubernetes=Kubernetes(kubeconfig=FilePath(str(path)), exec=programs)))


def test_a_program_for_credentials_runs_only_if_that_is_permitted(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(
        json.dumps(
            {
                "clusters": [{"name": "c", "cluster": {"server": "https://host:6443"}}],
                "users": [{"name": "u", "user": {"exec": {"command": "login"}}}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
            }
        )
    )
    with pytest.raises(InvalidInput, match=r"runs login for credentials; set intentc\.kubernetes\.exec"):
        cluster_access(_configured(path))
    access = cluster_access(_configured(path, programs=True))
    assert access.exec is not None
    assert access.exec.command == ("login",)


def test_without_a_file_it_is_the_cluster_of_the_pod() -> None:
    with pytest.raises(InvalidInput, match="this is no pod"):
        cluster_access(Configuration())
