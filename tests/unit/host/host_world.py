# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fresh Spark and what the role host wants of it, from the role's own variables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ansible.template import trust_as_template

from ansible_collections.switchless.spark.plugins.module_utils._host.changes import Changes
from ansible_collections.switchless.spark.plugins.module_utils._host.look import UNITS
from ansible_collections.switchless.spark.plugins.module_utils._host.model import (
    BEGIN,
    END,
    HOSTS,
    MEMORY,
    File,
    Seen,
    Swap,
    Unit,
    Wanted,
)
from tests.unit.rendering import CHECKOUT, load, render

ROLE = CHECKOUT / "roles" / "host"
RENDERED: dict[str, Wanted] = {}
NOWHERE = Unit("not-found", "inactive", "")
FRESH = Seen(
    default_target="graphical.target",
    available_kib=110_000_000,
    core_pattern="|/usr/share/apport/apport -p%p",
    swaps=(Swap("/swap.img", 16_777_212, 1_048_576),),
    units=dict.fromkeys(UNITS, NOWHERE)
    | {
        "display-manager.service": Unit("loaded", "active", "static"),
        "swap.target": Unit("loaded", "active", "static"),
        "systemd-timesyncd.service": Unit("loaded", "active", "enabled"),
    },
    defaults={
        "DefaultLimitMEMLOCK": "8388608",
        "DefaultLimitMEMLOCKSoft": "8388608",
        "DefaultLimitNOFILE": "524288",
        "DefaultLimitNOFILESoft": "1024",
        "DefaultLimitCORE": "infinity",
        "DefaultLimitCORESoft": "0",
    },
    sysctl={"vm.swappiness": "60"},
    files={HOSTS: File("127.0.0.1 localhost\n127.0.1.1 spark-329f\n", "0644")},
)


def variables(reset: bool = False, **more: Any) -> dict[str, Any]:
    """What Ansible knows when the role runs."""
    given: dict[str, Any] = load(ROLE / "defaults/main.yml") | load(ROLE / "vars/main.yml")
    return given | {"__host_names": ["192.0.2.11 329f", "192.0.2.12 355d"], "__host_reset": reset} | more


def wanted(**more: Any) -> Wanted:
    """As the role's own variables say. What was rendered is kept: it takes a quarter of a second."""
    key = json.dumps(more, sort_keys=True)
    if key not in RENDERED:
        RENDERED[key] = Wanted.parse(render(trust_as_template("{{ __host_wanted }}"), variables(**more), "host"))
    return RENDERED[key]


def done(seen: Seen, want: Wanted, work: Changes) -> Seen:
    """The node after the work, as the tasks of the role do it."""
    files = dict(seen.files)
    if work.remember is not None:
        files[MEMORY] = File(work.remember, "0644")
    files |= {write.path: File(write.content, "0644") for write in work.write}
    files |= {path: File() for path in work.remove}
    if work.keep is not None:
        files[MEMORY] = File(work.keep, "0644") if work.keep else File()
    text = files[HOSTS].content or ""
    if work.hosts:
        block = text[text.index(BEGIN) : text.index(END) + len(END) + 1] if BEGIN in text else ""
        text = text.replace(block, "")
        added = "\n".join((BEGIN, *want.hosts, END)) + "\n" if work.hosts == "present" else ""
        files[HOSTS] = File(added + text, "0644")
    units = dict(seen.units)
    packages = {"earlyoom": "earlyoom.service", "systemd-timesyncd": "systemd-timesyncd.service"}
    units |= {packages[name]: Unit("loaded", "active", "enabled") for name in work.install}
    units |= {packages[name]: NOWHERE for name in work.uninstall}
    units |= {name: replace(units[name], active="active", enabled="enabled") for name in work.start}
    units |= {name: replace(units[name], active="inactive") for name in work.stop}
    swaps = seen.swaps
    if work.swap:
        units["swap.target"] = Unit("masked", "active", "masked") if work.swap == "off" else FRESH.units["swap.target"]
        swaps = () if work.swap == "off" else FRESH.swaps
    return replace(
        seen,
        files=files,
        units=units,
        swaps=swaps,
        default_target=work.default_target or seen.default_target,
        defaults={**seen.defaults, **want.defaults}
        if work.reload and want.defaults
        else FRESH.defaults
        if work.reload
        else seen.defaults,
        sysctl={**seen.sysctl, **dict(item.split("=", 1) for item in work.sysctl)},
    )


def memory(seen: Seen) -> Mapping[str, Any]:
    text = seen.file(MEMORY).content
    found: dict[str, Any] = json.loads(text) if text else {}
    return found
