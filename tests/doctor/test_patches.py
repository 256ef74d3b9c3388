"""Repairs as diffs: every one of the corpora applies, and a diff that does not fit is refused."""

from pathlib import Path

import pytest

from tests.doctor.patches import DoesNotApply, apply, between, repaired, split

DIFFS = sorted(Path(__file__).parent.rglob("*.diff"))


@pytest.mark.parametrize("diff", DIFFS, ids=lambda path: path.stem)
def test_repairs_apply(diff: Path) -> None:
    script = repaired(diff)
    source = diff.with_suffix(".py")
    if source.exists():
        assert script.name == f"{diff.stem}.fixed.py"
        assert between(source.read_text(), script.read_text(), source.name) == diff.read_text()
    else:
        assert script.parent.name == f"{diff.stem}.fixed"
        for name in split(diff.read_text()):
            assert (script.parent / name).read_text() != (diff.with_suffix("") / name).read_text()
    compile(script.read_text(), script.name, "exec")


def test_lines_are_added_removed_and_kept() -> None:
    before = "".join(f"{number}\n" for number in range(30))
    after = "new\n" + before.replace("7\n", "", 1).replace("20\n", "twenty\n20\n")
    diff = between(before, after, "a.py")
    assert apply(split(diff)["a.py"], before) == after


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(DoesNotApply, match="line 1 is not 'b'"):
        apply("@@ -1 +1 @@\n-b\n+c\n", "a\n")
