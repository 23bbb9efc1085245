"""The public headers, and what documents each of their names.

    headers.py [ROOT]          names without a comment, names of kernels among those of users, and headers of users
                               that aorta.h doesn't reach, as `file:line: rule, got name`; exits 1 if there are any
    headers.py --list [ROOT]   the public headers
    headers.py --filter FILE   FILE, a header or a page, as Doxygen is to see it

The house writes one comment for several declarations, which stand under it up to the next comment or empty line, and a
comment behind a member for that member. Doxygen knows neither: the filter repeats the comment before each of the
declarations, on their own lines, so that line numbers stay. It goes by the lines and indents that clang-format gives.
"""

import glob
import html
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import check_pages

# What aorta.h's headers give to users without being named in it; report, distributions and onnx are included by themselves.
MORE = ["core/device.h", "core/dtype.h", "core/number.h", "core/random.h", "core/reduce_dims.h", "core/resource_error.h",
        "core/shape.h", "core/tensor_methods.h", "core/process/portable.h",
        "core/io/npy.h", "core/io/npz.h", "core/io/safetensors.h", "core/eigen.h",
        "data/images/image_transforms.h", "data/recipe.h", "data/sample.h", "data/sample_error.h",
        "data/stall_account.h",
        "distributions/bernoulli.h", "distributions/binomial.h", "distributions/categorical.h", "distributions/cholesky_transforms.h", "distributions/constraint.h", "distributions/covariance.h",
        "distributions/distribution.h", "distributions/distributions.h", "distributions/gamma.h", "distributions/heavy_tailed.h",
        "distributions/independent.h", "distributions/logistic_normal.h", "distributions/low_rank_multivariate_normal.h",
        "distributions/mixture.h", "distributions/unit_interval.h",
        "distributions/kl.h", "distributions/lkj_cholesky.h", "distributions/location_scale.h", "distributions/multivariate_normal.h",
        "distributions/normal.h", "distributions/parameters.h", "distributions/poisson.h", "distributions/relaxed.h", "distributions/shape_transforms.h",
        "distributions/transformed_distribution.h", "distributions/transforms.h", "distributions/von_mises.h", "distributions/wishart.h",
        "nn/adaptive_softmax.h", "nn/fractional_pooling.h", "nn/sizes.h", "nn/unpooling.h", "onnx/onnx.h", "rpc/distributed_autograd.h", "rpc/distributed_optimizer.h", "rpc/future.h", "rpc/remote_module.h", "rpc/rpc.h", "rpc/rref.h",
        "optim/optimizer.h", "optim/options.h", "optim/oracle_schedules.h", "optim/scheduler.h",
        "report/bar_chart.h", "report/events.h", "report/page.h", "report/plot.h",
        "report/progress.h"]
# Folders whose headers are users', and those of them that are the house's own or for tests.
OF_USERS = ["core/ops", "data/datasets", "distributions", "models", "nn", "optim"]
NOT_IN_AORTA_H = ["core/ops/copy.h", "core/ops/gamma_point.h", "core/ops/indexed_plan.h", "core/ops/rank_reduction.h",
                "core/ops/total_norm.h", "core/ops/update.h", "data/datasets/echo_tables.h",
                "distributions/formulas.h", "distributions/gamma_functions.h", "models/attention_parts.h",
                "nn/graph_layout.h", "nn/module_hooks.h", "nn/packed_sizes.h", "nn/parametrization_list.h", "nn/reduced_loss.h", "optim/group.h",
                "optim/multi_tensor.h", "optim/oracle_gtest.h", "optim/oracle_mistakes.h", "optim/oracle_schedules.h",
                "optim/wolfe.h"]
SCOPE = re.compile(r"(?:class|struct|union|enum)\b[^();]*\{$")
ACCESS = re.compile(r"(public|protected|private):$")
# These declare nothing of their own.
NOTHING = re.compile(r"(?:friend|using namespace|using [\w:]+;|using [\w:]+::\S+;|(?:class|struct|enum class) \w+(?: : \w+)?;"
                     r"|inline [\w&: ]+\b\w+::\w+\("  # a member, with its comment where its class is
                     r"|extern template|static_assert|#|namespace|\}|extern \")")
# A class's template, defined behind it.
MEMBER = re.compile(r"template <[^>]*> [\w:<>,&* ]+ \w+::\w+\(")
# A template's specialisations have the template's comment.
SPECIALISATION = re.compile(r"(?:template <[^>]*> (?:requires .*)?)?struct \w+<")
# What dispatch, kernels and gradient entries need of an op's header: `aorta::kernel` holds it, which users don't see.
OF_KERNELS = re.compile(r"(?:extern|inline|constinit|constexpr) [^(]*?\b\w+_op\b|extern .*\b\w+_op;"
                        r"|(?:using|struct|class|enum class) \w*(?:Args|Plan|Kernel|Gradients?)\b")


def included(root, header):
    with open(os.path.join(root, header), encoding="utf-8") as file:
        return re.findall(r"#include <aorta/([^>]+)>", file.read())


def public_headers(root):
    return sorted(set(included(root, "aorta.h") + MORE))


def forgotten(root):
    """Headers of users that a program which includes aorta.h doesn't have."""
    reached, waiting = set(), ["aorta.h"]
    while waiting:
        header = waiting.pop()
        if header not in reached and os.path.exists(os.path.join(root, header)):
            reached.add(header)
            waiting += included(root, header)
    return [header for header in sorted(headers_of(root, OF_USERS)) if header not in reached.union(NOT_IN_AORTA_H, MORE)]


def headers_of(root, folders):
    return {os.path.relpath(path, root) for folder in folders for path in glob.glob(os.path.join(root, folder, "*.h"))}


class Scope:
    """A namespace (indent 0) or a class: where its members stand, and whether they are users'."""

    def __init__(self, indent, public, word):
        self.indent, self.public, self.word = indent, public, word


class Declaration:
    """One declaration: its first and last line, its comment (lines without slashes), whether that is shared with the
    declaration above, and the first function that has it."""

    def __init__(self, first, scope):
        self.first = self.last = first
        self.public, self.word, self.indent = scope.public, scope.word, scope.indent
        self.raw, self.comment, self.shared, self.first_name, self.behind = [], [], False, "", ""


def ends(lines, number):
    """The last line of the declaration that begins at a line, or the line of the brace that opens a class's members."""
    text = ""
    while True:
        code = re.sub(r"\s*//.*", "", lines[number])
        text += " " + code.strip()
        if SCOPE.search(re.sub(r"template <.*?> |requires [^{]*?(?=struct|class)|alignas\(\d+\)", "", text)):
            return number, True
        opened = text.count("{") - text.count("}")
        if opened == 0 and text.count("(") == text.count(")") and text.rstrip()[-1:] in (";", "}", ","):
            return number, False
        number += 1
        if number == len(lines):
            return number - 1, False


def declarations(lines):
    """The declarations of namespaces and classes, in order."""
    scopes, found, number = [Scope(0, True, "namespace")], [], 0
    comment, previous, hidden = [], None, 0
    while number < len(lines):
        line = lines[number]
        code, scope = line.strip(), scopes[-1]
        if not code or re.match(r"//(?!/)", code):
            comment, previous = [], None
        elif code.startswith("///"):
            comment, previous = comment + [code[3:]], None
        elif ACCESS.match(code):
            scope.public, comment, previous = code == "public:" and scopes[-2].public, [], None
        elif re.match(r"namespace (?:aorta::)?(detail|internal|kernel)\b.*\{", code):
            while not re.match(r"\}  // namespace", lines[number]):
                number += 1
        elif code.startswith("}"):
            if len(scopes) > 1:
                previous = scopes.pop().declaration
                comment = []
        elif code[0] == "#":
            while lines[number].endswith("\\"):
                number += 1
        elif NOTHING.match(code):
            if code.startswith(("extern template", "using", "friend", "static_assert")):
                number = ends(lines, number)[0]
        elif MEMBER.match(" ".join(part.strip() for part in lines[number:number + 2])):
            number = ends(lines, number)[0]
        else:
            this = Declaration(number, scope)
            this.raw, this.first_name = comment, (re.findall(r"(\w+)\(", code) or [""])[0]
            alike = previous and kind_of(code) == kind_of(lines[previous.first].strip())
            if not comment and alike and scope.word != "enum" and not previous.behind:
                this.raw, this.shared, this.first_name = previous.raw, True, previous.first_name
            this.last, opens = ends(lines, number)
            behind = re.search(r"\S\s+// (.*)", lines[this.last] if not opens else "")
            this.behind = behind.group(1) if behind and not opens else ""
            if this.behind and this.shared:
                this.raw, this.shared = [], False
            this.comment = [line.strip() for line in this.raw]
            found.append(this)
            number, comment, previous = this.last, [], this
            if opens:
                inner = Scope(scope.indent + 2, scope.public and "class " not in code.split("{")[0],
                              "enum" if "enum" in lines[this.first] + lines[this.last] else "class")
                inner.declaration = this
                scopes.append(inner)
        number += 1
    return found


def kind_of(code):
    """What shares a comment: types, aliases, functions and constants; a destructor has nothing to share."""
    found = re.match(r"(using|struct|class|enum)\b|(?:virtual )?~\w", code)
    return "" if not found else "type" if found.group(1) in ("struct", "class", "enum") else found.group(0)


def text_of(lines, declaration):
    return " ".join(line.strip() for line in lines[declaration.first:declaration.last + 1])


def read_lines(root, header):
    with open(os.path.join(root, header), encoding="utf-8") as file:
        return file.read().split("\n")


def check(root):
    """`file:line: rule, got declaration` for each header of users that aorta.h doesn't reach, for each public name that no
    comment documents, and for each name of a row, of arguments, or of a type of kernels or gradient entries that an op's
    header declares among the names of users."""
    problems = []
    for header in forgotten(root):
        problems.append(header + ":1: aorta.h must include each header of users, got one that it doesn't reach")
    ops = headers_of(root, ["core/ops"])
    public = public_headers(root)
    for header in sorted({*public, *ops}):
        lines = read_lines(root, header)
        for one in declarations(lines):
            text, place = text_of(lines, one), "%s:%d: " % (header, one.first + 1)
            if not one.public or one.word != "namespace":
                continue
            if header in ops and OF_KERNELS.match(text):
                problems.append(place + "what kernels are given must be in aorta::kernel, got " + text[:90])
            elif header in public and not one.comment and not one.behind and not SPECIALISATION.match(text):
                problems.append(place + "a public name must have a comment, got " + text[:90])
    return problems


def as_code(found):
    """A code span that Doxygen takes for what it says, backslashes and stars too."""
    text = html.escape(found.group(1), quote=False).replace("\\", "&#92;").replace("*", "&#42;")
    return "<code>%s</code>" % text


def with_anchors(name, text):
    """A page whose headings have names, which its links say: Doxygen 1.9 gives none."""
    def id_of(page, heading):
        folder, file = os.path.normpath(page).split(os.sep)[-2:]
        return "-".join((folder, file.removesuffix(".md"), heading))

    lines = text.split("\n")
    for i, prose in enumerate(check_pages.prose(text)):
        if prose.startswith("##"):
            lines[i] += " {#%s}" % id_of(name, check_pages.anchor(prose))
        elif prose:
            lines[i] = re.sub(r"\]\(([\w./]*)#([\w-]+)\)", lambda found: "](#%s)" % id_of(
                os.path.join(os.path.dirname(name), found[1]) if found[1] else name, found[2]), lines[i])
    return "\n".join(lines)


def filtered(name, text):
    if name.endswith(".md"):
        return with_anchors(name, re.sub(r"`` (.*?) ``", as_code, text))
    lines = text.split("\n")
    for one in declarations(lines):
        if one.behind:
            lines[one.last] = re.sub(r"(\S\s+)// ", r"\1///< ", lines[one.last])
        if one.shared and one.comment:
            code = any(line.startswith("     ") for line in one.raw)  # it can't stand in a line
            text = "@copydoc " + one.first_name if code else " ".join(one.comment)
            lines[one.first] = "/** %s */ %s" % (text, lines[one.first].strip())
    return "\n".join(lines)


def main():
    arguments = [one for one in sys.argv[1:] if not one.startswith("--")]
    if "--filter" in sys.argv:
        with open(arguments[0], encoding="utf-8") as file:
            sys.stdout.write(filtered(arguments[0], file.read()))
        return 0
    root = arguments[0] if arguments else "."
    lines = public_headers(root) if "--list" in sys.argv else check(root)
    print("\n".join(lines))
    return 1 if lines and "--list" not in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
