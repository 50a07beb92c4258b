"""From command-line arguments to an answer and an exit code."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence

from simpleautodiff.cli import commands, write_output
from simpleautodiff.cli.describe_error import describe_error
from simpleautodiff.cli.options import parse_options
from simpleautodiff.cli.problem import file_of
from simpleautodiff.errors import AutodiffError, CheckError, DomainWarning

DONE, FAILED, UNUSABLE, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    0: done. 1: a check found derivatives that disagree, a function of the user's raised an error, a
    file could not be written, or with --strict a function was asked outside its domain. 2: the
    input cannot be used. 130: interrupted by Ctrl-C.

    Examples
    --------
    >>> main(["grad", "x**2*y", "x=2", "y=5", "--wrt", "x"])
    20
    0
    """
    file = ""
    try:
        options = parse_options(sys.argv[1:] if argv is None else argv)
        file = file_of(getattr(options, "formula", None))
        with warnings.catch_warnings(record=True) as caught:
            strict = getattr(options, "strict", False)
            warnings.simplefilter("error" if strict else "always", DomainWarning)
            commands.run(options)
        write_output.warn((str(warning.message) for warning in caught), file)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return write_output.exit_quietly()
    except Exception as error:
        return write_output.complain(describe_error(error), _exit_code(error), file)
    return DONE


def _exit_code(error: Exception) -> int:
    is_input = isinstance(error, AutodiffError) and not isinstance(error, CheckError)
    return UNUSABLE if is_input else FAILED
