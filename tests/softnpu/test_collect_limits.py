"""The reader of CANN's operator documents, on invented ones."""

from __future__ import annotations

from tools.collect_host import accepted_dtypes, with_host_code
from tools.collect_limits import limits_text, ranks_in, read

DOCUMENT = """
# aclnnBake

<!-- npu="950" id1 -->
- <term>Ascend 950PR/Ascend 950DT</term>：不支持
<!-- end id1 -->
<!-- npu="A3,910b" id2 -->
- <term>Atlas A3 训练系列产品/Atlas A3 推理系列产品</term>：支持
<!-- end id2 -->

## 功能说明

## aclnnBakeGetWorkspaceSize

<table><tr><th>参数名</th><th>数据类型</th><th>数据格式</th><th>维度(shape)</th></tr>
<tr><td>dough（aclTensor*）</td><td>FLOAT、BF16、INT8<sup>1</sup></td><td>ND、NZ</td><td>2-3</td></tr>
<tr><td>pan</td><td>与dough一致</td><td>ND</td><td>(B, N)</td></tr>
<tr><td>heat</td><td>DOUBLE</td><td>-</td><td>-</td></tr>
<tr><td>out</td><td>FLOAT、INT64、UINT8</td><td>ND</td><td>不超过4维</td></tr>
</table>

<!-- npu="A3,910b" id3 -->
- <term>Atlas A3 训练系列产品</term>、<term>Atlas A2 训练系列产品</term>：
  - out的数据类型不支持UINT8。
  - 上表数据类型列中的角标“1”代表该系列不支持的数据类型。
  - 当heat大于1时，out的数据类型不支持INT64。
<!-- end id3 -->
- <term>Atlas 训练系列产品</term>：out的数据类型不支持FLOAT。

- **返回值：** INT32
"""
LINE = (
    "aclnnBake\t{known}\t{products}\tops-x:docs/aclnnBake.md\tdough FLOAT,INT8@950DT{more},BFLOAT16 "
    "{least}-3 NZ; pan FLOAT,INT8@950DT{more},BFLOAT16 0-8; out FLOAT,UINT8@950DT,INT64 0-4"
)


def _read(text: str):
    return read(text, "aclnnBake", ["dough", "pan", "out"], "ops-x:docs/aclnnBake.md")


def test_a_document_is_read_for_each_product():
    wanted = LINE.format(known="document, in part", products="A2+A3", more="", least=2)
    assert limits_text(_read(DOCUMENT)) == wanted


def test_a_note_with_a_condition_limits_nothing_and_is_marked():
    simple = "\n".join(line for line in DOCUMENT.splitlines() if "当heat" not in line)
    assert _read(simple).known == "document"
    assert _read(simple).parameters == _read(DOCUMENT).parameters


def test_an_operator_without_a_section_has_no_limits():
    assert read(DOCUMENT, "aclnnFry", ["dough"], "").parameters == {}


def test_plain_ranks_only_are_read():
    assert ranks_in("1~3") == {1, 2, 3}
    assert ranks_in("0、2维") == {0, 2}
    assert ranks_in("不大于2") == {0, 1, 2}
    assert ranks_in("(B, 3)") == ranks_in("-") == set(range(9))


HOST = """
static const std::initializer_list<DataType> LIST_910B = {DataType::DT_BF16};
static const std::initializer_list<DataType> LIST_950 = {DataType::DT_UINT64};
static const std::initializer_list<DataType> LIST_910_OLD = {DataType::DT_INT4};
const auto& ListFor() {
    return arch == NpuArch::DAV_2201 ? LIST_910B : arch == 3 ? LIST_950 : LIST_910_OLD;
}
const auto list = ListFor();
OP_CHECK_DTYPE_NOT_SUPPORT(dough, list, return false);
"""


def test_what_the_host_code_accepts_is_added_to_each_parameter_of_that_list():
    older, newest = {"BFLOAT16"}, {"BFLOAT16", "UINT64"}
    assert accepted_dtypes(HOST) == {"dough": (older, older, newest)}
    found = with_host_code(_read(DOCUMENT), HOST)
    wanted = LINE.format(
        known="document, in part + host code", products="A2+A3", more=",UINT64@950DT", least=0
    )
    assert limits_text(found) == wanted


def test_a_lower_bound_of_ranks_and_a_product_need_the_host_code():
    checked = HOST + "OP_CHECK_MIN_DIM(dough, 2, return false); if (IsRegBase()) {}"
    found = with_host_code(_read(DOCUMENT), checked)
    assert found.parameters["dough"].ranks == {2, 3}
    assert found.products == ("A2", "A3", "950DT")
