# Copyright: (c) 2026, The switchless.spark founders
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GRUB's choice: every way in which a default is written, on the menu that Ubuntu's grub-mkconfig makes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.switchless.spark.plugins.module_utils._boot import grub
from tests.unit.boot.boot_world import ADVANCED, BAD, NEW, OLD, SIMPLE, grub_cfg, title


@pytest.mark.parametrize(
    ("default", "environment", "kernel", "found"),
    [
        ("0", "", BAD, True),
        ("", "", BAD, True),
        ("1>0", "", BAD, True),
        ("1>1", "", NEW, True),
        ("1>2", "", OLD, True),
        ("1", "", BAD, True),
        (SIMPLE, "", BAD, True),
        (f"{ADVANCED}>{title(OLD)}", "", OLD, True),
        (f"gnulinux-advanced-0a1b>gnulinux-{NEW}-advanced-0a1b", "", NEW, True),
        ("${saved_entry}", "saved_entry=1>2\n", OLD, True),
        ("${saved_entry}", "", BAD, True),
        ("0", "saved_entry=1>2\n", BAD, True),
        ("0", "next_entry=1>1\n", NEW, True),
        ("${saved_entry}", "saved_entry=1>2\nnext_entry=1>1\n", NEW, True),
        ("0", "next_entry=\n", BAD, True),
        (f"{ADVANCED}>{title('6.11.0-1016-nvidia')}", "", BAD, False),
        ("1>7", "", BAD, False),
        ("9", "", BAD, False),
        ("2", "", None, True),
    ],
    ids=[
        "first",
        "empty",
        "first of the submenu",
        "second of the submenu",
        "third of the submenu",
        "a submenu opens on its first",
        "by title",
        "by title, as NVIDIA pins a kernel",
        "by id",
        "saved",
        "saved, and nothing was",
        "saved, and the default is not",
        "once",
        "once before saved",
        "once is over",
        "a kernel that is gone",
        "a number of the submenu that is gone",
        "a number that is gone",
        "the firmware",
    ],
)
def test_the_choice(default: str, environment: str, kernel: str | None, found: bool) -> None:
    config = grub.parse(grub_cfg(BAD, NEW, OLD, default=default))
    choice = grub.choose(config, grub.parse_environment(f"# GRUB Environment Block\n{environment}####"))
    assert choice.entry is not None
    assert choice.entry.image == (f"vmlinuz-{kernel}" if kernel else None)
    assert choice.entry.initrds == ((f"initrd.img-{kernel}",) if kernel else ())
    assert choice.found is found
    assert choice.one_time is ("next_entry=1" in environment)


def test_the_menu() -> None:
    menu = grub.parse(grub_cfg(NEW, OLD)).menu
    assert [(entry.title, entry.id, entry.submenu, len(entry.entries)) for entry in menu] == [
        (SIMPLE, "gnulinux-simple-0a1b", False, 0),
        (ADVANCED, "gnulinux-advanced-0a1b", True, 2),
        ("UEFI Firmware Settings", "uefi-firmware", False, 0),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'menuentry "a b" --id=x {\n linuxefi ($root)/vmlinuz-1 ro\n initrdefi /i-1\n}',
            ("a b", "x", "vmlinuz-1"),
        ),
        ("menuentry 'it'\\''s' {\n\tlinux16 /vmlinuz-1\n}", ("it's", None, "vmlinuz-1")),
        ("menuentry 'plain' ${menuentry_id_option} 'y' {\n}", ("plain", "y", None)),
    ],
)
def test_other_spellings(text: str, expected: tuple[str, str | None, str | None]) -> None:
    (entry,) = grub.parse(text).menu
    assert (entry.title, entry.id, entry.image) == expected


def test_no_menu_at_all() -> None:
    choice = grub.choose(grub.parse(""), {})
    assert (choice.entry, choice.found) == (None, True)


def test_settings_of_the_next_update() -> None:
    text = "# GRUB_DEFAULT=7\nGRUB_DEFAULT=\"1>2\"\nGRUB_CMDLINE_LINUX_DEFAULT='quiet splash' # why\nGRUB_X=\nnothing\n"
    assert grub.parse_defaults(text) == {
        "GRUB_DEFAULT": "1>2",
        "GRUB_CMDLINE_LINUX_DEFAULT": "quiet splash",
        "GRUB_X": "",
    }


@given(st.text(alphabet="{}'\"> \n\tabmenuentrysubmenulinux=$0123#"), st.text(alphabet="0123>a=\n#"))
def test_no_text_breaks_it(cfg: str, environment: str) -> None:
    grub.choose(grub.parse(cfg), grub.parse_environment(environment))
