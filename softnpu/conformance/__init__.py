"""CANN's own tests, run on the software NPU: ``python -m softnpu.conformance CHECKOUT...``.

The public repositories of CANN's operators hold for each operator test cases as data, a reference
in Python and host tests in C++. They are read from checkouts; nothing of them is in this project
but the counts in ``softnpu/conformance.tsv``.

======================= ==================================================================
``cases.py``            a case's inputs, made from its description
``atk.py``              a stand-in for the test framework that the references import
``run.py``              one case: reference, kernel, comparison
``compare.py``          CANN's tolerances
``refusals.py``         host tests that expect a refusal
``acl.py``              the operator's C interface
``child.py``            the process in which the checkouts' code runs
``record.py``           the counts, as data and for ``softnpu info``
======================= ==================================================================
"""
