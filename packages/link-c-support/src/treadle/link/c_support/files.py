"""Where the compiled files are."""

from pathlib import Path

FOLDER = Path(__file__).with_name("prebuilt")
"""Their folder, which is missing where the distribution was not built for a platform."""
