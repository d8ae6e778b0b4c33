"""The pages about single operators: what the sweeps (``evidence/sweeps``) say of each.

`data` answers questions about the records, and draws nothing; the other modules answer for one part of a page each.
"""
