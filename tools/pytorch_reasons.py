"""Where the names of PyTorch's modules are declared here, what is written instead of a name, and why one is left out."""

METHODS = ("core/tensor.h", "core/tensor_methods.h")
LINALG = ("core/ops/linalg*.h", "core/ops/matmul.h")
SPARSE = ("core/ops/sparse.h",)
# Where the names of each module are declared, and whether they are classes or functions.
MODULES = {
    "torch": (("core/ops/*.h", "core/*.h", "core/io/*.h", "nn/*.h"), "functions"),
    "torch.Tensor": (METHODS, "methods"),
    "torch.cuda": (("core/device.h",), "functions"),
    "torch.accelerator": (("core/device.h",), "functions"),
    "torch.amp": (("core/dispatch/autocast.h", "optim/grad_scaler.h"), "both"),
    "torch.sparse": (SPARSE, "functions"),
    "torch.nn": (("nn/*.h", "nn/*/*.h"), "classes"),
    "torch.nn.Module": (("nn/module.h",), "methods"),
    "torch.nn.functional": (("core/ops/*.h", "nn/*.h"), "functions"),
    "torch.nn.init": (("nn/init.h",), "functions"),
    "torch.nn.utils": (("nn/*.h", "optim/*.h"), "functions"),
    "torch.nn.utils.parametrizations": (("nn/*.h",), "functions"),
    "torch.nn.utils.parametrize": (("nn/*.h",), "both"),
    "torch.nn.utils.rnn": (("nn/*.h",), "both"),
    "torch.nn.parallel": (("nn/parallel/*.h",), "both"),
    "torch.autograd": (("autograd/*.h",), "both"),
    "torch.autograd.functional": (("autograd/*.h",), "functions"),
    "torch.utils.data": (("data/*.h",), "both"),
    "torch.utils.checkpoint": (("autograd/checkpoint.h",), "functions"),
    "torch.multiprocessing": (("data/workers/*.h",), "both"),
    "torch.distributed": (("core/comm.h", "core/process/*.h"), "both"),
    "torch.optim": (("optim/*.h",), "classes"),
    "torch.optim.Optimizer": (("optim/optimizer.h",), "methods"),
    "torch.optim.lr_scheduler": (("optim/*.h",), "classes"),
    "torch.optim.lr_scheduler.LRScheduler": (("optim/scheduler.h",), "methods"),
    "torch.linalg": (LINALG, "functions"),
    "torch.special": (("core/ops/*.h",), "functions"),
    "torch.fft": (("core/ops/*.h",), "functions"),
    "torch.distributions": (("distributions/*.h", "distributions/*/*.h"), "both"),
    "torch.distributions.Distribution": (("distributions/distribution.h",), "methods"),
    "torch.onnx": (("onnx/onnx.h",), "both"),
}

# Those of which programs of pytorch/examples use some, and which have no list of their own.
PROGRAM_MODULES = {
    "torch.distributed.fsdp": (("nn/parallel/*.h",), "both"),
    "torch.distributed.device_mesh": (("nn/parallel/*.h",), "both"),
    "torch.distributed.tensor": (("nn/parallel/*.h",), "both"),
    "torch.distributed.tensor.parallel": (("nn/parallel/*.h",), "both"),
    "torch.distributed.autograd": (("rpc/*.h",), "both"),
    "torch.distributed.nn": (("rpc/*.h",), "both"),
    "torch.distributed.optim": (("rpc/*.h", "optim/*.h"), "both"),
    "torch.distributed.rpc": (("rpc/*.h",), "both"),
    "torch.futures": (("rpc/*.h",), "both"),
    "torchvision.datasets": (("data/datasets/*.h",), "classes"),
    "torchvision.transforms": (("data/images/*.h",), "classes"),
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
        "Tensor device": "`Tensor`, `Device`",
        "bfloat16 bool double float float16 float32 int64 long": "`bf16`, `DType::boolean`, `f64`, `f32`, `f16`, `i64`",
        "FloatTensor LongTensor": "`tensor({1, 2}, {.dtype = i64})`, `empty(shape)`",
        "no_grad set_grad_enabled": "`NoGradGuard`, `AutoGradMode(enabled)`",
        "spmm": "`sparse::mm(matrix, dense)`, `sparse::mm(dense, matrix)`",
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
    "torch.cuda": {
        "CUDAGraph graph make_graphed_callables is_current_stream_capturing": "`capture(step)`",
        "Stream StreamContext Event ExternalStream current_stream default_stream set_stream stream get_stream_from_external":
            "loaders and DistributedDataParallel have streams of their own; ops follow the thread's (`core/device_backend.h`)",
        "device device_of set_device": "`DeviceGuard guard(\"cuda:1\")`, `current_device(DeviceType::cuda)`",
        "empty_cache max_memory_allocated max_memory_cached max_memory_reserved memory_allocated memory_cached memory_reserved "
        "memory_snapshot memory_stats memory_stats_as_nested_dict memory_summary reset_accumulated_memory_stats "
        "reset_max_memory_allocated reset_max_memory_cached reset_peak_memory_stats":
            "`backend(DeviceType::cuda).memory_stats(0)`, `empty_cache()` and `reset_peak_memory(0)` of it",
        "get_rng_state get_rng_state_all initial_seed manual_seed manual_seed_all seed seed_all set_rng_state set_rng_state_all":
            "`manual_seed(seed)`, `default_generator()`: one generator for all devices",
        "init is_initialized": "CUDA starts with its first use",
        "CudaError DeferredCudaCallError": "`aorta::Error`",
        "is_bf16_supported is_tf32_supported": "every GPU that Aorta is built for has them",
    },
    "torch.accelerator": {
        "Graph": "`capture(step)`",
        "current_accelerator": "`DeviceType::cuda` where `cuda::is_available()`",
        "current_device_idx current_device_index device_index set_device_idx set_device_index":
            "`DeviceGuard guard(\"cuda:1\")`, `current_device(DeviceType::cuda)`",
        "current_stream set_stream": "ops follow the thread's stream (`core/device_backend.h`)",
        "empty_cache empty_host_cache get_memory_info max_memory_allocated max_memory_reserved memory_allocated memory_reserved "
        "memory_stats reset_accumulated_memory_stats reset_peak_memory_stats": "as of `torch.cuda`",
    },
    "torch.amp": {
        "autocast": "`Autocast guard(bf16)`",
        "is_autocast_available": "on every device",
        "custom_bwd custom_fwd": "`autocast_to_half(x)`, `autocast_to_f32(x)` in a function of one's own",
    },
    "torch.sparse": {
        "addmm": "`y + sparse::mm(a, x)`",
        "log_softmax": "`sparse::softmax(a, 1)`, and the logarithm of its values",
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
    "torch.nn.Module": {
        "add_module register_module": "a member, `nn::Linear fc{*this, \"fc\", 3, 5}`; `push_back` of containers",
        "register_buffer register_parameter": "a member, `nn::Buffer mean{*this, \"mean\", zeros({3})}`, `nn::Parameter`",
        "bfloat16 double float half type": "`net.to(bf16)`, `net.to(f64)`, ...",
        "cpu cuda": "`net.to(\"cpu\")`, `net.to(\"cuda\")`",
        "get_parameter get_buffer": "members; `named_parameters()`, `named_buffers()`",
        "set_submodule": "assignment, `net.fc = nn::Linear(3, 5)`",
        "get_extra_state set_extra_state": "a buffer",
        "compile": "`capture(step)` on CUDA",
        "register_full_backward_pre_hook": "`output.register_hook(...)`",
    },
    "torch.nn.parallel": {
        "data_parallel": "`nn::DataParallel(net, {\"cuda:0\", \"cuda:1\"})(x)`",
        "gather parallel_apply replicate scatter": "what `DataParallel` does; `cat`, `chunk` and `to`",
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
    "torch.nn.RNNBase": {
        "flatten_parameters": "the weights lie as kernels want them",
    },
    "torch.backends.cudnn": {
        "benchmark deterministic": "`backends::cudnn::set_benchmark(true)`, `set_deterministic(true)`",
    },
    "torch.utils.checkpoint": {
        "checkpoint_sequential": "a `checkpoint` of each part",
        "detach_variable": "`x.detach()`",
        "get_device_states set_device_states": "`default_generator().state()`",
    },
    "torch.multiprocessing": {
        "spawn start_processes ProcessContext SpawnContext": "`mpirun -n 4 program`, or several `data::Process`",
        "Pool": "`data::ProcessPool`",
        "Queue SimpleQueue JoinableQueue Pipe": "`data::TensorQueue`",
        "Array Value RawArray RawValue": "a tensor in shared memory, `zeros({4}).share_memory()`",
        "get_start_method set_start_method get_all_start_methods get_context set_executable set_forkserver_preload":
            "`StartMethod` of a `DataLoader`, `Process` or `ProcessPool`; the zygote is the forkserver",
        "get_sharing_strategy set_sharing_strategy get_all_sharing_strategies allow_connection_pickling reducer":
            "descriptors, always",
        "ProcessError ProcessExitedException ProcessRaisedException TimeoutError AuthenticationError BufferTooShort": "`aorta::Error`",
        "cpu_count": "`get_num_threads()`",
        "active_children current_process parent_process": "the `Process` itself, and its `pid()`",
        "freeze_support init_reductions": "`aorta::init(argc, argv)`",
    },
    "torch.distributed": {
        "all_reduce all_reduce_coalesced broadcast barrier": "members of the group: `distributed::world().all_reduce(x)`",
        "all_gather all_gather_into_tensor all_gather_single": "`world().all_gather(x)`, one tensor",
        "reduce_scatter reduce_scatter_single reduce_scatter_tensor": "`world().reduce_scatter(x)`",
        "reduce": "`world().all_reduce(x)`, of which the others have no need",
        "gather gather_into_tensor gather_single": "`world().all_gather(x)`, and one rank reads it",
        "scatter": "`world().broadcast(x)` and a slice of it",
        "all_gather_coalesced": "one call each, or `cat`",
        "set_timeout": "`world().set_timeout(seconds)`",
        "monitored_barrier": "`world().barrier()`, which names who is missing",
        "destroy_process_group": "the end of the program",
        "get_node_local_rank": "`get_local_rank()`",
        "new_group": "`world().split(color)`, or of all ranks `world().duplicate()`",
        "new_subgroups new_subgroups_by_enumeration split_group": "`world().split(color)`",
        "DeviceMesh init_device_mesh": "`nn::DeviceMesh mesh(distributed::world(), {2, 4}, {\"dp\", \"tp\"})`",
        "group GroupMember": "`Communicator`",
        "get_backend get_backend_config get_backend_impl get_default_backend_for_device Backend BackendConfig is_backend_available "
        "is_gloo_available is_mpi_available is_ucc_available is_xccl_available":
            "MPI, and NCCL between GPUs where it is there",
        "is_nccl_available": "`backends::nccl::is_available()`",
        "is_available": "Aorta has it always; `is_launched()`",
        "is_torchelastic_launched": "`is_launched()`, by mpirun or srun",
        "DistError DistBackendError DistNetworkError DistStoreError QueueEmptyError": "`RankError`, `aorta::Error`",
        "supports_complex": "every dtype",
        "BuiltinCommHookType GradBucket": "`{.bf16_gradients = true}` of `DistributedDataParallel`",
        "Reducer Logger": "`nn::GradientReducer`; `world().records()`",
        "DebugLevel get_debug_level set_debug_level set_debug_level_from_env record_comm":
            "every call is compared between the ranks; `world().records()`",
    },
    "torch.distributed._shard": {
        "ChunkShardingSpec ShardingPlan shard_module": "`nn::parallelize_module(net, group, plan)`",
        "ShardedOptimizer": "the optimizer itself: parts are parameters",
        "named_params_with_sharded_tensor": "`net.named_parameters()`",
    },
    "torch.distributed.device_mesh": {
        "init_device_mesh": "`nn::DeviceMesh mesh(distributed::world(), {2, 4}, {\"dp\", \"tp\"})`",
    },
    "torch.distributed.tensor": {
        "DTensor": "a tensor is a rank's own, and `nn::redistribute(x, group, Shard(0), Replicate())` says how the group has it",
    },
    "torch.distributed.rpc": {
        "functions.async_execution": "a function that returns a `futures::Future`",
        "ProcessGroupRpcBackendOptions TensorPipeRpcBackendOptions": "`rpc::RpcOptions`; messages go by MPI",
    },
    "torch.backends.mps": {
        "is_available": "`cuda::is_available()`: there are no other accelerators",
    },
    "torch.xpu": {
        "is_available": "`cuda::is_available()`: there are no other accelerators",
    },
    "torch.hub": {
        "tqdm": "`report::ProgressBar`",
    },
    "torch.distributed.fsdp": {
        "FullyShardedDataParallel ShardingStrategy": "`nn::fully_shard(module, group)`, for each part that is gathered together; "
            "`reshard_after_forward` is the strategy",
        "FSDPModule": "the module stays what it was: `nn::set_requires_gradient_sync(net, false)`",
        "MixedPrecision": "`MixedPrecisionPolicy`",
        "CPUOffload": "`{.cpu_offload = true}`",
        "BackwardPrefetch": "nothing to choose: the part that came next in the last pass is always gathered ahead",
        "StateDictType FullStateDictConfig": "`net.state_dict()` has a rank's parts, `net.full_state_dict()` the whole tensors on rank 0",
    },
    "torch.distributed.fsdp.wrap": {
        "enable_wrap transformer_auto_wrap_policy wrap": "a loop: `for (nn::Module* block : net.blocks.children()) nn::fully_shard(*block, group);`",
    },
    "torch.distributed.checkpoint": {
        "StateDictOptions get_model_state_dict get_optimizer_state_dict set_model_state_dict set_optimizer_state_dict":
            "`net.state_dict()`, `optimizer.state_dict()`: every rank has all of it; where it has parts, `net.full_state_dict()`, "
            "`optimizer.full_state()`",
    },
    "torch.distributed.algorithms": {
        "CheckpointImpl apply_activation_checkpointing_wrapper checkpoint_wrapper": "`autograd::checkpoint(function, x)`",
    },
    "torchvision.datasets": {
        "CIFAR10": "`data::Cifar10`",
        "MNIST": "`data::Mnist`",
        "FakeData": "`TensorDataset({{\"image\", randn({100, 3, 64, 64})}})`",
    },
    "torchvision.models": {
        "*": "`models::make(\"resnet18\")`, with torchvision's names: the families of resnet, resnext, wide_resnet, alexnet, vgg, "
             "mobilenet, efficientnet, regnet, densenet, googlenet, inception_v3, squeezenet, shufflenet_v2, mnasnet, convnext, vit, swin and maxvit; others are written of layers",
    },
    "torchvision.transforms": {
        "Compose": "`data::Transforms{data::ToFloat{}, data::Normalize{...}}`",
        "ToTensor": "`ToFloat`; an image is a tensor",
        "Lambda": "a dataset of one's own, or an op on the batch",
    },
    "torchvision.utils": {
        "save_image": "`write_png(image, path)`",
    },
    "torch.optim.Optimizer": {
        "register_step_pre_hook register_step_post_hook": "code before and behind `optimizer.step()`",
        "register_state_dict_pre_hook register_state_dict_post_hook register_load_state_dict_pre_hook "
        "register_load_state_dict_post_hook OptimizerPreHook OptimizerPostHook": "`State`, a map that may be changed",
    },
    "torch.optim.lr_scheduler.LRScheduler": {
        "get_lr": "`get_last_lr()`; a schedule of one's own overrides `lr_of`",
    },
    "torch.distributions.Distribution": {
        "arg_constraints": "what the constructors say of their parameters in errors",
        "sample_n": "`sample({n})`",
    },
    "torch.onnx": {
        "export": "`onnx::save(net, x, \"net.onnx\")`",
        "ONNXProgram ExportableModule": "`onnx::load(path)`, a module",
        "OnnxExporterError": "`aorta::Error`",
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
        "cholesky_ex inv_ex ldl_factor_ex lu_factor_ex solve_ex": "the name without `_ex`, which throws",
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
    "torch.cuda": {
        "how PyTorch manages devices and is built": "CUDAPluggableAllocator GreenContext MemPool caching_allocator_alloc "
            "caching_allocator_delete caching_allocator_disabled caching_allocator_enable can_device_access_peer "
            "change_current_allocator check_error cudaStatus cudart current_blas_handle current_solver_handle export_dot "
            "export_graph_data get_allocator_backend get_arch_list get_gencode_flags get_per_process_memory_fraction "
            "get_sync_debug_mode graph_pool_handle host_memory_stats host_memory_stats_as_nested_dict ipc_collect "
            "reset_accumulated_host_memory_stats reset_peak_host_memory_stats set_per_process_memory_fraction set_sync_debug_mode "
            "use_mem_pool",
        "what nvidia-smi says": "clock_rate device_memory_used get_device_capability get_device_name get_device_properties "
            "list_gpu_processes mem_get_info memory_usage power_draw temperature utilization",
    },
    "torch.accelerator": {
        "what nvidia-smi says": "get_device_capability",
    },
    "torch.sparse": {
        "no kernels for two of four elements": "to_sparse_semi_structured",
        "`gradcheck` of the values": "as_sparse_gradcheck",
    },
    "torch.nn.Module": {
        "how Python's modules are made and typed": "T_destination call_super_init dump_patches",
        "no such device": "ipu mtia xpu",
        "the state is a map that a program may change": "register_load_state_dict_post_hook register_load_state_dict_pre_hook "
            "register_state_dict_post_hook register_state_dict_pre_hook",
        "the older name of `register_full_backward_hook`": "register_backward_hook",
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
    "torch.utils.checkpoint": {
        "Python's own or internal": "check_backward_validity noop_context_fn set_checkpoint_debug_enabled set_checkpoint_early_stop",
        "a part is computed again as a whole": "create_selective_checkpoint_contexts",
    },
    "torch.multiprocessing": {
        "what threads and processes of C++ have their own of": "Barrier BoundedSemaphore Condition Event Lock RLock Semaphore Manager "
            "get_logger log_to_stderr",
    },
    "torch.distributed": {
        "collectives that data-parallel training has no use for, and messages between two ranks": "P2POp all_to_all all_to_all_single "
            "batch_isend_irecv irecv isend recv send",
        "Python's objects": "all_gather_object broadcast_object_list gather_object recv_object_list scatter_object_list "
            "send_object_list",
        "a group knows its own ranks alone": "get_global_rank get_group_rank get_pg_count get_process_group_ranks shrink_group",
        "calls return when the work is done, or queued on the device": "Work",
        "mpirun and srun bring processes together": "FileStore GroupName HashStore PrefixStore Store TCPStore register_rendezvous_handler "
            "rendezvous",
        "internal, or of Python's debugger": "AllToAllOptions AllreduceCoalescedOptions AllreduceOptions BarrierOptions BroadcastOptions "
            "GatherOptions ReduceOptions ReduceScatterOptions ScatterOptions ProcessGroupGloo ProcessGroupNCCL ProcessGroupNCCL2 "
            "ProcessGroupNCCLLazy breakpoint",
    },
    "torch.optim.Optimizer": {
        "`Profiler` records steps": "profile_hook_step",
    },
    "torch.linalg": {
        "no example trains with it": "matrix_sqrth polar",
    },
    "torch.onnx": {
        "of PyTorch's own exporter": "InputObserver is_in_onnx_export",
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
