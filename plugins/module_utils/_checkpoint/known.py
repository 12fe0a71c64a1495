# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""Checkpoints that are taken for one another: what they are, and how to tell them apart. A table that grows.

Names, counts and dates are those of the second article; revisions are those that people pin.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Known:
    """C(opening) is a sentence that only this one's README opens with; C(revisions) may be the start of a commit."""

    name: str
    what: str
    opening: str = ""
    revisions: tuple[str, ...] = ()
    tensors: int | None = None
    mtp_tensors: int | None = None

    def has_revision(self, revision: str) -> bool:
        return any(revision.startswith(own) or own.startswith(revision) for own in self.revisions)


FLASH_0731 = Known(
    "DeepSeek-V4-Flash-0731",
    "dated 2026-08-01; it ships the draft head itself",
    revisions=("7872f01b1d1fe23eabc4c98b48bffcef5a386062", "9e165c30"),
    tensors=72317,
    mtp_tensors=4705,
)
TABLE = (
    FLASH_0731,
    Known("DeepSeek-V4-Flash", "an earlier preview", opening="We present a preview version"),
    Known("DeepSeek-V4-Flash-DSpark", "dated 2026-07-04, four weeks older than 0731"),
    Known("DeepSeek-V4-Flash-Vision-Exp", "an experiment with images, the default of a third-party compose file"),
)


def recognise(repository: str | None, revision: str | None, readme: str) -> tuple[Known, str] | None:
    """The known checkpoint that this is, and by what. The commit is worth more than a text, a text than a folder."""
    for known in TABLE:
        if revision is not None and known.has_revision(revision):
            return known, f"revision {revision}"
    for known in TABLE:
        if known.opening and known.opening in readme:
            return known, f'README.md says "{known.opening}"'
    name = (repository or "").rpartition("/")[2].lower()
    for known in TABLE:
        if known.name.lower() == name:
            return known, f"the hub's folder is {repository}"
    return None


def meant(repository: str | None, revision: str | None, tensors: int | None, mtp: int | None) -> Known | None:
    """The known checkpoint that somebody asks for."""
    name = (repository or "").rpartition("/")[2].lower()
    for known in TABLE:
        if known.name.lower() == name or (revision and known.has_revision(revision)):
            return known
    for known in TABLE:
        if tensors is not None and (known.tensors, known.mtp_tensors) == (tensors, mtp):
            return known
    return None
