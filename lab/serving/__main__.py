# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`python -m lab.serving lock`: fetch what requirements.in names and write requirements.lock."""

from __future__ import annotations

import sys

from lab import rootfs
from lab.common import LabError
from lab.serving import python, wheels


def main() -> int:
    if sys.argv[1:] != ["lock"]:
        print("usage: python -m lab.serving lock", file=sys.stderr)
        return 2
    try:
        pins = wheels.relock(python.find(rootfs.layers()).program)
    except LabError as error:
        print(f"lab.serving: {error}", file=sys.stderr)
        return 1
    print(f"{wheels.LOCK}: {len(pins)} wheels")
    return 0


sys.exit(main())
