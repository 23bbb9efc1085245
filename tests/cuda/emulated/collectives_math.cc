// What ranks receive: sums, maxima and copies of what they send, of every type that NCCL has.
#include <aorta/core/half.h>
#include <aorta/tests/cuda/emulated/collectives.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace aorta::emulated {
namespace {

const char* const kTypeNames[] = {"int8",    "uint8",    "int32",      "uint32",
                                  "int64",   "uint64",   "float16",    "float32",
                                  "float64", "bfloat16", "float8e4m3", "float8e5m2"};
constexpr size_t kItemBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

/// OCP's 8-bit formats (Open Compute Project, "OFP8", 2023): E4M3 has no infinity.
double decode_float8(uint8_t bits, bool e4m3) {
  const int mantissa_bits = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15;
  const int exponent = bits >> mantissa_bits & (e4m3 ? 15 : 31);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = bits & 0x80 ? -1 : 1;
  if (e4m3 && (bits & 0x7f) == 0x7f) return NAN;
  if (!e4m3 && exponent == 31) return mantissa ? NAN : sign * INFINITY;
  const double fraction = mantissa / static_cast<double>(1 << mantissa_bits);
  return sign *
         (exponent ? std::ldexp(1 + fraction, exponent - bias) : std::ldexp(fraction, 1 - bias));
}

/// To the nearest, ties to even; what is larger than all numbers becomes the largest.
uint8_t encode_float8(double value, bool e4m3) {
  if (std::isnan(value)) return 0x7f;
  uint8_t best = 0;
  double error = INFINITY;
  for (int bits = 0; bits < 256; ++bits) {
    const double candidate = decode_float8(static_cast<uint8_t>(bits), e4m3);
    if (!std::isfinite(candidate) || std::signbit(candidate) != std::signbit(value)) continue;
    const double off = std::fabs(candidate - value);
    if (off < error || (off == error && bits % 2 == 0)) best = static_cast<uint8_t>(bits);
    error = std::min(error, off);
  }
  return best;
}

double load(const char* at, ncclDataType_t type) {
  const auto as = [&]<class T>(T) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (type) {
    case ncclFloat64:
      return as(double{});
    case ncclFloat32:
      return as(float{});
    case ncclFloat16:
      return static_cast<double>(std::bit_cast<_Float16>(as(uint16_t{})));
    case ncclBfloat16:
      return std::bit_cast<float>(uint32_t{as(uint16_t{})} << 16);
    default:
      return decode_float8(as(uint8_t{}), type == ncclFloat8e4m3);
  }
}

void store(char* at, ncclDataType_t type, double value) {
  const auto put = [&](auto stored) { std::memcpy(at, &stored, sizeof stored); };
  switch (type) {
    case ncclFloat64:
      return put(value);
    case ncclFloat32:
      return put(static_cast<float>(value));
    case ncclFloat16:
      return put(static_cast<_Float16>(static_cast<float>(value)));
    case ncclBfloat16:
      return put(BFloat16(static_cast<float>(value)));
    default:
      return put(encode_float8(value, type == ncclFloat8e4m3));
  }
}

/// Integers wrap.
template <class T>
T join(ncclRedOp_t op, T a, T b) {
  if (op == ncclMax) return std::max(a, b);
  if (op == ncclMin) return std::min(a, b);
  if constexpr (std::is_integral_v<T>) {
    const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<T>(op == ncclProd ? x * y : x + y);
  } else {
    return op == ncclProd ? a * b : a + b;
  }
}

using Parts = std::vector<std::shared_ptr<Part>>;

const char* sent_by(const Part& part) { return static_cast<const char*>(part.send); }

template <class T>
void reduce_integers(const Parts& parts, size_t count, char* to) {
  for (size_t i = 0; i < count; ++i) {
    T total{};
    for (const auto& part : parts) {
      T value;
      std::memcpy(&value, sent_by(*part) + i * sizeof(T), sizeof(T));
      total = part == parts.front() ? value : join(part->op, total, value);
    }
    if (parts.front()->op == ncclAvg) total = static_cast<T>(total / static_cast<T>(parts.size()));
    std::memcpy(to + i * sizeof(T), &total, sizeof(T));
  }
}

// In f64, and rounded once: NCCL promises no order of summation.
void reduce_floats(const Parts& parts, size_t count, char* to) {
  const ncclDataType_t type = parts.front()->type;
  const size_t item = item_bytes(type);
  for (size_t i = 0; i < count; ++i) {
    double total = 0;
    for (const auto& part : parts) {
      const double value = load(sent_by(*part) + i * item, type);
      total = part == parts.front() ? value : join(part->op, total, value);
    }
    if (parts.front()->op == ncclAvg) total /= static_cast<double>(parts.size());
    store(to + i * item, type, total);
  }
}

std::vector<char> reduced(const Parts& parts, size_t count) {
  std::vector<char> result(count * item_bytes(parts.front()->type));
  switch (parts.front()->type) {
    case ncclInt8:
      reduce_integers<int8_t>(parts, count, result.data());
      break;
    case ncclUint8:
      reduce_integers<uint8_t>(parts, count, result.data());
      break;
    case ncclInt32:
      reduce_integers<int32_t>(parts, count, result.data());
      break;
    case ncclUint32:
      reduce_integers<uint32_t>(parts, count, result.data());
      break;
    case ncclInt64:
      reduce_integers<int64_t>(parts, count, result.data());
      break;
    case ncclUint64:
      reduce_integers<uint64_t>(parts, count, result.data());
      break;
    default:
      reduce_floats(parts, count, result.data());
  }
  return result;
}

size_t ranks_of(const Part& part) { return part.comm->clique->comms.size(); }

}  // namespace

std::string name_of(ncclDataType_t type) { return kTypeNames[type]; }
size_t item_bytes(ncclDataType_t type) { return kItemBytes[type]; }

size_t sent_bytes(const Part& part) {
  const size_t bytes = part.count * item_bytes(part.type);
  if (part.what == Collective::receive) return 0;
  if (part.what == Collective::broadcast && part.comm->rank != part.peer) return 0;
  return part.what == Collective::reduce_scatter ? bytes * ranks_of(part) : bytes;
}

size_t received_bytes(const Part& part) {
  const size_t bytes = part.count * item_bytes(part.type);
  if (part.what == Collective::send) return 0;
  if (part.what == Collective::reduce && part.comm->rank != part.peer) return 0;
  return part.what == Collective::all_gather ? bytes * ranks_of(part) : bytes;
}

std::vector<std::vector<char>> outcome(const Parts& parts) {
  const Part& first = *parts.front();
  const auto sent = [&](const Part& part) {
    return std::vector<char>(sent_by(part), sent_by(part) + sent_bytes(part));
  };
  std::vector<std::vector<char>> results(parts.size());
  const auto all_get = [&](const std::vector<char>& what) {
    for (size_t r = 0; r < parts.size(); ++r) {
      if (received_bytes(*parts[r]) > 0) results[r] = what;
    }
  };
  switch (first.what) {
    case Collective::all_reduce:
    case Collective::reduce:
      all_get(reduced(parts, first.count));
      break;
    case Collective::broadcast:
      all_get(sent(*parts[static_cast<size_t>(first.peer)]));
      break;
    case Collective::all_gather: {
      std::vector<char> all;
      for (const auto& part : parts) {
        const std::vector<char> own = sent(*part);
        all.insert(all.end(), own.begin(), own.end());
      }
      all_get(all);
      break;
    }
    case Collective::reduce_scatter: {
      const std::vector<char> all = reduced(parts, first.count * parts.size());
      for (size_t r = 0; r < parts.size(); ++r) {
        const size_t bytes = received_bytes(*parts[r]);
        const auto begin = all.begin() + static_cast<ptrdiff_t>(r * bytes);
        results[r].assign(begin, begin + static_cast<ptrdiff_t>(bytes));
      }
      break;
    }
    case Collective::send:
    case Collective::receive:
      results[1] = sent(first);  // the sender, then the receiver
      break;
  }
  return results;
}

}  // namespace aorta::emulated
