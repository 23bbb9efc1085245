"""Every public function and class is attacked: by a row of the op catalogue, a target of the interface's siege, or a
parser's target under tests/fuzz. What isn't stands below, with the reason."""

import glob
import os
import re
import sys
import tempfile
import unittest

import project

sys.path.insert(0, os.path.abspath("tools/reference"))
import headers

ATTACKS = ("tests/catalog/*.cc", "tests/siege/*.cc", "tests/fuzz/*_fuzz.cc")
OTHERS = ("judge", "judge_test", "judge_exports", "hunt", "bad_calls", "planted")  # of tests/siege, which attack nothing themselves

NOT_ATTACKED = {
    "what attacked functions give":
        "AttentionOutput ChannelStatistics CollectiveRecord CsvTable DeviceRange EchoFault EchoTrace Eig Eigh Frexp GradcheckResult LU "
        "Gathered LDLFactor LUFactor Lstsq LstmOutput ModuleSummary PackedLstmOutput PackedRnnOutput PlannedOp ProfiledRange QR RnnOutput Slogdet "
        "SparseGradient Trajectory Views",
    "options, which attacked functions are given in braces":
        "Axis BackwardOptions ConvolutionOptions ConvolutionTransposeOptions CsvDatasetOptions CsvOptions DataLoaderOptions "
        "DataParallelOptions ConvNeXtLayout DenseNetLayout EfficientNetLayout EllipsisIndex EmbeddingBagFunctionOptions EmbeddingBagOptions GeneratorState GridSampleOptions HistogramOptions "
        "ImageFolderOptions IstftOptions LsunOptions MachineSpeed MaxVitLayout MnistOptions NoneIndex NpzDatasetOptions PackHooks PadSizes PlotOptions ProbsOrLogits "
        "ProgressOptions Roles SegmentationOptions SpectralNormOptions StatisticsOptions StftOptions SwinLayout TransformerOptions VideoResNetLayout VideoWriterOptions",
    "parameters of attacked functions, which make one of a tensor or a number": "Parameter Buffer",
    "bases and templates of attacked classes":
        "Activation AdaptivePool AdaptivePoolOf AvgPool AvgPoolOf BatchNorm BatchNormOf ChannelDropout ChannelDropoutOf "
        "ComposedScheduler ConstantPaddingOf Conv ConvOf ConvTranspose ConvTransposeOf DistributionOf FractionalMaxPool "
        "FractionalMaxPoolOf InPlaceActivation InstanceNorm InstanceNormOf LPPool LPPoolOf LRScheduler Loss LossOfThree "
        "MaxPoolOf MaxUnpool MaxUnpoolOf ModuleOf Optimizer OptimizerOf Padding PaddingOf Parametrization PartsTransform Recurrent "
        "RecurrentCell Reader "
        "Segmentation TensorMethods TransformOf",
    "parts of attacked classes, which make them":
        "FunctionCall HookList Odds OptimizerRef Saved SavedOperand StateNames Value call_module",
    "how errors are made and read":
        "NamedOperand RankError SampleError SampleFault TimeoutError check_resources describe_exception errno_text "
        "fail fail_after_call fail_for_resources fail_on_shapes lacks_resources text_with_type",
    "a switch or a question without an argument, or with a bool":
        "AutoGradMode allow_tf32 autocast_changes autocast_dtype benchmark check_anomaly detects_anomaly deterministic enabled is_available "
        "layer_name measure_machine program_name repr resident_bytes set_allow_tf32 set_benchmark set_deterministic set_enabled set_winograd "
        "unavailable_reason version winograd_enabled worker_info WorkerInfo DefaultGeneratorScope",
    "networks of layers that are attacked, which take a second to make": "AlexNet Inception3 Inception3Options Inception3Output VGG VGGLayout",
    "steps that are captured, whose faults are tried by tests/cuda": "Captured capture",
    "of several ranks: their faults are tried by tests/nn/parallel and tests/mpi":
        "ActivityScope CollectiveSubject CommOptions Communicator CommunicatorScope GroupState "
        "ZeroRedundancyOptimizer collective_share convert_sync_batchnorm current_communicator get_local_rank get_rank "
        "get_world_size init_process_group is_initialized is_launched world write_collectives",
    "of several processes: tests/data/worker_* try their faults, and kill them":
        "ArgumentReader ArgumentWriter Portable Process ProcessPool Recipe StallAccount TensorQueue",
    "calls of other processes: their faults are tried by tests/rpc":
        "DistributedOptimizer Future Gradients RRef RemoteModule collect_all get_gradients get_worker_info init_rpc remote rpc_async "
        "rpc_sync shutdown wait_all",
    "needs OpenCV's plugin: tests/data/opencv_* and the program's siege": "VideoWriter mp4_problem write_video",
    "needs LSUN's plugin: tests/data/lsun_test damages its databases and images": "LSUN",
    "the inside of a tensor": "AutogradSlot TensorImpl",
    "a harness for tests of optimizers":
        "Problem Result ScheduleForm check_conduct check_rule check_schedule check_trajectory lambda_form maker multiplicative_form "
        "schedule_maker trajectories",
    "adds a divergence of the user's for all time": "register_kl",
}


def code_of(text):
    """Without comments and strings."""
    return re.sub(r'//.*|"(?:[^"\\\n]|\\.)*"', "", text)


def public_names(root):
    """(header, name) of each function and class of the public headers; no operators, enumerations, constants and aliases."""
    for header in headers.public_headers(root):
        lines = headers.read_lines(root, header)
        for one in headers.declarations(lines):
            if not one.public or one.word != "namespace":
                continue
            text = re.sub(r"^template <(?:[^<>]|<[^<>]*>)*>\s*(?:requires (?:requires\(.*?\) )?\{.*?\}\s*)?", "",
                          headers.text_of(lines, one))
            if re.match(r"using|enum|(?:inline |static )?constexpr \w+ k[A-Z]|extern|requires|.*\boperator\b", text):
                continue
            found = re.match(r"(?:class|struct)(?: alignas\(\d+\))? (\w+)", text) or re.search(r"(\w+)\(", text)
            if found and found.group(1) not in ("decltype", "requires"):
                yield header, found.group(1)


def problems(root, not_attacked):
    words = set()
    for pattern in ATTACKS:
        for path in glob.glob(os.path.join(root, pattern)):
            if os.path.splitext(os.path.basename(path))[0] not in OTHERS:
                with open(path, encoding="utf-8") as file:
                    words |= set(re.findall(r"\w+", code_of(file.read())))
    reasons = {name for group in not_attacked.values() for name in group.split()}
    names = dict((name, header) for header, name in public_names(root))
    found = ["%s: a public name must be attacked in tests/siege, or tests/checks/attacked_test.py says why not, got %s" % (
        header, name) for name, header in sorted(names.items()) if name not in words and name not in reasons]
    return found + ["attacked_test.py: a name with a reason must be public, got " + name
                    for name in sorted(reasons) if name not in names] + [
                        "attacked_test.py: a name that is attacked needs no reason, got " + name
                        for name in sorted(reasons) if name in words and name in names and name != "Parameter"]


class Attacked(unittest.TestCase):
    def test_project(self):
        self.assertGreater(len(set(public_names(project.ROOT))), 900)
        self.assertEqual(problems(project.ROOT, NOT_ATTACKED), [])

    def test_a_function_that_nobody_attacks(self):
        with tempfile.TemporaryDirectory() as root:
            project.write_tree(root, {
                **{name: "" for name in headers.MORE},
                "aorta.h": "#include <aorta/core/a.h>\n",
                "core/a.h": "/// One.\nTensor one(const Tensor& input);\n/// Two.\nclass Two {\n};\n/// Three.\nvoid three();\n",
                "tests/siege/all.cc": 'of("two", one),  // Two'})
            found = problems(root, {"a reason": "three four"})
        self.assertEqual(len(found), 2, found)
        self.assertTrue(found[0].startswith("core/a.h: ") and found[0].endswith("got Two"), found)
        self.assertTrue(found[1].endswith("got four"), found)


if __name__ == "__main__":
    unittest.main()
