# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two guests for the whole run: a boot under emulation takes about a minute."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.rdma import image
from lab.rdma.pair import NAMES, NETDEVS, ROOTS, running
from tests.rdma.bench import ONE, Bench

OTHER = {"A": "203.0.113.1", "B": "203.0.113.129"}
"""Addresses that one guest has besides, first, so that the two have different GID indexes."""


@pytest.fixture(scope="session")
def bench() -> Iterator[Bench]:
    """The guests, addressed as the plan says."""
    found = image.find()
    if found is None:
        pytest.fail("there is no image of the guests: make rdma builds it")
    with running(found) as pair:
        bench = Bench(pair)
        for name in NAMES:
            commands = [
                f"ip address add {address} dev {NETDEVS[root]}"
                for root in ROOTS
                for address in (*([f"{OTHER[root]}/25"] if name == ONE else []), f"{bench.address(name, root)}/24")
            ]
            pair.ssh(name, " && ".join(commands))
        yield bench
