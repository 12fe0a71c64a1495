# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Caps the clock of the GPU, or takes the cap away, and believes what nvidia-smi says, not how it exits.

nvidia-smi exits 0 on a GPU whose clocks cannot be set. So a cap is in force only when it says which clocks it set.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys

DONE, FAILED, HOPELESS = 0, 1, 3
"""HOPELESS: trying again would not help, and systemd does not."""
TOLERANCE_MHZ = 50

SET = re.compile(r'GPU clocks set to "\(gpuClkMin (?P<min>[0-9]+), gpuClkMax (?P<max>[0-9]+)\)"')
REFUSED = re.compile(r"not supported|does not have permission", re.IGNORECASE)


def ask(arguments: list[str], seconds: float) -> str:
    """All that nvidia-smi said. That it is missing or hangs is said in the same way."""
    try:
        ran = subprocess.run(
            ["nvidia-smi", "-i", "0", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | {"LC_ALL": "C"},
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"nvidia-smi said nothing for {seconds:g} s and was stopped"
    except OSError as error:
        return f"nvidia-smi cannot be run: {error}"
    said = ran.stdout.decode("ascii", "backslashreplace").strip()
    return said or f"nvidia-smi said nothing and exited {ran.returncode}"


def lock(mhz: int, seconds: float) -> int:
    """Set the cap. The driver may round it, a little down as a rule."""
    said = ask(["-lgc", f"0,{mhz}"], seconds)
    print(said)
    found = SET.search(said)
    if REFUSED.search(said):
        print(f"Clock cap: asked for at most {mhz} MHz, refused. This GPU, or this user, cannot set clocks.")
        return HOPELESS
    if found is None:
        print(f"Clock cap: asked for at most {mhz} MHz, but nvidia-smi does not say which clocks it set.")
        return FAILED
    highest = int(found["max"])
    print(f"Clock cap: asked for at most {mhz} MHz, set to {found['min']} to {highest} MHz.")
    if highest > mhz + TOLERANCE_MHZ:
        print(f"Clock cap: that is more than {TOLERANCE_MHZ} MHz above, and no cap of {mhz} MHz.")
        return FAILED
    return DONE


def release(seconds: float) -> int:
    """Take the cap away."""
    said = ask(["-rgc"], seconds)
    print(said)
    if "All done" in said and not REFUSED.search(said):
        return DONE
    print("Clock cap: expected nvidia-smi to say that it took the cap away, and it does not. A reboot does.")
    return FAILED


def main() -> int:
    parser = argparse.ArgumentParser(description="cap on the clock of the GPU")
    parser.add_argument("--seconds", type=float, default=30, help="how long nvidia-smi may take")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("lock").add_argument("mhz", type=int)
    verbs.add_parser("release")
    given = parser.parse_args()
    return lock(given.mhz, given.seconds) if given.verb == "lock" else release(given.seconds)


if __name__ == "__main__":
    sys.exit(main())
