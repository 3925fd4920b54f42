"""The documentation site: what `./dev docs` builds from docs/."""
