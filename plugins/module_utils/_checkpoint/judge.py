# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""What a folder holds, and whether it is what was asked for. C(ok): every byte is what the reference says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from .index import INDEX, WEIGHTS, disagreements
from .known import meant, recognise
from .look import Seen
from .manifest import SAVED, Manifest

OK, UNVERIFIED, INCOMPLETE, CORRUPT, WRONG, ABSENT = "ok", "unverified", "incomplete", "corrupt", "wrong", "absent"
SEVERITY = (OK, UNVERIFIED, INCOMPLETE, CORRUPT, WRONG, ABSENT)

FETCH = "Run the role checkpoint: it takes what is missing from the node that has it"
REPAIR = "Run the role checkpoint: it replaces the file by a good one from the next node"
CONFIG = "config.json"
SHOWN = 4


@dataclass(frozen=True, slots=True)
class Wanted:
    """The checkpoint that is asked for. What is None is not asked."""

    repository: str | None = None
    revision: str | None = None
    tensors: int | None = None
    mtp_tensors: int | None = None
    shards: int | None = None
    total_bytes: int | None = None
    total_gb: float | None = None
    index_sha256: str | None = None
    config_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    """Why the verdict is not C(ok). C(files) are those that it is about."""

    code: str
    verdict: str
    text: str
    remedy: str
    files: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"files": list(self.files)}


def verdict(reasons: tuple[Reason, ...]) -> str:
    """The worst of them."""
    return max((reason.verdict for reason in reasons), key=SEVERITY.index, default=OK)


def judge(seen: Seen, wanted: Wanted, given: Manifest | None) -> tuple[Reason, ...]:
    """All reasons, the worst first. Files are held against the manifest that was given, else against the saved one."""
    if not seen.exists or not any(name.endswith(WEIGHTS) or name == INDEX for name in seen.files):
        what = "has no weights and no index" if seen.exists else "is not there"
        return (Reason("absent", ABSENT, f"{seen.path} {what}", FETCH),)
    reference = given or seen.saved
    found = [
        *_identity(seen, wanted, reference),
        *_index(seen, reference),
        *_headers(seen),
        *_bytes(seen, reference),
        *_hub(seen, reference),
        *_unknown(seen, reference),
    ]
    return tuple(sorted(found, key=lambda reason: -SEVERITY.index(reason.verdict)))


def listed(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _identity(seen: Seen, wanted: Wanted, reference: Manifest | None) -> Iterator[Reason]:
    revision = seen.revision or (reference.revision if reference else None)
    asked = meant(wanted.repository, wanted.revision, wanted.tensors, wanted.mtp_tensors)
    what = asked.name if asked else wanted.repository or "the checkpoint of the recipe"
    pinned = f" at revision {wanted.revision}" if wanted.revision else ""
    remedy = f"Get {what}{pinned} into another folder, and set checkpoint_path to it"
    known = recognise(seen.repository, revision, seen.readme)
    if known and asked and known[0] is not asked:
        text = f"this is {known[0].name} ({known[0].what}), not {asked.name}: {known[1]}"
        yield Reason("lookalike", WRONG, text, remedy)
    if len(seen.revisions) > 1:
        text = f"the files come from {len(seen.revisions)} revisions: {listed(list(seen.revisions))}"
        yield Reason("mixed_revisions", WRONG if wanted.revision else UNVERIFIED, text, remedy)
    elif wanted.revision and revision is None:
        text = f"the files do not say which revision they are, expected {wanted.revision}"
        yield Reason("revision_unknown", UNVERIFIED, text, "Download with hf download, which writes it down")
    elif wanted.revision and revision and not revision.startswith(wanted.revision):
        text = f"the revision is {revision}, expected {wanted.revision}"
        yield Reason("revision", WRONG, text, remedy)
    yield from _digests(seen, wanted, remedy)
    if seen.index is None:
        return
    for name in ("tensors", "mtp_tensors", "shards"):
        expected, is_ = getattr(wanted, name), seen.index.as_dict()[name]
        if expected is not None and expected != is_:
            label = {"tensors": "tensors", "mtp_tensors": "mtp.* tensors", "shards": "shards"}[name]
            yield Reason(name, WRONG, f"the index has {is_} {label}, expected {expected}", remedy)
    if size := _wrong_size(seen, wanted):
        yield Reason("total_bytes", WRONG, size, remedy)


def _digests(seen: Seen, wanted: Wanted, remedy: str) -> Iterator[Reason]:
    """The two small files that a lookalike cannot share."""
    for code, name, expected in (
        ("index_sha256", INDEX, wanted.index_sha256),
        ("config_sha256", CONFIG, wanted.config_sha256),
    ):
        file = seen.files.get(name)
        if expected and file is not None and file.sha256 not in (None, expected):
            text = f"{name} has the SHA-256 {file.sha256}, expected {expected}"
            yield Reason(code, WRONG, text, remedy, (name,))


def sizes(seen: Seen) -> dict[str, int | None]:
    """The three figures that people call the size of a checkpoint."""
    shards = [file.size for name, file in seen.files.items() if name.endswith(WEIGHTS)]
    return {
        "total_size": seen.index.total_size if seen.index else None,
        "data_bytes": None if seen.bad else sum(header.data_bytes for header in seen.headers.values()),
        "weight_bytes": sum(shards),
    }


def _wrong_size(seen: Seen, wanted: Wanted) -> str | None:
    figures = {size for size in sizes(seen).values() if size is not None}
    shown = ", ".join(f"{name} {size}" for name, size in sizes(seen).items() if size is not None)
    if wanted.total_bytes is not None and wanted.total_bytes not in figures:
        return f"the weights have {shown} bytes, expected {wanted.total_bytes}"
    if wanted.total_gb is not None and wanted.total_gb not in {round(size / 1e9, 1) for size in figures}:
        return f"the weights have {shown} bytes, expected {wanted.total_gb} GB"
    return None


def _index(seen: Seen, reference: Manifest | None) -> Iterator[Reason]:
    if seen.index is None:
        yield Reason("index", CORRUPT if INDEX in seen.files else INCOMPLETE, f"{INDEX}: {seen.index_problem}", REPAIR)
    shards = set(seen.index.files) if seen.index else set()
    wanted = shards | {entry.name for entry in reference.files} if reference else shards
    if missing := sorted(wanted - set(seen.files)):
        half = f"; half files: {listed(list(seen.half))}" if seen.half else ""
        text = f"{len(missing)} of {len(wanted)} files are missing: {listed(missing)}{half}"
        yield Reason("missing", INCOMPLETE, text, FETCH, tuple(missing))
    extra = sorted(name for name in seen.files if name.endswith(WEIGHTS) and name not in wanted)
    if extra and (seen.index or reference):
        text = f"{len(extra)} files of weights belong to nothing: {listed(extra)}"
        yield Reason("extra", UNVERIFIED, text, "Remove them: a loader may take them", tuple(extra))
    if seen.index and (apart := list(disagreements(seen.index, seen.headers))):
        yield Reason("index_disagrees", CORRUPT, f"index and files do not agree: {'; '.join(apart[:SHOWN])}", REPAIR)


def _headers(seen: Seen) -> Iterator[Reason]:
    for name, error in seen.bad.items():
        code, kind = ("truncated", INCOMPLETE) if error.short else ("header", CORRUPT)
        yield Reason(code, kind, f"{name}: {error}", REPAIR, (name,))


def _bytes(seen: Seen, reference: Manifest | None) -> Iterator[Reason]:
    for entry in reference.files if reference else ():
        file = seen.files.get(entry.name)
        if file is None:
            continue
        if file.size != entry.size:
            kind = INCOMPLETE if file.size < entry.size else CORRUPT
            text = f"{entry.name} has {file.size} bytes, expected {entry.size}"
            yield Reason("size", kind, text, REPAIR, (entry.name,))
        elif file.sha256 not in (None, entry.sha256):
            text = f"{entry.name} has SHA-256 {file.sha256}, expected {entry.sha256}"
            yield Reason("sha256", CORRUPT, text, REPAIR, (entry.name,))


def _hub(seen: Seen, reference: Manifest | None) -> Iterator[Reason]:
    """What the hub said when the file came: the only reference that is not of our making.

    People edit small files, a chat template for example. Where the manifest agrees with them it is no news.
    """
    settled = {(entry.name, entry.sha256) for entry in reference.files} if reference else set()
    for name, tag in seen.tags.items():
        digest = seen.files[name].sha256
        for is_, expected, what in ((digest, tag.sha256, "SHA-256"), (seen.git.get(name), tag.git_sha1, "git SHA-1")):
            if not is_ or not expected or is_ == expected:
                continue
            text = f"{name} has {what} {is_}, the hub said {expected}"
            if name.endswith(WEIGHTS):
                yield Reason("hub", CORRUPT, text, f"Download it again on the source: hf download … {name}", (name,))
            elif (name, digest) not in settled:
                remedy = "It was edited: see that this was meant, all nodes get it as it is on the source"
                yield Reason("edited", UNVERIFIED, text, remedy, (name,))


def _unknown(seen: Seen, reference: Manifest | None) -> Iterator[Reason]:
    unread = sorted(file.name for file in seen.files.values() if file.sha256 is None)
    if unread:
        text = f"{len(unread)} of {len(seen.files)} files were not read since they changed: {listed(unread)}"
        yield Reason("not_measured", UNVERIFIED, text, "Run the role checkpoint, or hash: missing", tuple(unread))
    if seen.saved_problem and reference is None:
        text = f"{SAVED} cannot be used: {seen.saved_problem}"
        yield Reason("saved", UNVERIFIED, text, "Remove it: the role makes a new one")
    if reference:
        known, needed = {entry.name for entry in reference.files}, set(seen.index.files if seen.index else ())
    else:
        known, needed = {name for name, tag in seen.tags.items() if tag.sha256 or tag.git_sha1}, set(seen.files)
    if bare := sorted((needed & set(seen.files)) - known):
        text = f"nothing says what {len(bare)} of {len(seen.files)} files should be: {listed(bare)}"
        yield Reason(
            "no_reference", UNVERIFIED, text, "The role checkpoint makes a manifest of the source", tuple(bare)
        )
