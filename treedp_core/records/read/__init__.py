"""Files and tables read in batches, column by column, with every bad input named."""

from treedp_core.records.read.readers import READERS

__all__ = ["READERS"]
