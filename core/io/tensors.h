#pragma once

#include <aorta/core/io/bytes.h>
#include <aorta/core/tensor.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace aorta {

/// Tensors by name, in an order: what `load` gives and `save` takes.
using NamedTensors = List<std::pair<std::string, Tensor>>;
/// Copies of them all: of a state_dict() that training goes on to change.
NamedTensors clone(const NamedTensors& tensors);

namespace io {

/// The array as a CPU tensor. It shares the file's bytes and keeps them alive; only an array whose
/// elements aren't aligned in the file is copied.
Tensor to_tensor(const Array& array);

/// `tensor` as files hold it: on the CPU, row-major, outside the graph. Itself when it is so
/// already.
Tensor to_host(const Tensor& tensor);

std::span<const int64_t> sizes(const Tensor& tensor);
/// The elements of a tensor that came from `to_host`.
std::span<const std::byte> contents(const Tensor& tensor);

/// Throws unless the names are UTF-8 and differ, and every tensor is defined.
void check_names(const NamedTensors& tensors, const std::string& path);

}  // namespace io
}  // namespace aorta
