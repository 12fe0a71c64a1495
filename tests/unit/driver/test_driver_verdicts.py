# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node shows of its driver, through the real module, to the verdict and its reasons."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.driver.driver_cases import BLOCKED, CASES, CONFIG, FAULT, OK, PENDING, UNKNOWN


@pytest.mark.parametrize(("node", "pin", "verdict", "codes"), [pytest.param(*rest, id=name) for name, *rest in CASES])
def test_verdict(ask: Any, node: Any, pin: dict[str, Any], verdict: str, codes: list[str]) -> None:
    seen = ask(node, **pin)
    assert (seen["verdict"], [reason["code"] for reason in seen["reasons"]]) == (verdict, codes)
    for reason in seen["reasons"]:
        assert reason["text"].startswith(reason["seen"])
        assert reason["verdict"] in (OK, UNKNOWN) or (reason["expected"] and reason["remedy"])


def test_kinds_are_all_there() -> None:
    assert {verdict for _name, _node, _pin, verdict, _codes in CASES} == {FAULT, BLOCKED, CONFIG, UNKNOWN, PENDING, OK}
