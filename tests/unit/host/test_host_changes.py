# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role host does to a node, and that it can take all of it back."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.filter.host_changes import FilterModule
from ansible_collections.switchless.spark.plugins.module_utils._host.changes import changes
from ansible_collections.switchless.spark.plugins.module_utils._host.look import CLOCKS
from ansible_collections.switchless.spark.plugins.module_utils._host.model import MEMORY, File, Swap, Unit, Wanted
from tests.unit.host.host_world import FRESH, NOWHERE, done, memory, wanted

OOM, SWAP, TIME = "earlyoom.service", "swap.target", "systemd-timesyncd.service"
DROP_IN = "/etc/systemd/system/earlyoom.service.d/90-switchless.conf"


def test_a_fresh_node() -> None:
    work = changes(FRESH, wanted())
    assert work.refusals == ()
    assert work.differences == (
        "/etc/systemd/system.conf.d/90-switchless-host.conf is missing",
        "/etc/security/limits.d/90-switchless-host.conf is missing",
        "/etc/systemd/coredump.conf.d/90-switchless-host.conf is missing",
        "/etc/systemd/journald.conf.d/90-switchless-host.conf is missing",
        "/etc/sysctl.d/90-switchless-host.conf is missing",
        "/etc/systemd/system/switchless-drop-caches.service is missing",
        f"{DROP_IN} is missing",
        "systemd's DefaultLimitMEMLOCK is 8388608, not infinity",
        "systemd's DefaultLimitMEMLOCKSoft is 8388608, not infinity",
        "systemd's DefaultLimitNOFILESoft is 1024, not 65536",
        "systemd's DefaultLimitCORE is infinity, not 0",
        "vm.swappiness is 60, not 1",
        "/etc/hosts lacks the names of the control plane",
        "the node boots into graphical.target, not multi-user.target",
        "swap comes back at the next boot",
        "swap on /swap.img, 1024 of 16383 MiB in use",
        "earlyoom is not installed",
    )
    assert (work.default_target, work.swap, work.hosts, work.sysctl) == (
        "multi-user.target",
        "off",
        "present",
        ("vm.swappiness=1",),
    )
    assert (work.reload, work.install, work.start) == (True, ("earlyoom",), (OOM,))
    assert (work.restart, work.stop, work.remove, work.uninstall) == (("systemd-journald.service",), (), (), ())
    assert [write.backup for write in work.write] == [False] * 7
    assert json.loads(work.remember or "") == {
        "default_target": "graphical.target",
        "earlyoom": "installed",
        "swap": "masked",
        "sysctl": {"vm.swappiness": "60"},
    }
    assert work.keep is None
    assert ["the desktop still runs" in note for note in work.notes] == [True]


def test_a_second_run_changes_nothing_and_all_of_it_can_be_taken_back() -> None:
    after = done(FRESH, wanted(), changes(FRESH, wanted()))
    again = changes(after, wanted())
    assert (again.differences, again.write, again.remember, again.keep) == ((), (), None, None)
    back = changes(after, wanted(reset=True))
    assert (back.default_target, back.swap, back.hosts, back.uninstall) == (
        "graphical.target",
        "on",
        "absent",
        ("earlyoom",),
    )
    assert (back.sysctl, back.remember, back.keep) == (("vm.swappiness=60",), None, "")
    fresh = done(after, wanted(reset=True), back)
    assert {path: file for path, file in fresh.files.items() if file.content is not None} == FRESH.files
    assert replace(fresh, files={}) == replace(FRESH, files={})
    assert changes(fresh, wanted(reset=True)).differences == ()


def test_what_was_so_before_is_not_taken_back() -> None:
    """Headless, without swap and with an earlyoom of the user's: the role has nothing to remember of them."""
    seen = replace(
        FRESH,
        default_target="multi-user.target",
        swaps=(),
        units={**FRESH.units, OOM: Unit("loaded", "active", "enabled"), SWAP: Unit("masked", "inactive", "masked")},
    )
    work = changes(seen, wanted())
    assert (work.install, work.restart, work.swap, work.default_target) == (
        (),
        ("systemd-journald.service", OOM),
        "",
        "",
    )
    back = changes(done(seen, wanted(), work), wanted(reset=True))
    assert (back.uninstall, back.swap, back.default_target) == ((), "", "")
    assert OOM in back.restart
    assert DROP_IN in back.remove


def test_a_container_has_no_memory_and_no_clock_of_its_own() -> None:
    seen = replace(FRESH, container="systemd-nspawn", units={**FRESH.units, TIME: NOWHERE})
    work = changes(seen, wanted())
    assert (work.swap, work.start, work.install) == ("", (), ("earlyoom",))
    assert "this container's (systemd-nspawn)" in work.notes[-1]
    after = done(seen, wanted(), work)
    still = changes(replace(after, units={**after.units, OOM: Unit("loaded", "inactive", "enabled")}), wanted())
    assert (still.differences, still.start, still.restart) == ((), (), ())


@pytest.mark.parametrize(
    ("used", "available", "refused"),
    [(0, 0, False), (1024, 1_049_599, True), (1024, 1_049_600, False), (1, None, True)],
)
def test_swap_goes_only_where_there_is_room(used: int, available: int | None, refused: bool) -> None:
    seen = replace(FRESH, swaps=(Swap("/swap.img", 16_777_212, used),), available_kib=available)
    assert bool(changes(seen, wanted()).refusals) is refused


@pytest.mark.parametrize(
    ("settings_", "said"),
    [
        ({"net.ipv4.ip_forward": 1}, "net.ipv4 is the role fabric's"),
        ({"net/ipv4/conf/all/rp_filter": 1}, "net.ipv4 is the role fabric's"),
        ({"vm.swapiness": 1}, "this kernel does not have"),
    ],
)
def test_kernel_settings_that_are_refused(settings_: dict[str, Any], said: str) -> None:
    work = changes(FRESH, wanted(host_sysctl=settings_))
    assert [said in refusal for refusal in work.refusals] == [True]
    assert work.sysctl == ()


def test_a_kernel_setting_that_is_not_wanted_any_more_is_put_back() -> None:
    after = done(FRESH, wanted(), changes(FRESH, wanted()))
    other = replace(after, sysctl={"vm.swappiness": "1", "vm.max_map_count": "65530"})
    work = changes(other, wanted(host_sysctl={"vm.max_map_count": "1048576"}))
    assert work.sysctl == ("vm.max_map_count=1048576", "vm.swappiness=60")
    assert json.loads(work.remember or "")["sysctl"] == {"vm.swappiness": "60", "vm.max_map_count": "65530"}
    assert json.loads(work.keep or "")["sysctl"] == {"vm.max_map_count": "65530"}


@pytest.mark.parametrize(
    ("units", "install", "start"),
    [
        ({}, ("systemd-timesyncd",), (TIME,)),
        ({TIME: Unit("loaded", "inactive", "disabled")}, (), (TIME,)),
        ({"chrony.service": Unit("loaded", "active", "enabled"), TIME: Unit("masked", "inactive", "")}, (), ()),
        ({"chrony.service": Unit("loaded", "inactive", "disabled")}, (), ("chrony.service",)),
        ({"ntpsec.service": Unit("loaded", "activating", "enabled")}, (), ()),
    ],
)
def test_one_thing_keeps_the_clock(units: dict[str, Unit], install: tuple[str, ...], start: tuple[str, ...]) -> None:
    seen = replace(FRESH, units={**FRESH.units, **dict.fromkeys(CLOCKS, NOWHERE), **units})
    work = changes(seen, wanted(host_oom="none"))
    assert (work.install, work.start) == (install, start)


@pytest.mark.parametrize(
    ("unit", "said"),
    [(OOM, "set host_oom to none"), (TIME, "set host_time_sync to false")],
)
def test_a_masked_service_stays_masked(unit: str, said: str) -> None:
    seen = replace(FRESH, units={**FRESH.units, unit: Unit("masked", "inactive", "masked")})
    assert [said in refusal for refusal in changes(seen, wanted()).refusals] == [True]


def test_someone_elses_file_is_kept_as_a_copy_and_not_removed() -> None:
    path = "/etc/sysctl.d/90-switchless-host.conf"
    seen = replace(FRESH, files={**FRESH.files, path: File("vm.swappiness = 10\n", "0644")})
    assert [write.path for write in changes(seen, wanted()).write if write.backup] == [path]
    assert changes(seen, wanted(reset=True)).remove == ()


def test_a_limit_that_another_file_wins_is_a_difference() -> None:
    after = done(FRESH, wanted(), changes(FRESH, wanted()))
    seen = replace(after, defaults={**after.defaults, "DefaultLimitMEMLOCK": "65536"})
    work = changes(seen, wanted())
    assert work.differences == ("systemd's DefaultLimitMEMLOCK is 65536, not infinity",)
    assert work.reload


def test_the_desktop_is_ended_only_when_asked() -> None:
    assert changes(FRESH, wanted(host_stop_desktop="true")).stop == ("display-manager.service",)
    assert changes(FRESH, wanted(host_stop_desktop=True, host_headless=False)).stop == ()


def test_a_changed_drop_in_restarts_earlyoom_once() -> None:
    after = done(FRESH, wanted(), changes(FRESH, wanted()))
    work = changes(after, wanted(host_oom_term_mib="2048"))
    assert (work.restart, work.start, work.reload) == ((OOM,), (), True)
    assert work.differences == (f"{DROP_IN} differs",)


def test_a_mode_that_differs() -> None:
    after = done(FRESH, wanted(), changes(FRESH, wanted()))
    path = "/etc/systemd/system/switchless-drop-caches.service"
    content = after.file(path).content
    work = changes(replace(after, files={**after.files, path: File(content, "0666")}), wanted())
    assert [(write.path, write.backup) for write in work.write] == [(path, False)]


def test_folders_that_are_missing() -> None:
    paths = [file.path for file in wanted().files] + [MEMORY]
    seen = replace(FRESH, files={**FRESH.files, **{path: File(folder="sysctl.d" in path) for path in paths}})
    folders = changes(seen, wanted()).folders
    assert folders[-1] == "/var/lib/switchless"
    assert "/etc/systemd/system/earlyoom.service.d" in folders
    assert "/etc/sysctl.d" not in folders


@st.composite
def switched(draw: st.DrawFn) -> Wanted:
    """Any of the role's switches on or off."""
    base = wanted()
    return Wanted(
        headless=draw(st.booleans()),
        swap_off=draw(st.booleans()),
        earlyoom=draw(st.booleans()),
        hosts=draw(st.sampled_from([(), base.hosts, ("192.0.2.99 other",)])),
        sysctl=draw(st.sampled_from([{}, {"vm.swappiness": "1"}, {"vm.swappiness": "60"}])),
        files=tuple(replace(file, wanted=draw(st.booleans())) for file in base.files),
    )


@settings(deadline=None)
@given(st.lists(switched(), min_size=1, max_size=3))
def test_whatever_was_switched_it_settles_and_goes_back(rounds: list[Wanted]) -> None:
    seen = FRESH
    for want in rounds:
        seen = done(seen, want, changes(seen, want))
        assert changes(seen, want).differences == ()
    nothing = wanted(reset=True)
    back = done(seen, nothing, changes(seen, nothing))
    assert memory(back) == {}
    assert {path: file for path, file in back.files.items() if file.content is not None} == FRESH.files
    assert (back.swaps, back.default_target, back.sysctl) == (FRESH.swaps, FRESH.default_target, FRESH.sysctl)


def test_the_filter_takes_what_the_module_gives() -> None:
    made = FilterModule().filters()["host_changes"]
    given_ = {"schema": 1} | FRESH.as_dict()
    assert (
        made(json.loads(json.dumps(given_)), json.loads(json.dumps(asdict(wanted()))))
        == changes(FRESH, wanted()).as_dict()
    )
