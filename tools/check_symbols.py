"""Checks that kernels compiled for an instruction set define nothing that other code could be linked to.

    check_symbols.py ISA OBJECT_OR_ARCHIVE...

The linker keeps one copy of a weak symbol, such as an instantiation of a std template. If it keeps the one that
was compiled for AVX-512, the program dies on an older CPU. So every global symbol that the objects define lies in
namespace aorta::cpu::ISA. Prints `object: rule, got symbol` for each that doesn't, and exits 1.
"""

import re
import subprocess
import sys

# nm's letters of symbols that are defined and visible to the linker; a small letter but u and i is local.
GLOBAL = set("ABCDGRSTVWui")
SYMBOL = re.compile(r"(.*?):[0-9a-f]{16} (\S) (.*)")
# A reference to the exception handler, data that is the same for every ISA.
HARMLESS = ("DW.ref.__gxx_personality_v0",)


def own_name(isa):
    """Matches the mangled names of functions, variables, their statics, guards and type information in the namespace."""
    return re.compile(r"_Z(T[VTIS]|GV|Z|L|TW|TH)*NV?K?5aorta3cpu%d%s" % (len(isa), isa))


def check(isa, objects):
    """Every foreign symbol as a line of text."""
    problems = []
    own = own_name(isa)
    # One nm each: with two archives it writes headings between the lines.
    lines = [line for path in objects for line in subprocess.run(
        ["nm", "-A", "--defined-only", path], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()]
    seen = 0
    for line in lines:
        place, letter, name = SYMBOL.fullmatch(line).groups()
        if letter not in GLOBAL:
            continue
        seen += 1
        if name not in HARMLESS and not own.match(name):
            shown = subprocess.run(["c++filt", name], stdout=subprocess.PIPE).stdout.decode().strip()
            problems.append("%s: symbols lie in aorta::cpu::%s, got %s" % (place, isa, shown))
    return problems, seen


def main():
    problems, seen = check(sys.argv[1], sys.argv[2:])
    print("\n".join(problems + ["%s: %d global symbols" % (sys.argv[1], seen)]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
