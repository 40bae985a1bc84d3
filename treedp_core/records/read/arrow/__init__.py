"""What Arrow reads: CSV, IPC, Parquet and tables in memory, in batches."""
