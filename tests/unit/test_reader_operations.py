"""What the passes of a reader need, counted."""

from __future__ import annotations

import pytest

from benchmarks.reader import Operations, Peak, heads_operations, layers_operations
from secondlook.reading.session import Workers


def test_a_layer_costs_two_for_each_weight_and_token_and_the_square_of_the_tokens() -> None:
    one = layers_operations([10], 1)
    assert one.weights == 2 * 10 * (4 * 384 * 384 + 2 * 384 * 1536)
    # Every token asks every other, in 384 products, and mixes as many.
    assert one.others == 2 * (10 * 10 * 384) + 2 * (10 * 10 * 384)
    assert layers_operations([10, 20], 3).weights == 3 * layers_operations([30], 1).weights
    assert layers_operations([10, 20], 3).others < 3 * layers_operations([30], 1).others
    assert layers_operations([10], 0) == layers_operations([], 5) == Operations()


def test_heads_are_small_beside_layers() -> None:
    heads = heads_operations([100], glances=1, heads=2)
    assert 0 < heads.all < 0.01 * layers_operations([100], 12).all
    assert heads.all > heads_operations([100], glances=1, heads=1).all


@pytest.mark.parametrize("int8", [True, False])
def test_the_peak_is_measured_with_the_shapes_of_a_layer(int8: bool) -> None:
    peak = Peak(8, Workers(2), int8=int8)
    peak.run()
    assert peak.operations == 24 * 2 * layers_operations([8], 1).weights
