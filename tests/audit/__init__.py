"""The privacy audit: what the code claims, held against what enumeration, exact fractions and samples find.

It shares no code with what it audits: neighbours are listed record by record, losses are exact fractions of the laws
that were really drawn, conversions are done again with decimal numbers. Each part can be wrong only if it finds too
little, so the audit also plants faults in the code (`faults`) and fails when one of them is not flagged.

`make audit` runs all of it (`__main__`), `tests/long/test_audit.py` a short form.
"""
