"""Tests of the commands as somebody at a terminal meets them."""
