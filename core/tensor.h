#pragma once

#include <aorta/core/number.h>
#include <aorta/core/shape.h>
#include <aorta/core/storage.h>
#include <aorta/core/tensor_methods.h>

#include <concepts>
#include <functional>
#include <optional>

namespace aorta {

class HookHandle;
class Gathered;
class Index;

/// What `autograd/` hangs on a tensor. Core never looks inside.
class AutogradSlot {
 public:
  virtual ~AutogradSlot() = default;
  /// True when the tensor has no history.
  virtual bool is_leaf() const = 0;
};

/// What a factory makes: `zeros({2, 3}, {.dtype = f64, .device = "cuda:0", .requires_grad =
/// true})`. Without a dtype, f32 or what the data says.
struct TensorOptions {
  std::optional<DType> dtype = {};
  Device device = {};
  bool requires_grad = false;
};

/// The order in memory of a dense tensor.
enum class MemoryFormat : uint8_t { contiguous, channels_last, preserve };

/// How `Tensor::to` converts. `copy`: a new tensor even when nothing changes. `non_blocking`:
/// return before a copy between a device and page-locked memory is done; without page-locked memory
/// the copy is synchronous.
struct ToOptions {
  std::optional<DType> dtype = {};
  std::optional<Device> device = {};
  bool non_blocking = false;
  bool copy = false;
  MemoryFormat memory_format = MemoryFormat::preserve;
};

/// The state behind a Tensor handle. Users have no need of it; ops and autograd do.
struct TensorImpl {
  std::atomic<int32_t> count{1};
  DType dtype = DType::f32;
  bool requires_grad = false;
  bool contiguous = true;
  bool inference = false;          // made in inference mode
  bool view_without_grad = false;  // a view made while nothing was recorded
  Ref<Storage> storage;
  int64_t offset = 0;  // in elements, from the storage's start
  int64_t numel = 0;
  Shape shape;
  Strides strides;  // in elements
  AutogradSlot* autograd = nullptr;
  Ref<TensorImpl> base;  // of a view: the tensor that it is a view of, itself not a view

  /// A view's answer follows its base, which may have been asked for a gradient or written since.
  bool needs_gradient() const {
    return requires_grad || (base && base->requires_grad && !view_without_grad);
  }
  void retain() { count.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    // A sole owner has nobody to race with, and saves the locked subtraction.
    if (count.load(std::memory_order_acquire) == 1 ||
        count.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      destroy();
    }
  }
  void destroy();
  static TensorImpl* make();
};

/// An n-dimensional array: a cheap handle on storage + dtype + shape + strides + offset + device.
/// Copying a Tensor copies the handle; views share the storage. `const Tensor&` is a constant
/// handle, not constant elements. A default-constructed one is undefined and has no shape. Its ops
/// are members too: `x.square().sum()`, see TensorMethods.
class Tensor : public TensorMethods {
 public:
  Tensor() = default;
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) = default;
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & = default;
  /// `x[0] = y` would change a handle that is gone the moment after.
  template <class T>
  void operator=(const T&) && {
    static_assert(sizeof(T) == 0,
                  "x[i] = y writes nothing: use x[i].copy_(y), x[i].fill_(number), or "
                  "index_put_(x, {mask}, y)");
  }
  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}
  /// A view on `storage`; all of it must lie inside.
  Tensor(Ref<Storage> storage, DType dtype, const Shape& shape, const Strides& strides,
         int64_t offset = 0);

  bool defined() const { return static_cast<bool>(impl_); }
  const Shape& shape() const { return impl("shape").shape; }
  const Shape& size() const { return impl("size").shape; }
  /// The size of one dimension; negative counts from the end. A 0-d tensor has none.
  int64_t size(int64_t dim) const { return along("size", impl("size").shape, dim); }
  const Strides& strides() const { return impl("strides").strides; }
  const Strides& stride() const { return impl("stride").strides; }
  int64_t stride(int64_t dim) const { return along("stride", impl("stride").strides, dim); }
  /// The number of dimensions.
  int dim() const { return impl("dim").shape.size(); }
  int64_t numel() const { return impl("numel").numel; }
  DType dtype() const { return impl("dtype").dtype; }
  Device device() const { return impl("device").storage->device(); }
  bool is_cuda() const { return device().is_cuda(); }
  bool is_cpu() const { return device().is_cpu(); }
  bool is_meta() const { return device().is_meta(); }
  bool is_floating_point() const { return is_floating(dtype()); }
  bool is_complex() const { return aorta::is_complex(dtype()); }
  /// Bytes of one element.
  int64_t element_size() const { return item_size(dtype()); }
  /// Bytes of its elements (not of the storage).
  int64_t nbytes() const { return numel() * item_size(dtype()); }
  /// Where its first element starts in the storage, in elements.
  int64_t storage_offset() const { return impl("storage_offset").offset; }
  const Ref<Storage>& storage() const { return impl("storage").storage; }
  /// Counts the writes to the storage, through this tensor or any view.
  uint32_t version() const { return impl("version").storage->version(); }
  void bump_version() const { impl("bump_version").storage->bump_version(); }

  /// True when the elements lie one after another in the order of the format.
  bool is_contiguous(MemoryFormat format = MemoryFormat::contiguous) const;
  /// True when host memory is page-locked.
  bool is_pinned() const { return impl("is_pinned").storage->is_pinned(); }
  /// True when both are views of one storage.
  bool shares_storage(const Tensor& other) const { return storage() == other.storage(); }
  /// True when both handles are one tensor.
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }

  /// The first element's address (on the device).
  void* data() const {
    const TensorImpl& self = impl("data");
    return self.storage->data() + self.offset * item_size(self.dtype);
  }
  /// The first element's address, typed; throws when T isn't the dtype's C++ type.
  template <class T>
  T* data() const {
    check_dtype(dtype_of<T>);
    return static_cast<T*>(data());
  }
  /// One element of a CPU tensor, for tests and printing: `x.at<float>({1, 2})`.
  template <class T>
  T& at(const Dims& index) const {
    impl("at");
    return data<T>()[offset_of(index)];
  }
  /// The value of a tensor with one element, converted to T; throws when T doesn't hold it (see
  /// fits). From a device this waits.
  template <class T>
  T item() const {
    const Scalar value = item();
    check(fits<T>(value), "item", "the value must fit the type that is asked for", value);
    if constexpr (detail::ComplexNumber<T>) {
      using Part = typename T::value_type;
      return T(static_cast<Part>(value.real()), static_cast<Part>(value.imag()));
    } else if constexpr (std::is_same_v<T, bool>) {
      return value.to_bool();
    } else if constexpr (std::is_integral_v<T>) {
      if constexpr (std::is_same_v<T, uint64_t>) {  // beyond to_int()
        if (value.is_floating() && value.to_double() >= 0x1p63)
          return static_cast<T>(value.to_double());
      }
      return static_cast<T>(value.to_int());
    } else {
      return static_cast<T>(value.to_double());
    }
  }
  Scalar item() const;
  /// All elements in row-major order, converted to T.
  template <class T>
  std::vector<T> to_vector() const {
    const Tensor flat = host_copy(dtype_of<T>);
    std::vector<T> values(static_cast<size_t>(numel()));
    for (int64_t i = 0; i < numel(); ++i)
      values[static_cast<size_t>(i)] = static_cast<const T*>(flat.data())[i];
    return values;
  }

  // Copies and conversions. `to` returns this very tensor when nothing would change, unless `copy`.
  Tensor to(const ToOptions& options) const;
  Tensor to(DType dtype) const { return to(ToOptions{.dtype = dtype}); }
  Tensor to(Device device, bool non_blocking = false) const {
    return to(ToOptions{.device = device, .non_blocking = non_blocking});
  }
  Tensor cpu() const;
  /// On the current GPU, or on one by number.
  Tensor cuda() const;
  Tensor cuda(int index) const;
  Tensor contiguous(MemoryFormat format = MemoryFormat::contiguous) const;
  Tensor clone(MemoryFormat format = MemoryFormat::preserve) const;
  /// A copy in page-locked memory (itself when it is there already); needs CUDA.
  Tensor pin_memory() const;
  /// This tensor where its memory is shared with other processes already (see TensorQueue), else a
  /// contiguous copy in memory that is. CPU only.
  Tensor share_memory() const;
  bool is_shared() const;
  /// Writes `source`, converted and broadcast, into this tensor.
  const Tensor& copy_(const Tensor& source, bool non_blocking = false) const;
  const Tensor& fill_(const Scalar& value) const;
  const Tensor& zero_() const;

  // Views: nothing is copied. Sizes and dimensions also stand without braces: `x.view(-1, 320)`.
  Tensor view(const Shape& shape) const;
  /// A view where strides allow, else a copy. One size may be -1.
  Tensor reshape(const Shape& shape) const;
  Tensor flatten(int64_t start_dim = 0, int64_t end_dim = -1) const;
  /// One dimension as several, whose sizes multiply to its own; one of them may be -1.
  Tensor unflatten(int64_t dim, const Shape& sizes) const;
  Tensor permute(const Dims& dims) const;
  Tensor transpose(int64_t dim0, int64_t dim1) const;
  /// The transpose of a matrix.
  Tensor t() const;
  Tensor squeeze() const;
  Tensor squeeze(int64_t dim) const;
  Tensor squeeze(const Dims& dims) const;  // those of size 1
  Tensor unsqueeze(int64_t dim) const;
  /// -1 keeps a size.
  Tensor expand(const Shape& shape) const;
  /// Elements start, start + step, ... before end along `dim`. Negative start and end count from
  /// the end, and both are clamped, as in Python; the step is positive, as in PyTorch (see flip).
  Tensor slice(int64_t dim, std::optional<int64_t> start = {}, std::optional<int64_t> end = {},
               int64_t step = 1) const;
  Tensor narrow(int64_t dim, int64_t start, int64_t length) const;
  /// One index along `dim`, which goes away.
  Tensor select(int64_t dim, int64_t index) const;
  /// `select(0, index)`. (`x[true]` is a mask, as in PyTorch, and `x[0.5]` doesn't compile.)
  template <std::integral T>
  requires(!std::same_as<T, bool>) Tensor operator[](T index) const {
    return select(0, static_cast<int64_t>(index));
  }
  /// `x[Slice{1, 3}]`, `x[None]`: index(x, {index}), a view.
  Tensor operator[](const Index& index) const;
  /// `x[mask]`, `x[places]`: index(x, {tensor}), a copy.
  Gathered operator[](const Tensor& places) const;
  /// `x(i, j, ...)`, PyTorch's x[i, j, ...], of one Index or more: index(x, {i, j, ...}). C++23
  /// takes `x[i, j, ...]` for the same; in C++20 that is the last index alone, of which compilers
  /// warn.
  template <class... Indices>
  auto operator()(const Indices&... indices) const;
#ifdef __cpp_multidimensional_subscript
  template <class First, class Second, class... More>
  Tensor operator[](const First& first, const Second& second, const More&... more) const {
    return (*this)(first, second, more...);
  }
#endif

  template <std::integral... Sizes>
  requires(sizeof...(Sizes) > 1) Tensor view(Sizes... sizes)
  const { return view(Shape(sizes...)); }
  template <std::integral... Sizes>
  requires(sizeof...(Sizes) > 1) Tensor reshape(Sizes... sizes)
  const { return reshape(Shape(sizes...)); }
  template <std::integral... Sizes>
  requires(sizeof...(Sizes) > 1) Tensor expand(Sizes... sizes)
  const { return expand(Shape(sizes...)); }
  template <std::integral... Dimensions>
  requires(sizeof...(Dimensions) > 1) Tensor permute(Dimensions... dims)
  const { return permute(Dims(dims...)); }

  // Gradients. The graph lives in autograd/, where those from is_leaf() on are defined.
  bool requires_grad() const { return impl("requires_grad").needs_gradient(); }
  /// Asks for this leaf's gradient; floating and complex dtypes only.
  const Tensor& requires_grad_(bool requires_grad = true) const;
  /// Returns a tensor of the same elements outside the graph. Both share the version counter.
  Tensor detach() const;
  /// True when no recorded op made this tensor: a parameter, an input, or without gradient.
  bool is_leaf() const;
  /// The name of the op that made it ("mul"); empty for a leaf.
  std::string grad_fn() const;
  /// What backward() has accumulated for this leaf (or after retain_grad()); undefined before.
  Tensor grad() const;
  /// Replaces the gradient; an undefined tensor clears it. Same shape, dtype and device as this.
  void set_grad(const Tensor& gradient) const;
  /// Makes backward() keep the gradient of a tensor that isn't a leaf in grad().
  const Tensor& retain_grad() const;
  /// Computes the gradients of this tensor with respect to the leaves of its graph, and adds them
  /// to their grad(). `gradient`, of this tensor's shape, is that of the final result with respect
  /// to it; it may be left out for a single element. The graph's saved tensors are freed unless
  /// `retain_graph` (by default `create_graph`), and `create_graph` records the computation itself.
  void backward(const Tensor& gradient = {}, std::optional<bool> retain_graph = {},
                bool create_graph = false) const;
  /// `hook(gradient)` runs whenever this tensor's whole gradient is known, before it is used or
  /// accumulated; a defined result replaces the gradient. Of several, the first registered runs
  /// first.
  HookHandle register_hook(std::function<Tensor(const Tensor& gradient)> hook) const;
  /// `hook(tensor)` runs after a backward pass has added to this leaf's grad().
  HookHandle register_post_accumulate_grad_hook(
      std::function<void(const Tensor& tensor)> hook) const;

  /// Throws `op: tensor must be defined, got an undefined tensor`.
  TensorImpl& impl(const char* op = "tensor") const {
    if (!impl_) [[unlikely]]
      undefined(op);
    return *impl_;
  }
  const Ref<TensorImpl>& impl_ref() const { return impl_; }

 private:
  [[noreturn, gnu::cold]] static void undefined(const char* op);
  void check_dtype(DType wanted) const;
  int64_t offset_of(const Dims& index) const;
  Tensor host_copy(DType dtype) const;

  Ref<TensorImpl> impl_;
};

inline const Tensor& TensorMethods::self() const { return static_cast<const Tensor&>(*this); }

/// An operand and what its op calls it.
struct NamedOperand {
  const char* name;
  const Tensor& tensor;
};
/// Refuses operands that were never made or were moved from, by name.
inline void check_defined(const char* op, std::initializer_list<NamedOperand> operands) {
  for (const NamedOperand& operand : operands) {
    if (!operand.tensor.defined()) [[unlikely]]
      fail(op, std::string(operand.name) + " must be defined", "an undefined tensor");
  }
}

/// Refuses such members of a list, by name and number: "tensors[2]".
void check_defined(const char* op, const char* name, std::span<const Tensor> tensors);

/// True for a tensor of 4 or 5 dimensions that lies in the order of channels_last, perhaps with
/// gaps, and isn't contiguous too: the layout that ops on maps keep.
bool is_channels_last(const Tensor& tensor);

/// PyTorch's picture of a tensor: aligned columns, four digits, large ones summarised.
std::string to_string(const Tensor& tensor);

/// Memory of the caller's as a tensor, copied nowhere. `deleter(context)`, if any, runs when the
/// last tensor on it is gone. `strides` in elements; row-major when left out.
Tensor from_blob(void* data, const Shape& shape, const TensorOptions& options = {},
                 Storage::Deleter deleter = nullptr, void* context = nullptr);
Tensor from_blob(void* data, const Shape& shape, const Strides& strides,
                 const TensorOptions& options, Storage::Deleter deleter = nullptr,
                 void* context = nullptr);

}  // namespace aorta
