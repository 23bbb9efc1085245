"""Programs outside the project build against the package and run: package_test.py TARBALL"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

import project
import source_tree

TARBALL = os.path.abspath(sys.argv[1])

# Uses a tensor, and catches an error by its type across the library's border.
PROGRAM = """
#include <aorta/aorta.h>
#include <cstdio>
int main() {
  const aorta::Tensor three = aorta::ones({2}) + aorta::full({3, 2}, 2.0);
  try {
    three.reshape({7});
    return 1;
  } catch (const aorta::Error& error) {
    std::printf("Aorta %s: %g %s\\n", aorta::version(), three.select(0, 2).select(0, 1).item<double>(), error.what());
  }
}
"""

GTEST_PROGRAM = """
#include <aorta/aorta.h>
#include <gtest/gtest.h>
TEST(Outside, AddsInATest) { EXPECT_EQ((aorta::ones({2}) + aorta::ones({2})).select(0, 1).item<double>(), 2.0); }
TEST(Outside, ErrorsAreCaught) { EXPECT_THROW(aorta::ones({2}).reshape({7}), aorta::Error); }

#include <aorta/distributions/distributions.h>
TEST(Outside, DistributionsAreOfTheSameClasses) {
  using aorta::distributions::Normal;
  EXPECT_NEAR(kl_divergence(Normal(0, 1), Normal(1, 1)).item<double>(), 0.5, 1e-6);
}

#include <aorta/onnx/onnx.h>
#include <cstdio>
TEST(Outside, OnnxFilesAreReadByThePlugin) {
  std::FILE* const file = std::fopen("net.onnx", "w");
  std::fputs("no network", file);
  std::fclose(file);
  try {
    aorta::onnx::load("net.onnx");
    FAIL();
  } catch (const aorta::Error& error) {
    EXPECT_STREQ(error.what(), "net.onnx: file must be an ONNX model, got bytes that aren't a ModelProto");
  }
}

#include <aorta/optim/oracle_gtest.h>
using namespace aorta;
struct Options {
  double lr = 0.1;
  void fields(optim::Fields& f) { f("lr", lr); }
  void check() const {}
};
struct Descent : optim::CustomOptimizer<Options> {
  using CustomOptimizer::CustomOptimizer;
  void update(optim::Slot& slot, const Options& o) override { sub_(slot.parameter, o.lr * slot.gradient); }
};
TEST(Outside, OptimizersMeetTheOracle) {
  const auto make = optim::oracle::maker<Descent>({.lr = 0.2});
  EXPECT_OPTIMIZER_RULE(make, optim::SGDOptions{.lr = 0.2});
  EXPECT_OPTIMIZER_CONDUCT(make);
  EXPECT_FALSE(optim::oracle::check_rule(make, optim::SGDOptions{.lr = 0.2, .momentum = 0.9}));
}
"""

CMAKE = """
cmake_minimum_required(VERSION 3.16)
project(user CXX)
find_package(Aorta %s REQUIRED)
add_executable(program main.cc)
target_link_libraries(program PRIVATE Aorta::Aorta)
"""

INSTALLED_WORKSPACE = """
workspace(name = "user")
local_repository(name = "aorta", path = "%s")
load("@aorta//bazel:stubs.bzl", "offline_stubs")
offline_stubs()
"""

SOURCE_WORKSPACE = INSTALLED_WORKSPACE + """
load("@aorta//bazel:deps.bzl", "aorta_dependencies")
aorta_dependencies()
"""

BUILD = 'cc_binary(name = "program", srcs = ["main.cc"], copts = ["-std=c++20"], deps = ["@aorta//:aorta"])\n'


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        with tarfile.open(TARBALL) as tarball:
            tarball.extractall(cls.folder)
        cls.root, = glob.glob(os.path.join(cls.folder, "aorta-*"))
        cls.version = re.match(r"aorta-(.*)-linux-x86_64$", os.path.basename(cls.root)).group(1)
        # A home of its own: CMake, Bazel and others look there for settings.
        cls.environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": cls.folder}

    def run_command(self, *command, cwd=None):
        result = subprocess.run(command, cwd=cwd, env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(result.returncode, 0, "%s\n%s" % (" ".join(command), result.stdout))
        return result.stdout

    def make_folder(self, files):
        folder = tempfile.mkdtemp(dir=self.folder)
        project.write_tree(folder, files)
        return folder

    def assert_program_runs(self, path):
        output = self.run_command(path)
        self.assertIn("Aorta %s: 3 reshape: " % self.version, output)

    def test_cmake(self):
        folder = self.make_folder({"CMakeLists.txt": CMAKE % self.version, "main.cc": PROGRAM})
        self.run_command("cmake", "-S", folder, "-B", folder + "/out", "-DCMAKE_PREFIX_PATH=" + self.root)
        self.run_command("cmake", "--build", folder + "/out")
        self.assert_program_runs(folder + "/out/program")

    def test_cmake_refuses_another_version(self):
        major, minor, _ = self.version.split(".")
        for wish in "%s.%d" % (major, int(minor) + 1), "%d" % (int(major) + 1):
            folder = self.make_folder({"CMakeLists.txt": CMAKE % wish, "main.cc": PROGRAM})
            result = subprocess.run(["cmake", "-S", folder, "-B", folder + "/out", "-DCMAKE_PREFIX_PATH=" + self.root],
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.environment)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("requested version \"%s\"" % wish, result.stdout)

    def test_examples_find_their_headers(self):
        examples = glob.glob(self.root + "/share/aorta/examples/*.cc")
        self.assertGreaterEqual(len(examples), 12)
        for example in examples:
            for _, _, target in source_tree.includes(example):
                if target.startswith("aorta/"):
                    self.assertTrue(os.path.exists(self.root + "/include/" + target), (example, target))

    def test_examples_build(self):
        out = self.make_folder({})
        self.run_command("cmake", "-S", self.root + "/share/aorta/examples", "-B", out,
                         "-DCMAKE_PREFIX_PATH=" + self.root)
        # Bazel builds all of them; these also run.
        self.run_command("cmake", "--build", out, "--target", "tour", "optimizer_paths", "digits")
        self.run_command(out + "/tour")
        self.run_command(out + "/optimizer_paths", out)  # with a picture
        self.assertTrue(os.path.exists(out + "/optimizer_paths.svg"))
        if "AORTA_MNIST" not in os.environ:
            self.skipTest("AORTA_MNIST isn't set: the digits aren't trained on")
        self.environment["AORTA_MNIST"] = os.environ["AORTA_MNIST"]
        self.run_command(out + "/digits", cwd=out)
        self.assertGreater(os.path.getsize(out + "/net.safetensors"), 4 * (784 * 128 + 128 * 10))

    def pkg_config(self, *arguments):
        self.environment["PKG_CONFIG_PATH"] = self.root + "/lib/pkgconfig"
        return self.run_command("pkg-config", *arguments, "aorta").split()

    def test_pkg_config(self):
        self.assertEqual(self.pkg_config("--modversion"), [self.version])
        folder = self.make_folder({"main.cc": PROGRAM})
        self.run_command("g++", "-std=c++20", *self.pkg_config("--cflags"), "main.cc", "-o", "program",
                         *self.pkg_config("--libs"), "-Wl,-rpath," + self.root + "/lib", cwd=folder)
        self.assert_program_runs(folder + "/program")

    def test_together_with_googletest(self):
        folder = self.make_folder({"main.cc": GTEST_PROGRAM})
        self.run_command("g++", "-std=c++20", *self.pkg_config("--cflags"), "main.cc", "-o", "program",
                         *self.pkg_config("--libs"), "-lgtest_main", "-lgtest",
                         "-Wl,-rpath," + self.root + "/lib", cwd=folder)
        self.assertIn("[  PASSED  ] 5 tests", self.run_command(folder + "/program"))

    def bazel(self, folder, command, *arguments):
        # A small server with its own output folder, which ends with the test.
        server = ["--output_user_root=" + self.folder + "/bazel", "--max_idle_secs=60", "--host_jvm_args=-Xmx512m"]
        return self.run_command("bazel", *server, command, *arguments, cwd=folder)

    def bazel_build(self, workspace, *flags):
        folder = self.make_folder({"WORKSPACE": workspace, "BUILD": BUILD, "main.cc": PROGRAM})
        self.addCleanup(self.bazel, folder, "shutdown")
        self.bazel(folder, "build", "--spawn_strategy=local", "--jobs=1", *flags, "//:program")
        return folder

    def test_bazel_with_the_package(self):
        folder = self.bazel_build(INSTALLED_WORKSPACE % self.root)
        self.assert_program_runs(folder + "/bazel-bin/program")

    def test_bazel_with_the_source_tree(self):
        # Analysis of all, and the program's own object: compiling the library once more would take minutes.
        folder = self.bazel_build(SOURCE_WORKSPACE % project.ROOT, "--output_groups=compilation_outputs")
        objects = glob.glob(folder + "/bazel-bin/_objs/program/main*.o")
        self.assertEqual(len(objects), 1)

    def test_exported_names_are_ours(self):
        library = self.root + "/lib/libaorta.so"
        self.assertIn("Library soname: [libaorta.so.0]", self.run_command("readelf", "-d", library))
        ours = re.compile(r"aorta_|_Z(T[VTIS]|GV|Z|TH|TW|Thn?\w*_)*N[VKRO]*5aorta")
        table = self.run_command("nm", "-D", "--defined-only", library).splitlines()
        names = [line.split()[2].partition("@")[0] for line in table]
        self.assertGreater(len(names), 100)
        # The linker keeps a weak copy of what libstdc++ exports as well.
        runtime = self.run_command("g++", "-print-file-name=libstdc++.so").strip()
        standard = {line.split()[2].partition("@")[0]
                    for line in self.run_command("nm", "-D", "--defined-only", runtime).splitlines()
                    if len(line.split()) == 3}
        self.assertEqual([name for name in names if not ours.match(name) and name not in standard], [])


if __name__ == "__main__":
    unittest.main()
