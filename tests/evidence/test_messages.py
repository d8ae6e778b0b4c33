"""The words of a record: nothing of the machine, and no more than is needed."""

from __future__ import annotations

from pathlib import Path

from npudocs.evidence import messages


def test_messages_keep_what_is_no_path() -> None:
    scrub = messages.Scrubber(Path("/srv/project"))
    same = "1/2 of a/b at https://example.org/x/y, aten::_make_dual <time>/x 'npu:0' and/or"
    assert scrub(same) == same
    assert scrub('File "/srv/project/docs/a.md", line 3') == 'File "docs/a.md", line 3'
    assert scrub("/usr/lib/libc.so.6 in /etc/passwd/") == "<path>/libc.so.6 in <path>"
    assert len(messages.shorten("x" * 5000)) == messages.LIMIT
    stamp = "ERROR 2026-11-30-13:00:00.123.456 no, at 2026-11-30 13:00:00,5"
    assert scrub(stamp) == "ERROR <time> no, at <time>"


def test_stacks_of_torch_are_left_out() -> None:
    text = "it failed\nException raised from f at a.cpp:1\nframe #0: f (0x1)\n\nlast"
    assert messages.without_frames(text) == "it failed\nlast"
