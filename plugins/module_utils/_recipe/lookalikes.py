# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Names of checkpoints that look like the recipe's: in other people's .env files, and in the path to the model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from .model import Model

_COMMENT = re.compile(r"(?:^|\s)#")


def in_texts(model: Model, texts: Mapping[str, str]) -> Iterator[str]:
    """Lines that set a lookalike, by its full name. Comments set nothing; a name served to clients is no checkpoint."""
    for path, text in sorted(texts.items()):
        for number, line in enumerate(text.splitlines(), 1):
            bare = _COMMENT.split(line, maxsplit=1)[0]
            for name, what in model.lookalikes.items():
                if _full(name).search(bare):
                    yield (
                        f"{path}, line {number}, sets {name}, which is {what}: expected {model.repository}; "
                        "change the line, or give the file to nothing that starts this model"
                    )


def in_path(model: Model, path: str) -> Iterator[str]:
    """A folder that is named after a lookalike, also as the hub's cache names folders."""
    parts = {part.lower() for part in path.split("/")}
    own = model.repository.rpartition("/")[2].lower()
    for name, what in model.lookalikes.items():
        short = name.rpartition("/")[2].lower()
        if parts & ({_hub(name).lower(), short} - {own}):
            yield f"the model's path {path} is named after {name}, which is {what}: expected {model.repository}"


def _hub(name: str) -> str:
    return f"models--{name.replace('/', '--')}"


def _full(name: str) -> re.Pattern[str]:
    words = f"{re.escape(name)}|{re.escape(_hub(name))}"
    return re.compile(rf"(?<![\w.])(?<!\w-)(?:{words})(?![\w-]|\.\w)", re.IGNORECASE)
