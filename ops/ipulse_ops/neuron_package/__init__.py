"""Neurons from installed packages: the interface that a package implements.

A package names a subclass of NeuronPackage in an entry point of the group `ipulse.neurons`.
"""

from ipulse_core.spec.neuron_packages import PackageParameter as Parameter
from ipulse_ops.neuron_package.interface import NeuronPackage

__all__ = ["NeuronPackage", "Parameter"]
