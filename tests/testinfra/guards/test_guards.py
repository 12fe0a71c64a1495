# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was proved of the served model, asked of the files and of systemd: no module of the collection is used."""

from __future__ import annotations

import json
from typing import Any

import pytest
from testinfra.host import Host

SETTINGS, RECORDS = "/etc/switchless/battery", "/var/lib/switchless/battery"


def recipe(host: Host) -> str:
    """What is judged on this node; of several recipes, the one whose unit is active."""
    names = host.run(f"basename -s .json {SETTINGS}/*.json").stdout.split() if host.file(SETTINGS).exists else []
    for name in names:
        if host.service(f"vllm@{name}.service").is_running:
            return name
    if names:
        pytest.fail(f"none of the units of {', '.join(names)} runs")
    pytest.skip("not the head, or no guards here")


def read(host: Host, path: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(host.file(path).content_string)
    return found


def test_the_accepted_run_passed_every_guard(host: Host) -> None:
    folder = f"{RECORDS}/{recipe(host)}"
    accepted = read(host, f"{folder}/accepted.json")
    record = read(host, f"{folder}/runs/{accepted['id']}/result.json")
    assert record["fingerprint"] == accepted["fingerprint"]
    assert {one["verdict"] for one in record["results"]} <= {"passed", "not asked", "not exercised"}


def test_it_is_the_run_of_what_serves_now(host: Host) -> None:
    """Kernel and driver are asked of the node, what else is proved of the settings that the role wrote."""
    name = recipe(host)
    accepted = read(host, f"{RECORDS}/{name}/accepted.json")["fingerprint"]
    assert accepted == read(host, f"{SETTINGS}/{name}.json")["fingerprint"]
    assert host.check_output("uname -r") in accepted["kernel"].split()
    loaded = host.file("/sys/module/nvidia/version")
    assert not loaded.exists or loaded.content_string.strip() in accepted["driver"].split()


def test_nothing_is_suspect(host: Host) -> None:
    assert not host.file(f"{RECORDS}/{recipe(host)}/suspect.json").exists


def test_it_is_judged_again_on_a_timer(host: Host) -> None:
    timer = host.service(f"vllm-battery-canary@{recipe(host)}.timer")
    assert (timer.is_running, timer.is_enabled) == (True, True)


def test_settings_and_records_are_for_those_who_need_them(host: Host) -> None:
    name = recipe(host)
    settings, records = host.file(f"{SETTINGS}/{name}.json"), host.file(f"{RECORDS}/{name}")
    assert (settings.user, settings.group, settings.mode) == ("root", "battery", 0o640)
    assert records.user == "battery"
    assert host.file(f"/etc/switchless/vllm/{name}/api.key").content_string.strip() not in settings.content_string
