"""No text says that a build has executed the site: only what is drawn from the run knows (DEVICE=off)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

ROOT = Path(__file__).resolve().parents[2]
# Something of the site, and that it has run: in one sentence.
SITE = re.compile(
    r"(?i)\b(?:all|its|the|every|each|these|this|code|pages?|scripts?|blocks?|site|build)\b"
)
RAN = re.compile(
    r"(?i)\b(?:was|were|has been|been) (?:\w+ )?(?:executed|run)\b|\b(?:all|it|them|code) ran\b"
    r"|\bthat ran\b|\bsite is built\b|\bran on the|\bexecuted (?:this|when|on)\b"
)
CHINESE = re.compile(r"(?:执行|运行)过|均?已[^，。]{0,16}(?:执行|运行)(?!时)|执行本次")
# What a sentence is about if not this build: a record or report, what is asked to run, code of a reader.
OTHER = re.compile(
    r"(?i)\b(?:records?|reports?|claims?|sweep|not executed|cannot|did not run|is not run|while|after|before|if)\b"
    r"|记录|报告|声明|扫描|未执行|不能|上游|测试"
)


def said(text: str) -> list[str]:
    """Return the sentences of a text that say that the site was executed."""
    text = re.sub(r"(?ms)^(`{3,}).*?^\1\s*$|^[|].*?$", "", text)
    sentences = re.split(r"(?<=[.!?])\s+|\n\n|(?<=[。；])", text)
    return [
        " ".join(one.split())
        for one in sentences
        if ((SITE.search(one) and RAN.search(one)) or CHINESE.search(one)) and not OTHER.search(one)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Its code was executed on the device named below: a page that is wrong does not build.",
        "All of it was executed when this site was built.",
        "All of the code was executed when this site was built, and each number is compared.",
        "Each is shown by code that was executed, and so is the way out.",
        "Each section shows the deviation by a block that is executed when this site is built.",
        "All of them ran on the ``npu`` device when this site was built.",
        "What executed this build:",
        "页面中的代码均已在下文所列的设备上执行：内容有误的页面无法构建。",
        "所有内容均在构建本站时执行过。",
        "每条信息都由实际执行过的代码给出。",
        "本站构建时，所有脚本都在 ``npu`` 设备上运行过；",
        "执行本次构建的设备是：",
    ],
)
def test_such_sentences_are_seen(text: str) -> None:
    assert said(f"Words.\n\n{text}\n")


def test_pages_and_scripts_do_not_say_it() -> None:
    files = [ROOT / "examples/GALLERY_HEADER.rst", *ROOT.glob("docs/**/*.md")]
    # What lies there is about records.
    files = [file for file in files if file.parent.name != "evidence"]
    texts = {file: file.read_text(encoding="utf-8") for file in files}
    for file in ROOT.glob("examples/*.py"):
        source = file.read_text(encoding="utf-8")
        texts[file] = source.split('"""')[1] + "\n".join(re.findall(r"^# (.*)$", source, re.M))
    assert [(file.name, one) for file, text in texts.items() for one in said(text)] == []


def test_translations_do_not_say_it() -> None:
    found = []
    for file in ROOT.glob("locales/zh_CN/LC_MESSAGES/*.po"):
        with file.open("rb") as opened:
            found += [
                (file.name, one)
                for message in read_po(opened)
                if isinstance(message.string, str) and message.id and file.stem != "npudocs"
                for one in said(message.string)
            ]
    assert found == []
