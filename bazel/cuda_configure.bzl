"""Finds a CUDA toolkit (nvcc, cuBLASLt, cuDNN, NCCL) on this machine.

Creates @local_config_cuda with the SAME target names whether or not CUDA is
there, so BUILD files never need to ask; without CUDA the targets are empty.

  --repo_env=AORTA_CUDA=0       pretend there is none
  --repo_env=AORTA_CUDA=1       stop with a clear message if there is none
  --repo_env=CUDA_HOME=/path    look there first (also CUDA_PATH, CUDNN_HOME, NCCL_HOME)
"""

_ENV = ["AORTA_CUDA", "CUDA_HOME", "CUDA_PATH", "CUDNN_HOME", "NCCL_HOME", "PATH"]

def _first_with(rctx, roots, relatives):
    for root in roots:
        if root:
            for rel in relatives:
                if rctx.path(root + "/" + rel).exists:
                    return root, rel
    return None, None

def _nvcc_version(rctx, nvcc):
    out = rctx.execute([nvcc, "--version"]).stdout
    return out.split(", release ")[1].split(",")[0] if ", release " in out else ""

def _lib(name, includes = [], linkopts = [], deps = [], srcs = [], hdrs = []):
    lines = ["cc_library(", "    name = %r," % name]
    for key, value in [("srcs", srcs), ("hdrs", hdrs), ("includes", includes), ("linkopts", linkopts), ("deps", deps)]:
        if value:
            lines.append("    %s = %r," % (key, value))
    return "\n".join(lines + [")", ""])

# Shared libraries go in by flag, not as files: libcublasLt alone is 0.5 GB that
# Bazel would hash. The rpath makes the binary start with no LD_LIBRARY_PATH;
# cuDNN finds its sub-libraries by its own $ORIGIN.
def _so(lib, where):
    return ["-L" + where, "-l" + lib, "-Wl,-rpath," + where]

def _impl(rctx):
    env = rctx.os.environ
    wish = env.get("AORTA_CUDA", "auto")
    root, found_nvcc = None, None
    if wish != "0":
        which = rctx.which("nvcc")
        root, found_nvcc = _first_with(rctx, [
            env.get("CUDA_HOME"),
            env.get("CUDA_PATH"),
            str(which.realpath.dirname.dirname) if which else None,
            "/usr/local/cuda",
            "/usr/lib/nvidia-cuda-toolkit",
        ], ["bin/nvcc"])
    if wish == "1" and not root:
        fail("AORTA_CUDA=1 but no bin/nvcc under CUDA_HOME, CUDA_PATH, PATH or /usr/local/cuda")

    build = ['package(default_visibility = ["//visibility:public"])\n']
    info = {"found": False, "nvcc": "", "version": "", "has_cudnn": False, "has_nccl": False}
    if root:
        root = str(rctx.path(root).realpath)
        info.update(found = True, nvcc = root + "/bin/nvcc", version = _nvcc_version(rctx, root + "/bin/nvcc"))
        libdir = root + ("/lib64" if rctx.path(root + "/lib64").exists else "/lib")
        rctx.symlink(root + "/include", "cuda/include")
        rctx.symlink(libdir + "/libcudart_static.a", "cuda/lib/libcudart_static.a")

        # A directory as a source: one symlink in each sandbox instead of ~2000.
        # cccl/ holds <nv/target>, which cuda_fp16.h needs in host code (CUDA 13).
        build.append(_lib(
            "cuda_headers",
            hdrs = ["cuda/include"],
            includes = ["cuda/include", "cuda/include/cccl"],
        ))
        build.append(_lib(
            "cudart",
            srcs = ["cuda/lib/libcudart_static.a"],
            linkopts = ["-ldl", "-lpthread", "-lrt"],
            deps = [":cuda_headers"],
        ))

        # cuBLASLt alone: cuBLAS proper is not used.
        build.append(_lib("cublas_lt", linkopts = _so("cublasLt", libdir), deps = [":cudart"]))
        for name, header, home in [("cudnn", "cudnn.h", "CUDNN_HOME"), ("nccl", "nccl.h", "NCCL_HOME")]:
            hroot, rel = _first_with(rctx, [env.get(home), root, "/usr"], ["include/" + header])
            lroot, lrel = _first_with(rctx, [env.get(home), root, "/usr"], [
                d + "/lib%s.so" % name
                for d in ["lib64", "lib", "lib/x86_64-linux-gnu"]
            ])
            if hroot and lroot:
                info["has_" + name] = True
                inc = []
                if hroot not in [root, "/usr"]:
                    rctx.symlink(hroot + "/include", name + "/include")
                    inc = [name + "/include"]

                # Opened by who calls it: a program starts without it.
                linkopts = _so(name, lroot + "/" + lrel.rpartition("/")[0])[2:]
                build.append(_lib(name, hdrs = inc, includes = inc, linkopts = linkopts, deps = [":cudart"]))
            else:
                build.append(_lib(name))
    else:
        for name in ["cuda_headers", "cudart", "cublas_lt", "cudnn", "nccl"]:
            build.append(_lib(name))

    rctx.file("WORKSPACE", "workspace(name = %r)\n" % rctx.name)
    rctx.file("BUILD", "\n".join(build))
    rctx.file("defs.bzl", "CUDA = struct(%s)\n" % ", ".join(["%s = %r" % kv for kv in info.items()]))

cuda_configure = repository_rule(
    implementation = _impl,
    configure = True,
    environ = _ENV,
    local = True,
)
