# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Taking a fabric away: a roll-back to a node on which there was none.

So it is the roll-back program that does it, in the order that is safe, and at the next boot if the node goes down
half-way.
"""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import typing as t

from . import change, netplan
from .fabric import sysctl_path
from .netplan import Port

try:
    import yaml
except ImportError:  # netplan.io itself needs PyYAML, so a node that has netplan has this
    yaml = None  # type: ignore[assignment]

MTU = 1500
_OF_A_PORT = re.compile(r"net[./]ipv4[./]conf[./](?P<port>.+)[./](?P<name>\w+)")


def ports(text: str) -> tuple[str, ...]:
    """The ports that our own netplan file defines; none when it is not one."""
    try:
        network = (yaml.safe_load(text) or {}).get("network") or {}
    except yaml.YAMLError as exc:
        raise netplan.NetplanSyntaxError(f"the fabric's own netplan file is not valid YAML: {exc}") from exc
    return tuple(str(name) for name in network.get("ethernets") or {})


def settings(text: str) -> dict[str, str]:
    """The settings in our own sysctl file, each with the one that gives a new port its value."""
    keys = [line.partition("=")[0].strip() for line in text.splitlines() if not line.startswith("#")]
    matches = {key: _OF_A_PORT.fullmatch(key) for key in keys}
    return {key: f"net.ipv4.conf.default.{match['name']}" for key, match in matches.items() if match}


def manifest(
    gone: t.Sequence[str], back: t.Mapping[str, str], netdevs: t.Sequence[str], sysctl: t.Mapping[str, str], unit: str
) -> dict[str, t.Any]:
    """What the roll-back program reads. C(gone) are files to remove, C(back) maps a file to the copy to put there.

    NetworkManager gets the ports afterwards, when it has read what was put back.
    """
    copies: list[dict[str, t.Any]] = [
        {"path": path, "backup": copy, "uid": 0, "gid": 0} for path, copy in sorted(back.items())
    ]
    return {
        "schema": 1,
        "files": [{"path": path, "backup": None} for path in gone] + copies,
        "unit": unit,
        "unit_enabled": False,
        "relay_before": False,
        "routes": [],
        "sysctl": {sysctl_path(key): value for key, value in sysctl.items()},
        "ports": [
            {"netdev": name, "mtu": MTU, "up": True, "addresses": [], "networkmanager": False, "networkd": False}
            for name in netdevs
        ],
    }


def stage(data: t.Mapping[str, t.Any], state: pathlib.Path = change.STATE) -> None:
    """Hand it to the roll-back program."""
    folder = state / "pending"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    change.write(change.File(str(folder / "manifest.json"), json.dumps(data, indent=2) + "\n", 0o600))


def forget(state: pathlib.Path = change.STATE) -> None:
    """Remove what earlier changes left of themselves; copies of files stay."""
    shutil.rmtree(state, ignore_errors=True)


def reduced(
    folder: str, own: t.Collection[str], these: t.Sequence[Port], others: t.Sequence[Port], backups: pathlib.Path
) -> tuple[dict[str, str], dict[str, str]]:
    """Files of others out of which the ports were cut, each with its latest copy.

    First those that are as the cut left them, which can be put back, then those that somebody changed since.
    """
    copies: dict[str, pathlib.Path] = {}
    for copy in sorted(backups.glob(f"*/{folder.lstrip('/')}/*.yaml")):  # folders are named after the time
        copies[f"{folder}/{copy.name}"] = copy
    back: dict[str, str] = {}
    changed: dict[str, str] = {}
    for path, copy in copies.items():
        text = copy.read_text(encoding="utf-8")
        now = change.File(path, None, 0).read()
        found = () if path in own or now == text else netplan.definitions(path, text, these, others)
        if found:
            (back if now == netplan.without(text, found) else changed)[path] = str(copy)
    return back, changed
