"""What users test their own agents and backends with."""
