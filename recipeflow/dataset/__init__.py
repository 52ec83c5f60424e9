"""A release folder to a Parquet dataset repository, and the readers of one."""
