"""`ipu.loops`: loops of a program."""

from __future__ import annotations

from typing import Any, Callable, List, Optional, Tuple

import tensorflow as tf

from ipu_tensorflow_emulator.process import on_device
from ipu_tensorflow_emulator.tensorflow_setup import without_autograph


def listed(values: Any) -> List[Any]:
    """Return a list of what a body returns."""
    if values is None:
        return []
    return list(values) if isinstance(values, (list, tuple)) else [values]


def separate(values: Any) -> Tuple[List[Any], List[Any]]:
    """Return the tensors and the operations of what a body returns.

    Raises ValueError if a tensor follows an operation.
    """
    tensors: List[Any] = []
    operations: List[Any] = []
    for value in listed(values):
        if isinstance(value, tf.Operation):
            operations.append(value)
        elif value is None:
            continue
        elif operations:
            raise ValueError(
                "A computation returns tensors first and operations after them; "
                f"{value} follows an operation"
            )
        else:
            tensors.append(tf.convert_to_tensor(value))
    return tensors, operations


def with_element(arguments: List[Any], infeed_queue: Any) -> Tuple[List[Any], Any]:
    """Return positional and named arguments of a body, with the next element of a queue."""
    if infeed_queue is None:
        return arguments, {}
    element = infeed_queue.dequeue()
    if isinstance(element, dict):
        return arguments, element
    if isinstance(element, (list, tuple)):
        return [*arguments, *element], {}
    return [*arguments, element], {}


@without_autograph
def while_loop(
    condition: Callable[..., Any],
    body: Callable[..., Any],
    inputs: Any = None,
    infeed_queue: Any = None,
    maximum_iterations: Optional[int] = None,
    use_while_v1: bool = True,
) -> Any:
    """Run a body while a condition holds; return the carried values, or an operation."""
    return _loop(
        lambda number, *values: condition(*values),
        lambda number, *arguments, **named: body(*arguments, **named),
        inputs,
        infeed_queue,
        maximum_iterations=maximum_iterations,
    )


@without_autograph
def for_loop(
    start: int,
    limit: int,
    step: int,
    body: Callable[..., Any],
    inputs: Any = None,
    infeed_queue: Any = None,
    use_while_v1: bool = True,
) -> Any:
    """Run a body with the numbers from `start` on, and the carried values.

    Raises ValueError for a step of 0.
    """
    if step == 0:
        raise ValueError("The step of a loop must not be 0")

    def more(number: Any, *_: Any) -> Any:
        return number < limit if step > 0 else number > limit

    return _loop(more, body, inputs, infeed_queue, start, step)


@without_autograph
def repeat(
    n: int,
    body: Callable[..., Any],
    inputs: Any = None,
    infeed_queue: Any = None,
    use_while_v1: bool = True,
) -> Any:
    """Run a body n times; return the carried values, or an operation if there are none."""
    return _loop(
        lambda number, *_: number < n,
        lambda number, *arguments, **named: body(*arguments, **named),
        inputs,
        infeed_queue,
    )


def _loop(
    more: Callable[..., Any],
    body: Callable[..., Any],
    inputs: Any,
    infeed_queue: Any,
    start: int = 0,
    step: int = 1,
    maximum_iterations: Optional[int] = None,
) -> Any:
    carried = [tf.convert_to_tensor(value) for value in listed(inputs)]

    def once(number: Any, *values: Any) -> List[Any]:
        arguments, named = with_element(list(values), infeed_queue)
        tensors, operations = separate(body(number, *arguments, **named))
        if len(tensors) != len(carried):
            raise ValueError(
                f"The body of a loop carries {len(carried)} values and returned {len(tensors)} "
                "tensors. Return as many as `inputs` has"
            )
        with tf.control_dependencies(operations):
            return [number + step, *(tf.identity(tensor) for tensor in tensors)]

    with on_device():
        # One pass at a time: the next one reads what this one assigns.
        results = tf.compat.v1.while_loop(
            more,
            once,
            [tf.constant(start), *carried],
            parallel_iterations=1,
            maximum_iterations=maximum_iterations,
            return_same_structure=True,  # a list, also of one
        )
    return list(results[1:]) if carried else tf.group(results[0])
