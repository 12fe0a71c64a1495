# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the link leads, what nvcc and images say. P and PC numbers are the collected reports."""

from __future__ import annotations

import pytest

from ansible_collections.switchless.spark.plugins.module_utils._cuda import link
from tests.unit.cuda.cuda_world import CUDA_130, CUDA_133, FLIPPED, P10, P12, P14A, P14B, P14C, PC01


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
    (reason,) = link.judge(link.parse(text), wanted, nvcc)
    assert (reason.verdict, reason.code) == (verdict, code)
    assert reason.remedy or verdict == "ok"


def test_which_link_is_in_danger() -> None:
    (auto,) = link.judge(link.parse(FLIPPED), "13.3", CUDA_133)
    (manual,) = link.judge(link.parse(PC01), "13.0", CUDA_130)
    assert "may be moved" in auto.text
    assert "stays" in manual.text


def test_nvcc() -> None:
    """P12, and the one line of P13."""
    assert link.parse_nvcc(P12) == CUDA_133
    assert link.parse_nvcc("nvcc release: Cuda compilation tools, release 13.3, V13.3.73") == CUDA_133
    assert link.parse_nvcc("nvcc: command not found") is None


def test_an_image_that_wants_a_newer_driver() -> None:
    reason = link.judge_image(P10)
    assert reason is not None
    assert (reason.code, reason.verdict) == ("image_too_new", "config")
    assert "590.48 or later, 580.159.03 is there" in reason.seen
    assert "another image" in reason.remedy
    assert link.judge_image("Cannot find a GPU") is None
