"""The table of mutants fits the project as it is now: `make mutants` itself is no part of any check."""

from __future__ import annotations

import pytest

from tools.mutant_kinds import BUILT, ROOT, chosen, kinds


@pytest.mark.full
def test_every_mutant_can_be_made_and_names_tests_that_are_there() -> None:
    mutants = [mutant for kind in kinds([]) for mutant in chosen(kind)]
    assert len(mutants) > 400 and len({mutant.key for mutant in mutants}) == len(mutants)
    for mutant in (one for one in mutants if one.judge not in BUILT):
        named = [word.split("::") for word in mutant.judge.split() if word.startswith("tests/")]
        assert named, mutant
        for file, *test in named:
            text = (ROOT / file).read_text(encoding="utf-8")
            assert all(f"def {name}(" in text for name in test), mutant.judge
