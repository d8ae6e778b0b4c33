"""The sum of nothing."""

import unittest


class TestSums(unittest.TestCase):
    """One test."""

    def test_nothing(self):
        """It is zero."""
        self.assertEqual(sum([]), 0)
