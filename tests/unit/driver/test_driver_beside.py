# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Beside the driver: which DGX OS it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._driver import dgx
from ansible_collections.switchless.spark.plugins.module_utils._driver.dgx import Release
from tests.unit.driver.driver_world import boot, spark

P36 = """DGX_NAME="DGX Spark"
DGX_PRETTY_NAME="NVIDIA DGX Spark"
DGX_SWBUILD_VERSION="7.2.3"
DGX_PLATFORM="DGX Server for KVM"
DGX_SERIAL_NUMBER="XXXXXXXXXXXXX"

DGX_OTA_VERSION="7.5.0"
DGX_OTA_DATE="Thu Jun 18 17:40:28 EDT 2026"
"""
P37 = """DGX_PLATFORM="GX10"
DGX_OTA_VERSION="7.3.1"
DGX_OTA_DATE="Thu Jan 15 19:07:36 CET 2026"
DGX_OTA_VERSION="7.5.0"
DGX_OTA_DATE="Sat Apr  4 15:11:50 CEST 2026"
DGX_OTA_VERSION="7.6.0"
DGX_OTA_DATE="mer. 16 sept. 2026 17:08:05 CEST"
"""
P38 = 'DGX_SWBUILD_VERSION="7.5.0"\nDGX_PLATFORM="DGX Server for KVM"\nDGX_SERIAL_NUMBER=" "\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(P36, Release("7.5.0", "DGX Server for KVM"), id="P36"),
        pytest.param(P37, Release("7.6.0", "GX10"), id="P37 the last one counts"),
        pytest.param(P38, Release("7.5.0", "DGX Server for KVM"), id="P38 no update yet"),
        pytest.param(
            'DGX_PLATFORM="Dell Pro Max with GB10 FCM1253"\n', Release(None, "Dell Pro Max with GB10 FCM1253")
        ),
        pytest.param('PRETTY_NAME="Ubuntu 24.04.5 LTS"\n', None, id="no DGX"),
        pytest.param(None, None, id="no file"),
    ],
)
def test_release(text: str | None, expected: Release | None) -> None:
    assert dgx.parse(text) == expected


def test_the_module_gives_the_release_and_no_serial_number(ask: Any, tmp_path: Path) -> None:
    seen = ask(spark(boot=boot(files={"etc/dgx-release": P36})))
    assert seen["dgx"] == {"version": "7.5.0", "platform": "DGX Server for KVM"}
    assert "XXXXXXXXXXXXX" not in str(seen)
    assert (tmp_path / "etc/dgx-release").exists()


@pytest.mark.parametrize(
    ("text", "score", "verdict"),
    [
        ("torn-score: 3\n", 3, "config"),  # P40, and P20: "torn"
        ("torn-score: 0", 0, "ok"),
        ("0\n", 0, "ok"),
        ("OTA2607 torn-score: 0", 0, "ok"),
        ("OTA2607", None, "unknown"),
        ("nv-ota: command not found", None, "unknown"),
        (None, None, "unknown"),
    ],
)
def test_torn(text: str | None, score: int | None, verdict: str) -> None:
    assert dgx.torn_score(text) == score
    assert dgx.judge(score).verdict == verdict
