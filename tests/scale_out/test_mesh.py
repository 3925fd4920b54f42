"""Gradients of a batch that is split over a mesh of devices of JAX."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

from tests.scale_out.mesh import compare_gradients

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext


def test_the_gradient_of_a_batch_over_eight_devices_is_that_of_one(server: ForkServerContext) -> None:
    with ProcessPoolExecutor(1, mp_context=server) as fresh:
        assert fresh.submit(compare_gradients).result() == 8
