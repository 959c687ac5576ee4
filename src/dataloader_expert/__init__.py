"""Measures PyTorch data pipelines and proves each fix by a run.

Importing this package loads neither torch nor numpy; ``dataloader_expert.loaders`` and
``dataloader_expert.samplers`` do.
"""

__version__ = "0.1.0"
