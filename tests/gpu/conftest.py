"""Tests of this folder run with ``-m gpu`` on a machine with a GPU, and are left out otherwise."""

from pathlib import Path

import pytest

# The control devices of NVIDIA's and AMD's drivers.
DEVICES = (Path("/dev/nvidiactl"), Path("/dev/kfd"))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpu: needs a GPU; left out unless asked for with -m gpu")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "gpu" in config.getoption("markexpr") and any(device.exists() for device in DEVICES):
        return
    left_out = [item for item in items if item.get_closest_marker("gpu") is not None]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
