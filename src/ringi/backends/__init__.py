"""The stores of Ringi: memory, SQLite, PostgreSQL and Redis."""
