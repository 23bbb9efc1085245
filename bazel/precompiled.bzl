"""precompiled_header(name, headers, copts, deps): headers that g++ reads once for all that include them.

What depends on it compiles with copts = include_precompiled(name): as if the headers stood above each of its
sources. Where its other copts are not the same in what matters to a header, g++ reads the headers as always.
"""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    deps = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps]).compilation_context

    # g++ takes NAME.h.gch where it looks for NAME.h. The folder is theirs alone.
    header = ctx.actions.declare_file("{0}/{0}.h".format(ctx.label.name))
    precompiled = ctx.actions.declare_file("{0}/{0}.h.gch".format(ctx.label.name))
    ctx.actions.write(header, "".join(["#include <%s>\n" % h for h in ctx.attr.headers]))

    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        source_file = header.path,
        output_file = precompiled.path,
        user_compile_flags = ctx.attr.copts + ctx.fragments.cpp.cxxopts + ctx.fragments.cpp.copts,
        include_directories = deps.includes,
        quote_include_directories = deps.quote_includes,
        system_include_directories = deps.system_includes,
        preprocessor_defines = deps.defines,
        use_pic = True,
    )
    flags = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = "c++-compile",
        variables = variables,
    )
    ctx.actions.run(
        executable = toolchain.compiler_executable,
        arguments = ["-x", "c++-header"] + flags,
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = "c++-compile",
            variables = variables,
        ),
        inputs = depset([header], transitive = [deps.headers, toolchain.all_files]),
        outputs = [precompiled],
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling %s" % header.basename,
    )
    own = CcInfo(compilation_context = cc_common.create_compilation_context(
        headers = depset([header, precompiled]),
        quote_includes = depset([header.dirname]),
    ))
    return [cc_common.merge_cc_infos(direct_cc_infos = [own], cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])]

precompiled_header = rule(
    implementation = _impl,
    attrs = {
        "copts": attr.string_list(),
        "deps": attr.label_list(providers = [CcInfo]),
        "headers": attr.string_list(mandatory = True),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    provides = [CcInfo],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def include_precompiled(name):
    return ["-include", name + ".h"]
