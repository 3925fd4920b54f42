"""Hide the distribution pytensor-surface: a process that imports this first is as if it were not installed.

``python -m pytest -p tests.repo.without_surface FOLDER`` runs tests so; those of what it brings then fail.
"""

from tests.repo.hiding import hide

hide("pytensor-surface", "as-pytensor")
