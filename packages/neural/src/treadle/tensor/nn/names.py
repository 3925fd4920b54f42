"""Public names of `treadle.tensor`, by the modules imported when one is asked for; written by `./dev pages`.

For each module the names of its ``__all__``. One line for each module, however long: these are tables.
"""

NAMES = {
    "treadle.tensor": {
        "treadle.tensor.nn": "nn",
    },
    "treadle.tensor.nn": {
        "treadle.tensor.nn.activations": "celu elu gelu glu hard_sigmoid hard_swish hard_tanh leaky_relu log_sigmoid mish one_hot relu relu6 selu silu softplus softsign swish",
        "treadle.tensor.nn.initializers": "glorot_normal glorot_uniform he_normal he_uniform kaiming_normal kaiming_uniform lecun_normal lecun_uniform orthogonal truncated_normal xavier_normal xavier_uniform",
        "treadle.tensor.nn.layers": "batch_norm dropout embedding group_norm instance_norm layer_norm multi_head_attention rms_norm scaled_dot_product_attention",
        "treadle.tensor.nn.losses": "binary_cross_entropy binary_cross_entropy_with_logits cosine_similarity cross_entropy hinge huber kl_divergence mae mse nll smooth_l1",
        "treadle.tensor.nn.optimizers": "adadelta adagrad adam adamw clip_by_norm clip_by_value global_norm lion nadam rmsprop sgd",
        "treadle.tensor.nn.quasi_newton": "lbfgs",
        "treadle.tensor.nn.schedules": "constant_schedule cosine_decay exponential_decay linear_warmup piecewise_constant step_decay",
    },
}
