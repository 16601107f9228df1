"""Data sets of an `Experiment` and how values become spikes.

Written by `python -m ipulse.experiment.stubs`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from .part import Array, SpecPart

def Digits(
    *,
    steps: int = 40,
    step_ms: float = 1.0,
    encoding: Mapping[str, Any] = ...,
    test_fraction: float = 0.2,
    validation: float = 0.0,
    split_seed: int = 0,
    samples: int | None = None,
    shifts: Mapping[str, Any] | None = None,
) -> SpecPart:
    """The 1,797 scanned 8x8 digits of scikit-learn, encoded as spikes.

    Args:
        steps: Time steps of one sample; later spikes are dropped.
        step_ms: Width of one time step. Unit: ms.
        encoding: How brightness becomes spikes.
        test_fraction: Fraction of the samples held out for the test accuracy.
        validation: Fraction of the training samples to choose with: they are not trained on,
            but measured after every epoch as validation_accuracy and validation_loss. Classes
            are represented in proportion. 0: none.
        split_seed: Selects the samples that are held out, independently of the experiment's
            seed.
        samples: Use only this many samples, drawn with split_seed; null uses all 1,797.
        shifts: Adds shifted copies of the training images; null adds none.
    """

def Randman(
    classes: int = 10,
    *,
    steps: int = 50,
    step_ms: float = 1.0,
    samples_per_class: int = 300,
    seed: int = 0,
    test_fraction: float = 0.2,
    validation: float = 0.0,
    units: int = 50,
    dimensions: int = 1,
    smoothness: float = 2.0,
    spikes: int = 1,
    used_steps: float = 1.0,
) -> SpecPart:
    """Random smooth manifolds: only the times of the spikes depend on the class.

    A sample is a random point of its class's manifold. Every unit spikes at the time that a
    random smooth function of this point gives, so each unit spikes equally often in all
    classes.

    Args:
        classes: Manifolds.
        steps: Time steps of one sample.
        step_ms: Width of one time step. Unit: ms.
        samples_per_class: Samples of each class.
        seed: Seed of the data and of which samples are held out, independent of the
            experiment's seed.
        test_fraction: Fraction of the samples held out for the test accuracy.
        validation: Fraction of the training samples to choose with: they are not trained on,
            but measured after every epoch as validation_accuracy and validation_loss. Classes
            are represented in proportion. 0: none.
        units: Input channels.
        dimensions: Dimensions of a manifold.
        smoothness: The amplitude of the n-th frequency falls as n^-smoothness.
        spikes: Spikes per unit, each with functions of its own.
        used_steps: Fraction of the steps, from the first, in which there are spikes.
    """

def YinYang(
    *,
    steps: int = 40,
    step_ms: float = 1.0,
    first_ms: float = 0.0,
    span_ms: float = 30.0,
    bias: bool = True,
    judged_on: Literal['test', 'validation'] = ...,
    validation: float = 0.0,
) -> SpecPart:
    """Points in a yin-yang sign, classified as yin, yang or dot; 5,000 training samples.

    A point is (x, y, 1 - x, 1 - y). Each value v is one spike at first_ms + v span_ms.

    Args:
        steps: Time steps of one sample; later spikes are dropped.
        step_ms: Width of one time step. Unit: ms.
        first_ms: Spike time of 0. Unit: ms.
        span_ms: Difference between the spike times of 1 and 0. Unit: ms.
        bias: Whether a fifth channel spikes at first_ms.
        judged_on: The 1,000 samples held out: the test set, or the validation set, to choose
            settings with.
        validation: Fraction of the training samples to choose with: they are not trained on,
            but measured after every epoch as validation_accuracy and validation_loss. Classes
            are represented in proportion. 0: none.
    """

def Poisson(
    classes: int = 4,
    *,
    steps: int = 16,
    step_ms: float = 1.0,
    samples_per_class: int = 300,
    seed: int = 0,
    test_fraction: float = 0.2,
    validation: float = 0.0,
    channels: int = 64,
    high_rate: float = 0.5,
    low_rate: float = 0.05,
) -> SpecPart:
    """Poisson spikes at rates that depend on the class.

    The channels are divided into as many groups of neighbours as there are classes. In a sample
    of a class, its group spikes at the high rate and the others at the low rate.

    Args:
        classes: Rate patterns.
        steps: Time steps of one sample.
        step_ms: Width of one time step. Unit: ms.
        samples_per_class: Samples of each class.
        seed: Seed of the data and of which samples are held out, independent of the
            experiment's seed.
        test_fraction: Fraction of the samples held out for the test accuracy.
        validation: Fraction of the training samples to choose with: they are not trained on,
            but measured after every epoch as validation_accuracy and validation_loss. Classes
            are represented in proportion. 0: none.
        channels: Input channels.
        high_rate: Probability of a spike in a step, in the group of the class.
        low_rate: Probability of a spike in a step, in the other groups.
    """

def FrozenNoise(
    classes: int = 2,
    *,
    steps: int = 200,
    step_ms: float = 1.0,
    samples_per_class: int = 200,
    seed: int = 0,
    test_fraction: float = 0.2,
    validation: float = 0.0,
    channels: int = 100,
    templates: int = 1,
    rate_hz: float = 5.0,
    jitter_ms: float = 2.0,
) -> SpecPart:
    """Frozen Poisson noise: every class has templates; a sample is a template with jitter.

    All templates have the same rate, so only the times of the spikes depend on the class.

    Args:
        classes: Classes.
        steps: Time steps of one sample; spikes that jitter moves out of them are dropped.
        step_ms: Width of one time step. Unit: ms.
        samples_per_class: Samples of each class, divided among its templates.
        seed: Seed of the data and of which samples are held out, independent of the
            experiment's seed.
        test_fraction: Fraction of the samples held out for the test accuracy.
        validation: Fraction of the training samples to choose with: they are not trained on,
            but measured after every epoch as validation_accuracy and validation_loss. Classes
            are represented in proportion. 0: none.
        channels: Input channels.
        templates: Templates per class.
        rate_hz: Spike rate of a channel. Unit: Hz.
        jitter_ms: Standard deviation of a spike's time. Unit: ms.
    """

def DelayedRecall(
    classes: int = 2,
    *,
    steps: int = 160,
    step_ms: float = 1.0,
    samples_per_class: int = 300,
    seed: int = 0,
    test_fraction: float = 0.2,
    validation: float = 0.0,
    units: int = 16,
    cue_steps: int = 20,
    rate: float = 0.2,
    noise: float = 0.005,
) -> SpecPart:
    """Two cues with a pause between them; the class is their sum, modulo the number of classes.

    A cue is a burst of spikes in the channels of its number, at the start and at the end of a
    sample. Neither cue alone says anything about the class: a network must remember the first
    one.

    Args:
        classes: Classes, and different cues.
        steps: Time steps of one sample: two cues and the pause.
        step_ms: Width of one time step. Unit: ms.
        samples_per_class: Samples of each class.
        seed: Seed of the data and of which samples are held out, independent of the
            experiment's seed.
        test_fraction: Fraction of the samples held out for the test accuracy.
        validation: Fraction of the training samples to choose with: they are not trained on,
            but measured after every epoch as validation_accuracy and validation_loss. Classes
            are represented in proportion. 0: none.
        units: Input channels of each cue.
        cue_steps: Time steps of one cue.
        rate: Probability of a spike in a step, in the channels of a cue.
        noise: Probability of a spike in a step, elsewhere.
    """

def Npz(
    dataset: str | None = None,
    *,
    name: str = ...,
    channels: int = 0,
    classes: int = 0,
    outputs: int = 0,
    steps: int = 0,
    shape: Sequence[int] | Array | None = None,
    step_ms: float = 1.0,
    encoding: Mapping[str, Any] | None = None,
    input: Literal['spikes', 'counts'] = ...,
    capacity: int | None = None,
    test_fraction: float = 0.2,
    validation: float = 0.0,
    split_seed: int = 0,
) -> SpecPart:
    """Your own spikes or values, in an npz file; docs/reference/data.md describes its arrays.

    Args:
        dataset: An uploaded data set: NAME for its latest version, NAME@VERSION, or `sha256:`
            and the digest of the content, by which the service replaces the other two.
        name: Instead of `dataset`: name, without .npz, of a file in the data directory of the
            workers.
        channels: Channels, or values, of a sample; 0: those of the uploaded data set.
        classes: Labels are 0 to classes - 1; 0: as many as the uploaded data set has.
        outputs: Instead of classes: target values of a sample or of each of its steps, for a
            loss of a regression. 0: as many as the targets of the uploaded data set, if the
            loss needs them.
        steps: Time steps of one sample; later spikes are dropped and counted. 0: as many as the
            uploaded data set has.
        shape: Planes, height and width, if the channels are an image: channel = (plane * height
            + y) * width + x. Convolutions need it.
        step_ms: Width of one time step. Unit: ms.
        encoding: How values become spikes; null if the file contains spikes.
        input: spikes: the events of a channel in one step are one spike. counts: each of them
            is a spike of its own, up to 65,535 of a channel in one step.
        capacity: Spikes per sample and step that the input can hold; a random choice of the
            rest is dropped and counted. Null: as many as the busiest step has.
        test_fraction: Fraction of the samples held out for the test accuracy, unless the file
            defines the test set.
        validation: Fraction of the training samples to choose with: they are not trained on,
            but measured after every epoch as validation_accuracy and validation_loss. Classes
            are represented in proportion. 0: none.
        split_seed: Selects the samples that are held out and the spikes that are dropped.
    """

def Events(
    dataset: str | None = None,
    *,
    channels: int = 0,
    classes: int = 0,
    steps: int = 0,
    shape: Sequence[int] | Array | None = None,
    step_ms: float = 1.0,
    input: Literal['spikes', 'counts'] = ...,
    capacity: int | None = None,
    test_fraction: float = 0.2,
    validation: float = 0.0,
    split_seed: int = 0,
) -> SpecPart:
    """Your own events, uploaded as HDF5 with one list per sample, or as CSV with one row each.

    Args:
        dataset: An uploaded data set: NAME for its latest version, NAME@VERSION, or `sha256:`
            and the digest of the content, by which the service replaces the other two.
        channels: Channels, or values, of a sample; 0: those of the uploaded data set.
        classes: Labels are 0 to classes - 1; 0: as many as the uploaded data set has.
        steps: Time steps of one sample; later spikes are dropped and counted. 0: as many as the
            uploaded data set has.
        shape: Planes, height and width, if the channels are an image: channel = (plane * height
            + y) * width + x. Convolutions need it.
        step_ms: Width of one time step. Unit: ms.
        input: spikes: the events of a channel in one step are one spike. counts: each of them
            is a spike of its own, up to 65,535 of a channel in one step.
        capacity: Spikes per sample and step that the input can hold; a random choice of the
            rest is dropped and counted. Null: as many as the busiest step has.
        test_fraction: Fraction of the samples held out for the test accuracy, unless the file
            defines the test set.
        validation: Fraction of the training samples to choose with: they are not trained on,
            but measured after every epoch as validation_accuracy and validation_loss. Classes
            are represented in proportion. 0: none.
        split_seed: Selects the samples that are held out and the spikes that are dropped.
    """

def SHD(
    *,
    dataset: str | None = None,
    name: str = ...,
    steps: int = 100,
    step_ms: float = 10.0,
    input: Literal['spikes', 'counts'] = ...,
    capacity: int | None = None,
    samples: int | None = None,
    subset_seed: int = 0,
    validation: float = 0.0,
) -> SpecPart:
    """Spiking Heidelberg Digits: NAME/shd_train.h5 and NAME/shd_test.h5.

    Args:
        dataset: An uploaded data set: NAME for its latest version, NAME@VERSION, or `sha256:`
            and the digest of the content, by which the service replaces the other two.
        name: Name of the folder.
        steps: Time steps of one sample; later spikes are dropped and counted.
        step_ms: Width of one time step. Unit: ms.
        input: spikes: the events of a channel in one step are one spike. counts: each of them
            is a spike of its own, up to 65,535 of a channel in one step.
        capacity: Spikes per sample and step that the input can hold; a random choice of the
            rest is dropped and counted. Null: as many as the busiest step has.
        samples: Use at most this many training samples, and as many test samples, drawn with
            subset_seed; null uses all.
        subset_seed: Selects the samples that are used or held out, and the spikes that are
            dropped.
        validation: Fraction of the training samples to choose with: they are not trained on,
            but measured after every epoch as validation_accuracy and validation_loss. Classes
            are represented in proportion. 0: none.
    """

def SSC(
    *,
    dataset: str | None = None,
    name: str = ...,
    steps: int = 100,
    step_ms: float = 10.0,
    input: Literal['spikes', 'counts'] = ...,
    capacity: int | None = None,
    samples: int | None = None,
    subset_seed: int = 0,
    validation: float = 0.0,
    judged_on: Literal['test', 'validation'] = ...,
) -> SpecPart:
    """Spiking Speech Commands: NAME/ssc_train.h5, NAME/ssc_valid.h5 and NAME/ssc_test.h5.

    Args:
        dataset: An uploaded data set: NAME for its latest version, NAME@VERSION, or `sha256:`
            and the digest of the content, by which the service replaces the other two.
        name: Name of the folder.
        steps: Time steps of one sample; later spikes are dropped and counted.
        step_ms: Width of one time step. Unit: ms.
        input: spikes: the events of a channel in one step are one spike. counts: each of them
            is a spike of its own, up to 65,535 of a channel in one step.
        capacity: Spikes per sample and step that the input can hold; a random choice of the
            rest is dropped and counted. Null: as many as the busiest step has.
        samples: Use at most this many training samples, and as many test samples, drawn with
            subset_seed; null uses all.
        subset_seed: Selects the samples that are used or held out, and the spikes that are
            dropped.
        validation: Fraction of the training samples to choose with: they are not trained on,
            but measured after every epoch as validation_accuracy and validation_loss. Classes
            are represented in proportion. 0: none.
        judged_on: The held-out file: the test set, or the validation set, to choose settings
            with.
    """

def NMNIST(
    *,
    dataset: str | None = None,
    name: str = ...,
    steps: int = 100,
    step_ms: float = 3.0,
    input: Literal['spikes', 'counts'] = ...,
    capacity: int | None = None,
    samples: int | None = None,
    subset_seed: int = 0,
    validation: float = 0.0,
) -> SpecPart:
    """N-MNIST, digits before a moving event camera: NAME/Train/0 to 9 and NAME/Test/0 to 9.

    Args:
        dataset: An uploaded data set: NAME for its latest version, NAME@VERSION, or `sha256:`
            and the digest of the content, by which the service replaces the other two.
        name: Name of the folder.
        steps: Time steps of one sample; later spikes are dropped and counted.
        step_ms: Width of one time step. Unit: ms.
        input: spikes: the events of a channel in one step are one spike. counts: each of them
            is a spike of its own, up to 65,535 of a channel in one step.
        capacity: Spikes per sample and step that the input can hold; a random choice of the
            rest is dropped and counted. Null: as many as the busiest step has.
        samples: Use at most this many training samples, and as many test samples, drawn with
            subset_seed; null uses all.
        subset_seed: Selects the samples that are used or held out, and the spikes that are
            dropped.
        validation: Fraction of the training samples to choose with: they are not trained on,
            but measured after every epoch as validation_accuracy and validation_loss. Classes
            are represented in proportion. 0: none.
    """

def DVSGesture(
    *,
    dataset: str | None = None,
    name: str = ...,
    steps: int = 100,
    step_ms: float = 20.0,
    input: Literal['spikes', 'counts'] = ...,
    capacity: int | None = None,
    samples: int | None = None,
    subset_seed: int = 0,
    validation: float = 0.0,
    pixels_merged: Literal[1, 2, 4, 8, 16] = 4,
) -> SpecPart:
    """DVS128 Gesture, eleven gestures before an event camera: recordings or cut samples in NAME.

    Args:
        dataset: An uploaded data set: NAME for its latest version, NAME@VERSION, or `sha256:`
            and the digest of the content, by which the service replaces the other two.
        name: Name of the folder.
        steps: Time steps of one sample; later spikes are dropped and counted.
        step_ms: Width of one time step. Unit: ms.
        input: spikes: the events of a channel in one step are one spike. counts: each of them
            is a spike of its own, up to 65,535 of a channel in one step.
        capacity: Spikes per sample and step that the input can hold; a random choice of the
            rest is dropped and counted. Null: as many as the busiest step has.
        samples: Use at most this many training samples, and as many test samples, drawn with
            subset_seed; null uses all.
        subset_seed: Selects the samples that are used or held out, and the spikes that are
            dropped.
        validation: Fraction of the training samples to choose with: they are not trained on,
            but measured after every epoch as validation_accuracy and validation_loss. Classes
            are represented in proportion. 0: none.
        pixels_merged: Side of the squares of pixels that are merged into one channel.
    """

def LogLatency(
    *,
    tau_eff_ms: float = 20.0,
    threshold: float = 0.2,
) -> SpecPart:
    """One spike per value, at t = tau_eff ln(x / (x - threshold)); none where x <= threshold.

    This is the charging time of a leaky integrator under constant current.

    Args:
        tau_eff_ms: Time constant of the charging. Unit: ms.
        threshold: Values up to and including this one give no spike.
    """

def LinearLatency(
) -> SpecPart:
    """One spike per value, at t = (1 - x) T of a sample of duration T; none where x is 0.

    Args:
    """

def Rate(
    max_rate: float = 0.2,
    *,
    seed: int = 0,
) -> SpecPart:
    """A spike in each step with probability x max_rate, drawn once for the whole experiment.

    Args:
        max_rate: Probability of a spike in a step where x is 1.
        seed: Seed of the spikes, independent of the experiment's seed.
    """

def Population(
    fields: int = 4,
    *,
    width: float = 0.7,
    threshold: float = 0.1,
) -> SpecPart:
    """Several channels per value, each with a Gaussian receptive field.

    Field i of P has its centre at i / (P - 1), activation a = exp(-(x - centre)^2 / (2
    sigma^2)) and one spike at t = (1 - a) T of a sample of duration T, none where a is below
    the threshold.

    Args:
        fields: Receptive fields per value.
        width: Sigma of a field, in distances between neighbouring centres.
        threshold: Activations below this one give no spike.
    """

def Shifts(
    copies: int = 4,
    *,
    pixels: float = 0.5,
    seed: int = 0,
) -> SpecPart:
    """Copies of every training image, each shifted by a part of a pixel or more.

    Shifts along rows and along columns are drawn independently and uniformly from [-pixels,
    pixels]. Between pixels an image is interpolated linearly; beyond its edges it is dark.
    Copies are made once and encoded as the images are. An epoch visits all of them. Held-out
    images are not copied.

    Args:
        copies: Copies of every training image.
        pixels: Largest shift along an axis. Unit: pixels.
        seed: Seed of the shifts, independent of the experiment's seed.
    """

def Uploaded(version: Any, **fields: Any) -> SpecPart: ...
