"""What can go wrong between asking for a control plane and having one; it decides nothing."""


class ControlPlaneError(Exception):
    """There is no control plane; the message says why, and what to do about it."""
