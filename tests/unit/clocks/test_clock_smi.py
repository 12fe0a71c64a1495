# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nvidia-smi says, read: recorded output, and any text at all."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._clocks import smi
from tests.unit.clocks import clock_world as world


def test_details() -> None:
    gpu = smi.gpu(world.DETAILS)
    assert gpu is not None
    assert gpu.as_dict() == {
        "name": "NVIDIA GB10",
        "bus": world.BUS,
        "persistence": True,
        "sm_mhz": 2185,
        "max_sm_mhz": 3003,
        "temperature_c": 63,
        "power_w": 44.12,
        "reasons": ("SW Power Cap", "HW Power Brake Slowdown"),
        "counters_us": {"SW Power Capping": 10800240649},
    }


def test_details_of_other_versions() -> None:
    """Other headings, labels with a remark, nothing known; the second GPU is not mixed into the first."""
    gpu = smi.gpu(world.OLD_DETAILS)
    assert gpu is not None
    assert (gpu.name, gpu.persistence, gpu.sm_mhz, gpu.max_sm_mhz) == (None, False, None, None)
    assert (gpu.power_w, gpu.reasons, gpu.counters_us) == (3.74, ("Idle",), {})
    bare = smi.gpu(f"GPU {world.BUS}\n    Product Name : X\n")
    assert bare is not None
    assert bare.reasons is None


@pytest.mark.parametrize("text", world.FAILURES)
def test_no_gpu(text: str) -> None:
    assert smi.gpu(text) is None
    assert smi.sample(text) == smi.Sample()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2185 MHz", 2185.0),
        ("3003", 3003.0),
        ("3.74 W", 3.74),
        ("10,800,240,649 us", 10800240649.0),
        ("-5 C", -5.0),
        ("[N/A]", None),
        ("[Not Supported]", None),
        ("Not Supported", None),
        ("N/A", None),
        ("ERR!", None),
        ("[Unknown Error]", None),
        ("0x0000000000000000", None),
        ("9" * 400, None),
        ("", None),
        (None, None),
    ],
)
def test_numbers(text: str | None, expected: float | None) -> None:
    assert smi.number(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (world.CSV, smi.Sample(2185, 96, 44.12, 63)),
        (
            world.CSV.replace("clocks.current.sm", "clocks.sm").replace("96 %", "[N/A]"),
            smi.Sample(2185, None, 44.12, 63),
        ),
        ("clocks.sm [MHz], utilization.gpu [%]\n[Not Supported], [N/A]\n", smi.Sample()),
        ("clocks.sm [MHz], utilization.gpu [%]\n208 MHz\n", smi.Sample(208)),
        ('Field "clocks.sm" is not a valid field to query.\n\n', smi.Sample()),
    ],
)
def test_samples(text: str, expected: smi.Sample) -> None:
    assert smi.sample(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (world.LOG, smi.Lock(2200, 0, 2200)),
        (world.SNAPPED, smi.Lock(None, 0, 1976)),
        (world.UNSUPPORTED, smi.Lock(unsupported=True)),
        (world.UNSUPPORTED + world.LOCKED, smi.Lock(unsupported=True)),
        (world.DENIED, smi.Lock(denied=True)),
        (world.MISMATCH, smi.Lock()),
        ("All done.\n", smi.Lock()),
        ("", smi.Lock()),
    ],
)
def test_answers_to_a_cap(text: str, expected: smi.Lock) -> None:
    assert smi.lock(text) == expected


PIECES = st.sampled_from([*world.DETAILS.splitlines(), *world.OLD_DETAILS.splitlines(), *world.CSV.splitlines()])


@settings(max_examples=60)
@given(st.lists(st.one_of(PIECES, st.text(max_size=20)), max_size=25))
def test_any_text_can_be_read(lines: list[str]) -> None:
    text = "\n".join(lines)
    gpu = smi.gpu(text)
    assert gpu is None or gpu.as_dict()["bus"] in text
    smi.sample(text).as_dict()
    lock = smi.lock(text)
    assert lock.max_mhz is None or str(lock.max_mhz) in text
