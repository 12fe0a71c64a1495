# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The labs that the end-to-end tests run on. Each is made fresh and taken away afterwards."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest

from tests.e2e.cluster import Cluster


def _fresh(name: str, wiring: str, inventory: str, *up: str) -> Iterator[Cluster]:
    cluster = Cluster(name, wiring, inventory)
    if "KEEP" in os.environ:  # go on with the nodes of the last run, for work on one test
        cluster.lab("up", *up)
        yield cluster
        return
    cluster.lab("destroy")
    try:
        cluster.lab("up", *up)
        cluster.used = False
        yield cluster
    finally:
        cluster.lab("destroy")


@pytest.fixture(scope="session")
def ring() -> Iterator[Cluster]:
    """Four nodes in a ring with the article's mixture of cages."""
    yield from _fresh(os.environ.get("E2E_RING", "e2e"), "ring4", "inventories/lab")


@pytest.fixture(scope="session")
def pair() -> Iterator[Cluster]:
    """Two nodes with two cables, p0 to p0 and p1 to p1."""
    yield from _fresh(os.environ.get("E2E_PAIR", "e2epair"), "pair2", "inventories/lab-pair")


@pytest.fixture(scope="session")
def served() -> Iterator[Cluster]:
    """The same two, with what they need to serve a model. Where this machine lacks that, the reason is the skip's."""
    for cluster in _fresh(os.environ.get("E2E_SERVED", "e2eserved"), "pair2", "inventories/lab-pair", "--serving"):
        found = json.loads(cluster.lab("status", "--json"))
        if found["serving"] is None:
            pytest.skip(found["why"])
        yield cluster
