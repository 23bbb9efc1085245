"""The emulated device's compiler, and tests that run on it.

    compiled_once(name, library)   a library that no sanitizer sees, compiled once for all suites
    emulated_kernels(name, srcs)   .cu files compiled by g++, with a check before each access to memory
    emulated_test(name, srcs)      aorta_test that finds the emulated device where others find a GPU
"""

load("@rules_cc//cc:defs.bzl", "cc_library")
load("//bazel:aorta.bzl", "AORTA_COPTS", "CXX_COPTS", "aorta_gpu_test", "aorta_library", "aorta_test")

# The double of the libraries is used by every access of every kernel.
DOUBLE_COPTS = AORTA_COPTS + ["-O2", "-g1"]

# The double's own code runs on fibers and under locks that a sanitizer must not see.
UNSEEN_COPTS = DOUBLE_COPTS + select({
    "//bazel:asan": ["-fno-sanitize=all"],
    "//bazel:tsan": ["-fno-sanitize=thread"],
    "//conditions:default": [],
})

# Kernels are checked by the double in every suite. The address sanitizer's checks are host code's; the thread
# sanitizer's own suite links the very same calls to it, and so sees one stream's work race with another's.
KERNEL_COPTS = CXX_COPTS + [
    # Half of what tests take is the checks; kernels run as fast as by -O2, and compile in two thirds of its time.
    "-O1",
    "-g1",
    # Accesses as written: joined with their neighbours they would be wider, which no GPU makes.
    "-fno-tree-vectorize",
    "-fno-store-merging",
    # As nvcc compiles them: a fused multiply-add stands where the source says fma().
    "-mfma",
    "-mf16c",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-Wno-unknown-pragmas",  # unroll
    "-fno-sanitize=all",
    # A call before each access to memory that other threads may see. They go to access.cc: nothing
    # of the thread sanitizer is linked. (-fsanitize=kernel-address leaves out a write after a read.)
    "-fsanitize=thread",
    "--param=tsan-instrument-func-entry-exit=0",
    # The compiler may take a vector's elements one by one, which a GPU doesn't: alignment.cc.
    "-fsanitize=alignment",
    "-fsanitize-recover=alignment",
]

def _kernel_source(name, source):
    """A .cc that is the .cu: Bazel hands no other to g++. Errors keep their lines."""
    native.genrule(
        name = name + "_source",
        outs = [name + ".cc"],
        cmd = "echo '#include \"%s\"' > $@" % source.replace("//", "").replace(":", "/"),
    )
    return name + ".cc"

def _compiled_once_impl(ctx):
    return [ctx.attr.library[DefaultInfo], ctx.attr.library[CcInfo]]

# In the configuration of tools, which no suite's flags reach.
compiled_once = rule(
    implementation = _compiled_once_impl,
    attrs = {"library": attr.label(cfg = "host", mandatory = True, providers = [CcInfo])},
)

def emulated_kernels(name, srcs, parts = {}, deps = []):
    """Compiles CUDA sources with g++, once for all suites. parts: how often a stem is compiled, as in //cuda:parts.bzl."""
    libraries = []
    for source in srcs:
        stem = source.split(":")[1][:-len(".cu")]
        for part in range(parts.get(stem, 1)):
            library = "%s_%s_%d" % (name, stem, part)
            cc_library(
                name = library,
                testonly = True,
                srcs = [_kernel_source(library, source)],
                # For a shared library alone: Bazel would compile each a second time for programs.
                copts = KERNEL_COPTS + ["-fPIC"],
                features = ["-supports_pic"],
                linkstatic = True,
                local_defines = ["AORTA_%s_PART=%d" % (stem.upper(), part)],
                tags = ["manual"],  # or //... compiles them for this suite as well
                textual_hdrs = [source],
                deps = deps,
            )
            libraries.append(":" + library)
    cc_library(
        name = name + "_of_this_suite",
        testonly = True,
        tags = ["manual"],
        deps = libraries,
    )
    compiled_once(
        name = name,
        testonly = True,
        library = ":%s_of_this_suite" % name,
    )

# Any order of work and of threads is one that CUDA's rules allow, and gives the same results. Where the order is the
# plainest, tensors and grids of some size take the ways of those past 2^31 (cuda/limits.h).
_LIMITS = "256,3"

# The rows of the catalogue and layers have few elements. What has more takes too many launches with these.
_TINY_LIMITS = "16,3"
_MODES = {
    "": {},
    "_eager": {"AORTA_CUDA_LIMITS": _LIMITS, "AORTA_EMULATED_MODE": "eager", "AORTA_EMULATED_ORDER": "reverse"},
    "_random": {"AORTA_EMULATED_MODE": "random", "AORTA_EMULATED_ORDER": "random"},
    # Inside a launch all is as in the first, which has looked for races there.
    "_threads": {"AORTA_EMULATED_MODE": "threads", "AORTA_EMULATED_RACES": "0"},
}

def emulated_test(name, srcs, hdrs = [], deps = [], data = [], once = [], in_order = [], limited = [], huge = [], tiny = [], modes = list(_MODES), gpu = None, gpu_srcs = [], gpu_tags = ["manual"], emulated_deps = [], tags = [], **kwargs):
    """GoogleTest cases on the emulated device: NAME as late as the rules allow, NAME_eager, NAME_random, NAME_threads.

    modes: those of these that there are.
    once: patterns of the cases that NAME alone runs, and not under the address sanitizer, for they take long. No case may
        skip for want of a device.
    in_order: patterns of those in which work is waited for piece by piece, so that another order of it shows nothing new:
        they run in NAME and, with small limits, in NAME_eager, and not under the address sanitizer, which doesn't see kernels.
    huge: patterns of those that go past the limits of 32 bits: they run with small limits in each mode, in NAME_eager
        among the others and in NAME_limits, NAME_limits_random and NAME_limits_threads; and with the true ones, which
        takes many minutes and gigabytes, in NAME_huge, only when that is named.
    tiny: patterns of those that NAME_tiny runs, eagerly with limits of 16 elements, and NAME_eager doesn't.
    gpu: the name of the same cases on a GPU, for the bundle (tools/gpu_bundle.sh), if there is to be one; gpu_srcs and
        gpu_tags: what it has besides. emulated_deps: what the tests on the emulated device have besides.
    limited: patterns of those that NAME_limits and the others of its kind run beside; where there are none, those aren't either.
    """
    plugin = "//tests/cuda/emulated:libaorta_cuda_emulated.so"
    driver = "//tests/cuda/emulated:driver/libcuda.so.1"
    up = "/".join([".."] * len(native.package_name().split("/")))
    aorta_library(
        name = name + "_cases",
        testonly = True,
        srcs = srcs,
        hdrs = hdrs,
        alwayslink = True,
        deps = deps + ["@system//:gtest"],
    )
    if gpu:
        aorta_gpu_test(name = gpu, srcs = gpu_srcs, data = data, tags = gpu_tags, deps = [":" + name + "_cases"], **kwargs)
    small = {"_limits" + mode: dict(_MODES[mode], AORTA_CUDA_LIMITS = _LIMITS) for mode in modes if "AORTA_CUDA_LIMITS" not in _MODES[mode]}
    few = dict(small if limited else {}, _huge = {}) if huge else {}
    if tiny:
        few = dict(few, _tiny = dict(_MODES["_eager"], AORTA_CUDA_LIMITS = _TINY_LIMITS))
    for mode in modes + few.keys():
        env = dict(_MODES, **few)[mode]
        chosen = tiny if mode == "_tiny" else huge + ["EmulatedDevice.*"] + (limited if mode != "_huge" else [])
        left_out = (once if mode else []) + (in_order if mode in ["_random", "_threads"] else []) + (huge if "AORTA_CUDA_LIMITS" not in env else [])
        left_out += tiny if mode == "_eager" else []
        aorta_test(
            name = name + mode,
            srcs = [],
            args = select({
                "//bazel:asan": ["--gtest_filter=-" + ":".join(left_out + once + in_order)],
                "//conditions:default": ["--gtest_filter=" + (":".join(chosen) + "-" + ":".join(once) if mode in few else "-" + ":".join(left_out))],
            }),
            data = data + [plugin, driver],
            # The address sanitizer's suite runs one mode.
            tags = tags + (["no-sanitizer"] if mode else []) + (["manual"] if mode == "_huge" else []),
            env = dict(env, AORTA_CUDA_PLUGIN = "$(rootpath %s)" % plugin),
            # A sanitizer's dlopen looks along DT_RPATH, and not along the program's DT_RUNPATH.
            linkopts = ["-Wl,--disable-new-dtags,-rpath,$$ORIGIN/%s/tests/cuda/emulated/driver" % up],
            deps = [":" + name + "_cases", "//tests/cuda/emulated:present"] + emulated_deps,
            **kwargs
        )
