# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""What nvidia-smi says of clocks. Whatever it cannot say (C([N/A]), C(Not Supported), nothing at all) is null.

No field of it shows a cap: C(clocks.max.sm) stays 3003 under one. A cap shows in the answer to the command that sets
it, and in the clock under load.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

DETAILS = ("nvidia-smi", "-q", "-i", "0")
FIELDS = ("clocks.sm", "utilization.gpu", "power.draw", "temperature.gpu")
SAMPLE = ("nvidia-smi", "-i", "0", f"--query-gpu={','.join(FIELDS)}", "--format=csv")

REASONS = ("Clocks Event Reasons", "Clocks Throttle Reasons")
COUNTERS = ("Clocks Event Reasons Counters", "Clocks Throttle Reasons Counters")
POWER = ("Instantaneous Power Draw", "Average Power Draw", "Power Draw")

_NUMBER = re.compile(r"-?[0-9][0-9,]{0,17}(?:\.[0-9]{1,9})?(?![\w.,])")
_HEAD = re.compile(r"GPU (?P<bus>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f:.]+)")
_BRACKETS = re.compile(r"\s*\[[^\]]*\]")
_LOCKED = re.compile(r'GPU clocks set to "\(gpuClkMin (?P<min>[0-9]{1,6}), gpuClkMax (?P<max>[0-9]{1,6})\)"')
_ASKED = re.compile(r"Clock cap: asked for at most (?P<mhz>[0-9]{1,6}) MHz")
_UNSUPPORTED = re.compile(r"Setting locked GPU clocks is not supported", re.IGNORECASE)
_DENIED = re.compile(r"does not have permission to change clocks", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Gpu:
    """The first GPU, as C(nvidia-smi -q) shows it.

    C(reasons) are those that are active now, null when none are listed at all; they may be empty while a limit is at
    work, which only C(counters_us) shows then.
    """

    name: str | None
    bus: str
    persistence: bool | None
    sm_mhz: int | None
    max_sm_mhz: int | None
    temperature_c: int | None
    power_w: float | None
    reasons: tuple[str, ...] | None
    counters_us: Mapping[str, int]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Sample:
    """One look at a GPU at work."""

    sm_mhz: int | None = None
    utilization_percent: int | None = None
    power_w: float | None = None
    temperature_c: int | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Lock:
    """What setting a cap was answered with. C(asked_mhz) comes from our own program, the rest from nvidia-smi."""

    asked_mhz: int | None = None
    min_mhz: int | None = None
    max_mhz: int | None = None
    unsupported: bool = False
    denied: bool = False

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def number(text: str | None) -> float | None:
    """The number that a value begins with, whatever its unit."""
    match = _NUMBER.match((text or "").strip())
    return float(match[0].replace(",", "")) if match else None


def whole(text: str | None) -> int | None:
    value = number(text)
    return None if value is None else int(value)


def _rows(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every C(key : value) with the headings that it stands under, by indentation. A heading's value is empty."""
    above: list[tuple[int, str]] = []
    for line in text.splitlines():
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        key, _colon, value = f"{line} ".partition(" : ")
        while above and above[-1][0] >= indent:
            above.pop()
        above.append((indent, _BRACKETS.sub("", key).strip()))  # newer drivers add [Deprecated; …]
        yield tuple(name for _indent, name in above), value.strip()


def gpu(text: str) -> Gpu | None:
    """The first GPU in the output of C(nvidia-smi -q); none in a failure text."""
    rows = list(_rows(text))
    heads = [match for path, value in rows if not value and (match := _HEAD.fullmatch(path[0]))]
    if not heads:
        return None
    details: dict[tuple[str, ...], str] = {}
    for path, value in rows:
        if path[0] == heads[0][0]:
            details.setdefault(path[1:], value)

    def active(section: str) -> tuple[str, ...]:
        return tuple(path[-1] for path, value in details.items() if path[:1] == (section,) and value == "Active")

    shown = {path[0] for path in details if path}
    counters = {path[-1]: whole(value) for path, value in details.items() if len(path) > 1 and path[0] in COUNTERS}
    return Gpu(
        name=_said(details.get(("Product Name",))),
        bus=heads[0]["bus"],
        persistence={"Enabled": True, "Disabled": False}.get(details.get(("Persistence Mode",), "")),
        sm_mhz=whole(details.get(("Clocks", "SM"))),
        max_sm_mhz=whole(details.get(("Max Clocks", "SM"))),
        temperature_c=whole(details.get(("Temperature", "GPU Current Temp"))),
        power_w=next((watts for key in POWER if (watts := number(_power(details, key))) is not None), None),
        reasons=next((active(section) for section in REASONS if section in shown), None),
        counters_us={name: value for name, value in counters.items() if value is not None},
    )


def sample(text: str) -> Sample:
    """One line of values under a line of names, C(--format=csv)."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2:
        return Sample()
    names = [_BRACKETS.sub("", name).strip() for name in lines[0].split(",")]
    values = dict(zip(names, lines[1].split(","), strict=False))
    return Sample(
        sm_mhz=whole(values.get("clocks.sm", values.get("clocks.current.sm"))),
        utilization_percent=whole(values.get("utilization.gpu")),
        power_w=number(values.get("power.draw")),
        temperature_c=whole(values.get("temperature.gpu")),
    )


def lock(text: str) -> Lock:
    """What came of setting a cap. The exit status says nothing: it is 0 where clocks cannot be set."""
    asked = _ASKED.search(text)
    unsupported, denied = _UNSUPPORTED.search(text) is not None, _DENIED.search(text) is not None
    found = None if unsupported or denied else _LOCKED.search(text)
    return Lock(
        asked_mhz=int(asked["mhz"]) if asked else None,
        min_mhz=int(found["min"]) if found else None,
        max_mhz=int(found["max"]) if found else None,
        unsupported=unsupported,
        denied=denied,
    )


def _power(details: Mapping[tuple[str, ...], str], key: str) -> str | None:
    return details.get(("GPU Power Readings", key), details.get(("Power Readings", key)))


def _said(text: str | None) -> str | None:
    return None if text is None or text.strip("[]") in ("", "N/A", "Not Supported") else text
