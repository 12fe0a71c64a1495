#!/usr/bin/python

# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cuda_info
short_description: Tells which CUDA toolkits a node has and where /usr/local/cuda leads
version_added: 0.1.0
description:
  - Reads which toolkits lie side by side, what each C(nvcc) says of its version, where C(/usr/local/cuda) leads and
    what keeps it there, and judges it against what is wanted. Changes nothing.
  - Any package of CUDA can move the link while it is in auto mode. Only C(update-alternatives --set) keeps it.
  - What C(nvidia-smi) calls CUDA is the newest version that the driver has in itself, and no toolkit.
  - What is not there is data, never an error. What cannot be read makes the verdict V(unknown), never V(ok).
author:
  - The switchless.spark founders (@switchless)
extends_documentation_fragment:
  - switchless.spark.attributes
  - switchless.spark.attributes.info_module
options:
  default:
    description:
      - The toolkit to which C(/usr/local/cuda) should lead.
    type: str
    default: "13.0"
  toolkits:
    description:
      - The toolkits that should be there.
    type: list
    elements: str
    default: ["13.0", "13.3"]
  serving:
    description:
      - The toolkit that the model server uses, by its path.
    type: str
    default: "13.3"
  compat:
    description:
      - Whether the newer libraries of the driver, C(cuda-compat), should lie beside the toolkit in O(serving).
    type: bool
    default: false
  packages:
    description:
      - More packages that should be installed, as V(name) or V(name=version).
    type: list
    elements: str
    default: []
  root:
    description:
      - Folder below which all files are read, for a copy of a node's files.
      - The commands, among them each C(nvcc), ask the node all the same.
    type: path
    default: /
seealso:
  - module: switchless.spark.apt_simulate_info
  - module: switchless.spark.nvidia_driver_info
"""

EXAMPLES = r"""
- name: Look at the toolkits
  switchless.spark.cuda_info:
  register: seen

- name: Stop unless both are there and the link leads to 13.0
  ansible.builtin.assert:
    that: seen.cuda.verdict == 'ok'
    fail_msg: "{{ seen.cuda.reasons | map(attribute='text') | join('\n') }}"
"""

RETURN = r"""
cuda:
  description: What was found. Unknown values are null.
  returned: success
  type: dict
  contains:
    schema:
      description: Version of this structure.
      type: int
      sample: 1
    verdict:
      description:
        - The verdict of the worst reason.
        - V(config), something else than is wanted. V(unknown), something that matters cannot be read. V(ok), as wanted.
      type: str
      sample: ok
    reasons:
      description: Why, the worst first. Those with the verdict V(ok) are notes.
      type: list
      elements: dict
      contains:
        code:
          description: Short name of the reason.
          type: str
          sample: link_moved
        verdict:
          description: What this reason alone makes of the verdict.
          type: str
          sample: config
        seen:
          description: What was seen.
          type: str
        expected:
          description: What was expected. Empty if it is what was seen.
          type: str
        remedy:
          description: What to do. Empty if nothing.
          type: str
        evidence:
          description: Lines that show it.
          type: list
          elements: str
        text:
          description: All of it but the evidence, in one line.
          type: str
    toolkits:
      description: Folders C(/usr/local/cuda-X.Y), the oldest version first.
      type: list
      elements: dict
      contains:
        version:
          description: The version in its name.
          type: str
          sample: "13.3"
        path:
          description: The folder.
          type: str
          sample: /usr/local/cuda-13.3
        nvcc:
          description: What its C(nvcc) says. Null when there is none, or when it does not say.
          type: str
          sample: 13.3.73
        compat:
          description: Whether C(cuda-compat) is in it.
          type: bool
    link:
      description:
        - What C(/usr/local/cuda) is, what it names, and where it leads in the end.
        - The kind is V(alternative), V(other_link) for a link that somebody made by hand, V(no_link) for a folder or a
          file, or V(absent).
      type: dict
      sample: {kind: alternative, target: /etc/alternatives/cuda, leads_to: /usr/local/cuda-13.0}
    alternatives:
      description: What C(update-alternatives --display cuda) shows. Null when there are none.
      type: dict
      sample:
        auto: false
        best: /usr/local/cuda-13.3
        current: /usr/local/cuda-13.0
        priorities: {/usr/local/cuda-13.0: 130, /usr/local/cuda-13.3: 133}
    serving_home:
      description: Where the toolkit in O(serving) lies or would lie.
      type: str
      sample: /usr/local/cuda-13.3
    lacking:
      description: The packages to install so that all is there that is wanted. None of them brings a driver.
      type: list
      elements: str
      sample: [cuda-toolkit-13-3]
    smi:
      description:
        - What C(nvidia-smi) shows, and what its number of CUDA means.
        - It is asked only when the driver's module is loaded, since it would load it.
      type: dict
      contains:
        driver:
          description: The driver's version.
          type: str
          sample: 580.173.02
        cuda:
          description: The newest CUDA that this driver has in itself.
          type: str
          sample: "13.0"
        meaning:
          description: Why it goes on to say so.
          type: str
    remembered:
      description:
        - What the role cuda wrote down, the packages that it brought, those of them that are still installed, the link
          that it set and what that was before.
      type: dict
      sample:
        packages: [cuda-toolkit-13-3]
        installed: [cuda-toolkit-13-3]
        link: {set: /usr/local/cuda-13.0, auto: true, current: /usr/local/cuda-13.0}
"""

import re

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.switchless.spark.plugins.module_utils._cuda.judge import Wanted, judge
from ansible_collections.switchless.spark.plugins.module_utils._cuda.look import look
from ansible_collections.switchless.spark.plugins.module_utils._cx7.sysfs import Tree
from ansible_collections.switchless.spark.plugins.module_utils._node.runner import ModuleRunner


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "default": {"type": "str", "default": "13.0"},
            "toolkits": {"type": "list", "elements": "str", "default": ["13.0", "13.3"]},
            "serving": {"type": "str", "default": "13.3"},
            "compat": {"type": "bool", "default": False},
            "packages": {"type": "list", "elements": "str", "default": []},
            "root": {"type": "path", "default": "/"},
        },
        supports_check_mode=True,
    )
    params = module.params
    wanted = Wanted(
        default=params["default"],
        toolkits=tuple(params["toolkits"]),
        serving=params["serving"],
        compat=params["compat"],
        packages=tuple(params["packages"]),
    )
    wrong = [version for version in wanted.versions if not re.fullmatch(r"\d+\.\d+", version)]
    if wrong:
        module.fail_json(msg=f"{', '.join(map(repr, wrong))} is no version of a toolkit; expected: one such as '13.0'")
    module.exit_json(changed=False, cuda=judge(look(Tree(params["root"]), ModuleRunner(module)), wanted))


if __name__ == "__main__":
    main()
