"""Offline stand-ins for the repositories that Bazel 4 would otherwise download.

Bazel's built-in rules mention rules_cc, rules_java, rules_proto and the coverage tools; each stand-in
re-exports the native rules. A workspace that embeds Aorta and builds offline passes where Aorta lies:
`offline_stubs(root = "../aorta/")`.
"""

_STUBS = ["rules_cc", "rules_java", "rules_proto", "remote_coverage_tools"]

def offline_stubs(root = ""):
    for name in _STUBS:
        if not native.existing_rule(name):
            native.local_repository(
                name = name,
                path = root + "third_party/stubs/" + name,
            )
