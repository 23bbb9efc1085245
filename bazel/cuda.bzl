"""cuda_library: compiles .cu files with nvcc; empty where CUDA is off.

    cuda_library(name, srcs, hdrs, deps)   headers are included as <aorta/PACKAGE/x.h>, like aorta_library's
    if_cuda([...])                         the list where CUDA is on, else nothing
    requires_cuda()                        for target_compatible_with: the target is skipped where CUDA is off
    HAS_CUDNN, HAS_NCCL                    whether the toolkit that was found has cuDNN, or NCCL
    CUDA_VERSION                           of that toolkit: "13.0"; "none" without one
"""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("@local_config_cuda//:defs.bzl", "CUDA")
load("@rules_cc//cc:defs.bzl", "cc_library")

HAS_CUDNN = CUDA.has_cudnn
HAS_NCCL = CUDA.has_nccl
CUDA_VERSION = CUDA.version or "none"

FlagInfo = provider(fields = ["value"])

def _flag_impl(ctx):
    value, values = ctx.build_setting_value, getattr(ctx.attr, "values", [])
    if values and value not in values:
        fail("--%s: one of %s, got %s" % (ctx.label.name, ", ".join(values), value))
    return [FlagInfo(value = value)]

bool_flag = rule(implementation = _flag_impl, build_setting = config.bool(flag = True))
string_flag = rule(
    implementation = _flag_impl,
    build_setting = config.string(flag = True),
    attrs = {"values": attr.string_list(doc = "Those that there are; none where any is taken.")},
)

def if_cuda(then, otherwise = []):
    return select({
        "//bazel:cuda_on": then,
        "//conditions:default": otherwise,
    })

def requires_cuda():
    return select({
        "//bazel:cuda_on": [],
        "//conditions:default": ["//bazel:no_such_platform"],
    })

# Warnings are errors in nvcc's front end, in ptxas and in the host compiler. -Wextra and -Wpedantic would
# strike the code that nvcc itself writes for the host.
_FLAGS = [
    "-std=c++20",
    "--expt-relaxed-constexpr",
    "--extended-lambda",
    # As -ffp-contract=off on the CPU: a fused multiply-add stands where the source says fma().
    "-fmad=false",
    "-Werror",
    "all-warnings",
    "-diag-suppress=1675",  # "unrecognized GCC pragma": those of the single-source code are for g++
    "-Xptxas=-v",  # what each kernel takes, which nvcc_wrapper.sh keeps
    "-Xcompiler=-Wall,-Werror,-Wno-restrict",
]

def _gencode(archs):
    """'80,90a' -> SASS for each, and PTX of the last plain one for newer GPUs; '90-real' -> no PTX."""
    flags = []
    plain = []
    for a in archs.split(","):
        if a.endswith("-real"):
            real = a[:-len("-real")]
            flags += ["-gencode", "arch=compute_%s,code=sm_%s" % (real, real)]
            continue
        flags += ["-gencode", "arch=compute_%s,code=sm_%s" % (a, a)]
        if a.isdigit():
            plain.append(a)
    if plain:
        flags += ["-gencode", "arch=compute_%s,code=compute_%s" % (plain[-1], plain[-1])]
    return flags

def _impl(ctx):
    dep_info = cc_common.merge_cc_infos(cc_infos = [d[CcInfo] for d in ctx.attr.deps])
    own = cc_common.create_compilation_context(
        defines = depset(ctx.attr.defines),
    )
    compilation = cc_common.merge_compilation_contexts(
        compilation_contexts = [own, dep_info.compilation_context],
    ) if hasattr(cc_common, "merge_compilation_contexts") else cc_common.merge_cc_infos(
        cc_infos = [CcInfo(compilation_context = own), dep_info],
    ).compilation_context

    if not ctx.attr._cuda[FlagInfo].value:
        # Headers stay visible, so declarations can be included; no objects.
        return [DefaultInfo(), CcInfo(compilation_context = compilation)]
    if not CUDA.found:
        fail("--cuda is on, but no CUDA toolkit was found (see bazel/cuda_configure.bzl)")

    cc_toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = cc_toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )

    mode = ctx.var["COMPILATION_MODE"]
    host = ["-fPIC"] + [f for f in ctx.fragments.cpp.copts if not f.startswith("-D")]
    flags = ["-ccbin", cc_toolchain.compiler_executable, "-x", "cu", "-c", "-objtemp"]
    flags += _FLAGS
    flags += {
        "dbg": ["-g", "-G", "-O0"],
        "fastbuild": ["-O0", "--Ofast-compile=mid", "-lineinfo"],  # -O0 is the host's; half the time to compile
        # A third of the size, and drivers since CUDA 12.4 read it; it takes as long as ptxas.
        "opt": ["-O3", "-lineinfo", "-DNDEBUG", "--compress-mode=size"],
    }[mode]
    flags += _gencode(ctx.attr.archs or ctx.attr._archs[FlagInfo].value)
    flags += [f for f in ctx.fragments.cpp.copts if f.startswith("-D")]
    flags += ["-Xcompiler=" + f for f in host]
    flags += ["-D" + d for d in ctx.attr.local_defines + compilation.defines.to_list()]
    for d in compilation.includes.to_list():
        flags += ["-I", d]
    for d in compilation.system_includes.to_list():
        flags += ["-isystem", d]
    flags += ctx.attr.copts

    objects = []
    usages = []
    for src in ctx.files.srcs:
        stem = "_objs/%s/%s" % (ctx.label.name, src.basename)
        obj = ctx.actions.declare_file(stem + ".pic.o")
        dep = ctx.actions.declare_file(stem + ".d")
        unused = ctx.actions.declare_file(stem + ".unused")
        usage = ctx.actions.declare_file(stem + ".usage")
        listing = ctx.actions.declare_file(stem + ".hdrs")

        # Only generated-or-source files can be pruned; directories are kept.
        names = ctx.actions.args()
        names.set_param_file_format("multiline")
        names.add_all(compilation.headers, expand_directories = False)
        ctx.actions.write(listing, names)

        ctx.actions.run(
            executable = ctx.executable._nvcc_wrapper,
            arguments = [dep.path, unused.path, listing.path, usage.path, CUDA.nvcc, src.path, "-o", obj.path] + flags,
            inputs = depset([src, listing], transitive = [compilation.headers, cc_toolchain.all_files]),
            outputs = [obj, dep, unused, usage],
            unused_inputs_list = unused,
            # Part of the action's key: a new toolkit means a new compile.
            env = {"PATH": "/usr/bin:/bin", "PWD": "/proc/self/cwd", "CUDA_VERSION_KEY": CUDA.version},
            mnemonic = "CudaCompile",
            progress_message = "Compiling CUDA %s" % src.short_path,
        )
        objects.append(obj)
        usages.append(usage)

    link_context, out = cc_common.create_linking_context_from_compilation_outputs(
        actions = ctx.actions,
        name = ctx.label.name,
        feature_configuration = features,
        cc_toolchain = cc_toolchain,
        compilation_outputs = cc_common.create_compilation_outputs(
            objects = depset(objects),
            pic_objects = depset(objects),
        ),
        alwayslink = ctx.attr.alwayslink,
        disallow_dynamic_library = True,
        linking_contexts = [dep_info.linking_context],
    )
    lib = out.library_to_link
    return [
        DefaultInfo(files = depset([f for f in [lib.pic_static_library, lib.static_library] if f])),
        OutputGroupInfo(compilation_outputs = depset(objects), resource_usage = depset(usages)),
        CcInfo(compilation_context = compilation, linking_context = link_context),
    ]

_cuda_objects = rule(
    implementation = _impl,
    attrs = {
        "alwayslink": attr.bool(),
        "archs": attr.string(doc = "Overrides --cuda_archs for this target."),
        "copts": attr.string_list(doc = "Extra nvcc flags."),
        "defines": attr.string_list(),
        "deps": attr.label_list(providers = [CcInfo]),
        "local_defines": attr.string_list(),
        "srcs": attr.label_list(allow_files = [".cu"]),
        "_archs": attr.label(default = "//bazel:cuda_archs"),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
        "_cuda": attr.label(default = "//bazel:cuda"),
        "_nvcc_wrapper": attr.label(
            default = "//bazel:nvcc_wrapper.sh",
            allow_single_file = True,
            cfg = "host",
            executable = True,
        ),
    },
    fragments = ["cpp"],
    provides = [CcInfo],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def cuda_library(name, srcs = [], hdrs = [], deps = [], **kwargs):
    """Compiles srcs (.cu) with nvcc into a library; hdrs are included as <aorta/PACKAGE/header>.

    Args: archs overrides --cuda_archs; copts adds nvcc flags; alwayslink keeps objects that nothing names.
    """
    cc_library(
        name = name + "_headers",
        hdrs = hdrs,
        include_prefix = "aorta/" + native.package_name(),
        deps = deps,
    )
    _cuda_objects(
        name = name,
        srcs = srcs,
        deps = [":" + name + "_headers"],
        **kwargs
    )
