#!/usr/bin/python

# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: checkpoint_info
short_description: Tells which checkpoint a folder holds, and whether every byte of it is right
version_added: 0.1.0
description:
  - Reads the index, the header of every safetensors file, the sizes, what the hub's tools wrote down at the download,
    and the digests that were measured before. Judges them against the checkpoint that is wanted, and names lookalikes.
  - Digests are kept by path, size, time of change and inode, so that only the first run reads large files through.
    Files of up to 16 MiB are read every time.
  - A file is held against O(manifest), else against the manifest that the role checkpoint saved in the folder. What
    the hub said when the file was downloaded counts, too.
  - Needs nothing but Python on the node. What is not there is a verdict, never an error.
author:
  - The switchless.spark founders (@switchless)
extends_documentation_fragment:
  - switchless.spark.attributes
  - switchless.spark.attributes.info_module
options:
  path:
    description: The checkpoint's folder.
    type: path
    required: true
  hash:
    description:
      - V(cached) takes the digest of a large file only from where it was kept, so it takes seconds.
      - V(missing) also reads the files that have none there, and keeps theirs. It takes minutes for a large checkpoint.
        In check mode nothing is kept.
      - V(all) reads all files.
    type: str
    choices: [cached, missing, all]
    default: cached
  identity:
    description: The checkpoint that is wanted. What is left out is not asked.
    type: dict
    suboptions:
      repository:
        description: Its name on the hub, to tell it from lookalikes.
        type: str
      revision:
        description: The commit, or how it begins.
        type: str
      tensors:
        description: Number of tensors in the index.
        type: int
      mtp_tensors:
        description: How many of them begin with C(mtp.), which is the draft head.
        type: int
      shards:
        description: Number of files with weights.
        type: int
      total_bytes:
        description: Size of the weights in bytes, as the index says, the tensors have or the files have.
        type: int
      total_gb:
        description: The same in GB (10^9 bytes), rounded to one decimal, where no better figure is known.
        type: float
      index_sha256:
        description: SHA-256 of C(model.safetensors.index.json), which no lookalike shares.
        type: str
      config_sha256:
        description: SHA-256 of C(config.json).
        type: str
  manifest:
    description: The files, as RV(checkpoint.manifest) of another node has them.
    type: dict
  cache:
    description: The file in which digests are kept.
    type: path
    default: /var/lib/switchless/checkpoint/verified.json
seealso:
  - module: switchless.spark.checkpoint_fetch
"""

EXAMPLES = r"""
- name: Look at the checkpoint
  switchless.spark.checkpoint_info:
    path: /srv/models/DeepSeek-V4-Flash-0731
    identity:
      repository: deepseek-ai/DeepSeek-V4-Flash-0731
      revision: 7872f01b
      tensors: 72317
      mtp_tensors: 4705
      shards: 48
      total_gb: 166.9
  register: seen

- name: Stop on a lookalike before anything is started
  ansible.builtin.assert:
    that: seen.checkpoint.verdict not in ['wrong', 'corrupt', 'incomplete', 'absent']
    fail_msg: "{{ seen.checkpoint.reasons | map(attribute='text') | join('\n') }}"

- name: Read every byte again
  switchless.spark.checkpoint_info:
    path: /srv/models/DeepSeek-V4-Flash-0731
    hash: all
"""

RETURN = r"""
checkpoint:
  description: What was found. Unknown values are null.
  returned: success
  type: dict
  contains:
    schema:
      description: Version of this structure.
      type: int
      sample: 1
    path:
      description: The folder.
      type: str
      sample: /srv/models/DeepSeek-V4-Flash-0731
    verdict:
      description:
        - The worst of RV(checkpoint.reasons), V(ok) without one. Then every byte is what the reference says.
        - V(unverified), nothing speaks against it, but not all is known.
        - V(incomplete), files are missing or too short. V(corrupt), bytes or headers are wrong.
        - V(wrong), it is another checkpoint than the wanted one. V(absent), there is none.
      type: str
      sample: unverified
    reasons:
      description: Why it is not V(ok), the worst first.
      type: list
      elements: dict
      contains:
        code:
          description: Short name of the reason.
          type: str
          sample: sha256
        verdict:
          description: The verdict that it stands for.
          type: str
          sample: corrupt
        text:
          description: What was seen, and what was expected.
          type: str
        remedy:
          description: What to do.
          type: str
        files:
          description: The files that it is about.
          type: list
          elements: str
    recognised:
      description: The well-known checkpoint that this is. Null when it is none of them.
      type: dict
      contains:
        name:
          description: Its name.
          type: str
          sample: DeepSeek-V4-Flash-DSpark
        what:
          description: What it is.
          type: str
        evidence:
          description: What shows it.
          type: str
    repository:
      description: Its name on the hub, as the hub's cache has it.
      type: str
      sample: deepseek-ai/DeepSeek-V4-Flash-0731
    revision:
      description: The commit that all hints agree on, or that the manifest names.
      type: str
    model_type:
      description: What C(config.json) says.
      type: str
      sample: deepseek_v4
    index:
      description: What the index says, or the header of the only file.
      type: dict
      contains:
        tensors:
          description: Number of tensors.
          type: int
          sample: 72317
        mtp_tensors:
          description: How many of them belong to the draft head.
          type: int
          sample: 4705
        shards:
          description: Number of files with weights.
          type: int
          sample: 48
        total_size:
          description: Size of all tensors in bytes, as the index claims.
          type: int
    sizes:
      description: The size of the weights.
      type: dict
      contains:
        total_size:
          description: What the index claims, in bytes.
          type: int
        data_bytes:
          description: What the headers say, in bytes.
          type: int
        weight_bytes:
          description: What the files have, in bytes.
          type: int
    files:
      description: Every file of the checkpoint, by name.
      type: list
      elements: dict
      contains:
        name:
          description: Its path in the folder.
          type: str
          sample: model-00001-of-00048.safetensors
        size:
          description: Its size in bytes.
          type: int
        sha256:
          description: Its digest, if it was measured since it changed.
          type: str
    half:
      description: Files that a download or a transfer left unfinished.
      type: list
      elements: str
    half_bytes:
      description: Size of those of the role checkpoint, which it goes on with.
      type: int
    manifest:
      description:
        - The files that the checkpoint should have, or, without a reference, has. Null until all were measured.
      type: dict
      contains:
        schema:
          description: Version of this structure.
          type: int
        revision:
          description: The commit of the hub.
          type: str
        files:
          description: The files.
          type: list
          elements: dict
          contains:
            name:
              description: Its path in the folder.
              type: str
            size:
              description: Its size in bytes.
              type: int
            sha256:
              description: Its digest.
              type: str
    manifest_origin:
      description: Where the manifest is from, V(given), V(saved) or V(measured).
      type: str
      sample: saved
    manifest_digest:
      description: One digest over the manifest. It is the same on two nodes whose manifests have the same files.
      type: str
    free_bytes:
      description: What can still be written there, in bytes.
      type: int
"""

from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.cache import (
    Cache,
    dump_cache,
    parse_cache,
    remember,
)
from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.files import read_bytes
from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.judge import Wanted, judge, sizes, verdict
from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.known import recognise
from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.look import Seen, look
from ansible_collections.switchless.spark.plugins.module_utils._checkpoint.manifest import (
    Manifest,
    ManifestError,
    parse_manifest,
)

SCHEMA = 1
IDENTITY = {
    "repository": {"type": "str"},
    "revision": {"type": "str"},
    "tensors": {"type": "int"},
    "mtp_tensors": {"type": "int"},
    "shards": {"type": "int"},
    "total_bytes": {"type": "int"},
    "total_gb": {"type": "float"},
    "index_sha256": {"type": "str"},
    "config_sha256": {"type": "str"},
}


def result(seen: Seen, wanted: Wanted, given: Manifest | None) -> dict[str, object]:
    reasons = judge(seen, wanted, given)
    manifest, origin = next(
        ((item, name) for item, name in ((given, "given"), (seen.saved, "saved"), (seen.manifest, "measured")) if item),
        (None, None),
    )
    revision = seen.revision or (manifest.revision if manifest else None)
    known = recognise(seen.repository, revision, seen.readme)
    model_type = seen.config.get("model_type")
    return {
        "schema": SCHEMA,
        "path": seen.path,
        "verdict": verdict(reasons),
        "reasons": [reason.as_dict() for reason in reasons],
        "recognised": {"name": known[0].name, "what": known[0].what, "evidence": known[1]} if known else None,
        "repository": seen.repository,
        "revision": revision,
        "model_type": model_type if isinstance(model_type, str) else None,
        "index": seen.index.as_dict() if seen.index else None,
        "sizes": sizes(seen),
        "files": [{"name": file.name, "size": file.size, "sha256": file.sha256} for file in seen.files.values()],
        "half": list(seen.half),
        "half_bytes": seen.half_bytes,
        "manifest": manifest.as_dict() if manifest else None,
        "manifest_origin": origin,
        "manifest_digest": manifest.digest if manifest else None,
        "free_bytes": seen.free_bytes,
    }


def keep(module: Any, path: Path, cache: Cache) -> None:
    """Keep the digests; a node on which that cannot be done measures again."""
    temporary = Path(module.tmpdir) / path.name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(dump_cache(cache))
    except OSError as error:
        module.warn(f"{path} cannot be written, so the next run reads all files again: {error}")
        return
    module.atomic_move(str(temporary), str(path))


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "hash": {"type": "str", "choices": ["cached", "missing", "all"], "default": "cached"},
            "identity": {"type": "dict", "options": IDENTITY},
            "manifest": {"type": "dict"},
            "cache": {"type": "path", "default": "/var/lib/switchless/checkpoint/verified.json"},
        },
        supports_check_mode=True,
    )
    params = module.params
    try:
        given = parse_manifest(params["manifest"]) if params["manifest"] else None
    except ManifestError as error:
        module.fail_json(msg=f"manifest: {error}")
    store = Path(params["cache"])
    cache = parse_cache(read_bytes(store) or b"")
    used = Cache({}) if params["hash"] == "all" else cache
    seen, measured = look(params["path"], used, measure=params["hash"] != "cached")
    if measured and not module.check_mode:
        keep(module, store, remember(cache, measured))
    wanted = Wanted(**(params["identity"] or {}))
    module.exit_json(changed=False, checkpoint=result(seen, wanted, given))


if __name__ == "__main__":
    main()
