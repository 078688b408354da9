"""What any cluster must do: each probe makes one claim, and runs unchanged on every one."""
