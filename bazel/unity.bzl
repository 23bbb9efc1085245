"""unity_sources(name, srcs): what the sources of a library or a test are compiled as: some of a folder in one go.

Headers are most of what a source costs: eight sources read together cost a third of eight read one by one. So
sources of a folder share their anonymous namespaces: a name stands there once. --unity=false compiles each by itself.
"""

# Sources of a folder that are compiled together, at most.
_TOGETHER = 8

def _impl(ctx):
    # One after the other, each under its own name for messages and debuggers.
    ctx.actions.run_shell(
        inputs = ctx.files.srcs,
        outputs = [ctx.outputs.out],
        arguments = [ctx.outputs.out.path] + [source.path for source in ctx.files.srcs],
        command = 'out=$1; shift; for source; do echo "#line 1 \\"$source\\""; cat "$source"; done >"$out"',
        execution_requirements = {"no-sandbox": "1"},  # making one takes longer than cat
        mnemonic = "Unity",
        progress_message = "Joining sources of %s" % ctx.label,
    )

_unity_source = rule(
    implementation = _impl,
    attrs = {
        "out": attr.output(mandatory = True),
        "srcs": attr.label_list(allow_files = [".cc"], mandatory = True),
    },
)

def unity_sources(name, srcs):
    if type(srcs) != "list":  # a select, which a macro can't look into
        return srcs
    folders, joined = {}, []
    for source in srcs:
        if source.startswith("//") or source.startswith(":"):  # of another package, or made
            joined.append(source)
            continue
        folders.setdefault(source.rpartition("/")[0], []).append(source)
    for folder, sources in folders.items():
        count = (len(sources) + _TOGETHER - 1) // _TOGETHER
        for i in range(count):
            part = sources[len(sources) * i // count:len(sources) * (i + 1) // count]
            if len(part) == 1:
                joined += part
                continue
            out = "%s_unity/%s%s" % (name, folder + "/" if folder else "", "part%d.cc" % i)
            _unity_source(
                name = out[:-len(".cc")],
                srcs = part,
                out = out,
            )
            joined.append(":" + out)
    if joined == srcs:
        return srcs
    return select({
        "//bazel:unity_on": joined,
        "//conditions:default": srcs,
    })
