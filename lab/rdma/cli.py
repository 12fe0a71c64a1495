# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`python -m lab.rdma build` makes the image; `up` runs the guests until Ctrl-C, for work on the tests."""

from __future__ import annotations

import signal
import sys

from lab import host
from lab.common import LabError, say
from lab.rdma import image, pair

USAGE = "usage: python -m lab.rdma build | up"


def build() -> None:
    image.check()
    if image.find() is None:
        host.become_root("lab.rdma")
        image.build()


def up() -> None:
    image.check()
    found = image.find()
    if found is None:
        raise LabError("there is no image yet: python -m lab.rdma build")
    with pair.running(found) as guests:
        say(f"ssh -F {guests.ssh_config} {' | '.join(pair.NAMES)}; inventory: {guests.inventory}; Ctrl-C ends it")
        signal.pause()


def main() -> int:
    verb = {"build": build, "up": up}.get(sys.argv[1] if len(sys.argv) == 2 else "")
    if verb is None:
        print(USAGE, file=sys.stderr)
        return 2
    try:
        verb()
    except LabError as error:
        print(f"lab.rdma: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0
