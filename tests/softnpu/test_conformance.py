"""CANN's own tests on the software NPU: an invented checkout with known outcomes, and the recorded data."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
import torch

import softnpu.kernels
from softnpu import SoftNpuError, info
from softnpu.conformance import __main__ as command
from softnpu.conformance import cases, record
from softnpu.conformance.compare import difference

ABS = "math/abs/tests"
# A reference that is wrong for the case named "wrong": aclnnAbs cannot pass there.
REFERENCE = """
import torch
from atk.configs.dataset_config import InputDataset
from atk.tasks.api_execute import register
from atk.tasks.api_execute.base_api import BaseApi


@register("absolute")
class Absolute(BaseApi):
    def __call__(self, input_data: InputDataset, with_output: bool = False):
        x = input_data.kwargs["self"]
        right = torch.from_numpy(abs(x.numpy()))
        return right + 1 if self.api_name == "wrong" else right
"""
HOST_TEST = """
TEST_F(l2_abs_test, refused)
{
    auto self = TensorDesc({2, 3}, ACL_STRING, ACL_FORMAT_ND);
    auto out = TensorDesc({2, 3}, ACL_FLOAT, ACL_FORMAT_ND);
    auto ut = OP_API_UT(aclnnAbs, INPUT(self), OUTPUT(out));
    uint64_t workspace_size = 0;
    aclnnStatus aclRet = ut.TestGetWorkspaceSize(&workspace_size);
    EXPECT_EQ(aclRet, ACLNN_ERR_PARAM_INVALID);
}

TEST_F(l2_abs_test, expects_a_refusal_that_does_not_come)
{
    auto self = TensorDesc({2, 3}, ACL_FLOAT, ACL_FORMAT_ND);
    auto ut = OP_API_UT(aclnnAbs, INPUT(self), OUTPUT(self));
    uint64_t workspace_size = 0;
    aclnnStatus aclRet = ut.TestGetWorkspaceSize(&workspace_size);
    EXPECT_EQ(aclRet, ACLNN_ERR_PARAM_INVALID);
}
"""


def _case(name: str, dtype: str, values: object, **more) -> dict:
    tensor = {"name": "self", "type": "tensor", "required": True, "dtype": dtype}
    tensor |= {"shape": [3, 4], "range_values": values}
    standard = {"acc": "default"}
    return {"name": name, "api_type": "absolute", "standard": standard, "inputs": [tensor]} | more


@pytest.fixture
def checkout(tmp_path):
    folder, host = tmp_path / ABS / "st/aclnnAbs", tmp_path / ABS / "ut/op_api"
    folder.mkdir(parents=True), host.mkdir(parents=True)
    (folder / "executor_aclnnAbs.py").write_text(REFERENCE)
    given = [
        _case("right", "fp32", [-5, 5]),
        _case("wrong", "fp32", [-5, 5]),
        _case("infinite", "fp16", "-inf"),
        _case("other dtype", "uint32", [0, 5]),
        _case("nobody", "fp32", [-5, 5], api_type="unknown"),
    ]
    (folder / "atk_aclnnAbs.json").write_text(json.dumps(given))
    (host / "test_aclnn_abs.cpp").write_text(HOST_TEST)
    return tmp_path


def test_an_invented_checkout(checkout):
    done = subprocess.run(
        [sys.executable, "-m", "softnpu.conformance", str(checkout)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    row = next(line for line in done.stdout.splitlines() if line.startswith("aclnnAbs\t"))
    # cases, passed, failed, refused, not run, refusals kept and missed
    assert row.split("\t")[2:9] == ["5", "2", "1", "1", "1", "1", "1"], done.stdout
    assert "there is no reference unknown" in row


def test_a_wrong_path_is_one_clear_message(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "softnpu.conformance", str(tmp_path / "nothing")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1 and done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if line.startswith("softnpu: ")]
    assert len(lines) == 1 and "is it a checkout of ops-math" in lines[0]
    assert "Traceback" not in done.stderr


def test_an_operator_without_a_kernel_is_named(checkout):
    with pytest.raises(SoftNpuError, match="there is no kernel aclnnNobody"):
        command.find(checkout, ["aclnnNobody"])


def test_a_large_case_is_cut_and_equal_dimensions_stay_equal():
    one = {"name": "a", "type": "tensor", "dtype": "fp32", "shape": [4096, 1], "range_values": 1}
    other = one | {"name": "b", "shape": [4096, 4096]}
    index = one | {"dtype": "int64", "shape": [7], "range_values": [0, 4095]}
    small = cases.cut({"inputs": [one, other, index]})["inputs"]
    length = small[0]["shape"][0]
    assert length < 4096 and small[1]["shape"] == [length, length]
    assert small[0]["shape"][1] == 1 and small[2]["range_values"] == [0, length - 1]


@pytest.mark.parametrize(
    ("mine", "golden", "why"),
    [
        (1.0, 1.0009, ""),  # 2**-10 of float32, and a little for small numbers
        (1.0, 1.0011, "1 of 1 differ"),
        (float("nan"), float("nan"), ""),
        (float("inf"), 1.0, "infinities"),
    ],
)
def test_the_tolerance_of_float32(mine, golden, why):
    found = difference(torch.tensor([mine]), torch.tensor([golden]))
    assert found.startswith(why) and bool(found) == bool(why)


def test_integers_must_be_equal():
    assert "1 of 2 integers" in difference(torch.tensor([1, 2]), torch.tensor([1, 3]))


def test_the_data_names_every_kernel_and_the_causes_of_failures():
    commits, rows = record.table()
    assert set(rows) == set(softnpu.kernels.kernels())
    assert all(re.fullmatch("[0-9a-f]{40}", commit) for commit in commits.values())
    failing = {name for name, row in rows.items() if row.failed}
    assert failing == set(record.causes())


def test_info_says_how_a_kernel_is_verified():
    assert "verified     CANN's cases, " in info.operator_text("aclnnAbs")
    assert "verified     by the formula " in info.operator_text("aclnnLog2")
    assert "verified     no: " in info.operator_text(record.summary()["unverified"][0])
