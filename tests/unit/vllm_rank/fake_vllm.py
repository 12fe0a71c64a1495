# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for `vllm serve`: fake_vllm.py FOLDER RANK PORT. Files in FOLDER change what it does.

At its start: `deaf` (SIGTERM is ignored), `grandchild` (a deaf process in a session of its own), `mute` (no API),
`crash` (ends at once). At any time, followed by the rank: `exit0`; without: `broken` (500), `hang` (nothing is
answered but /health and /metrics, and no counter moves).
"""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

FOLDER, RANK, PORT = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])


def on(name: str) -> bool:
    return (FOLDER / name).exists()


def main() -> None:
    if on("deaf"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if on("crash"):
        sys.exit(3)
    if on("grandchild"):
        deaf = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        deaf += "open({!r}, 'w').close()\ntime.sleep(600)"
        marker = str(FOLDER / f"grandchild.{RANK}")
        subprocess.Popen([sys.executable, "-I", "-c", deaf.format(marker)], start_new_session=True)
    if PORT and not on("mute"):
        threading.Thread(target=importlib.import_module("fake_api").serve, args=(PORT,), daemon=True).start()
    (FOLDER / f"pid.{RANK}").write_text(str(os.getpid()))
    while not on(f"exit0.{RANK}"):
        time.sleep(0.05)
    os._exit(0)


main()
