"""Makes softnpu's `limits.tsv` from CANN's operator documents.

    python -m tools.collect_limits FOLDER

FOLDER has git checkouts of ops-math, ops-nn, ops-cv and ops-transformer. Reading is
lenient: what a document leaves open, or says in a sentence that is no plain list of
dtypes, limits nothing.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from softnpu.limits import (
    ALL_RANKS,
    DTYPES,
    FORMATS,
    PRODUCTS,
    TABLE,
    Limit,
    Limits,
    limit_text,
)
from softnpu.operators import operators

from .collect_host import REPOSITORIES, host_sources, places, with_host_code

# What the documents call a product: in `npu="..."` comments, and in sentences.
NPU = {"A2": "910b", "A3": "A3", "950DT": "950"}
TERM = {"A2": "Atlas A2 ", "A3": "Atlas A3 ", "950DT": "Ascend 950"}
ANY_TERM = re.compile(r"Atlas (A\d |训练|推理|200I)|Ascend 950")

SAME = {
    "BF16": "BFLOAT16", "FLOAT32": "FLOAT", "FP32": "FLOAT", "FP16": "FLOAT16",
    "FLOAT64": "DOUBLE", "FRACTAL_NZ": "NZ",
}  # fmt: skip
DTYPE = re.compile(
    rf"(?<![A-Z0-9_])({'|'.join(sorted((*DTYPES, *SAME), key=len, reverse=True))})(?![A-Z0-9_])"
    r"(?:<sup>([\d、,]+)</sup>)?",
    re.IGNORECASE,
)
LIST = rf"(?:{DTYPE.pattern}[\s、，,和或/及]*)+"
# "the dtypes do not include X", "only X", "also X", "the dtypes are X"
NOTE = re.compile(rf"(不支持|仅支持|只支持|额外支持|支持)[:：\s]*({LIST})", re.IGNORECASE)
FOOTNOTE = re.compile(r"角标[“\"'`]?(\d)[”\"'`]?.*不支持")
CONDITION = re.compile(r"当|时[，,：:]|场景|如果|cubeMathType|KEEP_DTYPE|选项|模式|推导|元素")
LIKE = re.compile(
    r"[与和同]\s*(?:输入|入参|参数)?\s*[`“\"]?([A-Za-z0-9_]+)[`”\"]?\s*(?:参数)?(?:的[^，。]*)?"
    r"(?:保持)?(?:一致|相同)"
)
NAME = "[A-Za-z0-9_]"  # no \w: that has Chinese characters too


def for_product(text: str, product: str) -> str:
    """The document without the blocks that are only for other products."""
    block = re.compile(r'<!-- npu="([^"]*)" (id\d+) -->(.*?)<!-- end \2 -->', re.DOTALL)
    while (
        shorter := block.sub(lambda m: m[3] if NPU[product] in m[1].split(",") else "", text)
    ) != text:
        text = shorter
    return re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)


def supports(text: str, product: str) -> bool:
    """Whether the document has this product.

    Only a document with `npu` comments can say no: those of the older form were
    written before the products were.
    """
    head = text.split("## 功能说明")[0]
    excluded = any(TERM[product] in line and "不支持" in line for line in head.splitlines())
    return 'npu="' not in text or not excluded


def section(text: str, operator: str) -> str:
    """The description of the parameters of an operator's first phase, or ``""``."""
    found = re.search(
        rf"^#+\s*`?{operator}GetWorkspaceSize\b.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL
    )
    return re.split(r"\*\*返回值", found[0])[0] if found else ""


def rows(text: str) -> Iterator[list[str]]:
    """The rows of the HTML and markdown tables in a text."""
    for row in re.findall(r"<tr.*?</tr>", text, re.DOTALL):
        yield [_plain(cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL)]
    for line in text.splitlines():
        if line.strip().startswith("|"):
            yield [_plain(cell) for cell in line.strip().strip("|").split("|")]


def _plain(cell: str) -> str:
    return re.sub(r"<(?!/?sup>)[^>]*>", " ", cell).strip()


def dtypes_in(text: str, unmarked: frozenset[str] = frozenset()) -> frozenset[str]:
    """The dtypes that a text names, but for those with one of the given footnote marks."""
    found = set()
    for name, marks in DTYPE.findall(text):
        if not unmarked & set(marks):
            found.add(SAME.get(name.upper(), name.upper()))
    return frozenset(found)


def ranks_in(text: str) -> frozenset[int]:
    """The ranks of a "dimensions" cell; all where it is no plain list of numbers."""
    text = re.sub(r"\s|维|支持|。", "", text)
    if most := re.search(r"(?:不超过|不大于|不高于|小于等于|最大)(\d)", text):
        return frozenset(range(int(most[1]) + 1))
    if not re.fullmatch(r"\d([-~]\d)?([、,，或和/]\d([-~]\d)?)*", text):
        return ALL_RANKS
    ranks: set[int] = set()
    for first, last in re.findall(r"(\d)(?:[-~](\d))?", text):
        ranks.update(range(int(first), int(last or first) + 1))
    return frozenset(ranks)


def formats_in(text: str) -> frozenset[str]:
    """The private storage formats that a text names."""
    names = re.findall(r"[A-Z0-9_]+", text.upper())
    return frozenset(SAME.get(name, name) for name in names) & FORMATS.keys()


class Reader:
    """Reads one operator's section for one product.

    Attributes:
        dtypes, ranks, formats: what each parameter accepts, by its name.
        unread: the notes about dtypes that were not understood.
    """

    def __init__(self, text: str, product: str, names: list[str]) -> None:
        self.product = product
        self.names = names
        self.dtypes: dict[str, frozenset[str]] = {}
        self.ranks: dict[str, frozenset[int]] = {}
        self.formats: dict[str, frozenset[str]] = {}
        self.unread: list[str] = []
        self._like: dict[str, str] = {}
        text = for_product(text, product)
        notes = list(self._notes(re.sub(r"<table.*?</table>", "", text, flags=re.DOTALL)))
        self._marks = frozenset(m[1] for _, note in notes if (m := FOOTNOTE.search(note)))
        self._read_tables(text)
        for parameter, note in notes:
            self._apply(parameter, note)
        for name, other in self._like.items():
            self.dtypes[name] = self.dtypes.get(name, frozenset()) | self.dtypes.get(
                other, frozenset()
            )
            if not self.dtypes.get(other):
                del self.dtypes[name]

    def _name(self, text: str) -> str | None:
        word = re.match(rf"[`*\s]*({NAME}+)", text)
        simple = word[1].removesuffix("Optional").lower() if word else ""
        return next((n for n in self.names if n.removesuffix("Optional").lower() == simple), None)

    def _read_tables(self, text: str) -> None:
        header: list[str] = []
        for cells in rows(text):
            if cells and re.match(r"参数名", cells[0]):
                header = cells
            elif len(cells) == len(header) and (name := self._name(cells[0])):
                row = dict(zip(header, cells, strict=True))
                self._set(name, row)

    def _set(self, name: str, row: dict[str, str]) -> None:
        def column(word: str) -> str:
            return next((cell for title, cell in row.items() if word in title), "")

        if found := dtypes_in(column("数据类型"), self._marks):
            self.dtypes[name] = self.dtypes.get(name, frozenset()) | found
        self._same_as(name, column("数据类型"))
        self.ranks[name] = self.ranks.get(name, frozenset()) | ranks_in(column("维度"))
        self.formats[name] = self.formats.get(name, frozenset()) | formats_in(
            " ".join(row.values())
        )

    def _same_as(self, name: str, text: str) -> None:
        if (like := LIKE.search(text)) and (other := self._name(like[1])) and other != name:
            self._like[name] = other

    def _notes(self, text: str) -> Iterator[tuple[str | None, str]]:
        """The sentences outside of tables that hold for the product, with their parameter."""
        parameter, hidden = None, None  # hidden: the indentation of a line for other products
        for line in text.splitlines():
            indent, note = len(line) - len(line.lstrip()), line.strip().lstrip("-* ")
            if not note or note.startswith("|"):
                continue
            if hidden is not None and indent > hidden:
                continue
            hidden = None
            head = re.split(r"[：:]", note)[0]
            if ANY_TERM.search(head):
                if TERM[self.product] not in head:
                    hidden = indent
                    continue
                note = note[len(head) + 1 :]
            elif re.match(rf"`?{NAME}+`?\s*[（(].*?acl", note):
                parameter = self._name(note)
                if parameter:
                    self.ranks[parameter] = ALL_RANKS
            elif re.match(rf"`?{NAME}+`?\s*[（(].*?(计算|入参|出参)", note):
                parameter = None
            yield parameter, note

    def _apply(self, parameter: str | None, note: str) -> None:
        for sentence in re.split(r"[。；;]", note):
            if CONDITION.search(sentence):
                if dtypes_in(sentence):
                    self.unread.append(sentence)
                continue
            for kind, listed in ((m[1], m[2]) for m in NOTE.finditer(sentence)):
                named = [n for n in self.names if re.search(rf"(?<!{NAME}){n}(?!{NAME})", sentence)]
                self._note(kind, dtypes_in(listed), [parameter] if parameter else named)
            if parameter and not dtypes_in(sentence):
                self._same_as(parameter, sentence)

    def _note(self, kind: str, listed: frozenset[str], named: list[str]) -> None:
        for name in named or self.names:
            known = self.dtypes.get(name)
            if kind == "不支持":
                if known and known - listed:
                    self.dtypes[name] = known - listed
            elif kind == "额外支持":
                self.dtypes[name] = (known or frozenset()) | listed
            elif known & listed if known else named:
                self.dtypes[name] = listed


def read(text: str, operator: str, names: list[str], document: str) -> Limits:
    """What a document says about an operator, whose tensor parameters have the given names."""
    readers = {product: Reader(section(text, operator), product, names) for product in PRODUCTS}
    products = [product for product in PRODUCTS if supports(text, product)]
    parameters = {}
    for name in names:
        if not any(name in reader.dtypes or name in reader.ranks for reader in readers.values()):
            continue
        # A2 and A3 are one architecture, and CANN's host code checks the architecture.
        for first, second in (("A2", "A3"), ("A3", "A2")):
            if name in readers[first].dtypes:
                both = readers[first].dtypes[name] | readers[second].dtypes.get(name, frozenset())
                readers[second].dtypes[name] = both
        # A product for which the document names nothing gets what it names for the others.
        every = frozenset().union(*(r.dtypes.get(name, frozenset()) for r in readers.values()))
        parameters[name] = Limit(
            tuple(readers[product].dtypes.get(name, every) for product in PRODUCTS),
            frozenset().union(*(r.ranks.get(name, ALL_RANKS) for r in readers.values())),
            frozenset().union(*(r.formats.get(name, frozenset()) for r in readers.values())),
        )
    whole = not any(readers[product].unread for product in products) and products == [
        product for product in products if TERM[product] in text
    ]
    known = "document" if whole else "document, in part"
    return Limits(operator, known, tuple(products), document, parameters)


def documents(folder: Path) -> dict[str, Path]:
    """The document of each operator; a repository's `experimental` folder has none."""
    return places(folder, "docs/*.md", r"^#+\s*`?(acl\w+?)GetWorkspaceSize")


def limits_text(limits: Limits) -> str:
    """An operator's line of the table."""
    parameters = "; ".join(limit_text(name, limit) for name, limit in limits.parameters.items())
    products = "+".join(limits.products)
    return "\t".join((limits.operator, limits.known, products, limits.document, parameters))


def main(folder: Path) -> None:
    """Writes the table from the checkouts in a folder."""
    lines = []
    for repository in REPOSITORIES:
        command = ["git", "-C", str(folder / repository), "rev-parse", "HEAD"]
        commit = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        lines.append(f"# {repository} {commit}")
    lines.append("operator\tknown\tproducts\tdocument\tlimits")
    paths, sources = documents(folder), host_sources(folder)
    for operator in operators().values():
        if path := paths.get(operator.name):
            names = [
                name for type_, name in operator.parameters if type_ in ("Tensor", "TensorList")
            ]
            repository, *rest = path.relative_to(folder).parts
            document = f"{repository}:{'/'.join(rest)}"
            found = read(path.read_text(encoding="utf-8"), operator.name, names, document)
            places = [*([sources[operator.name]] if operator.name in sources else [])]
            places += sorted(path.parent.parent.rglob("*_def.cpp"))
            source = "".join(place.read_text(encoding="utf-8") for place in places)
            lines.append(limits_text(with_host_code(found, source)))
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
