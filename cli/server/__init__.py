"""The private local PostgreSQL server behind `pgblend up`."""
