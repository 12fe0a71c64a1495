# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps one rank of a serving group: python3 -I FOLDER rank.json

vLLM is a child of this program and writes to the same journal. One run of it on every rank is one life of the group:
whatever ends a rank ends all of them, and systemd starts the next life. Exit codes: 0 ended as told, 1 the group or
this rank failed, 2 the settings cannot be used.
"""

from __future__ import annotations

import sys
from pathlib import Path

if not __package__:  # run as a folder: Python put the folder itself on the path, the package is one above
    sys.path[0:1] = []
    sys.path.append(str(Path(__file__).resolve().parent.parent))

from vllm_rank.config import ConfigError, read
from vllm_rank.head import Head
from vllm_rank.keeper import say
from vllm_rank.worker import Worker


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        say(f"seen {len(arguments)} arguments, expected one: the path of rank.json")
        return 2
    try:
        config = read(Path(arguments[0]))
    except ConfigError as error:
        say(str(error))
        return 2
    return (Head(config) if config.rank == 0 else Worker(config)).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
