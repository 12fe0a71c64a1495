# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run costs that has nothing to do: python tests/bench/noop.py [INVENTORY]. The nodes must be up and laid out.

Prints module runs per host, by module, and the time beside that of `ansible all -m ping` in the same run. Nothing is
asserted: the machine is shared. Aims: at most 12 module runs a host, nothing changed, at most 8 times the ping.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
ROUNDS = 3
MODULE = re.compile(r"Using module file .*/(\w+)\.py")
RECAP = re.compile(r"^(\S+)\s+: ok=\d+\s+changed=(\d+)", re.MULTILINE)


def run(*argv: str) -> tuple[float, str]:
    """Run a command in the checkout; gives seconds and output, and ends with its words if it fails."""
    start = time.monotonic()
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=CHECKOUT, stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"{' '.join(argv)} failed:\n{done.stdout[-3000:]}{done.stderr}")
    return time.monotonic() - start, done.stdout


def main() -> None:
    """Measure and print."""
    inventory = sys.argv[1] if len(sys.argv) > 1 else "inventories/lab"
    play = ("ansible-playbook", "-i", inventory, "site.yml", "--tags", "fabric")
    counted = run(*play, "-vvv")[1]
    changed = {host: int(count) for host, count in RECAP.findall(counted)}
    hosts = len(changed)
    modules = Counter(MODULE.findall(counted))
    on_nodes = {name: count / hosts for name, count in modules.items() if count >= hosts}
    print(f"hosts {hosts}, changed {sum(changed.values())}, module runs a host {sum(on_nodes.values()):.0f}")
    for name, count in sorted(on_nodes.items(), key=lambda item: -item[1]):
        print(f"  {count:4.1f}  {name}")
    pairs = [(run("ansible", "-i", inventory, "all", "-m", "ping")[0], run(*play)[0]) for attempt in range(ROUNDS)]
    pings, plays = zip(*pairs, strict=True)
    ratios = [play_time / ping_time for ping_time, play_time in pairs]
    for what, values in (("ping, s", pings), ("site.yml --tags fabric, s", plays), ("ratio", ratios)):
        print(f"{what:28} median {statistics.median(values):6.2f}  from {min(values):6.2f} to {max(values):6.2f}")


if __name__ == "__main__":
    main()
