"""
The configuration file: `apiVersion: config.kueue.x-k8s.io/v1beta2`, `kind: Configuration`.

The format is the peer's, so that an existing file works unchanged: every field it has is known and
checked, also those without effect in Muster. What only Muster has stands under `muster`.

`parse_configuration` takes a parsed file, v1beta1 included; nothing here reads one.
"""

from muster.queue.api.configuration.file import (
    Configuration,
    ConfigurationKindError,
    parse_configuration,
)
from muster.queue.api.configuration.v1beta1 import upgrade

__all__ = ["Configuration", "ConfigurationKindError", "parse_configuration", "upgrade"]
