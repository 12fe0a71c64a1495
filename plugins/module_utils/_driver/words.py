# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a change of the driver says to a person: why nothing was done, what is left, and the way back.

B(Private) to the collection: it can change at any time.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence

from ansible_collections.switchless.spark.plugins.module_utils._node.runner import Result

from .node import Node
from .target import Target
from .verdicts import Reason

LAST_LINES = 12
ASK = (
    "\nThe driver is changed only with allow_change: true (nvidia_driver_allow_change), which installs the whole "
    "family at the pinned version; another loaded module then waits for the reboot of the group."
)
NOTHING_TO_INSTALL = "\nNo package is to be installed for it, so a change of the driver does not cure it."
INSTALL = (
    "apt-get",
    "-o",
    "DPkg::Lock::Timeout=600",
    "-o",
    "Dpkg::Options::=--force-confdef",
    "-o",
    "Dpkg::Options::=--force-confold",
    "--no-install-recommends",
    "--allow-change-held-packages",
    "--allow-downgrades",
)
# needrestart would restart services of the user, containers among them.
QUIET = ("env", "DEBIAN_FRONTEND=noninteractive", "APT_LISTCHANGES_FRONTEND=none", "NEEDRESTART_SUSPEND=1")
_ERROR = re.compile(r"(?:E:|dpkg: error|dpkg: unrecoverable|.*No space left on device| \S+ : (?:Pre)?Depends:).*")


def bullets(lines: Iterable[str]) -> str:
    return "".join(f"\n- {line}" for line in lines)


def refusal(node: Node, reasons: Sequence[Reason], *, curable: bool = False) -> str:
    """Before anything is changed. C(curable) by a change of the driver, which nobody allowed."""
    text = f"Nothing was changed. What is there is not what {node.pin.flavour} {node.pin.version} needs:"
    text += bullets(reason.text for reason in reasons)
    return text + ASK if curable else text


def errors(result: Result) -> tuple[str, ...]:
    """The lines that name the cause."""
    lines = [line.strip() for line in (result.stdout + "\n" + result.stderr).splitlines() if line.strip()]
    return tuple(dict.fromkeys(line for line in lines if _ERROR.fullmatch(line))) or tuple(lines[-LAST_LINES:])


def way_back(targets: Iterable[Target]) -> str:
    """The command that brings the old versions back."""
    arguments = [f"{target.name}={target.old}" for target in targets if target.old is not None]
    return shlex.join(("apt-get", "--allow-change-held-packages", "--allow-downgrades", "install", *arguments))


def broken_off(node: Node, targets: Sequence[Target], result: Result) -> str:
    """After apt-get failed half-way; the node as it is now."""
    unfinished = [one for one in node.seen.packages or () if one.installed and not one.finished]
    broken = [f"{one.status} {one.name} {one.version}" for one in unfinished]
    versions = ", ".join(f"{one} ({len(names)} packages)" for one, names in sorted(node.versions.items(), key=str))
    coming = node.seen.boot.driver_next
    boots = f"{node.seen.boot.next_kernel} would load nvidia.ko {coming.version}" if coming else "not known"
    return (
        f"apt-get install returned {result.rc}:{bullets(errors(result))}\n"
        f"State: the driver is {versions or 'not installed'}; interrupted: {', '.join(broken) or 'no package'}; "
        f"next boot: {boots}; loaded: {node.seen.loaded or 'none'}.\n"
        "Do not reboot. Free disk space or mend the network, whichever the lines above name; then dpkg --configure -a "
        f"and apt-get -f install, and run this again. The way back: {way_back(targets)}"
    )
