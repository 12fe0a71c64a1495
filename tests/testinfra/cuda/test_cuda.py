# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Toolkits and the link, asked of the node itself: nothing here uses a module of the collection."""

from __future__ import annotations

import re

import pytest
from testinfra.host import Host

DEFAULT, TOOLKITS = "13.0", ("13.0", "13.3")


def release(host: Host, nvcc: str) -> str:
    said = host.check_output("%s --version", nvcc)
    found = re.search(r"release (\d+\.\d+), V\d+\.\d+\.\d+", said)
    assert found is not None, said
    return found[1]


@pytest.mark.parametrize("version", TOOLKITS)
def test_every_nvcc_says_its_own_version(host: Host, version: str) -> None:
    assert release(host, f"/usr/local/cuda-{version}/bin/nvcc") == version


def test_the_link_leads_to_the_default(host: Host) -> None:
    assert host.check_output("readlink -f /usr/local/cuda") == f"/usr/local/cuda-{DEFAULT}"
    assert release(host, "/usr/local/cuda/bin/nvcc") == DEFAULT


def test_no_package_can_move_it(host: Host) -> None:
    shown = host.check_output("LC_ALL=C update-alternatives --query cuda").splitlines()
    assert "Status: manual" in shown
    assert f"Value: /usr/local/cuda-{DEFAULT}" in shown
