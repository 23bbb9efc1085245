"""Libraries installed on the machine, as targets @system//:<name>.

A target carries -isystem directories and link flags but no files: what lies below /usr/include is on
Bazel's list of built-in include directories, so nothing has to be globbed or symlinked. Directories of headers elsewhere
(MPI's) are symlinked. A library that is
not installed is an error, with the package to install, for the targets that use it and for no other.

@system//:machine.bzl has ISA, the best of aorta.bzl's instruction sets that this machine's CPU has, and MPI, whether it is
installed.
"""

def _system_library_impl(ctx):
    if ctx.attr.missing:
        fail("%s is not installed: run tools/setup.sh, or apt-get install %s" % (ctx.label.name, ctx.attr.missing))
    compilation = cc_common.create_compilation_context(
        headers = depset(ctx.files.hdrs),
        system_includes = depset(ctx.attr.include_dirs + [directory.path for directory in ctx.files.hdrs]),
        defines = depset(ctx.attr.defines),
    )
    linking = cc_common.create_linking_context(
        linker_inputs = depset([cc_common.create_linker_input(
            owner = ctx.label,
            user_link_flags = depset(ctx.attr.link_flags),
        )]),
    )
    return [CcInfo(compilation_context = compilation, linking_context = linking)]

system_library = rule(
    implementation = _system_library_impl,
    attrs = {
        "defines": attr.string_list(),
        "hdrs": attr.label_list(allow_files = True, doc = "Directories of headers."),
        "include_dirs": attr.string_list(),
        "link_flags": attr.string_list(),
        "missing": attr.string(doc = "The package to install; empty where the library is there."),
    },
    provides = [CcInfo],
)

def _words(text):
    return [word for word in text.replace("\n", " ").split(" ") if word]

def _pkg_config(rctx, module):
    """Returns (cflags, libs), or None where the module (or pkg-config) is not installed."""
    tool = rctx.which("pkg-config")
    if not tool:
        return None
    cflags = rctx.execute([tool, "--cflags", module])
    libs = rctx.execute([tool, "--libs", module])
    if cflags.return_code != 0 or libs.return_code != 0:
        return None
    return _words(cflags.stdout), _words(libs.stdout)

def _target(name, include_dirs = [], defines = [], link_flags = [], missing = "", hdrs = []):
    return "system_library(\n    name = %r,\n    hdrs = %r,\n    include_dirs = %r,\n    defines = %r,\n    link_flags = %r,\n    missing = %r,\n)\n" % (
        name,
        hdrs,
        include_dirs,
        defines,
        link_flags,
        missing,
    )

# What core/cpu/isa.cc asks the CPU for, in the words of /proc/cpuinfo.
_ISA_FLAGS = {
    "v4": ["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"],
    "v3": ["avx2", "fma", "bmi2"],
}

def _isa(rctx):
    flags = _words(rctx.execute(["grep", "-sm1", "^flags", "/proc/cpuinfo"]).stdout)
    for isa, needed in _ISA_FLAGS.items():
        if not [flag for flag in needed if flag not in flags]:
            return isa
    return "v2"

def _system_libraries_impl(rctx):
    build = [
        'load("@aorta//bazel:system.bzl", "system_library")\n',
        'package(default_visibility = ["//visibility:public"])\n',
    ]
    for name, module in rctx.attr.packages.items():
        found = _pkg_config(rctx, module)
        if found:
            directories = [flag[2:] for flag in found[0] if flag.startswith("-I")]
            elsewhere = [directory for directory in directories if not directory.startswith("/usr/include")]
            for i, directory in enumerate(elsewhere):
                rctx.symlink(directory, "%s_%d" % (name, i))
            build.append(_target(
                name,
                hdrs = ["%s_%d" % (name, i) for i in range(len(elsewhere))],
                include_dirs = [directory for directory in directories if directory not in elsewhere],
                defines = [flag[2:] for flag in found[0] if flag.startswith("-D")],
                link_flags = found[1],
            ))
        else:
            build.append(_target(name, missing = rctx.attr.apt[name]))
    for name, header in rctx.attr.headers.items():
        if rctx.path(header).exists:
            build.append(_target(
                name,
                include_dirs = _words(rctx.attr.header_include_dirs.get(name, "")),
                link_flags = _words(rctx.attr.header_link_flags.get(name, "")),
            ))
        else:
            build.append(_target(name, missing = rctx.attr.apt[name]))
    rctx.file("WORKSPACE", "workspace(name = %r)\n" % rctx.name)
    rctx.file("BUILD", "\n".join(build))
    mpi = _pkg_config(rctx, rctx.attr.packages["mpi"]) != None
    rctx.file("machine.bzl", "ISA = %r\nMPI = %r\n" % (_isa(rctx), mpi))

system_libraries = repository_rule(
    implementation = _system_libraries_impl,
    attrs = {
        "apt": attr.string_dict(),
        "header_include_dirs": attr.string_dict(),
        "header_link_flags": attr.string_dict(),
        "headers": attr.string_dict(),
        "packages": attr.string_dict(),
    },
    configure = True,
    # Cheap, so it is done at each server start: a package installed meanwhile is seen.
    local = True,
    environ = ["PKG_CONFIG_PATH", "PATH"],
)
