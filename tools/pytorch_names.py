"""What of PyTorch's names Aorta has: the list in docs/pytorch.md, made of the public headers and PyTorch's own index.

    pytorch_names.py [ROOT]          writes the list into docs/pytorch.md
    pytorch_names.py --check [ROOT]  names what the page, the headers and the reasons below disagree on; exits 1 if any
    pytorch_names.py --index         prints PyTorch's index for tests/fixtures/pytorch_names.txt; needs a Python that has it

A name is there where a header of the module's folders declares it. Else it stands below, with what is written instead or
why it is left out, or it is missing: not there yet.
"""

import glob
import os
import re
import sys
import textwrap

PAGE = "docs/pytorch.md"
INDEX = "tests/fixtures/pytorch_names.txt"
BEGIN, END = "<!-- names: tools/pytorch_names.py writes what follows -->", "<!-- end of names -->"
TEST = "tests/core/tensor_methods_test.cc"  # calls each method beside its function
WIDTH = 120

METHODS = ("core/tensor.h", "core/tensor_methods.h")
LINALG = ("core/ops/linalg*.h", "core/ops/matmul.h")
# Where the names of each module are declared, and whether they are classes or functions.
MODULES = {
    "torch": (("core/ops/*.h", "core/*.h", "core/io/*.h", "nn/*.h"), "functions"),
    "torch.Tensor": (METHODS, "methods"),
    "torch.nn": (("nn/*.h", "nn/*/*.h"), "classes"),
    "torch.nn.functional": (("core/ops/*.h", "nn/*.h"), "functions"),
    "torch.nn.init": (("nn/init.h",), "functions"),
    "torch.nn.utils": (("nn/*.h", "optim/*.h"), "functions"),
    "torch.nn.utils.parametrizations": (("nn/*.h",), "functions"),
    "torch.nn.utils.parametrize": (("nn/*.h",), "both"),
    "torch.nn.utils.rnn": (("nn/*.h",), "both"),
    "torch.autograd": (("autograd/*.h",), "both"),
    "torch.autograd.functional": (("autograd/*.h",), "functions"),
    "torch.utils.data": (("data/*.h",), "both"),
    "torch.optim": (("optim/*.h",), "classes"),
    "torch.optim.lr_scheduler": (("optim/*.h",), "classes"),
    "torch.linalg": (LINALG, "functions"),
    "torch.special": (("core/ops/*.h",), "functions"),
    "torch.fft": (("core/ops/*.h",), "functions"),
    "torch.distributions": (("distributions/*.h", "distributions/*/*.h"), "both"),
}

# What is said of a module's names.
NOTES = {
    "torch": " What `torch.Tensor` has as a method too stands in its list.",
}

# What is written instead.
OTHERWISE = {
    "torch": {
        "asarray as_tensor frombuffer from_numpy": "`tensor(values)`, `from_blob(address, shape)`; numpy's files by `npy::load`",
        "concat concatenate row_stack trapz": "the name that these are other names of: `cat`, `vstack`, `trapezoid`",
        "chain_matmul": "`linalg::multi_dot({a, b, c})`",
        "broadcast_tensors": "`x.expand(broadcast_shapes(...))`",
        "native_channel_shuffle": "`channel_shuffle`",
        "empty_permuted": "`empty_strided(shape, strides)`",
        "range": "`arange`, whose end isn't included",
        "gradient": "`diff`, and slices of it",
        "histogramdd": "`histogram` of one dimension",
        "lobpcg pca_lowrank svd_lowrank": "`linalg::eigh(x)`, `linalg::svd(x)`, and the first columns",
        "lu_unpack": "`linalg::lu(x)`, whose factors are apart",
        "promote_types result_type can_cast": "`promote(a, b)`, `can_cast(from, to)` of dtypes",
        "is_tensor is_storage typename": "types are known when a program is compiled",
        "is_grad_enabled is_inference_mode_enabled": "`grad_mode()`",
        "initial_seed seed": "`default_generator().state().seed`",
        "use_deterministic_algorithms are_deterministic_algorithms_enabled get_deterministic_debug_mode set_deterministic_debug_mode "
        "is_deterministic_algorithms_warn_only_enabled": "results are the same bits each time but for cuDNN's, `backends::cudnn::set_deterministic(true)`",
        "get_float32_matmul_precision set_float32_matmul_precision": "`backends::cuda::matmul::set_allow_tf32(true)`",
        "get_default_dtype set_default_dtype set_default_tensor_type get_default_device set_default_device":
            "`zeros(shape, {.dtype = f64, .device = \"cuda\"})`, `net.to(\"cuda\")`: there is no default but f32 on the CPU",
        "get_device_module": "`aorta::cuda`",
        "compile": "`capture(step)` on CUDA",
        "vmap": "a dimension for the batch in front",
    },
    "torch.Tensor": {
        "T mT": "`x.t()` of a matrix, `x.transpose(-2, -1)` of a batch",
        "H mH adjoint": "`x.transpose(-2, -1).conj()`",
        "absolute absolute_ arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan arctan_ arctan2 arctan2_ "
        "arctanh arctanh_ clip clip_ divide divide_ fix fix_ ger greater greater_ greater_equal greater_equal_ less less_ "
        "less_equal less_equal_ moveaxis multiply multiply_ negative negative_ not_equal not_equal_ subtract subtract_ "
        "swapaxes swapdims true_divide true_divide_ split_with_sizes":
            "the name that these are other names of: `abs`, `acos`, `clamp`, `div`, `trunc`, `outer`, `gt`, `transpose`, ...",
        "bfloat16 bool byte double float half int long type": "`x.to(f32)`, `x.to(i64)`, ...: most are words of C++",
        "char short": "left out: there are no i8 and i16",
        "tolist numpy": "`x.to_vector<float>()`; numpy reads `.npy` and DLPack",
        "data": "`x.detach()`; `x.data()` is an address",
        "data_ptr const_data_ptr": "`x.data<float>()`",
        "ndim ndimension": "`x.dim()`",
        "nelement": "`x.numel()`",
        "itemsize": "`x.element_size()`",
        "get_device": "`x.device().index`",
        "new new_tensor": "`tensor({1, 2}, {.dtype = x.dtype(), .device = x.device()})`",
        "broadcast_to": "`x.expand(...)`",
        "ravel": "`x.flatten()`",
        "argwhere": "`x.nonzero()`",
        "msort": "`x.sort(0)`",
        "positive": "`x`",
        "untyped_storage": "`x.storage()`",
        "share_memory_": "`x.share_memory()`, which gives the tensor that is shared",
        "is_nonzero": "`x.item<bool>()`",
        "is_set_to is_same_size": "`x.is_same(y)`, `x.shape() == y.shape()`",
        "dist": "`(x - y).norm(p)`",
        "unsafe_chunk unsafe_split unsafe_split_with_sizes": "`x.split(..., dim)`, `x.tensor_split(..., dim)`",
        "deg2rad deg2rad_ rad2deg rad2deg_": "`x * (pi / 180)`, `x * (180 / pi)`",
        "cdouble cfloat": "`x.to(c128)`, `x.to(c64)`",
        "sgn_ conj_physical_": "`x.copy_(x.sgn())`, `x.copy_(x.conj())`",
        "detach_ squeeze_ unsqueeze_ t_ transpose_ swapaxes_ swapdims_ as_strided_ cumsum_ cumprod_":
            "the form that isn't in place",
        "addmm_ baddbmm_ addbmm_ addmv_ addr_": "`x.copy_(x.addmm(...))`, ...",
        "unflatten": "`x.reshape(...)`, or the layer `nn::Unflatten`",
        "fmax fmin": "`where` with `isnan`; `maximum` and `minimum` keep NaN",
        "retains_grad": "`x.grad().defined()` after `backward()`",
        "layout": "every tensor is strided",
        "dim_order": "`x.strides()`",
        "resolve_conj resolve_neg": "`x`: a conjugate is a new tensor, never a flag on one",
        "is_signed": "every dtype but u8 and bool is",
        "volatile": "`NoGradGuard`",
        "module_load": "`net.load_state_dict(...)`",
        "cholesky cross det inverse lu_solve matrix_exp matrix_power pinverse qr slogdet svd triangular_solve":
            "`linalg::cholesky(x)`, `linalg::inv(x)`, ..., with `torch.linalg`'s names",
        "logdet": "`linalg::slogdet(x).logabsdet`",
        "to_sparse_coo": "`x.to_sparse()`",
        "coalesce indices is_coalesced to_dense values": "those of a `SparseTensor`",
        "geqrf orgqr ormqr": "`linalg::qr(x)`, whose factors are apart",
        "cholesky_inverse cholesky_solve": "`linalg::solve_triangular` with the factor and its transpose",
    },
    "torch.nn": {
        "NLLLoss2d": "`nn::NLLLoss`",
        "Container": "`nn::Module`",
        "RNNBase RNNCellBase": "`nn::Recurrent`, `nn::RecurrentCell`",
        "UpsamplingBilinear2d UpsamplingNearest2d": "`nn::Upsample`",
        "CrossMapLRN2d": "`nn::LocalResponseNorm`",
        "LinearCrossEntropyLoss LinearCrossEntropyOptions": "`nn::Linear` and `nn::CrossEntropyLoss`",
        "SyncBatchNorm": "`nn::convert_sync_batchnorm(net)`, which sets a flag of its `BatchNorm` layers",
    },
    "torch.nn.functional": {
        "upsample upsample_bilinear upsample_nearest": "`interpolate`",
        "multi_head_attention_forward": "`nn::MultiheadAttention`, `scaled_dot_product_attention`",
        "grouped_mm linear_cross_entropy": "`bmm`; `linear` and `cross_entropy`",
        "native_channel_shuffle": "`channel_shuffle`",
    },
    "torch.nn.utils": {
        "convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format": "`net.to(MemoryFormat::channels_last)`",
        "fuse_conv_bn_weights fuse_linear_bn_weights": "`nn::fuse_conv_bn_eval`, `nn::fuse_linear_bn_eval`",
        "remove_spectral_norm remove_weight_norm": "`nn::remove_parametrizations(layer, \"weight\")`",
    },
    "torch.nn.utils.rnn": {
        "invert_permutation": "`PackedSequence::unsorted_indices`; `argsort(permutation)`",
    },
    "torch.autograd": {
        "detect_anomaly set_detect_anomaly": "`autograd::DetectAnomaly`",
        "enable_grad no_grad set_grad_enabled": "`EnableGradGuard`, `NoGradGuard`, `AutoGradMode(enabled)`",
        "inference_mode": "`InferenceMode`",
    },
    "torch.utils.data": {
        "get_worker_info": "`data::worker_info()`",
        "default_convert": "samples are tensors",
    },
    "torch.special": {
        "expit": "`sigmoid`",
        "gammaln": "`lgamma`",
        "multigammaln": "`mvlgamma`",
        "psi": "`digamma`",
        "entr": "`where(x < 0, -INFINITY, -xlogy(x, x))`",
        "ndtr": "`0.5 * erfc(-x / sqrt(2))`; `distributions::Normal(0, 1).cdf(x)`",
        "ndtri": "`distributions::Normal(0, 1).icdf(x)`",
        "xlog1py": "`where(x == 0, 0, x * log1p(y))`",
        "gammainc": "`igamma`",
        "gammaincc": "`igammac`",
    },
    "torch.distributions": {
        "ExponentialFamily": "`Distribution`; the families of one class aren't told apart",
        "identity_transform": "`ComposeTransform({})`",
    },
    "torch.linalg": {
        "norm": "`linalg::vector_norm`, `linalg::matrix_norm`",
        "cholesky_ex inv_ex lu_factor_ex solve_ex": "the name without `_ex`, which throws",
        "diagonal": "`x.diagonal(0, -2, -1)`",
    },
}

# Names that are declared here for something else.
OTHER_THINGS = {
    "torch.Tensor": {"data"},
}

# What is left out, and why.
LEFT_OUT = {
    "torch": {
        "a program, a thread or a graph of Python's": "cond fork import_ir_module import_ir_module_from_buffer merge_type_from_type_comment "
            "parse_ir parse_schema parse_type_comment thread_safe_generator unify_type_list wait while_loop",
        "a sparse matrix is its places and values (`SparseTensor`)": "hspmm sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor "
            "sparse_csc_tensor sparse_csr_tensor",
        "no dtype is quantized": "fake_quantize_per_channel_affine fake_quantize_per_tensor_affine quantize_per_channel "
            "quantize_per_tensor quantize_per_tensor_dynamic quantized_batch_norm quantized_max_pool1d quantized_max_pool2d",
        "how PyTorch is built, warns and prints, and threads of its own": "compiled_with_cxx11_abi get_num_interop_threads "
            "init_num_threads is_warn_always_enabled set_flush_denormal set_num_interop_threads set_printoptions set_warn_always",
        "kernels of one device alone": "conv_tbc",
        "no example trains with it": "from_file segment_reduce",
    },
    "torch.Tensor": {
        "no tensor has a flag to be conjugated or negated, and no complex dtype is of half types": "chalf is_conj is_neg",
        "no tensor's layout is sparse: a matrix is a `SparseTensor`, an embedding's gradient an `autograd::SparseGradient`":
            "ccol_indices col_indices crow_indices dense_dim is_sparse is_sparse_csr "
            "resize_as_sparse_ row_indices smm sparse_dim sparse_mask sparse_resize_ sparse_resize_and_clear_ sspaddmm "
            "to_sparse_bsc to_sparse_bsr to_sparse_csc to_sparse_csr",
        "no dtype is quantized": "dequantize int_repr is_quantized q_per_channel_axis q_per_channel_scales q_per_channel_zero_points "
            "q_scale q_zero_point qscheme",
        "no such device or library": "ipu is_distributed is_ipu is_maia is_mkldnn is_mps is_mtia is_nested is_vulkan is_xla is_xpu "
            "mtia to_mkldnn to_padded_tensor xpu",
        "changes what a tensor is under views that share it": "resize resize_ resize_as resize_as_ set_ put put_",
        "a function of Python, an element at a time": "apply_ map_ map2_",
        "names of dimensions, streams by hand, and Python's own": "as_subclass hash_tensor is_inference name nonzero_static output_nr record_stream "
            "reinforce slice_inverse storage_type grad_dtype",
        "PyTorch has removed it": "eig lstsq lu solve symeig",
    },
    "torch.nn": {
        "sizes are given where a layer is made": "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d "
            "LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d "
            "LazyLinear UninitializedBuffer UninitializedParameter",
    },
    "torch.nn.init": {
        "older names of those with `_`": "constant dirac eye kaiming_normal kaiming_uniform normal orthogonal sparse uniform xavier_normal "
            "xavier_uniform",
    },
    "torch.nn.utils": {
        "the older name of `clip_grad_norm_`": "clip_grad_norm",
        "a layer has its initial values": "skip_init",
    },
    "torch.nn.utils.parametrize": {
        "a module computes its members once a call": "cached",
        "a module's type stays": "transfer_parametrizations_and_params type_before_parametrizations",
    },
    "torch.autograd": {
        "Python's own or internal": "NestedIOFunction Variable variable",
        "a backward pass uses the threads that kernels use": "enforce_grad_layout_policy set_multithreading_enabled",
    },
    "torch.utils.data": {
        "pipes of data are datasets and samplers": "DFIterDataPipe DataChunk IterDataPipe MapDataPipe _DatasetKind argument_validation "
            "functional_datapipe guaranteed_datapipes_determinism non_deterministic runtime_validation runtime_validation_disabled",
    },
    "torch.special": {
        "functions of physics and numerics, with which no example trains": "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 "
            "chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h "
            "hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p modified_bessel_i0 modified_bessel_i1 "
            "modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1 "
            "shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v "
            "shifted_chebyshev_polynomial_w spherical_bessel_j0 zeta",
    },
    "torch.distributions": {
        "no bijections": "AbsTransform SoftmaxTransform",
        "constraints are told, and not mapped from": "biject_to transform_to",
    },
    "torch.optim": {
    },
    "torch.nn.functional": {
        "Python's own or internal": "assert_int_or_pair",
        "kernels of one device alone": "scaled_addmm scaled_addmm_ scaled_grouped_mm scaled_mm conv_tbc",
    },
}


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def texts(root, patterns):
    """The headers' texts without comments and what is kernels' alone; of linalg:: where its headers are asked for."""
    left_out = "kernel" if patterns == LINALG else "kernel|linalg"
    for pattern in patterns:
        for path in sorted(glob.glob(os.path.join(root, pattern))):
            text = re.sub(r"//.*", "", read(root, os.path.relpath(path, root)))
            yield re.sub(r"^namespace aorta::(?:%s) \{.*?^\} *(?=\n\n|\n?\Z)" % left_out, "", text, flags=re.M | re.S)


class Function:
    """A declaration: its name and parameters as (type, name, default or None)."""

    def __init__(self, result, name, parameters):
        self.result, self.name = result, name
        self.parameters = [p for p in (parameter(p) for p in split(parameters)) if p]

    def calls(self):
        """The lists of types that it is called with: defaults may be left out from the end."""
        types = tuple(kind for kind, _, _ in self.parameters)
        least = sum(default is None for _, _, default in self.parameters)
        return {types[:count] for count in range(least, len(types) + 1)}


def split(parameters):
    """At the commas outside brackets."""
    parts, depth = [""], 0
    for letter in parameters:
        depth += letter in "(<{"
        depth -= letter in ")>}"
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [" ".join(part.split()) for part in parts if part.strip()]


def parameter(text):
    text, _, default = text.partition(" = ")
    kind, name = re.fullmatch(r"(.*?[ &*])?(\w*)", text).groups()
    return (kind or "").strip(), name, default or None


DECLARATION = re.compile(r"^(?P<indent> *)(?:inline |static |virtual )?(?P<result>(?:const )?[\w:]+(?:<[\w:<>, ]+>)?[&*]?)\s+"
                         r"(?P<name>\w+)\((?P<parameters>(?:[^(){};]|\{[^(){}]*\}|\([^()]*\))*)\)(?P<const> const)?\s*[;{]", re.M)


def functions(text, indent):
    """The functions (indent 0) or methods (indent 2) that a header declares."""
    for found in DECLARATION.finditer(text):
        if len(found["indent"]) == indent and found["result"] not in ("return", "else", "new", "throw"):
            yield Function(found["result"], found["name"], found["parameters"])


def methods(root, paths):
    return [f for text in texts(root, paths) for f in functions(re.split(r"^ protected:", text, flags=re.M)[0], 2)]


def free_functions(root, patterns=("core/ops/*.h",)):
    return [f for text in texts(root, patterns) for f in functions(text, 0)]


def declared(root, module):
    """The names of a module that the headers declare."""
    patterns, kind = MODULES[module]
    names = set()
    if kind == "methods":
        for text in texts(root, patterns):
            names |= set(re.findall(r"^  (?=\w)(?!return )[\w:<>&, ]+?[ &](\w+)\(", text, re.M))
    if kind in ("functions", "both"):
        names |= {f.name for f in free_functions(root, patterns)}
    if kind in ("classes", "both"):
        for text in texts(root, patterns):
            names |= set(re.findall(r"^(?:class|struct) (\w+)\b[^;]*\{", text, re.M))
            names |= set(re.findall(r"^using (\w+) =", text, re.M))
    return names - OTHER_THINGS.get(module, set())


def index(root):
    """{module: its names}, from the fixture."""
    modules, names = {}, None
    for line in read(root, INDEX).splitlines():
        if line.startswith("["):
            names = modules.setdefault(line[1:-1], [])
        elif not line.startswith("#"):
            names += line.split()
    return modules


def sort_out(root, module, names):
    """(there, {what is written instead: names}, {reason: names}, missing, problems)."""
    have = declared(root, module)
    otherwise = {name: what for group, what in OTHERWISE.get(module, {}).items() for name in group.split()}
    left_out = {name: reason for reason, group in LEFT_OUT.get(module, {}).items() for name in group.split()}
    problems = []
    for name in sorted(set(otherwise) | set(left_out)):
        if name in have:
            problems.append("tools/pytorch_names.py: a name that is there needs no reason, got %s of %s" % (name, module))
        if name not in names:
            problems.append("tools/pytorch_names.py: a name must be one of PyTorch's, got %s of %s" % (name, module))
        if name in otherwise and name in left_out:
            problems.append("tools/pytorch_names.py: a name stands once, got %s of %s" % (name, module))
    there, groups, reasons, missing = [], {}, {}, []
    for name in names:
        if name in have:
            there.append(name)
        elif name in otherwise:
            groups.setdefault(otherwise[name], []).append(name)
        elif name in left_out:
            reasons.setdefault(left_out[name], []).append(name)
        else:
            missing.append(name)
    return there, groups, reasons, missing, problems


def paragraph(head, names):
    return textwrap.wrap("%s: `%s`." % (head, "` `".join(names)), WIDTH, break_long_words=False, break_on_hyphens=False)


def page_list(root):
    """(the list's lines, problems)."""
    lines, problems = [], []
    for module, names in index(root).items():
        there, groups, reasons, missing, wrong = sort_out(root, module, names)
        problems += wrong
        lines += ["", "### %s" % module, "", "%d of %d names are there.%s" % (len(there), len(names), NOTES.get(module, ""))]
        if groups or reasons:
            lines += ["", "| name in PyTorch | here |", "|---|---|"]
            lines += ["| %s | %s |" % (" ".join("`%s`" % n for n in found), what) for what, found in groups.items()]
            lines += ["| %s | left out: %s |" % (" ".join("`%s`" % n for n in found), why) for why, found in reasons.items()]
        if there:
            lines += [""] + paragraph("There", there)
        if missing:
            lines += [""] + paragraph("Not there yet", missing)
    return lines, problems


def page(root):
    """(the page as it should be, problems)."""
    lines, problems = page_list(root)
    text = read(root, PAGE)
    if BEGIN not in text or END not in text:
        return text, problems + ["%s: the page must have the marks of the list, got none" % PAGE]
    head, tail = text.split(BEGIN)[0], text.split(END)[1]
    return head + BEGIN + "\n" + "\n".join(lines) + "\n\n" + END + tail, problems


# The functions that core/ops declares with a tensor that isn't the one that the method is of in front.
SELF = {"where": 1}


def called_with(function):
    """The function's lists of types without the tensor that the method is of."""
    place = SELF.get(function.name, 0)
    if len(function.parameters) <= place or function.parameters[place][0] not in ("const Tensor&", "const Operand&"):
        return set()
    return {types[:place] + types[place + 1:] for types in function.calls() if len(types) > place}


def check_methods(root):
    """What keeps a function with a tensor in front from being the method of torch.Tensor that has its name."""
    problems, by_name, ours = [], {}, {}
    for function in free_functions(root):
        if called_with(function):
            by_name.setdefault(function.name, []).append(function)
    for method in methods(root, METHODS[1:]):
        ours.setdefault(method.name, []).append(method)
    members = declared(root, "torch.Tensor")
    for name in index(root)["torch.Tensor"]:
        if name in by_name and name not in members:
            problems.append("%s: a function that torch.Tensor has as a method must be one, got %s" % (METHODS[1], name))
    for name, overloads in sorted(ours.items()):
        if name not in by_name:
            continue
        calls = set().union(*(f.calls() for f in overloads))
        wanted = set().union(*(called_with(f) for f in by_name[name]))
        if calls != wanted:
            problems.append("%s: a method must be called as its function is, got %s with %s" % (
                METHODS[1], name, " and ".join("(%s)" % ", ".join(c) for c in sorted(calls ^ wanted))))
        results = {f.result for f in by_name[name]} if not name.endswith("_") else {"const Tensor&"}
        if {f.result for f in overloads} - results:
            problems.append("%s: a method must give what its function gives, and in place the tensor, got %s" % (METHODS[1], name))
        defaults = {p[1]: p[2] for f in by_name[name] for p in f.parameters if p[2]}
        for _, parameter_name, default in (p for f in overloads for p in f.parameters):
            if default and defaults.get(parameter_name) != default:
                problems.append("%s: a default must be the function's, got %s = %s of %s" % (
                    METHODS[1], parameter_name, default, name))
    tested = read(root, TEST)
    for name in sorted(ours):
        called = name[:-1] if name.endswith("_") else name
        if not re.search(r"\b(?:SAME|WRITES)\(%s\b|\bBOTH\((?:%s|%s)\b|\.%s\(" % (name, called, name, name), tested):
            problems.append("%s: every method must be called, got none of %s" % (TEST, name))
    return problems


def print_index():
    import inspect

    import torch
    import torch.autograd.functional
    import torch.distributions
    import torch.fft
    import torch.nn.functional
    import torch.nn.utils.parametrizations
    import torch.nn.utils.rnn
    import torch.special
    import torch.utils.data

    def public(module):
        return [name for name in dir(module) if not name.startswith("_")]

    def defined_in(module):
        return [name for name in public(module) if getattr(getattr(module, name), "__module__", "") == module.__name__]

    def is_function(value):
        return callable(value) and not inspect.isclass(value) and getattr(value, "__module__", None) in (
            None, "torch", "torch.nn.functional", "torch._C._nn", "torch._C._linalg")

    def is_of_torch_alone(name):
        """A function that PyTorch documents: no method, nor a copy of a view, nor of symbols."""
        value = getattr(torch, name)
        return callable(value) and not inspect.isclass(value) and bool(inspect.getdoc(value)) and not (
            hasattr(torch.Tensor, name) or name.endswith(("_", "_copy")) or name.startswith("sym_"))

    modules = {
        "torch": [name for name in public(torch) if is_of_torch_alone(name)],
        "torch.Tensor": public(torch.Tensor),
        "torch.nn": [name for name in public(torch.nn) if name[0].isupper()],
        "torch.nn.functional": [name for name in public(torch.nn.functional) if is_function(getattr(torch.nn.functional, name))],
        "torch.nn.init": defined_in(torch.nn.init),
        "torch.nn.utils": [name for name in public(torch.nn.utils) if inspect.isfunction(getattr(torch.nn.utils, name))],
        "torch.nn.utils.parametrizations": defined_in(torch.nn.utils.parametrizations),
        "torch.nn.utils.parametrize": defined_in(torch.nn.utils.parametrize),
        "torch.nn.utils.rnn": torch.nn.utils.rnn.__all__,
        "torch.autograd": [name for name in torch.autograd.__all__ if callable(getattr(torch.autograd, name))],
        "torch.autograd.functional": torch.autograd.functional.__all__,
        "torch.utils.data": torch.utils.data.__all__,
        "torch.optim": [name for name in public(torch.optim) if name[0].isupper()],
        "torch.optim.lr_scheduler": torch.optim.lr_scheduler.__all__,
        "torch.linalg": [name for name in public(torch.linalg) if inspect.isbuiltin(getattr(torch.linalg, name))],
        "torch.special": torch.special.__all__,
        "torch.fft": [name for name in public(torch.fft) if inspect.isroutine(getattr(torch.fft, name))],
        "torch.distributions": torch.distributions.__all__,
    }
    print("# The names of PyTorch %s, by module; made by tools/pytorch_names.py --index." % torch.__version__.split("+")[0])
    for module, names in modules.items():
        print("[%s]" % module)
        print("\n".join(textwrap.wrap(" ".join(sorted(names)), WIDTH, break_on_hyphens=False)))


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--index"]:
        print_index()
        return 0
    check = arguments[:1] == ["--check"]
    root = (arguments[check:] or [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")])[0]
    text, problems = page(root)
    problems += check_methods(root)
    if check and text != read(root, PAGE):
        problems.append("%s: the list must be what tools/pytorch_names.py writes, got another" % PAGE)
    if not check:
        with open(os.path.join(root, PAGE), "w", encoding="utf-8") as file:
            file.write(text)
    print("\n".join(problems) or "the list is that of the headers")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
