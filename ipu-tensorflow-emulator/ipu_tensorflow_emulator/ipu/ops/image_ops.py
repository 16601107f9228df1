"""`ipu.image_ops`: images."""

from __future__ import annotations

from typing import Any, Optional

import tensorflow as tf


def normalise_image(
    image: Any,
    channel_offsets: Any,
    channel_scales: Any,
    scale: float = 1.0,
    name: Optional[str] = None,
) -> Any:
    """Return (image * scale - offsets) * scales with a fourth channel of zeros.

    Raises ValueError unless the image has three channels.
    """
    if image.shape[-1] != 3:
        raise ValueError(f"The image must have three channels; its shape is {image.shape}")
    dtype = tf.convert_to_tensor(channel_scales).dtype
    normal = (tf.cast(image, dtype) * scale - channel_offsets) * channel_scales
    return tf.concat([normal, tf.zeros_like(normal[..., :1])], axis=-1)
