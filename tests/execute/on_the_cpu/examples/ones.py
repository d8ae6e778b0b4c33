"""
Ones
====

A sum of ones is their number.
"""

assert sum([1] * 5) == 5
