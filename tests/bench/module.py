# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one run of cx7_info takes on a node, beside one of ping: python tests/bench/module.py [INVENTORY]

Both are started there in turn as Ansible starts them, a file under Python. ping does nothing, so that the difference is
what cx7_info itself takes. Prints, asserts nothing. The nodes must be up; it goes to the first. Aim: 0.3 s.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
MODULES = {"ping": "", "switchless.spark.cx7_info": "settle_seconds=0"}
TIMED = r"""
import glob, os, statistics, subprocess, sys, time
folder = os.path.expanduser(f"~{os.environ['SUDO_USER']}/.ansible/tmp/*")
found = {n: max(glob.glob(f"{folder}/AnsiballZ_{n}.py"), key=os.path.getmtime) for n in ("ping", "cx7_info")}
took = {n: [] for n in found}
for _ in range(11):
    for name, file in found.items():
        start = time.perf_counter()
        subprocess.run([sys.executable, file], stdout=subprocess.DEVNULL, check=True)
        took[name].append(time.perf_counter() - start)
for name, times in took.items():
    print(f"{name:<24} median {statistics.median(times):.3f} s, best {min(times):.3f} s")
own = [b - a for a, b in zip(took["ping"], took["cx7_info"])]
print(f"cx7_info beyond ping     median {statistics.median(own):.3f} s, of the aim of 0.3 s")
"""


def ansible(*argv: str, keep: bool = False) -> str:
    """Run an ad-hoc module on the first node; ends with its words if it fails."""
    inventory = sys.argv[1] if len(sys.argv) > 1 else "inventories/lab"
    env = os.environ | ({"ANSIBLE_KEEP_REMOTE_FILES": "1"} if keep else {}) | {"ANSIBLE_NOCOLOR": "1"}
    words = ["ansible", "-i", inventory, "sparks[0]", "-b", *argv]
    done = subprocess.run(words, cwd=CHECKOUT, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return done.stdout


def main() -> None:
    """Leave both modules on the node, and time them there."""
    for module, options in MODULES.items():
        ansible("-m", module, *(["-a", options] if options else []), keep=True)
    print(ansible("-m", "ansible.builtin.command", "-a", json.dumps({"argv": ["python3", "-c", TIMED]})))


if __name__ == "__main__":
    main()
