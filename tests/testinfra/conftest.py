# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Post-checks of a running cluster, from outside: pytest tests/testinfra --inventory inventories/mine.

The inventory is read by Ansible itself, so that templates, group variables and vaults mean what they mean to the roles.
The nodes are then asked over plain ssh.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import testinfra
from testinfra.host import Host

HERE = Path(__file__).parent
Facts = dict[str, Any]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Name the inventory; molecule and the lab name it in the environment."""
    parser.addoption(
        "--inventory", default=os.environ.get("SPARK_INVENTORY", "inventories/lab"), help="the inventory to check"
    )


def _read(inventory: str) -> dict[str, Facts]:
    with tempfile.TemporaryDirectory() as folder:
        argv = ["ansible-playbook", "-i", inventory, str(HERE / "cluster.yml"), "-e", f"cluster_folder={folder}"]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=HERE.parents[1])
        if done.returncode:
            raise pytest.UsageError(f"{inventory} cannot be read:\n{done.stdout}{done.stderr}")
        return {file.stem: json.loads(file.read_text()) for file in sorted(Path(folder).glob("*.json"))}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test once for each node of the inventory."""
    if "facts" not in metafunc.fixturenames:
        return
    config = metafunc.config
    if not hasattr(config, "spark_cluster"):
        config.spark_cluster = _read(config.getoption("--inventory"))  # type: ignore[attr-defined]
    cluster: dict[str, Facts] = config.spark_cluster  # type: ignore[attr-defined]
    metafunc.parametrize("facts", cluster.values(), ids=cluster.keys(), scope="session")


@pytest.fixture(scope="session")
def host(facts: Facts) -> Host:
    """Give the node, as root."""
    user = f"{facts['user']}@" if facts["user"] else ""
    extra = f"&ssh_identity_file={quote(facts['identity'])}" if facts["identity"] else ""
    spec = f"ssh://{user}{facts['address']}:{facts['port']}?sudo=true{extra}"
    return testinfra.get_host(spec, ssh_extra_args=facts["ssh_args"].strip() or None)
