"""The documented surface of rewriting that treadle itself does not run on: adapters over the engine."""
