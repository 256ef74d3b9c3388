"""What the table of packages calls the same, and what not."""

from tests.packages.comparison import compared


def test_equal_text_is_the_same():
    assert compared("a [1, 2]\nloss 0.5", "a [1, 2]\nloss 0.5") == (1, 0.0, None)


def test_decimal_numbers_differ_by_a_part_of_large_ones():
    assert compared("1000.1 0.25", "1000.0 0.26").largest == 0.01
    assert compared("200.0 -1.0e-3", "100.0 -1.0e-3").largest == 1.0


def test_whole_numbers_words_and_missing_lines_have_to_be_equal():
    for ours, theirs in (("3", "4"), ("0.5 a", "0.5 b"), ("0.5", "0.5\n0.6"), ("0.5", "nan")):
        assert compared(ours, theirs).unequal is not None
