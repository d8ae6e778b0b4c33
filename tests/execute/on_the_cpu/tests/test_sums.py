"""The sum of nothing."""

import unittest


class TestSums(unittest.TestCase):
    """One test."""

    def test_nothing(self):
        """It is zero."""
        assert sum([]) == 0
