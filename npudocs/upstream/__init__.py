"""The artefacts for the upstream projects, made from the evidence: ``python -m npudocs.upstream``.

``patch`` writes the missing and the corrected entries of the published support pages, ``gaps`` lists
the public names that have no entry, ``report`` writes the task's results report, ``forward`` the forward
formulas that torch_npu lacks. Nothing here runs on a device, and nothing here decides by itself: every
mark comes from `rule`.
"""
