"""Offline stand-ins for the repositories that Bazel 4 would otherwise download.

Bazel's built-in rules mention rules_cc, rules_java, rules_proto and the coverage tools. Each stand-in hands on
the rules that are built into Bazel. A workspace that uses Aorta and builds offline calls it too:

    load("@aorta//bazel:stubs.bzl", "offline_stubs")
    offline_stubs()
"""

# repository -> package -> the native rules that its defs.bzl hands on
_RULES = {
    "rules_cc": {"cc": [
        "cc_binary",
        "cc_import",
        "cc_library",
        "cc_proto_library",
        "cc_test",
        "cc_toolchain",
        "cc_toolchain_suite",
        "objc_import",
        "objc_library",
    ]},
    "rules_java": {"java": [
        "java_binary",
        "java_import",
        "java_library",
        "java_proto_library",
        "java_runtime",
        "java_test",
        "java_toolchain",
    ]},
    "rules_proto": {"proto": [
        "proto_lang_toolchain",
        "proto_library",
    ]},
    "remote_coverage_tools": {},
}

_COVERAGE = """filegroup(
    name = "coverage_report_generator",
    visibility = ["//visibility:public"],
)
"""

def _stub_impl(rctx):
    rctx.file("WORKSPACE", "workspace(name = %r)\n" % rctx.name)
    rctx.file("BUILD", _COVERAGE if rctx.name == "remote_coverage_tools" else "")
    for package, rules in _RULES[rctx.name].items():
        rctx.file(package + "/BUILD", "")
        rctx.file(package + "/defs.bzl", "".join(["%s = native.%s\n" % (rule, rule) for rule in rules]))

_stub = repository_rule(implementation = _stub_impl)

def offline_stubs():
    for name in _RULES:
        if not native.existing_rule(name):
            _stub(name = name)
