"""What of PyTorch's names Aorta has: the list in docs/pytorch.md, made of the public headers and PyTorch's own index.

    pytorch_names.py [ROOT]          writes the list into docs/pytorch.md
    pytorch_names.py --check [ROOT]  names what the page, the headers and the reasons disagree on; exits 1 if any
    pytorch_names.py --index         prints PyTorch's index for tests/fixtures/pytorch_names.txt; needs a Python that has it

A name is there where a header of the module's folders declares it. Else it stands in pytorch_reasons.py, with what is
written instead or why it is left out, or it is missing: not there yet. No name that a program of pytorch/examples uses
may be missing.
"""

import glob
import os
import re
import sys
import textwrap

from pytorch_reasons import LEFT_OUT, LINALG, METHODS, MODULES, NOTES, OTHER_THINGS, OTHERWISE, PROGRAM_MODULES, SPARSE

PAGE = "docs/pytorch.md"
INDEX = "tests/fixtures/pytorch_names.txt"
PROGRAMS = "tests/fixtures/pytorch_examples.txt"  # the names that the programs of pytorch/examples use
BEGIN, END = "<!-- names: tools/pytorch_names.py writes what follows -->", "<!-- end of names -->"
REASONS = "tools/pytorch_reasons.py"
TEST = "tests/core/tensor_methods_test.cc"  # calls each method beside its function
WIDTH = 120


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def texts(root, patterns):
    """The headers' texts without comments and what is kernels' alone; of linalg:: and sparse:: where their headers are asked for."""
    left_out = "kernel" if patterns in (LINALG, SPARSE) else "kernel|linalg|sparse"
    for pattern in patterns:
        for path in sorted(glob.glob(os.path.join(root, pattern))):
            text = re.sub(r"//.*", "", read(root, os.path.relpath(path, root)))
            yield re.sub(r"^namespace aorta::(?:%s) \{.*?^\} *(?=\n\n|\n?\Z)" % left_out, "", text, flags=re.M | re.S)


class Function:
    """A declaration: its name and parameters as (type, name, default or None)."""

    def __init__(self, result, name, parameters):
        self.result, self.name = result, name
        self.parameters = [p for p in (parameter(p) for p in split(parameters)) if p]

    def calls(self):
        """The lists of types that it is called with: defaults may be left out from the end."""
        types = tuple(kind for kind, _, _ in self.parameters)
        least = sum(default is None for _, _, default in self.parameters)
        return {types[:count] for count in range(least, len(types) + 1)}


def split(parameters):
    """At the commas outside brackets."""
    parts, depth = [""], 0
    for letter in parameters:
        depth += letter in "(<{"
        depth -= letter in ")>}"
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [" ".join(part.split()) for part in parts if part.strip()]


def parameter(text):
    text, _, default = text.partition(" = ")
    kind, name = re.fullmatch(r"(.*?[ &*])?(\w*)", text).groups()
    return (kind or "").strip(), name, default or None


DECLARATION = re.compile(r"^(?P<indent> *)(?:inline |static |virtual )?(?P<result>(?:const )?[\w:]+(?:<[\w:<>, ]+>)?[&*]?)\s+"
                         r"(?P<name>\w+)\((?P<parameters>(?:[^(){};]|\{[^(){}]*\}|\([^()]*\))*)\)(?P<const> const)?\s*[;{]", re.M)


def functions(text, indent):
    """The functions (indent 0) or methods (indent 2) that a header declares."""
    for found in DECLARATION.finditer(text):
        if len(found["indent"]) == indent and found["result"] not in ("return", "else", "new", "throw"):
            yield Function(found["result"], found["name"], found["parameters"])


def methods(root, paths):
    return [f for text in texts(root, paths) for f in functions(re.split(r"^ protected:", text, flags=re.M)[0], 2)]


def free_functions(root, patterns=("core/ops/*.h",)):
    return [f for text in texts(root, patterns) for f in functions(text, 0)]


def declared(root, module):
    """The names of a module that the headers declare."""
    patterns, kind = {**MODULES, **PROGRAM_MODULES}.get(module, ((), None))
    names = set()
    if kind == "methods":
        for text in texts(root, patterns):
            names |= set(re.findall(r"^  (?=\w)(?!return )[\w:<>&*, ]+?[ &](\w+)\(", text, re.M))
    if kind in ("functions", "both"):
        names |= {f.name for f in free_functions(root, patterns)}
    if kind in ("classes", "both"):
        for text in texts(root, patterns):
            names |= set(re.findall(r"^(?:class|struct|enum class) (\w+)\b[^;]*\{", text, re.M))
            names |= set(re.findall(r"^using (\w+) =", text, re.M))
    return names - OTHER_THINGS.get(module, set())


def index(root):
    """{module: its names}, from the fixture."""
    modules, names = {}, None
    for line in read(root, INDEX).splitlines():
        if line.startswith("["):
            names = modules.setdefault(line[1:-1], [])
        elif not line.startswith("#"):
            names += line.split()
    return modules


def programs(root):
    """{module: {name: the programs that use it}}, from the fixture."""
    modules, program, uses = {}, None, None
    for line in read(root, PROGRAMS).splitlines():
        if line.startswith("["):
            program = line[1:-1]
        elif not line.startswith("#"):
            if not line.startswith(" "):
                module, _, line = line.partition(": ")
                uses = modules.setdefault(module, {})
            for name in line.split():
                uses.setdefault(name, []).append(program)
    return modules


def reasons(module):
    """({name: what is written instead}, {name: why it is left out}); the name "*" stands for all others."""
    otherwise = {name: what for group, what in OTHERWISE.get(module, {}).items() for name in group.split()}
    left_out = {name: reason for reason, group in LEFT_OUT.get(module, {}).items() for name in group.split()}
    return otherwise, left_out


def sort_out(root, module, names):
    """(there, {what is written instead: names}, {reason: names}, missing)."""
    have = declared(root, module)
    otherwise, left_out = reasons(module)
    there, groups, why, missing = [], {}, {}, []
    for name in names:
        if name in have:
            there.append(name)
        elif name in otherwise or "*" in otherwise:
            groups.setdefault(otherwise.get(name) or otherwise["*"], []).append(name)
        elif name in left_out or "*" in left_out:
            why.setdefault(left_out.get(name) or left_out["*"], []).append(name)
        else:
            missing.append(name)
    return there, groups, why, missing


def check_reasons(root):
    """Reasons of names that need none, or that are nobody's."""
    problems, names, used = [], index(root), programs(root)
    for module in sorted({*OTHERWISE, *LEFT_OUT}):
        have = declared(root, module)
        otherwise, left_out = reasons(module)
        for name in sorted({*otherwise, *left_out} - {"*"}):
            if name in have:
                problems.append("%s: a name that is there needs no reason, got %s of %s" % (REASONS, name, module))
            if name not in names.get(module, ()) and name not in used.get(module, ()):
                problems.append("%s: a name must be one of PyTorch's, got %s of %s" % (REASONS, name, module))
            if name in otherwise and name in left_out:
                problems.append("%s: a name stands once, got %s of %s" % (REASONS, name, module))
    return problems


def paragraph(head, names):
    return textwrap.wrap("%s: `%s`." % (head, "` `".join(names)), WIDTH, break_long_words=False, break_on_hyphens=False)


def table_of(groups, why):
    lines = ["", "| name in PyTorch | here |", "|---|---|"]
    lines += ["| %s | %s |" % (" ".join("`%s`" % n for n in found), what) for what, found in groups.items()]
    return lines + ["| %s | left out: %s |" % (" ".join("`%s`" % n for n in found), reason) for reason, found in why.items()]


def page_list(root):
    """The list's lines."""
    lines = programs_list(root)
    for module, names in index(root).items():
        there, groups, why, missing = sort_out(root, module, names)
        lines += ["", "### %s" % module, "", "%d of %d names are there.%s" % (len(there), len(names), NOTES.get(module, ""))]
        if groups or why:
            lines += table_of(groups, why)
        if there:
            lines += [""] + paragraph("There", there)
        if missing:
            lines += [""] + paragraph("Not there yet", missing)
    return lines


def sort_out_program_names(root):
    """(the number that is there, {what is written instead: names}, {reason: names}, missing), of all modules together, each
    name as (module, name). A function of torch may be a method's."""
    count, groups, why, missing = 0, {}, {}, []
    for module, uses in sorted(programs(root).items()):
        there, otherwise, left_out, others = sort_out(root, module, sorted(uses))
        if module == "torch":
            methods_there, more, _, others = sort_out(root, "torch.Tensor", others)
            there += methods_there
            otherwise.update(more)
        count += len(there)
        for all_groups, found in ((groups, otherwise), (why, left_out)):
            for what, names in found.items():
                all_groups.setdefault(what, []).extend((module, name) for name in names)
        missing += [(module, name) for name in others]
    return count, groups, why, missing


def by_module(names):
    """Of (module, name): "torch: `cat` `mm`; torch.nn: `Linear`"."""
    modules = {}
    for module, name in names:
        modules.setdefault(module, []).append("`%s`" % name)
    return "; ".join("%s: %s" % (module, " ".join(found)) for module, found in modules.items())


def programs_list(root):
    """The part of the list that is about the programs of pytorch/examples."""
    count, groups, why, missing = sort_out_program_names(root)
    places = {(module, name): found for module, uses in programs(root).items() for name, found in uses.items()}
    numbers = (len({p for found in places.values() for p in found}), len(places), count,
               sum(len(names) for names in groups.values()), sum(len(names) for names in why.values()))
    head = ("The %d programs of pytorch/examples (but those of fx, which train nothing) use %d names. Of these %d are there, %d are written otherwise, as this table and "
            "those of the modules below say, and %s left out." % (*numbers[:-1], "%d are" % numbers[-1] if why else "none is"))
    known = {(module, name) for module, names in index(root).items() for name in names}
    lines = ["", "### The programs of pytorch/examples", ""] + textwrap.wrap(head, WIDTH)
    lines += ["", "| name in PyTorch | here |", "|---|---|"]
    for what, names in groups.items():
        if not known.issuperset(names):
            lines.append("| %s | %s |" % (by_module(n for n in names if n not in known), what))
    lines += ["", "| left out | in the programs | why |", "|---|---|---|"] if why else []
    for reason, names in why.items():
        users = sorted({program for name in names for program in places[name]})
        lines.append("| %s | %s | %s |" % (by_module(names), ", ".join(users), reason))
    return lines + (["", "Not there yet: " + by_module(missing)] if missing else [])


def page(root):
    """(the page as it should be, problems)."""
    problems = check_reasons(root)
    problems += ["%s: no program of pytorch/examples may lack a name, got %s of %s" % (PAGE, name, module)
                 for module, name in sort_out_program_names(root)[-1]]
    text = read(root, PAGE)
    if BEGIN not in text or END not in text:
        return text, problems + ["%s: the page must have the marks of the list, got none" % PAGE]
    head, tail = text.split(BEGIN)[0], text.split(END)[1]
    return head + BEGIN + "\n" + "\n".join(page_list(root)) + "\n\n" + END + tail, problems


# The functions that core/ops declares with a tensor that isn't the one that the method is of in front.
SELF = {"where": 1}


def called_with(function):
    """The function's lists of types without the tensor that the method is of."""
    place = SELF.get(function.name, 0)
    if len(function.parameters) <= place or function.parameters[place][0] not in ("const Tensor&", "const Operand&"):
        return set()
    return {types[:place] + types[place + 1:] for types in function.calls() if len(types) > place}


def check_methods(root):
    """What keeps a function with a tensor in front from being the method of torch.Tensor that has its name."""
    problems, by_name, ours = [], {}, {}
    for function in free_functions(root):
        if called_with(function):
            by_name.setdefault(function.name, []).append(function)
    for method in methods(root, METHODS[1:]):
        ours.setdefault(method.name, []).append(method)
    members = declared(root, "torch.Tensor")
    for name in index(root)["torch.Tensor"]:
        if name in by_name and name not in members:
            problems.append("%s: a function that torch.Tensor has as a method must be one, got %s" % (METHODS[1], name))
    for name, overloads in sorted(ours.items()):
        if name not in by_name:
            continue
        calls = set().union(*(f.calls() for f in overloads))
        wanted = set().union(*(called_with(f) for f in by_name[name]))
        if calls != wanted:
            problems.append("%s: a method must be called as its function is, got %s with %s" % (
                METHODS[1], name, " and ".join("(%s)" % ", ".join(c) for c in sorted(calls ^ wanted))))
        results = {f.result for f in by_name[name]} if not name.endswith("_") else {"const Tensor&"}
        if {f.result for f in overloads} - results:
            problems.append("%s: a method must give what its function gives, and in place the tensor, got %s" % (METHODS[1], name))
        defaults = {p[1]: p[2] for f in by_name[name] for p in f.parameters if p[2]}
        for _, parameter_name, default in (p for f in overloads for p in f.parameters):
            if default and defaults.get(parameter_name) != default:
                problems.append("%s: a default must be the function's, got %s = %s of %s" % (
                    METHODS[1], parameter_name, default, name))
    tested = read(root, TEST)
    for name in sorted(ours):
        called = name[:-1] if name.endswith("_") else name
        if not re.search(r"\b(?:SAME|WRITES)\(%s\b|\bBOTH\((?:%s|%s)\b|\.%s\(" % (name, called, name, name), tested):
            problems.append("%s: every method must be called, got none of %s" % (TEST, name))
    return problems


def print_index():
    import importlib
    import inspect
    import warnings

    warnings.simplefilter("ignore")  # of names that are there to say that they are gone
    import torch
    for name in MODULES:
        if name.rpartition(".")[2].islower():
            importlib.import_module(name)

    def public(module):
        return [name for name in dir(module) if not name.startswith("_")]

    def defined_in(module):
        return [name for name in public(module) if getattr(getattr(module, name), "__module__", "") == module.__name__]

    def callables(module):
        """What is defined in the module or in C, but for the types of tensors and storages."""
        for name in public(module):
            value = getattr(module, name)
            if callable(value) and (getattr(value, "__module__", None) or "").startswith((module.__name__, "torch._C")):
                if not name.endswith(("Tensor", "Storage")):
                    yield name

    def is_function(value):
        return callable(value) and not inspect.isclass(value) and getattr(value, "__module__", None) in (
            None, "torch", "torch.nn.functional", "torch._C._nn", "torch._C._linalg")

    def is_of_torch_alone(name):
        """A function that PyTorch documents: no method, nor a copy of a view, nor of symbols."""
        value = getattr(torch, name)
        return callable(value) and not inspect.isclass(value) and bool(inspect.getdoc(value)) and not (
            hasattr(torch.Tensor, name) or name.endswith(("_", "_copy")) or name.startswith("sym_"))

    modules = {
        "torch": [name for name in public(torch) if is_of_torch_alone(name)],
        "torch.Tensor": public(torch.Tensor),
        "torch.cuda": callables(torch.cuda),
        "torch.accelerator": torch.accelerator.__all__,
        "torch.amp": torch.amp.__all__,
        "torch.sparse": [name for name in torch.sparse.__all__ if inspect.isroutine(getattr(torch.sparse, name, None))],
        "torch.nn": [name for name in public(torch.nn) if name[0].isupper()],
        "torch.nn.Module": public(torch.nn.Module),
        "torch.nn.functional": [name for name in public(torch.nn.functional) if is_function(getattr(torch.nn.functional, name))],
        "torch.nn.init": defined_in(torch.nn.init),
        "torch.nn.utils": [name for name in public(torch.nn.utils) if inspect.isfunction(getattr(torch.nn.utils, name))],
        "torch.nn.utils.parametrizations": defined_in(torch.nn.utils.parametrizations),
        "torch.nn.utils.parametrize": defined_in(torch.nn.utils.parametrize),
        "torch.nn.utils.rnn": torch.nn.utils.rnn.__all__,
        "torch.nn.parallel": torch.nn.parallel.__all__,
        "torch.autograd": [name for name in torch.autograd.__all__ if callable(getattr(torch.autograd, name))],
        "torch.autograd.functional": torch.autograd.functional.__all__,
        "torch.utils.data": torch.utils.data.__all__,
        "torch.utils.checkpoint": [name for name in torch.utils.checkpoint.__all__ if name.islower()],
        "torch.multiprocessing": {*torch.multiprocessing.__all__, *callables(torch.multiprocessing)},
        "torch.distributed": callables(torch.distributed),
        "torch.optim": [name for name in public(torch.optim) if name[0].isupper()],
        "torch.optim.Optimizer": public(torch.optim.Optimizer),
        "torch.optim.lr_scheduler": torch.optim.lr_scheduler.__all__,
        "torch.optim.lr_scheduler.LRScheduler": public(torch.optim.lr_scheduler.LRScheduler),
        "torch.linalg": [name for name in public(torch.linalg) if inspect.isbuiltin(getattr(torch.linalg, name))],
        "torch.special": torch.special.__all__,
        "torch.fft": [name for name in public(torch.fft) if inspect.isroutine(getattr(torch.fft, name))],
        "torch.distributions": torch.distributions.__all__,
        "torch.distributions.Distribution": public(torch.distributions.Distribution),
        "torch.onnx": [name for name in torch.onnx.__all__ if callable(getattr(torch.onnx, name))],
    }
    print("# The names of PyTorch %s, by module; made by tools/pytorch_names.py --index." % torch.__version__.split("+")[0])
    for module, names in modules.items():
        print("[%s]" % module)
        print("\n".join(textwrap.wrap(" ".join(sorted(names)), WIDTH, break_on_hyphens=False)))


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--index"]:
        print_index()
        return 0
    check = arguments[:1] == ["--check"]
    root = (arguments[check:] or [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")])[0]
    text, problems = page(root)
    problems += check_methods(root)
    if check and text != read(root, PAGE):
        problems.append("%s: the list must be what tools/pytorch_names.py writes, got another" % PAGE)
    if not check:
        with open(os.path.join(root, PAGE), "w", encoding="utf-8") as file:
            file.write(text)
    print("\n".join(problems) or "the list is that of the headers")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
