"""The macros that every BUILD file uses.

    aorta_library(name, srcs, hdrs, deps)      headers are included as <aorta/PACKAGE/x.h>, in the tree and outside;
                                               sources of a folder are compiled together (unity.bzl)
    aorta_isa_library(name, srcs, hdrs, deps)  the sources compiled for x86-64-v2, -v3 and -v4
    aorta_binary(name, srcs, deps)             a program
    aorta_test(name, srcs, deps)               a GoogleTest program; tags = ["threads"] runs it under TSan too
    aorta_gpu_test(name, srcs, deps)           the same, for tests that need a GPU; skipped where CUDA is off
    aorta_python_test(name, src, data)         Python unittest cases, run with the machine's python3

All of them compile our own code as C++20 with warnings as errors; flags are set here and not in .bazelrc,
so that a workspace that embeds Aorta compiles it in the same way.
"""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")
load("@system//:machine.bzl", "ISA", "MPI")
load(":cuda.bzl", "requires_cuda")
load(":precompiled.bzl", "include_precompiled")
load(":unity.bzl", "unity_sources")

_WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Wshadow=local",
    "-Wnon-virtual-dtor",
    "-Woverloaded-virtual",
    "-Wsuggest-override",
    "-Wcast-qual",
    "-Wduplicated-cond",
    "-Wextra-semi",
    "-Wformat=2",
    "-Wvla",
    "-Werror",
    # g++ 12 reports overlapping copies in std::string's operator+ that aren't there (GCC bug 105651).
    "-Wno-restrict",
    # g++'s note about a changed ABI of vector arguments: none crosses our interfaces.
    "-Wno-psabi",
]

# Of whatever is C++ of ours, in every configuration alike.
CXX_COPTS = ["-std=c++20"] + _WARNINGS

_FEWER_WARNINGS = select({
    # Instrumented code defeats the flow analysis behind this warning.
    "//bazel:asan": ["-Wno-maybe-uninitialized"],
    "//bazel:tsan": ["-Wno-maybe-uninitialized"],
    "//conditions:default": [],
})

# g++ cleans up its memory from 500 MB on, and not from 128: a fourteenth of the time to compile.
_COMPILER_MEMORY = ["--param=ggc-min-heapsize=500000"]

# -c opt brings -O2 and -c dbg -O0 -g. The default build is the one that tests run in, so it is checked and not slow.
_MODE = select({
    "//bazel:fastbuild": ["-O1", "-D_GLIBCXX_ASSERTIONS"] + _COMPILER_MEMORY,
    "//conditions:default": _COMPILER_MEMORY,
}) + select({
    # A quarter less to compile, and stacks as written.
    "//bazel:asan": ["-Og"],
    "//bazel:tsan": ["-Og"],
    "//conditions:default": [],
})

AORTA_COPTS = CXX_COPTS + _FEWER_WARNINGS + _MODE

# For core and the tests, which name the kernels of an instruction set: with --isa=machine there is one. The
# other rooms compile the same either way.
ISA_COPTS = select({
    "//bazel:isa_machine": ["-DAORTA_ONE_ISA=" + ISA],
    "//conditions:default": [],
})

# Test programs take as long to compile as the library. Under asan their own pointers aren't checked for
# alignment and type: each EXPECT_EQ has a dozen.
TEST_COPTS = AORTA_COPTS + ISA_COPTS + [
    # A fixture that only its own source sees isn't in what g++ takes for the main file, where sources are joined.
    "-Wno-subobject-linkage",
] + select({
    "//bazel:fastbuild": ["-Og"],
    "//conditions:default": [],
}) + select({
    "//bazel:asan": ["-fno-sanitize=alignment,vptr"],
    "//conditions:default": [],
})

# A third to a half of a source's time is the standard library's headers and GoogleTest's, so they are precompiled.
# //tests/checks:includes_test shows that each file includes what it uses.
_TEST_PRELUDE = ["//bazel:test_prelude"]
_TEST_PRELUDE_COPTS = include_precompiled("test_prelude")
_PRELUDE = select({
    "//bazel:unity_on": ["//bazel:prelude"],
    "//conditions:default": [],
})
_PRELUDE_COPTS = select({
    "//bazel:unity_on": include_precompiled("prelude"),
    "//conditions:default": [],
}) + select({
    # g++ 12 then forgets that they are the system's, and warns of std::string's own code.
    "//bazel:unity_opt": ["-Wno-array-bounds", "-Wno-stringop-overflow"],
    "//conditions:default": [],
})

# -O3 even in the default build: kernels are what tests spend their time in. Results don't depend on what
# the compiler contracts, so the three variants differ only where the source says fma().
_KERNEL_COPTS = [
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
] + select({
    # GCC 12's frames for the check of uses after return are aligned to 32 bytes, not to a vector's 64.
    "//bazel:asan": ["-O1", "--param=asan-use-after-return=0"],
    "//bazel:tsan": ["-Og"],
    "//conditions:default": ["-O3"],
})

ISAS = {
    "v2": ["-march=x86-64-v2"],
    "v3": ["-march=x86-64-v3"],
    "v4": ["-march=x86-64-v4", "-mprefer-vector-width=512"],
}

# In the default build those that this CPU doesn't run, unless told to, need not be fast.
_OTHER_ISA_COPTS = select({
    "//bazel:fastbuild": ["-O1"],
    "//conditions:default": [],
})

# Sanitizers lay out a table of places in the source; a program that may be loaded anywhere has a relocation for each.
_NO_PIE = select({
    "//bazel:asan": ["-no-pie"],
    "//bazel:tsan": ["-no-pie"],
    "//conditions:default": [],
})

def _include_prefix():
    return "aorta/" + native.package_name() if native.package_name() else "aorta"

def aorta_library(name, srcs = [], hdrs = [], deps = [], copts = [], alone = [], optimization = None, **kwargs):
    """A cc_library whose headers are included as <aorta/PACKAGE/header>.

    Every header goes into hdrs; one in srcs would not be found under <aorta/...>. Sources in alone are compiled each
    by itself, whatever --unity says. optimization is the level in every configuration, -O0 or -O3, for sources whose
    own time doesn't matter or is all that matters.
    """
    if kwargs.get("testonly"):
        prelude, options = _TEST_PRELUDE, TEST_COPTS + _TEST_PRELUDE_COPTS
    elif optimization:
        # Precompiled headers are of the configuration's level: with another one g++ may crash.
        prelude, options = [], AORTA_COPTS + [optimization]
    else:
        prelude, options = _PRELUDE, AORTA_COPTS + _PRELUDE_COPTS
    cc_library(
        name = name,
        srcs = unity_sources(name, srcs) + alone,
        hdrs = hdrs,
        copts = options + copts,
        include_prefix = _include_prefix(),
        linkstatic = True,  # no shared object a library: libaorta.so is the one
        deps = deps + prelude if srcs or alone else deps,
        **kwargs
    )

def aorta_isa_library(name, srcs = [], hdrs = [], deps = [], copts = [], **kwargs):
    """CPU kernels, compiled once for each instruction set, with -DAORTA_ISA=v2|v3|v4; with --isa=machine for one, "only".

    Everything in the sources lives in namespace aorta::cpu::AORTA_ISA; the extern entry points of
    aorta::cpu::v2, v3 and v4 are called by the code that asks cpu::isa(). No weak symbol may lie outside that
    namespace: the linker could pick its AVX-512 copy for an old CPU. //tests/checks looks into the
    archives, the files of NAME_archives.
    """
    aorta_library(
        name = name + "_headers",
        hdrs = hdrs,
        deps = deps,
        **kwargs
    )
    for isa, flags in ISAS.items():
        cc_library(
            name = name + "_" + isa,
            srcs = select({
                "//bazel:isa_machine": srcs if isa == ISA else [],
                "//conditions:default": srcs,
            }),
            copts = AORTA_COPTS + ISA_COPTS + _KERNEL_COPTS + flags + ([] if isa == ISA else _OTHER_ISA_COPTS) + copts,
            linkstatic = True,
            local_defines = select({
                "//bazel:isa_machine": ["AORTA_ISA=only"],
                "//conditions:default": ["AORTA_ISA=" + isa],
            }),
            deps = [":" + name + "_headers"],
            **kwargs
        )
    native.filegroup(
        name = name + "_archives",
        srcs = [":" + name + "_" + isa for isa in ISAS],
    )
    cc_library(
        name = name,
        deps = [":" + name + "_headers"] + [":" + name + "_" + isa for isa in ISAS],
        **kwargs
    )

def _header_library(name, hdrs, deps):
    """Returns deps, and with them the headers of a program, included as <aorta/PACKAGE/header>."""
    if not hdrs:
        return deps
    aorta_library(name = name + "_headers", hdrs = hdrs, deps = deps, testonly = True)
    return deps + [":" + name + "_headers"]

def aorta_binary(name, srcs, hdrs = [], deps = [], copts = [], linkopts = [], **kwargs):
    """A program. hdrs are its own headers, included as <aorta/PACKAGE/header>."""
    cc_binary(
        name = name,
        srcs = srcs,
        copts = AORTA_COPTS + _PRELUDE_COPTS + copts,
        linkopts = linkopts if kwargs.get("linkshared") else _NO_PIE + linkopts,
        deps = _header_library(name, hdrs, deps) + _PRELUDE,
        **kwargs
    )

def aorta_test(name, srcs, hdrs = [], deps = [], copts = [], linkopts = [], size = "small", alone = [], long_in_asan = [], uses_after_return = True, **kwargs):
    """A GoogleTest program; main is tests/main.cc. hdrs are included as <aorta/PACKAGE/header>; alone is aorta_library's.

    long_in_asan: patterns of cases that the address sanitizer's suite leaves out: they take it long, and run what others run.
    uses_after_return: whether that suite checks for them; no where it takes long, of calls that other tests make too.
    """
    if long_in_asan:
        kwargs["args"] = kwargs.get("args", []) + select({
            "//bazel:asan": ["--gtest_filter=-" + ":".join(long_in_asan)],
            "//conditions:default": [],
        })
    cc_test(
        name = name,
        size = size,
        srcs = unity_sources(name, srcs) + alone,
        copts = TEST_COPTS + _TEST_PRELUDE_COPTS + copts,
        linkopts = _NO_PIE + linkopts,
        deps = _header_library(name, hdrs, deps) + _TEST_PRELUDE + ["//tests:main"] +
               (["//tests:uses_after_return"] if uses_after_return else []),
        **kwargs
    )

def cuda_plugin_linkopts():
    """For a program that depends on //cuda:libaorta_cuda.so as data: where it lies, seen from the program."""
    up = "/".join([".."] * len(native.package_name().split("/")))
    return ["-Wl,-rpath,$$ORIGIN/%s/cuda" % up]

def opencv_plugin_linkopts():
    """The same for //data:libaorta_opencv.so, libaorta_dicom.so and libaorta_lsun.so."""
    up = "/".join([".."] * len(native.package_name().split("/")))
    return ["-Wl,-rpath,$$ORIGIN/%s/data" % up]

def onnx_plugin_linkopts():
    """The same for //onnx:libaorta_onnx.so."""
    up = "/".join([".."] * len(native.package_name().split("/")))
    return ["-Wl,-rpath,$$ORIGIN/%s/onnx" % up]

def if_mpi(then):
    """The list where MPI is installed, else nothing."""
    return then if MPI else []

def requires_mpi():
    """For target_compatible_with: the target is skipped where MPI isn't installed."""
    return [] if MPI else ["//bazel:no_such_platform"]

def mpi_plugin_linkopts():
    """As cuda_plugin_linkopts(), for //mpi:libaorta_mpi.so."""
    up = "/".join([".."] * len(native.package_name().split("/")))
    return ["-Wl,-rpath,$$ORIGIN/%s/mpi" % up]

def aorta_gpu_test(name, srcs, tags = [], data = [], linkopts = [], **kwargs):
    """A GoogleTest program that needs a GPU: compiled wherever CUDA is, GTEST_SKIP where there is no device.

    It finds the CUDA plugin as any program does; it doesn't link it.
    """
    aorta_test(
        name = name,
        srcs = srcs,
        tags = tags + ["gpu"],
        data = data + ["//cuda:libaorta_cuda.so"],
        linkopts = linkopts + cuda_plugin_linkopts(),
        target_compatible_with = requires_cuda(),
        **kwargs
    )

def aorta_python_test(name, src, data = [], args = [], tags = [], size = "small", sanitize = False, **kwargs):
    """The unittest cases of one Python file; each counts as a test case, and --test_filter chooses among them.

    data are the files it reads, found below the working directory; args reach it as sys.argv[1:].
    Without sanitize it is left out of the sanitizers' suites. (py_test would need a program called python.)
    """
    native.sh_test(
        name = name,
        size = size,
        srcs = ["//bazel:python_test.sh"],
        args = ["$(location %s)" % src] + args,
        data = [src, "//bazel:python_test.py"] + data,
        tags = tags + ([] if sanitize else ["no-sanitizer"]),
        **kwargs
    )
