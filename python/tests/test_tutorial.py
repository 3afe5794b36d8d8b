"""README.md is a tutorial; its Python runs, and prints what stands there."""
import doctest
import pathlib
import re
import unittest

PAGE = pathlib.Path(__file__).resolve().parents[1] / "README.md"


def python_of(text):
    """Only the Python blocks, each line where it was."""
    lines, inside = [], False
    for line in text.splitlines():
        if re.match("```", line):
            inside = line == "```python"
            line = ""
        lines.append(line if inside else "")
    return "\n".join(lines)


class Tutorial(unittest.TestCase):
    def test_it_runs(self):
        text = python_of(PAGE.read_text(encoding="utf-8"))
        test = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
        self.assertGreater(len(test.examples), 30)
        result = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF | doctest.ELLIPSIS).run(test)
        self.assertEqual(result.failed, 0)


if __name__ == "__main__":
    unittest.main()
