"""Names that stand elsewhere, at the path that the documentation has them at; written by `./dev pages`."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names

if TYPE_CHECKING:
    from treadle.tensor import *  # noqa: F403
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "treadle.tensor": (
                "AdvancedIncSubtensor AdvancedSubtensor IncSubtensor IndexingError Subtensor advanced_subtensor "
                "as_index_literal as_index_variable basic_subtensor flip get_canonical_form_slice get_idx_list "
                "get_slice_elements inc_subtensor index_vars_to_types indexed_result_shape set_subtensor slice_at_axis "
                "take unflatten_index_variables"
            ),
        },
    )
