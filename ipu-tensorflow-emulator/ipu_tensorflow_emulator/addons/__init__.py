"""The module that scripts import as `ipu_tensorflow_addons`."""
