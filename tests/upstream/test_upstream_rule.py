"""The rule that decides each mark and dtype of an upstream entry."""

from __future__ import annotations

import pytest
from upstream_samples import PAGE, VERSION, claim, entry, record

from npudocs.upstream.rule import BY_NAME, Support, decide

FP32 = ("float32",)
SOFTWARE = record(entry("enter_dual_level"), entry("unpack_dual"), kind="software")
YES, NO = Support(True), Support(False)


@pytest.mark.parametrize(
    ("api", "published", "records", "claims", "expected"),
    [
        ("enter_dual_level", None, [], [], NO),
        ("enter_dual_level", None, [SOFTWARE], [], NO),
        ("unpack_dual", NO, [SOFTWARE], [], NO),
        ("enter_dual_level", None, [], [claim("enter_dual_level")], YES),
        ("enter_dual_level", None, [], [claim("dual_level", kind=PAGE)], YES),
        # Only the published claim of the whole counts, and only of the whole.
        ("enter_dual_level", None, [], [claim("dual_level")], NO),
        ("enter_dual_level", None, [], [claim("make_dual", kind=PAGE)], NO),
        # A contradiction: the cautious one, whichever comes first.
        (
            "enter_dual_level",
            None,
            [],
            [claim("enter_dual_level"), claim("dual_level", "not supported", PAGE)],
            NO,
        ),
        (
            "enter_dual_level",
            None,
            [],
            [claim("enter_dual_level", "not supported"), claim("dual_level", kind=PAGE)],
            NO,
        ),
        # An entry that exists is not changed by a claim.
        ("unpack_dual", NO, [], [claim("unpack_dual")], NO),
        ("unpack_dual", YES, [], [claim("unpack_dual", "not supported")], YES),
        (
            "unpack_dual",
            Support(True, FP32),
            [],
            [claim("unpack_dual", dtypes=("float16", "float32"))],
            Support(True, FP32),
        ),
        # The dtypes of claims that contradict each other: those that all allow.
        (
            "UnpackedDualTensor",
            None,
            [],
            [
                claim("UnpackedDualTensor", dtypes=("float16", "float32")),
                claim("unpack_dual", kind=PAGE, dtypes=FP32),
            ],
            Support(True, FP32),
        ),
        # A chip decides, for a mark and for a dtype.
        ("unpack_dual", NO, [record(entry("unpack_dual"))], [], YES),
        ("unpack_dual", YES, [record(entry("unpack_dual", "crashed"))], [], NO),
        ("unpack_dual", YES, [record(entry("unpack_dual", "skipped"))], [], YES),
        ("unpack_dual", YES, [record(entry("make_dual", "failed"))], [], YES),
        (
            "unpack_dual",
            Support(True, FP32),
            [record(entry("unpack_dual", dtype="float16"))],
            [],
            Support(True, ("float32", "float16")),
        ),
        (
            "unpack_dual",
            Support(True, FP32),
            [record(entry("unpack_dual"), entry("unpack_dual", "failed", "float64"))],
            [],
            Support(True, FP32),
        ),
        ("dual_level", YES, [record(entry("dual_level", "failed", "float64"))], [], NO),
        # The newest of one SoC counts; of two SoCs the failure wins.
        (
            "unpack_dual",
            NO,
            [record(entry("unpack_dual"), day=2), record(entry("unpack_dual", "failed"))],
            [],
            YES,
        ),
        (
            "unpack_dual",
            YES,
            [
                record(entry("unpack_dual")),
                record(entry("unpack_dual", "timeout"), soc="Ascend910B3"),
            ],
            [],
            NO,
        ),
    ],
)
def test_the_rule(api, published, records, claims, expected) -> None:
    decision = decide(BY_NAME[api], VERSION, "A2", published, records, claims)
    assert Support(decision.supported, decision.dtypes) == expected
    assert decision.why


def test_a_claim_of_another_version_or_product_says_nothing() -> None:
    said = [claim("enter_dual_level")]
    assert not decide(BY_NAME["enter_dual_level"], "2.12.0", "A2", None, [], said).supported
    assert not decide(BY_NAME["enter_dual_level"], VERSION, "A3", None, [], said).supported
