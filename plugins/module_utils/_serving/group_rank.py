# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Private to the collection: it can change at any time.
"""One rank of a group, out of what vllm_group_info returned on its node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .group_look import LIVE, unit_name
from .journal import number

EXITS: Mapping[int, str] = {
    200: "the working directory is missing",
    203: "the program cannot be executed",
    209: "its output cannot be opened",
    216: "the group of users does not exist",
    217: "the user does not exist",
    226: "the sandbox cannot be set up",
    233: "the folder below /run cannot be made",
    238: "the folder below /var/lib cannot be made",
    239: "the folder below /var/cache cannot be made",
    243: "the credentials cannot be set up",
}
"""Exit statuses with which systemd says that it could not start a program."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a group is as it is. A hard one cannot be."""

    host: str
    rank: int | None
    text: str
    remedy: str
    hard: bool = False

    def as_dict(self) -> dict[str, Any]:
        return {"host": self.host, "rank": self.rank, "text": self.text, "remedy": self.remedy}


@dataclass(frozen=True, slots=True)
class Rank:
    """C(state) is what its keeper says now, empty when it says nothing or only of the past; C(unsaid) is why."""

    host: str
    number: int | None
    answered: bool = False
    recipe: str = ""
    read_at: float | None = None
    unit: Mapping[str, Any] = field(default_factory=dict)
    configured: bool = True
    state: Mapping[str, Any] = field(default_factory=dict)
    unsaid: str = ""
    end: Mapping[str, Any] | None = None
    silence: str = ""

    @property
    def active(self) -> str:
        return str(self.unit.get("active") or "")

    @property
    def live(self) -> bool:
        return self.active in LIVE

    @property
    def there(self) -> bool:
        """Whether the node has the unit with what it needs for this recipe, or runs it all the same."""
        return self.live or self.active == "failed" or (self.unit.get("load") != "not-found" and self.configured)

    @property
    def says(self) -> str:
        return str(self.state.get("state") or "")

    @property
    def life(self) -> str | None:
        return str(self.state["life"]) if self.state.get("life") else None

    @property
    def where(self) -> str:
        return f"{unit_name(self.recipe)} on {self.host}"

    @property
    def name(self) -> str:
        return f"rank {self.number} on {self.host}"

    def said_for(self) -> float:
        """For how many seconds its keeper says so; 0 when that is not known."""
        return self._age(self.state.get("since"))

    def changed_for(self) -> float:
        """For how many seconds its unit is as it is; 0 when that is not known."""
        return self._age(self.unit.get("changed"))

    def _age(self, value: object) -> float:
        since = number(value) if value is not None else None
        return 0.0 if since is None or self.read_at is None else max(self.read_at - since, 0.0)

    def how_it_ended(self) -> str:
        """In the words of systemd."""
        status, result = self.unit.get("exit_status"), str(self.unit.get("result") or "unknown result")
        known = EXITS.get(status) if isinstance(status, int) else None
        return result + (f", exit status {status}" if status else "") + (f": {known}" if known else "")

    def because(self, text: str, remedy: str, hard: bool = False) -> Reason:
        return Reason(self.host, self.number, text, remedy, hard)


def rank(host: str, place: int | None, given: object) -> Rank:
    """From the module's result or the C(rank) in it; all else is a node that gave no answer."""
    data = given.get("rank", given) if isinstance(given, Mapping) else None
    shown = data.get("unit") if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or not isinstance(shown, Mapping) or not shown.get("active"):
        # A node that Ansible could not reach has msg in the result.
        said = str(data.get("unit_detail") or data.get("msg") or "") if isinstance(data, Mapping) else ""
        return Rank(host, place, silence=said)
    kept, config, end = (_mapping(data.get(name)) for name in ("state", "config", "last_end"))
    state = _mapping(kept.get("data"))
    current = bool(state) and kept.get("stale") is False
    return Rank(
        host,
        place,
        answered=True,
        recipe=str(data.get("recipe") or ""),
        read_at=number(data["read_at"]) if data.get("read_at") is not None else None,
        unit=shown,
        configured=config.get("found") is not False,
        state=state if current else {},
        unsaid="" if current else str(kept.get("detail") or "nothing is known of its state"),
        end=end["data"] if isinstance(end.get("data"), Mapping) else None,
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
