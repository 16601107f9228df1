"""`ipu.normalization_ops`: normalisation of groups of channels."""

from __future__ import annotations

from typing import Any, Sequence

import tensorflow as tf


def group_norm(
    inputs: Any,
    groups: int = 2,
    channels_axis: int = -1,
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1.53e-5,
    param_initializers: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    training: bool = True,
    trainable: bool = True,
    scope: Any = None,
    strided_channel_grouping: bool = True,
    default_name: str = "GroupNorm",
) -> Any:
    """Normalise groups of channels; with strided grouping, channel c is in group c mod groups.

    Raises ValueError if the groups do not divide the channels.
    """
    channels = int(inputs.shape[channels_axis])
    if channels % groups:
        raise ValueError(f"{groups} groups do not divide {channels} channels")
    initial = param_initializers or {}
    # Of several calls with the default name, each has variables of its own.
    with tf.compat.v1.variable_scope(scope, default_name, [inputs], reuse=reuse, use_resource=True):
        beta = gamma = None
        if center:
            beta = tf.compat.v1.get_variable(
                "beta", [channels], inputs.dtype, initial.get("beta", tf.zeros_initializer()),
                trainable=trainable,
            )  # fmt: skip
        if scale:
            gamma = tf.compat.v1.get_variable(
                "gamma", [channels], inputs.dtype, initial.get("gamma", tf.ones_initializer()),
                trainable=trainable,
            )  # fmt: skip
    return normalised_groups(
        inputs, groups, channels_axis, epsilon, strided_channel_grouping, gamma, beta
    )


def normalised_groups(
    inputs: Any,
    groups: int,
    channels_axis: int,
    epsilon: float,
    strided: bool,
    gamma: Any = None,
    beta: Any = None,
) -> Any:
    """Normalise groups of channels, then scale and shift channels."""
    rank = len(inputs.shape)
    axis = channels_axis % rank
    order = [0, *(at for at in range(1, rank) if at != axis), axis]
    last = tf.transpose(inputs, order)
    shape, channels = tf.shape(last), int(inputs.shape[axis])
    parts = [channels // groups, groups] if strided else [groups, channels // groups]
    split = tf.reshape(last, tf.concat([[shape[0], -1], parts], axis=0))
    reduced: Sequence[int] = [1, 2] if strided else [1, 3]
    mean, variance = tf.nn.moments(split, reduced, keepdims=True)
    normal = tf.reshape((split - mean) * tf.math.rsqrt(variance + epsilon), shape)
    if gamma is not None:
        normal = normal * tf.cast(gamma, normal.dtype)
    if beta is not None:
        normal = normal + tf.cast(beta, normal.dtype)
    back = [order.index(at) for at in range(rank)]
    found = tf.transpose(normal, back)
    found.set_shape(inputs.shape)
    return found


def instance_norm(inputs: Any, channels_axis: int = -1, **options: Any) -> Any:
    """Normalise each channel for itself."""
    return group_norm(
        inputs,
        groups=int(inputs.shape[channels_axis]),
        channels_axis=channels_axis,
        default_name="InstanceNorm",
        **options,
    )


def layer_norm(inputs: Any, channels_axis: int = -1, **options: Any) -> Any:
    """Normalise all channels together."""
    return group_norm(
        inputs,
        groups=1,
        channels_axis=channels_axis,
        default_name="LayerNorm",
        **options,
    )
