# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The labs that the end-to-end tests run on. Each is made fresh and taken away afterwards."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest

from tests.e2e.cluster import CHECKOUT, Cluster

PAIR = os.environ.get("E2E_PAIR", "e2epair")  # another name for a second run at the same time


def _fresh(name: str, wiring: str, inventory: str) -> Iterator[Cluster]:
    cluster = Cluster(name, wiring, inventory)
    if "KEEP" in os.environ:  # go on with the nodes of the last run, for work on one test
        cluster.lab("up")
        yield cluster
        return
    cluster.lab("destroy")
    try:
        cluster.lab("up")
        yield cluster
    finally:
        cluster.lab("destroy")


@pytest.fixture(scope="session")
def ring() -> Iterator[Cluster]:
    """Four nodes in a ring with the article's mixture of cages."""
    yield from _fresh(os.environ.get("E2E_RING", "e2e"), "ring4", "inventories/lab")


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two nodes with two cables, p0 to p0 and p1 to p1."""
    lab = CHECKOUT / ".lab" / PAIR
    inventory = tmp_path_factory.mktemp("pair") / "hosts.yml"
    hosts = {
        "hosts": {"spark1": {"ansible_host": "10.77.0.11"}, "spark2": {"ansible_host": "10.77.0.12"}},
        "vars": {
            "ansible_user": "spark",
            "ansible_ssh_common_args": f"-F '{lab / 'ssh_config'}'",
            "ansible_control_path_dir": str(lab / "cp"),
            "cabling_settle_seconds": 0,
            "fabric_head": "spark1",
            "fabric_cables": [{"ends": [f"spark1:{cage}", f"spark2:{cage}"]} for cage in ("p0", "p1")],
        },
    }
    inventory.write_text(json.dumps({"sparks": hosts}))
    yield from _fresh(PAIR, "pair2", str(inventory))
