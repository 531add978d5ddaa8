"""What `pgblend ask` is made of."""
