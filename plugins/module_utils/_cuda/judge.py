# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict on a node's toolkits, with everything that led to it.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.switchless.spark.plugins.module_utils._driver.verdicts import (
    CONFIG,
    OK,
    SEVERITY,
    UNKNOWN,
    Reason,
    worst,
)

from . import link
from .look import ALTERNATIVE, HANDLE, NO_LINK, OTHER_LINK, Seen, Toolkit

SCHEMA = 1
_OF_A_TOOLKIT = ("nvcc_missing", "nvcc_other")  # the link's rules have them too


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which toolkits are wanted: the one behind the link, all of them, and the one that serves."""

    default: str
    toolkits: tuple[str, ...]
    serving: str
    compat: bool = False
    packages: tuple[str, ...] = ()  # by name or name=version

    @property
    def versions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.toolkits, self.default, self.serving)))

    @property
    def path(self) -> str:
        return f"{link.LINK}-{self.default}"

    @property
    def serving_home(self) -> str:
        return f"{link.LINK}-{self.serving}"


def package(version: str, kind: str = "toolkit") -> str:
    return f"cuda-{kind}-{version.replace('.', '-')}"


def _lacks_package(seen: Seen, wanted: str) -> bool:
    name, _sign, version = wanted.partition("=")
    installed = (seen.packages or {}).get(name.partition(":")[0])
    return installed is None or bool(version and installed != version)


def _partial(seen: Seen, version: str) -> bool:
    """Only some packages of it are there. Without any of them it was installed in another way, and is whole."""
    installed = seen.packages or {}
    end = f"-{version.replace('.', '-')}"
    return package(version) not in installed and any(
        name.startswith("cuda-") and name.endswith(end) and name != package(version, "compat") for name in installed
    )


def lacking(seen: Seen, wanted: Wanted) -> tuple[str, ...]:
    """The packages to install so that all is there that is wanted. None of them brings a driver."""
    toolkits = [seen.toolkits.get(version, Toolkit(version)) for version in wanted.versions]
    found = [package(one.version) for one in toolkits if not one.has_nvcc or _partial(seen, one.version)]
    if wanted.compat and not seen.toolkits.get(wanted.serving, Toolkit(wanted.serving)).compat:
        found.append(package(wanted.serving, "compat"))
    return (*found, *(name for name in wanted.packages if _lacks_package(seen, name)))


def _toolkit(seen: Seen, version: str) -> Iterator[Reason]:
    known, expected = seen.toolkits.get(version), f"{link.LINK}-{version}, whole"
    remedy = f"install {package(version)}, and not cuda or cuda-{version.replace('.', '-')}, which bring a driver"
    if known is None:
        yield Reason("toolkit_missing", CONFIG, f"{link.LINK}-{version} is not there", expected, remedy)
    elif not known.has_nvcc:
        yield Reason("nvcc_missing", CONFIG, f"{known.path} has no bin/nvcc: only a part is there", expected, remedy)
    elif known.nvcc is None:
        again = f"run it by hand, and install {package(version)} with what it depends on anew"
        yield Reason("nvcc_silent", UNKNOWN, f"{known.path}/bin/nvcc does not say its version", expected, again)
    elif known.nvcc[0] != version:
        yield Reason("nvcc_other", CONFIG, f"{known.path}/bin/nvcc is {known.nvcc[1]}", expected, remedy)
    elif _partial(seen, version):
        yield Reason("toolkit_partial", CONFIG, f"{known.path} is there, {package(version)} is not", expected, remedy)


def _link(seen: Seen, wanted: Wanted) -> Iterator[Reason]:
    by_hand = f"update-alternatives --install {link.LINK} cuda {wanted.path} {wanted.default.replace('.', '')}"
    if seen.link.kind in (NO_LINK, OTHER_LINK):
        kind = f"leads to {seen.link.target}" if seen.link.kind == OTHER_LINK else "is no link"
        away = f"somebody made it by hand: move it away (mv {link.LINK} {link.LINK}.old), and run again"
        yield Reason("link_foreign", CONFIG, f"{link.LINK} {kind}", f"a link to {HANDLE}", away)
        return
    whole = package(wanted.default) not in lacking(seen, wanted)
    listed = seen.alternatives.priorities if seen.alternatives is not None else {}
    if whole and wanted.path not in listed and (seen.alternatives is not None or seen.no_alternatives):
        yield Reason(
            "link_unregistered", CONFIG, f"{wanted.path} is no alternative of cuda", "one, with a priority", by_hand
        )
    elif seen.no_alternatives:
        yield Reason("link_missing", CONFIG, "there are no alternatives of cuda", wanted.path, "install a toolkit")
    else:
        default = seen.toolkits.get(wanted.default)
        found = link.judge(seen.alternatives, wanted.default, default.nvcc if default is not None else None)
        yield from (reason for reason in found if reason.code not in _OF_A_TOOLKIT)
    current = seen.alternatives.current if seen.alternatives is not None else None
    if current is not None and (seen.link.kind != ALTERNATIVE or seen.link.leads_to != current):
        said = f"update-alternatives says {current}, {link.LINK} leads to {seen.link.leads_to}"
        setting = f"update-alternatives --set cuda {wanted.path}"
        yield Reason("link_disagrees", UNKNOWN, said, "one answer", setting)


def _beside(seen: Seen, wanted: Wanted) -> Iterator[Reason]:
    serving = seen.toolkits.get(wanted.serving, Toolkit(wanted.serving))
    if wanted.compat and not serving.compat:
        name = package(wanted.serving, "compat")
        yield Reason("compat_missing", CONFIG, f"{serving.path}/compat is not there", "cuda-compat", f"install {name}")
    if seen.packages is None:
        yield Reason("packages_unknown", UNKNOWN, "dpkg-query does not list the packages", "a list", "repair dpkg")
        return
    for name in wanted.packages:
        if _lacks_package(seen, name):
            has = seen.packages.get(name.partition("=")[0].partition(":")[0], "not installed")
            yield Reason("package_missing", CONFIG, f"{name} is {has}", "installed", f"install {name}")


def meaning(seen: Seen, wanted: Wanted) -> str | None:
    """What the number in nvidia-smi is. Nothing when it shows none."""
    if seen.smi is None or seen.smi.cuda is None:
        return None
    return (
        f"nvidia-smi says CUDA {seen.smi.cuda}: that is the newest CUDA that driver {seen.smi.kernel} has in itself, "
        f"and no toolkit. It goes on to say so, whatever is installed. Programs built by CUDA {wanted.serving} run on "
        "every driver of the same major version; only PTX that the driver has to compile can be too new for it"
    )


def reasons(seen: Seen, wanted: Wanted) -> tuple[Reason, ...]:
    """The worst first; notes last."""
    found = [reason for version in wanted.versions for reason in _toolkit(seen, version)]
    found += [*_link(seen, wanted), *_beside(seen, wanted)]
    if (note := meaning(seen, wanted)) is not None:
        found.append(Reason("driver_ceiling", OK, note))
    return tuple(sorted(found, key=lambda reason: SEVERITY.index(reason.verdict)))


def judge(seen: Seen, wanted: Wanted) -> dict[str, Any]:
    """What the module returns."""
    found = reasons(seen, wanted)
    installed = seen.packages or {}
    return {
        "schema": SCHEMA,
        "verdict": worst(found),
        "reasons": [reason.as_dict() for reason in found],
        "toolkits": [
            {
                "version": one.version,
                "path": one.path,
                "nvcc": one.nvcc[1] if one.nvcc is not None else None,
                "compat": one.compat,
            }
            for one in seen.toolkits.values()
        ],
        "link": asdict(seen.link),
        "alternatives": asdict(seen.alternatives) if seen.alternatives is not None else None,
        "serving_home": wanted.serving_home,
        "lacking": list(lacking(seen, wanted)),
        "smi": {
            "driver": seen.smi.kernel if seen.smi is not None else None,
            "cuda": seen.smi.cuda if seen.smi is not None else None,
            "meaning": meaning(seen, wanted),
        },
        "remembered": {
            "packages": list(seen.memory.packages),
            "installed": [name for name in seen.memory.packages if name in installed],
            "link": dict(seen.memory.link) if seen.memory.link is not None else None,
        },
    }
