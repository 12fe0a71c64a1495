# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cap of the clock: in force now and after a reboot, believed only for what nvidia-smi says and a load shows."""

from __future__ import annotations

from tests.e2e.cluster import Cluster, Played

UNIT = "switchless-clock-cap.service"
CLOCK = "nvidia-smi -i 0 --query-gpu=clocks.sm --format=csv,noheader,nounits"
STATE = "/run/spark-lab"


def clocks(pair: Cluster, *words: str) -> Played:
    return pair.play(*words, playbook="playbooks/clock_cap.yml")


def under_load(pair: Cluster) -> set[str]:
    """Let the GPUs work, and give their clocks."""
    pair.nodes(f"mkdir -p {STATE} && echo /usr/bin/python3 > {STATE}/gpu-load")
    return {said.strip() for said in pair.nodes(CLOCK).values()}


def rest(pair: Cluster) -> None:
    pair.nodes(f"rm -f {STATE}/gpu-load")


def test_the_cap_is_set_once(pair: Cluster) -> None:
    assert under_load(pair) == {"2437"}
    rest(pair)
    checked = clocks(pair, "--check")
    assert checked.rc == 0, checked.text
    assert all(checked.changed.values()), checked.text
    assert not any(pair.nodes(f"ls /etc/systemd/system/{UNIT} 2>/dev/null || true").values()), (
        "check mode changes nothing"
    )

    played = clocks(pair)
    assert played.rc == 0, played.text
    assert played.said("unverified")
    assert under_load(pair) == {"2190"}
    rest(pair)


def test_a_load_verifies_it_and_a_second_run_changes_nothing(pair: Cluster) -> None:
    under_load(pair)
    played = clocks(pair, "-e", "clock_cap_load_seconds=5")
    rest(pair)
    assert played.rc == 0, played.text
    assert played.said("verified")
    assert "unverified" not in played.text
    assert not any(played.changed.values()), played.text


def test_somebody_else_s_unit_is_named_with_its_file(pair: Cluster) -> None:
    path = "/etc/systemd/system/gpu-clock-lock.service"
    unit = "[Service]\\nExecStart=/usr/bin/nvidia-smi -lgc 300,2000\\n[Install]\\nWantedBy=multi-user.target\\n"
    pair.node("spark2", f"printf '{unit}' > {path} && systemctl daemon-reload && systemctl enable gpu-clock-lock")
    try:
        played = clocks(pair)
    finally:
        pair.node("spark2", f"systemctl disable gpu-clock-lock; rm {path}; systemctl daemon-reload")
    assert played.rc != 0
    assert played.said(path, "Expected nothing but switchless-clock-cap.service to set clocks")


def test_a_gpu_whose_clocks_cannot_be_set_is_no_success(pair: Cluster) -> None:
    """nvidia-smi exits 0 on it."""
    pair.node("spark1", f"mkdir -p {STATE} && touch {STATE}/gpu-no-clocks")
    try:
        played = clocks(pair, "-e", "clock_cap_max_mhz=2100")
    finally:
        pair.node("spark1", f"rm {STATE}/gpu-no-clocks")
    assert played.rc != 0
    assert played.said("spark1: the clock is not capped.", "cannot be set, and exits 0 all the same")
