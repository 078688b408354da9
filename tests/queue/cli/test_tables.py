"""Tables fit the line, and never cut a name."""

from hypothesis import given
from hypothesis import strategies as st

from muster.queue.cli.tables import LINE_WIDTH, Row, table

HEADING = ("NAME", "QUEUE", "WHY")


def lines(*rows: Row, width: int | None = LINE_WIDTH) -> list[str]:
    return [
        line.replace("\x1b[1m", "").replace("\x1b[0m", "")
        for line in table(HEADING, rows, width=width)
    ]


def test_no_rows_no_table() -> None:
    assert lines() == []


def test_columns_are_as_wide_as_what_is_in_them() -> None:
    assert lines(Row(("a", "long-queue"), ("x",)), Row(("long-name", "b"), ("y", "z"))) == [
        "NAME       QUEUE       WHY",
        "a          long-queue  x",
        "long-name  b           y",
        "                       z",
    ]


def test_the_last_column_is_wrapped() -> None:
    text = " ".join(["word"] * 30)

    assert lines(Row(("a", "b"), (text,))) == [
        "NAME  QUEUE  WHY",
        "a     b      " + " ".join(["word"] * 17),
        "               " + " ".join(["word"] * 13),
    ]


def test_what_just_fits_is_not_wrapped() -> None:
    text = "x y" + "z" * (LINE_WIDTH - len("a     b      ") - 3)

    assert lines(Row(("a", "b"), (text,)))[1] == f"a     b      {text}"
    assert len(lines(Row(("a", "b"), (text + "z",)))) == 3


def test_a_name_that_is_too_long_stands_alone() -> None:
    name = "n" * 40

    assert lines(Row(("a", "b"), ("x",)), Row((name, "b"), ("y",))) == [
        f"NAME{' ' * 30}QUEUE  WHY",
        f"a{' ' * 33}b      x",
        f"{name}  b",
        f"{' ' * 41}y",
    ]


def test_without_a_width_nothing_is_wrapped() -> None:
    text = "word " * 100

    assert (
        lines(Row(("n" * 80, "b"), (text,)), width=None)[1] == f"{'n' * 80}  b      {text}".rstrip()
    )


def test_an_empty_last_cell_leaves_no_blanks() -> None:
    assert lines(Row(("a", "b")))[1] == "a     b"


words = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=20)


@given(
    rows=st.lists(
        st.builds(
            Row,
            st.tuples(words, words),
            st.tuples(st.lists(words, min_size=1, max_size=40).map(" ".join)),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_every_line_fits_and_every_word_is_there(rows: list[Row]) -> None:
    shown = lines(*rows)

    assert max(map(len, shown)) <= LINE_WIDTH
    words_in = [word for row in rows for cell in (*row.cells, *row.last) for word in cell.split()]
    words_out = [word for line in shown[1:] for word in line.split()]
    assert sorted(words_in) == sorted(words_out)
