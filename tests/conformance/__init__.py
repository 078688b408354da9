"""Recorded decisions of the peer, replayed."""
