#!/usr/bin/python

# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_build_info
short_description: Tells which vLLM a Python environment or an image has, and which fixes are in its code
version_added: 0.1.0
description:
  - Reads version, commit, kind of build and the packages beside it, and looks for known texts in the installed source
    files. Changes nothing.
  - vLLM is not imported, so no CUDA is started and no GPU memory is taken. A node that serves can be asked.
  - A fix that was picked onto an older release has no version number, so the code is asked.
  - An interpreter, an image or a vLLM that is not there is an answer, never an error.
author:
  - The switchless.spark founders (@switchless)
extends_documentation_fragment:
  - switchless.spark.attributes
  - switchless.spark.attributes.info_module
options:
  python:
    description:
      - The interpreter of the environment, for example C(/opt/vllm/bin/python).
      - With O(image), the one inside the image.
    type: str
    default: python3
  image:
    description:
      - An image to look into, by digest or ID. It is run once without network, and never fetched.
    type: str
  engine:
    description:
      - What runs the image.
    type: str
    choices: [docker, podman]
    default: docker
seealso:
  - plugin: switchless.spark.vllm_recipe
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Look at the installed vLLM
  switchless.spark.vllm_build_info:
    python: /opt/vllm/bin/python
  register: seen

- name: Require the fixes of the block zeroer
  ansible.builtin.assert:
    that:
      - seen.build.features.kv_zero_stride
      - seen.build.features.kv_zero_all_attention
      - seen.build.features.kv_zero_launch
    fail_msg: "vLLM {{ seen.build.version }} wipes blocks of other requests when three are prefilled at once"

- name: Look into an image
  switchless.spark.vllm_build_info:
    image: sha256:3f1c0e5b7d2a49688d1f0c6e9b4a7753e2d8c1b6a5f40392817263544536271a
  become: true
  register: inside
"""

RETURN = r"""
build:
  description: What was found. Unknown values are null.
  returned: success
  type: dict
  contains:
    schema:
      description: Version of this structure.
      type: int
      sample: 1
    installed:
      description: Whether vLLM is there with its files and its metadata.
      type: bool
    detail:
      description: Why it is not, or why there is no answer. Empty otherwise.
      type: str
      sample: no vLLM
    version:
      description: Its version, from the metadata.
      type: str
      sample: 0.27.1
    commit:
      description: The commit that it was built from, where it says so. A release does not.
      type: str
    path:
      description: Folder of the package.
      type: str
      sample: /opt/vllm/lib/python3.12/site-packages/vllm
    build:
      description: What it was built for, V(cuda), V(cpu) or V(rocm).
      type: str
      sample: cuda
    record_sha256:
      description:
        - SHA-256 over the hashes of its files as they were installed. Equal on nodes that installed the same wheel.
        - It does not see files that were changed afterwards, see RV(build.content_sha256). Null for an editable
          installation.
      type: str
    content_sha256:
      description:
        - SHA-256 over what the folder of the package has now, in the order of the paths. Each C(.py) file counts by
          path and bytes, each other file by path and size. C(__pycache__) does not count.
        - Equal on nodes with the same code, wherever it is installed. A file that was changed, added or removed after
          the installation changes it. Null when a file could not be read, which RV(build.unread) then names.
      type: str
    packages_sha256:
      description:
        - SHA-256 over the sorted lines C(name==version) of all distributions that the interpreter sees. Names are in
          lower case with C(-) for C(_) and C(.).
      type: str
    features:
      description:
        - What its code can do and which fixes it has, by name. Empty when it is not installed.
        - V(false) says that the known text is not in the code. A later release may have the same in another form.
      type: dict
      sample: {kv_zero_stride: true, nvfp4_ds_mla: false}
    torch:
      description: Version of PyTorch.
      type: str
      sample: 2.13.0
    torch_cuda:
      description: The CUDA that PyTorch was built for. Null for a CPU.
      type: str
      sample: "13.0"
    nccl:
      description:
        - Version of the package NCCL beside it. Another library may be loaded, see M(switchless.spark.transport_info).
      type: str
      sample: 2.30.7
    flashinfer:
      description: Version of FlashInfer.
      type: str
      sample: 0.6.16.post3
    transformers:
      description: Version of Transformers.
      type: str
    python:
      description: Version of the interpreter.
      type: str
      sample: 3.12.3
    unread:
      description: Files that could not be read, with the reason. The features in them count as missing.
      type: list
      elements: str
features:
  description: What each name stands for.
  returned: success
  type: dict
  sample:
    kv_zero_stride: a block's page and the distance to the next block are kept apart when it is zeroed (vllm#50276)
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.switchless.spark.plugins.module_utils._node.runner import ModuleRunner
from ansible_collections.switchless.spark.plugins.module_utils._recipe.build import ENGINES, ask
from ansible_collections.switchless.spark.plugins.module_utils._recipe.features import FEATURES

SCHEMA = 1


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "python": {"type": "str", "default": "python3"},
            "image": {"type": "str"},
            "engine": {"type": "str", "choices": list(ENGINES), "default": "docker"},
        },
        supports_check_mode=True,
    )
    params = module.params
    build = ask(ModuleRunner(module), params["python"], params["image"] or "", params["engine"])
    module.exit_json(
        changed=False,
        build={"schema": SCHEMA} | build.as_dict(),
        features={feature.name: feature.what for feature in FEATURES},
    )


if __name__ == "__main__":
    main()
