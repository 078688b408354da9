"""
What the engine and the sandbox cost, measured on inputs made from seeds: `make bench`.

One module per group of rows; `inputs` makes the worlds, `measure` times them, `report` prints the
table. Nothing here fails because of a clock: `test_bench` runs every row small and checks counts.
"""
