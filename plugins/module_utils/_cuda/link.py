# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where C(/usr/local/cuda) leads, and what CUDA's programs say of their version.

B(Private) to the collection: it can change at any time.

Toolkits lie side by side; any package cuda-* can move the link while it is in auto mode. What nvidia-smi calls CUDA is
the driver's ceiling and no toolkit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ansible_collections.switchless.spark.plugins.module_utils._driver.verdicts import CONFIG, OK, UNKNOWN, Reason

LINK, NVCC = "/usr/local/cuda", "/usr/local/cuda/bin/nvcc"
_HEAD = re.compile(r"\s*(?P<name>\S+) - (?P<mode>auto|manual) mode")
_BEST = re.compile(r"\s*link best version is (\S+)")
_CURRENT = re.compile(r"\s*link currently points to (\S+)")
_CHOICE = re.compile(r"\s*(?P<path>/\S+) - priority (?P<priority>-?\d+)")
_RELEASE = re.compile(r"release (?P<release>\d+\.\d+), V(?P<version>\d+\.\d+\.\d+)")
_IMAGE = re.compile(
    r"built for NVIDIA Driver Release (?P<wanted>[\d.]+) or later, but\s+version (?P<seen>[\d.]+) was detected"
)


@dataclass(frozen=True, slots=True)
class Alternatives:
    """C(update-alternatives --display) of one name."""

    auto: bool
    best: str | None = None
    current: str | None = None
    priorities: dict[str, int] = field(default_factory=dict)

    @property
    def consistent(self) -> bool:
        """The best one has the highest priority, and auto mode leads to it."""
        highest = max(self.priorities.values(), default=None)
        leads = self.best is not None and self.priorities.get(self.best) == highest
        return leads and self.current in self.priorities and (not self.auto or self.current == self.best)


def parse(text: str, name: str = "cuda") -> Alternatives | None:
    """Nothing when it is about another name: C(cuda-13) is not C(cuda)."""
    head: re.Match[str] | None = None
    best: str | None = None
    current: str | None = None
    priorities = {}
    for line in text.splitlines():
        head = head or _HEAD.fullmatch(line)
        if match := _BEST.fullmatch(line):
            best = match[1]
        elif match := _CURRENT.fullmatch(line):
            current = match[1]
        elif match := _CHOICE.fullmatch(line):
            priorities[match["path"]] = int(match["priority"])
    if head is None or head["name"] != name:
        return None
    return Alternatives(head["mode"] == "auto", best, current, priorities)


def parse_nvcc(text: str) -> tuple[str, str] | None:
    """C(13.3) and C(13.3.73) of C(nvcc --version)."""
    match = _RELEASE.search(text)
    return None if match is None else (match["release"], match["version"])


def judge(found: Alternatives | None, wanted: str, nvcc: tuple[str, str] | None) -> tuple[Reason, ...]:
    """Whether the link leads to the toolkit that is wanted, for example C(13.0), and whether nvcc is there."""
    return tuple(_rules(found, f"{LINK}-{wanted}", nvcc))


def _rules(found: Alternatives | None, path: str, nvcc: tuple[str, str] | None) -> Iterator[Reason]:
    setting = f"update-alternatives --set cuda {path}"
    if found is None or not found.consistent:
        seen = (
            "no alternatives of cuda"
            if found is None
            else (f"{LINK} leads to {found.current} and {found.best} is called the best one, of {found.priorities}")
        )
        yield Reason("link_unknown", UNKNOWN, seen, f"{path}, by a listing that agrees with itself", setting)
    elif found.current != path:
        yield Reason("link_moved", CONFIG, f"{LINK} leads to {found.current}", path, setting)
    elif nvcc is None:
        yield Reason(
            "nvcc_missing",
            CONFIG,
            f"{NVCC} is not there or does not run",
            "a toolkit, not only a runtime package, behind the link",
            f"install the cuda-toolkit package of {path}",
        )
    elif not path.endswith(f"-{nvcc[0]}"):
        yield Reason("nvcc_other", CONFIG, f"{NVCC} is {nvcc[1]}", path, setting)
    else:
        kept = "may be moved by any package cuda-*" if found.auto else "stays, whatever is installed beside it"
        yield Reason("link_right", OK, f"{LINK} leads to {path}, nvcc is {nvcc[1]}; it {kept}")


def judge_image(text: str) -> Reason | None:
    """What a container of NVIDIA says when it wants a newer driver than there is."""
    match = _IMAGE.search(text)
    if match is None:
        return None
    return Reason(
        "image_too_new",
        CONFIG,
        f"the image wants driver {match['wanted']} or later, {match['seen']} is there",
        f"an image for branch {match['seen'].partition('.')[0]}",
        "choose another image; do not take another branch of the driver for it",
    )
