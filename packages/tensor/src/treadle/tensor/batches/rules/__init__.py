"""Rules for ops that are applied along batch dimensions."""
