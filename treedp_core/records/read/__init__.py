"""Files and tables read in batches, column by column, with every bad input named."""
