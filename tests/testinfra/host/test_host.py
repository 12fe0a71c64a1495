# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role host sets by default, asked of the node itself: nothing here uses a module of the collection."""

from __future__ import annotations

import pytest
from testinfra.host import Host


def manager(host: Host, name: str) -> str:
    """What systemd says of itself."""
    return host.check_output("systemctl show --value --property=%s", name)


@pytest.fixture(scope="session")
def machine(host: Host) -> Host:
    """The node, where it is no container: the others have no swap, memory or clock of their own."""
    if host.run("systemd-detect-virt --quiet --container").rc == 0:
        pytest.skip("a container")
    return host


def test_it_boots_without_a_desktop(host: Host) -> None:
    assert host.check_output("systemctl get-default") == "multi-user.target"


def test_there_is_no_swap_now_or_at_boot(machine: Host) -> None:
    assert machine.check_output("swapon --show --noheadings") == ""
    assert machine.check_output("systemctl show --value --property=LoadState swap.target") == "masked"


CAP_SYS_RESOURCE = 1 << 24


def limits(shown: str) -> dict[str, list[str]]:
    """Soft and hard limits by name, as /proc shows them."""
    return {line[:25].strip(): line[25:].split()[:2] for line in shown.splitlines()}


def ceiling(host: Host, name: str, wanted: str) -> str:
    """What the role asks for, or less in a container that may not raise the limits of its machine."""
    may = int(host.check_output("awk '/CapEff/ {print $2}' /proc/1/status"), 16) & CAP_SYS_RESOURCE
    return wanted if may else limits(host.check_output("cat /proc/1/limits"))[name][1]


def test_a_service_may_lock_memory_open_files_and_not_dump_core(host: Host) -> None:
    """Asked of a service that is started now, not of the settings."""
    rows = limits(host.check_output("systemd-run --quiet --wait --pipe cat /proc/self/limits"))
    assert rows["Max locked memory"] == [ceiling(host, "Max locked memory", "unlimited")] * 2
    assert int(rows["Max open files"][0]) >= int(ceiling(host, "Max open files", "65536"))
    assert rows["Max core file size"] == ["0", "0"]
    assert manager(host, "DefaultLimitMEMLOCK") == "infinity"


def test_a_login_may_lock_memory(host: Host) -> None:
    """Over sshd and pam, as the check itself came."""
    shown = host.check_output('sudo -i -u "${SUDO_USER:-root}" cat /proc/self/limits')
    wanted = ceiling(host, "Max locked memory", "unlimited")
    assert limits(shown)["Max locked memory"] == [wanted] * 2


def test_the_journal_outlives_a_boot(host: Host) -> None:
    boot = host.check_output("journalctl --boot --lines=1 --output=cat --quiet --directory=/var/log/journal")
    assert boot


def test_kernel_settings_are_those_of_the_file(host: Host) -> None:
    for line in host.file("/etc/sysctl.d/90-switchless-host.conf").content_string.splitlines():
        if not line.startswith("#"):
            key, _equals, value = line.partition(" = ")
            assert host.sysctl(key) == int(value)


def test_the_page_cache_can_be_freed_by_a_unit(host: Host) -> None:
    host.check_output("systemctl start switchless-drop-caches.service")
    assert host.check_output("systemctl show --value --property=Result switchless-drop-caches.service") == "success"


def test_earlyoom_has_our_thresholds(host: Host) -> None:
    assert host.package("earlyoom").is_installed
    shown = host.check_output("systemctl show --value --property=ExecStart earlyoom.service")
    assert "-M 524288,102400 -s 100" in shown
    assert shown.count("path=") == 1


def test_earlyoom_runs(machine: Host) -> None:
    service = machine.service("earlyoom")
    assert service.is_running
    assert service.is_enabled


def test_something_keeps_the_clock(machine: Host) -> None:
    assert (
        machine.check_output("timedatectl show --value --property=NTP") == "yes" or machine.service("chrony").is_running
    )


def test_all_nodes_have_their_names(host: Host, facts: dict[str, dict[str, str]]) -> None:
    text = host.file("/etc/hosts").content_string
    begin, end = "# BEGIN switchless.spark, role host\n", "# END switchless.spark, role host\n"
    assert text.count(begin) == text.count(end) == 1
    lines = text.partition(begin)[2].partition(end)[0].splitlines()
    assert facts["node"]["host"] in [line.split()[1] for line in lines]
    for line in lines:
        address, name = line.split()
        assert host.check_output("getent hosts %s", name).split()[0] == address


def test_files_belong_to_root(host: Host) -> None:
    found = host.check_output("find /etc -name '90-switchless*host*.conf' -printf '%u %g %m %p\\n'").splitlines()
    assert len(found) == 5
    assert [line for line in found if not line.startswith("root root 644 ")] == []
