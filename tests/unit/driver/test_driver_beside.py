# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Beside the driver: where CUDA's link leads, what nvcc and images say, which DGX OS it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._driver import cuda, dgx
from ansible_collections.switchless.spark.plugins.module_utils._driver.dgx import Release
from tests.unit.driver.driver_world import boot, spark

P12 = """nvcc: NVIDIA (R) Cuda compiler driver
Copyright (c) 2005-2026 NVIDIA Corporation
Built on Tue_Jun_09_02:43:40_PM_PDT_2026
Cuda compilation tools, release 13.3, V13.3.73
Build cuda_13.3.r13.3/compiler.38244171_0
"""
P14A = """cuda - auto mode
  link best version is /usr/local/cuda-12.1
  link currently points to /usr/local/cuda-12.1
  link cuda is /usr/local/cuda
/usr/local/cuda-12.1 - priority 121
"""
P14B = """    cuda - manual mode
        link best version is /usr/local/cuda-11.7
        link currently points to /usr/local/cuda-12.6
        link cuda is /usr/local/cuda
    /usr/local/cuda-11.7 - priority 11
    /usr/local/cuda-12.6 - priority 9
"""
P14C = """cuda - auto mode
  link best version is /usr/local/cuda-12.6
  link currently points to /usr/local/cuda-12.6
  link cuda is /usr/local/cuda
/usr/local/cuda-12.6 - priority 126
/usr/local/cuda-13.0 - priority 130
"""
PC01 = """cuda - manual mode
  link best version is /usr/local/cuda-13.3
  link currently points to /usr/local/cuda-13.0
  link cuda is /usr/local/cuda
/usr/local/cuda-13.0 - priority 130
/usr/local/cuda-13.3 - priority 133
"""
FLIPPED = PC01.replace("manual", "auto").replace("points to /usr/local/cuda-13.0", "points to /usr/local/cuda-13.3")
CUDA_130, CUDA_133 = ("13.0", "13.0.88"), ("13.3", "13.3.73")
P10 = """ERROR: This container was built for NVIDIA Driver Release 590.48 or later, but
       version 580.159.03 was detected and compatibility mode is UNAVAILABLE.
"""
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
    ("text", "wanted", "nvcc", "verdict", "code"),
    [
        pytest.param(P14A, "12.1", ("12.1", "12.1.105"), "ok", "link_right", id="P14a"),
        pytest.param(P14B, "12.6", ("12.6", "12.6.20"), "ok", "link_right", id="P14b manual, not the best"),
        pytest.param(P14C, "12.6", ("12.6", "12.6.20"), "unknown", "link_unknown", id="P14c impossible"),
        pytest.param(PC01, "13.0", CUDA_130, "ok", "link_right", id="PC01 side by side"),
        pytest.param(PC01.replace("manual", "auto"), "13.0", CUDA_130, "unknown", "link_unknown", id="PC01 auto"),
        pytest.param(FLIPPED, "13.0", CUDA_133, "config", "link_moved", id="13.3 took the link"),
        pytest.param(FLIPPED, "13.3", CUDA_133, "ok", "link_right", id="P13 link and nvcc agree"),
        pytest.param(FLIPPED, "13.3", None, "config", "nvcc_missing", id="P14d only a runtime package"),
        pytest.param(PC01, "13.0", CUDA_133, "config", "nvcc_other", id="nvcc is another one"),
        pytest.param("cuda-13" + PC01[4:], "13.0", CUDA_130, "unknown", "link_unknown", id="cuda-13 is not cuda"),
        pytest.param("", "13.0", CUDA_130, "unknown", "link_unknown", id="nothing"),
    ],
)
def test_link(text: str, wanted: str, nvcc: tuple[str, str] | None, verdict: str, code: str) -> None:
    (reason,) = cuda.judge(cuda.parse(text), wanted, nvcc)
    assert (reason.verdict, reason.code) == (verdict, code)
    assert reason.remedy or verdict == "ok"


def test_which_link_is_in_danger() -> None:
    (auto,) = cuda.judge(cuda.parse(FLIPPED), "13.3", CUDA_133)
    (manual,) = cuda.judge(cuda.parse(PC01), "13.0", CUDA_130)
    assert "may be moved" in auto.text
    assert "stays" in manual.text


def test_nvcc() -> None:
    """P12, and the one line of P13."""
    assert cuda.parse_nvcc(P12) == CUDA_133
    assert cuda.parse_nvcc("nvcc release: Cuda compilation tools, release 13.3, V13.3.73") == CUDA_133
    assert cuda.parse_nvcc("nvcc: command not found") is None


def test_an_image_that_wants_a_newer_driver() -> None:
    reason = cuda.judge_image(P10)
    assert reason is not None
    assert (reason.code, reason.verdict) == ("image_too_new", "config")
    assert "590.48 or later, 580.159.03 is there" in reason.seen
    assert "another image" in reason.remedy
    assert cuda.judge_image("Cannot find a GPU") is None


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
