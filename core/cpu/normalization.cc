#include <aorta/core/cpu/normalization_pieces.h>
#include <aorta/core/integers.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/normalization.h>
#include <aorta/core/parallel_for.h>

#include <algorithm>
#include <cmath>

namespace aorta::cpu {
namespace {

// From so many statistics on, each is one piece of work: its elements are read for the second time
// while they lie in the cache.
constexpr int64_t kManyUnits = 16;
// Bytes of input that are taken so: of several statistics that lie side by side, so that memory is
// read in long stretches; and of those whose elements are one stretch.
constexpr int64_t kCacheBytes = 3 << 17, kStretchBytes = 1 << 14;
// Partial results of rows are as long as rows: that many stand for one.
constexpr int64_t kPieceRows = 128;

// Arrays of (groups, channels) in the dtype that is computed in.
class Columns {
 public:
  Columns(DType dtype, int64_t count) : is_double_(dtype == DType::f64) {
    storage_ = empty({count}, {.dtype = is_double_ ? DType::f64 : DType::f32});
  }
  static Columns zeros(DType dtype, int64_t count) {
    Columns columns(dtype, count);
    columns.storage_.zero_();
    return columns;
  }
  void set(int64_t i, double value) {
    if (is_double_) {
      static_cast<double*>(storage_.data())[i] = value;
    } else {
      static_cast<float*>(storage_.data())[i] = static_cast<float>(value);
    }
  }
  const void* at(int64_t i) const {
    return static_cast<const char*>(storage_.data()) + i * item_size(storage_.dtype());
  }

 private:
  bool is_double_;
  Tensor storage_;
};

Tensor doubles(int64_t count) { return empty({count}, {.dtype = DType::f64}); }

// What both directions of a channel norm share. A unit is what has a statistic of its own: `width`
// channels of a group.
class ChannelNorm {
 public:
  explicit ChannelNorm(const ChannelNormArgs& args)
      : args_(args),
        loops_(loops_of(args.dtype)),
        channels_(args.channels),
        width_(args.plan.width),
        groups_(args.plan.groups),
        positions_(args.positions),
        samples_(args.batch / groups_),
        units_(groups_ * (channels_ / width_)),
        item_(item_size(args.dtype)),
        rows_(samples_ * positions_),
        piece_rows_(std::min(std::max(kPieceElements / channels_, kPieceRows), rows_)),
        pieces_(divide_up(rows_, piece_rows_)) {}

 protected:
  // A unit is a channel of a group; `at` is its index (group, channel).
  int64_t unit_of(int64_t at) const { return at / width_; }
  double inverse_deviation(int64_t unit) const {
    return 1 / std::sqrt(args_.var[unit] + args_.plan.eps);
  }
  scalar::SplitMean split_mean(int64_t unit) const {
    return {args_.mean[unit], args_.dtype == DType::f64};
  }
  double weight(int64_t at) const { return args_.weight ? args_.weight.get(at % channels_) : 1; }
  NormMap forward_map(int64_t at) const {
    const int64_t unit = unit_of(at), count = groups_ * channels_;
    if (args_.maps_known) {
      return {args_.maps.get(at), args_.maps.get(count + at), args_.maps.get(2 * count + at),
              args_.plan.relu};
    }
    const double bias = args_.bias ? args_.bias.get(at % channels_) : 0;
    return scalar::norm_map(split_mean(unit), inverse_deviation(unit), weight(at), bias,
                            args_.plan.relu);
  }

  // ForwardColumns holds the map of channels [from, from + count) for the loops over rows.
  struct ForwardColumns {
    Columns mean, scale, shift;
    bool relu;
    NormColumnMap at(int64_t i) const { return {mean.at(i), scale.at(i), shift.at(i), relu}; }
  };
  ForwardColumns forward_columns(int64_t from, int64_t count) const {
    ForwardColumns columns{
        {args_.dtype, count}, {args_.dtype, count}, {args_.dtype, count}, args_.plan.relu};
    for (int64_t i = 0; i < count; ++i) {
      const NormMap map = forward_map(from + i);
      columns.mean.set(i, map.mean);
      columns.scale.set(i, map.scale);
      columns.shift.set(i, map.shift);
    }
    return columns;
  }

  // Where a channel's elements of a group begin, and the distance of its planes.
  int64_t plane(int64_t at) const {
    return (at / channels_ * samples_ * channels_ + at % channels_) * positions_;
  }
  int64_t plane_step() const { return channels_ * positions_; }
  const char* input(int64_t element) const {
    return static_cast<const char*>(args_.input) + element * item_;
  }
  const char* gradient(int64_t element) const {
    return static_cast<const char*>(args_.gradient) + element * item_;
  }
  char* output(int64_t element) const { return static_cast<char*>(args_.output) + element * item_; }

  // Calls body(first group, end) for groups whose rows are read twice together: one where there are
  // many, else all.
  template <class Body>
  void for_each_groups(const Body& body) const {
    parallel_for(0, groups_, groups_ >= kManyUnits ? grain_of(rows_ * channels_) : groups_, body);
  }

  // Calls body(group, piece, first element, rows) for every piece of rows of some groups, the last
  // one first where `reversed`: it is the one that the cache still holds.
  template <class Body>
  void for_each_piece(int64_t first_group, int64_t end, bool reversed, const Body& body) const {
    const int64_t count = (end - first_group) * pieces_;
    parallel_for(0, count, grain_of(piece_rows_ * channels_), [&](int64_t begin, int64_t last) {
      for (int64_t i = begin; i < last; ++i) {
        const int64_t k = reversed ? count - 1 - i : i, row = k % pieces_ * piece_rows_;
        const int64_t group = first_group + k / pieces_;
        body(group, k % pieces_, (group * rows_ + row) * channels_,
             std::min(piece_rows_, rows_ - row));
      }
    });
  }

  // Calls body(first unit, end) for units of a group that are read twice together, where a channel
  // has so many bytes.
  template <class Body>
  void for_each_block(int64_t bytes, const Body& body) const {
    const int64_t units = channels_ / width_;
    const int64_t together = samples_ == 1 ? kStretchBytes : kCacheBytes;
    const int64_t most = std::min(together / (bytes * width_), units_ / kManyUnits);
    const int64_t block = std::clamp<int64_t>(most, 1, units), blocks = divide_up(units, block);
    parallel_for(0, groups_ * blocks, grain_of(rows_ * width_ * block),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t first = i % blocks * block, group = i / blocks * units;
                     body(group + first, group + std::min(first + block, units));
                   }
                 });
  }

  // Calls body(channel of its group, first element, elements) for every piece of every plane, in
  // the order of memory.
  template <class Body>
  void for_each_plane(const Body& body) const {
    const Runs runs(positions_, 1);
    const int64_t count = runs.count();
    parallel_for(0, args_.batch * channels_ * count, grain_of(std::min(kRunElements, positions_)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t index = i / count, sample = index / channels_;
                     const Runs::Piece piece = runs.piece(i % count);
                     body(sample / samples_ * channels_ + index % channels_,
                          index * positions_ + piece.first, piece.n);
                   }
                 });
  }

  const ChannelNormArgs& args_;
  const NormLoops& loops_;
  const int64_t channels_, width_, groups_, positions_;
  const int64_t samples_;  // of a group
  const int64_t units_, item_;
  const int64_t rows_, piece_rows_, pieces_;  // of a group, with channels_last
};

class Forward : public ChannelNorm {
 public:
  using ChannelNorm::ChannelNorm;

  void run() {
    const scalar::RunningStatistics& running = args_.running;
    for (int64_t c = 0; args_.plan.given && running.mean && c < channels_; ++c)
      keep(c, {1, running.mean.get(c), running.var.get(c)});
    normalise();
    keep_maps();
    if (args_.plan.given || !running.mean) return;
    for (int64_t at = 0; at < groups_ * channels_; ++at)
      scalar::move(running, at % channels_, args_.mean[at], args_.var[at]);
    if (running.batches) *running.batches += groups_;
  }

 private:
  void normalise() const {
    if (args_.channels_last) {
      return for_each_groups([&](int64_t first, int64_t end) {
        if (!args_.plan.given) find_statistics(first, end);
        map_rows(first, end);
      });
    }
    const Runs runs(width_ * positions_, samples_);
    if (args_.plan.given) return map_planes();
    if (units_ >= kManyUnits) return run_blocks(runs);
    const int64_t count = runs.count();
    std::vector<NormMoments> partial(static_cast<size_t>(units_ * count));
    parallel_for(0, units_ * count, grain_of(std::min(kRunElements, rows_ * width_)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i)
                     partial[static_cast<size_t>(i)] = moments(runs, i / count, i % count);
                 });
    for (int64_t unit = 0; unit < units_; ++unit) {
      NormMoments total{};
      for (int64_t i = 0; i < count; ++i)
        add(total, partial[static_cast<size_t>(unit * count + i)]);
      keep(unit, total);
    }
    map_planes();
  }

  void keep_maps() const {
    const int64_t count = groups_ * channels_;
    for (int64_t at = 0; !args_.maps_known && at < count; ++at) {
      const NormMap map = forward_map(at);
      args_.maps.set(at, map.mean);
      args_.maps.set(count + at, map.scale);
      args_.maps.set(2 * count + at, map.shift);
    }
  }

  void run_blocks(const Runs& runs) const {
    const Runs planes(positions_, samples_);
    for_each_block(rows_ * item_, [&](int64_t first, int64_t last) {
      std::vector<NormMoments> totals(static_cast<size_t>(last - first));
      for (int64_t i = 0; i < runs.count(); ++i) {
        for (int64_t unit = first; unit < last; ++unit)
          add(totals[static_cast<size_t>(unit - first)], moments(runs, unit, i));
      }
      std::vector<NormMap> maps;
      for (int64_t unit = first; unit < last; ++unit) {
        keep(unit, totals[static_cast<size_t>(unit - first)]);
        for (int64_t at = unit * width_; at < (unit + 1) * width_; ++at)
          maps.push_back(forward_map(at));
      }
      for (int64_t i = 0; i < planes.count(); ++i) {
        const Runs::Piece piece = planes.piece(i);
        for (int64_t at = first * width_; at < last * width_; ++at) {
          const int64_t start = plane(at) + piece.run * plane_step() + piece.first;
          map_run(start, piece.n, piece.runs, maps[static_cast<size_t>(at - first * width_)]);
        }
      }
    });
  }

  void keep(int64_t unit, const NormMoments& total) const {
    args_.mean[unit] = total.mean;
    args_.var[unit] = total.squares / total.count;
  }

  NormMoments moments(const Runs& runs, int64_t unit, int64_t i) const {
    const Runs::Piece piece = runs.piece(i);
    const int64_t first = plane(unit * width_) + piece.run * plane_step() + piece.first;
    return loops_.run_moments(input(first), piece.n, piece.runs, plane_step());
  }

  const char* residual(int64_t element) const {
    return static_cast<const char*>(args_.residual) + element * item_;
  }
  void map_run(int64_t at, int64_t n, int64_t runs, const NormMap& map) const {
    if (!args_.residual) {
      loops_.run_map(output(at), input(at), n, runs, plane_step(), map);
    } else if (!args_.gradient) {
      loops_.run_sum(output(at), input(at), residual(at), n, runs, plane_step(), map);
    } else {
      loops_.run_masked(output(at), gradient(at), input(at), residual(at), n, runs, plane_step(),
                        map);
    }
  }
  void map_columns(int64_t at, int64_t rows, const NormColumnMap& map) const {
    if (!args_.residual) {
      loops_.column_map(output(at), input(at), rows, channels_, map);
    } else if (!args_.gradient) {
      loops_.column_sum(output(at), input(at), residual(at), rows, channels_, map);
    } else {
      loops_.column_masked(output(at), gradient(at), input(at), residual(at), rows, channels_, map);
    }
  }

  void map_planes() const {
    std::vector<NormMap> maps;
    for (int64_t at = 0; at < groups_ * channels_; ++at) maps.push_back(forward_map(at));
    for_each_plane([&](int64_t at, int64_t first, int64_t n) {
      map_run(first, n, 1, maps[static_cast<size_t>(at)]);
    });
  }

  void find_statistics(int64_t first_group, int64_t end_group) const {
    const int64_t size = pieces_ * channels_;  // of a group's partial results
    const Tensor means = doubles((end_group - first_group) * size);
    const Tensor squares = doubles((end_group - first_group) * size);
    double* const mean = means.data<double>();
    double* const square = squares.data<double>();
    for_each_piece(first_group, end_group, false,
                   [&](int64_t group, int64_t piece, int64_t first, int64_t rows) {
                     const int64_t at = (group - first_group) * size + piece * channels_;
                     loops_.column_moments(mean + at, square + at, input(first), rows, channels_);
                   });
    parallel_for(first_group, end_group, grain_of(size), [&](int64_t begin, int64_t end) {
      for (int64_t group = begin; group < end; ++group) {
        const int64_t at = (group - first_group) * size;
        combine_pieces(group, mean + at, square + at);
      }
    });
  }

  // Onto the first piece's, all of a group's.
  void combine_pieces(int64_t group, double* mean, double* square) const {
    double count = static_cast<double>(piece_rows_);
    for (int64_t piece = 1; piece < pieces_; ++piece) {
      const double added = static_cast<double>(std::min(piece_rows_, rows_ - piece * piece_rows_));
      const double share = added / (count + added), factor = count * share;
      const double* const other_mean = mean + piece * channels_;
      const double* const other_square = square + piece * channels_;
      for (int64_t c = 0; c < channels_; ++c) {
        const double distance = other_mean[c] - mean[c];
        mean[c] += distance * share;
        square[c] += other_square[c] + distance * distance * factor;
      }
      count += added;
    }
    for (int64_t c = 0; c < channels_; c += width_) {
      NormMoments total{};
      for (int64_t k = c; k < c + width_; ++k) add(total, {count, mean[k], square[k]});
      keep(unit_of(group * channels_ + c), total);
    }
  }

  void map_rows(int64_t first_group, int64_t end_group) const {
    const int64_t from = first_group * channels_, count = end_group * channels_ - from;
    const ForwardColumns columns = forward_columns(from, count);
    for_each_piece(first_group, end_group, true,
                   [&](int64_t group, int64_t, int64_t first, int64_t rows) {
                     const int64_t at = group * channels_ - from;
                     map_columns(first, rows, columns.at(at));
                   });
  }
};

class Backward : public ChannelNorm {
 public:
  explicit Backward(const ChannelNormArgs& args)
      : ChannelNorm(args), sums_(static_cast<size_t>(needs_sums(args) ? groups_ * channels_ : 0)) {}

  void run() {
    if (args_.channels_last) {
      for_each_groups([&](int64_t first, int64_t end) {
        if (!sums_.empty()) sum_rows(first, end);
        if (args_.output && (sums_.empty() || !args_.plan.given)) map_rows(first, end);
      });
    } else if (!sums_.empty() && units_ >= kManyUnits) {
      run_blocks();
    } else {
      if (!sums_.empty()) sum_planes();
      if (args_.output) map_planes();
    }
    add_groups();
  }

 private:
  static bool needs_sums(const ChannelNormArgs& args) {
    return args.weight_gradient || args.bias_gradient || (args.output && !args.plan.given);
  }
  // What nothing depends on but the gradient and given statistics.
  bool scales_alone() const { return args_.plan.given && !args_.plan.relu; }
  // Without the sum of products, any number will do for the input.
  const char* second(int64_t element) const {
    return args_.input ? input(element) : gradient(element);
  }
  NormSums& sums(int64_t at) { return sums_[static_cast<size_t>(at)]; }
  const NormSums& sums(int64_t at) const { return sums_[static_cast<size_t>(at)]; }

  // The whole sum, of distances from the mean itself.
  void keep(int64_t at, const NormSums& total) {
    const double rest = split_mean(unit_of(at)).rest;
    sums(at) = {total.gradient, total.product - rest * total.gradient};
  }

  struct Unit {
    double deviation;
    scalar::NormSlope slope;
  };
  Unit unit(int64_t at) const {
    const double deviation = inverse_deviation(at);
    if (args_.plan.given) return {deviation, {0, 0}};
    double sum = 0, product = 0;
    for (int64_t i = at * width_; i < (at + 1) * width_; ++i) {
      sum += weight(i) * sums(i).gradient;
      product += weight(i) * sums(i).product;
    }
    const double n = static_cast<double>(rows_ * width_);
    return {deviation, scalar::norm_slope(deviation, n, sum, product, split_mean(at).rest)};
  }
  NormBackwardMap map_of(const Unit& of_unit, int64_t at) const {
    return {forward_map(at), of_unit.deviation * weight(at), of_unit.slope.of_input,
            of_unit.slope.constant};
  }

  NormSums sums_of_piece(int64_t at, const Runs::Piece& piece) const {
    const int64_t first = plane(at) + piece.run * plane_step() + piece.first;
    return loops_.run_sums(gradient(first), second(first), piece.n, piece.runs, plane_step(),
                           forward_map(at));
  }

  void map_run(const NormBackwardMap& map, int64_t first, int64_t n, int64_t runs) const {
    if (scales_alone()) {
      loops_.run_map(output(first), gradient(first), n, runs, plane_step(),
                     {0, map.of_gradient, 0});
    } else {
      loops_.run_backward(output(first), gradient(first), input(first), n, runs, plane_step(), map);
    }
  }

  // The sums of channels [first, last), piece by piece.
  void sum_channels(int64_t first, int64_t last) {
    const Runs runs(positions_, samples_);
    for (int64_t at = first; at < last; ++at) sums(at) = {};
    for (int64_t i = 0; i < runs.count(); ++i) {
      for (int64_t at = first; at < last; ++at) {
        const NormSums part = sums_of_piece(at, runs.piece(i));
        sums(at).gradient += part.gradient;
        sums(at).product += part.product;
      }
    }
    for (int64_t at = first; at < last; ++at) keep(at, sums(at));
  }

  void run_blocks() {
    const Runs runs(positions_, samples_);
    for_each_block(2 * rows_ * item_, [&](int64_t first, int64_t last) {
      sum_channels(first * width_, last * width_);
      if (!args_.output) return;
      std::vector<NormBackwardMap> maps;
      for (int64_t i = first; i < last; ++i) {
        const Unit of_unit = unit(i);
        for (int64_t at = i * width_; at < (i + 1) * width_; ++at)
          maps.push_back(map_of(of_unit, at));
      }
      for (int64_t i = 0; i < runs.count(); ++i) {
        const Runs::Piece piece = runs.piece(i);
        for (int64_t at = first * width_; at < last * width_; ++at) {
          map_run(maps[static_cast<size_t>(at - first * width_)],
                  plane(at) + piece.run * plane_step() + piece.first, piece.n, piece.runs);
        }
      }
    });
  }

  void sum_planes() {
    const Runs runs(positions_, samples_);
    const int64_t count = runs.count(), all = groups_ * channels_;
    std::vector<NormSums> partial(static_cast<size_t>(all * count));
    parallel_for(
        0, all * count, grain_of(std::min(kRunElements, rows_)), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            partial[static_cast<size_t>(i)] = sums_of_piece(i / count, runs.piece(i % count));
        });
    for (int64_t at = 0; at < all; ++at) {
      NormSums total;
      for (int64_t k = 0; k < count; ++k) {
        const NormSums& part = partial[static_cast<size_t>(at * count + k)];
        total.gradient += part.gradient;
        total.product += part.product;
      }
      keep(at, total);
    }
  }

  std::vector<Unit> all_units() const {
    std::vector<Unit> all;
    for (int64_t i = 0; i < units_; ++i) all.push_back(unit(i));
    return all;
  }

  void map_planes() const {
    const std::vector<Unit> units = all_units();
    for_each_plane([&](int64_t at, int64_t first, int64_t n) {
      map_run(map_of(units[static_cast<size_t>(unit_of(at))], at), first, n, 1);
    });
  }

  // Arrays for the loops over rows, from those of [from, end) channels.
  struct ColumnMaps {
    ForwardColumns forward;
    Columns of_gradient, of_input, constant, zeros;
  };
  ColumnMaps column_maps(int64_t from, int64_t end) const {
    const int64_t count = end - from;
    ColumnMaps maps{forward_columns(from, count),
                    {args_.dtype, count},
                    {args_.dtype, count},
                    {args_.dtype, count},
                    Columns::zeros(args_.dtype, channels_)};
    Unit of_unit{};
    for (int64_t at = from; at < end; ++at) {
      if (at == from || at % width_ == 0) of_unit = unit(unit_of(at));
      const NormBackwardMap map = map_of(of_unit, at);
      maps.of_gradient.set(at - from, map.of_gradient);
      maps.of_input.set(at - from, map.of_input);
      maps.constant.set(at - from, map.constant);
    }
    return maps;
  }

  void map_rows(const ColumnMaps& maps, int64_t at, int64_t first, int64_t rows) const {
    if (scales_alone()) {
      loops_.column_map(output(first), gradient(first), rows, channels_,
                        {maps.zeros.at(0), maps.of_gradient.at(at), maps.zeros.at(0)});
    } else {
      loops_.column_backward(output(first), gradient(first), input(first), rows, channels_,
                             {maps.forward.at(at), maps.of_gradient.at(at), maps.of_input.at(at),
                              maps.constant.at(at)});
    }
  }

  void sum_rows(int64_t first_group, int64_t end_group) {
    const int64_t from = first_group * channels_, size = pieces_ * channels_;
    const int64_t groups = end_group - first_group;
    const ForwardColumns forward = forward_columns(from, groups * channels_);
    // Where the statistics are given, nothing depends on sums, and one pass finds all.
    const bool maps_too = args_.plan.given && args_.output;
    const ColumnMaps maps = column_maps(from, maps_too ? end_group * channels_ : from);
    const Tensor gradients = doubles(groups * size), products = doubles(groups * size);
    double* const of_gradient = gradients.data<double>();
    double* const of_product = products.data<double>();
    for_each_piece(first_group, end_group, false,
                   [&](int64_t group, int64_t piece, int64_t first, int64_t rows) {
                     const int64_t at = (group - first_group) * size + piece * channels_;
                     const int64_t column = group * channels_ - from;
                     loops_.column_sums(of_gradient + at, of_product + at, gradient(first),
                                        second(first), rows, channels_, forward.at(column));
                     if (maps_too) map_rows(maps, column, first, rows);
                   });
    parallel_for(first_group, end_group, grain_of(size), [&](int64_t begin, int64_t end) {
      for (int64_t group = begin; group < end; ++group) {
        const int64_t at = (group - first_group) * size;
        for (int64_t piece = 1; piece < pieces_; ++piece) {
          const int64_t other = at + piece * channels_;
          for (int64_t c = 0; c < channels_; ++c) {
            of_gradient[at + c] += of_gradient[other + c];
            of_product[at + c] += of_product[other + c];
          }
        }
        for (int64_t c = 0; c < channels_; ++c)
          keep(group * channels_ + c, {of_gradient[at + c], of_product[at + c]});
      }
    });
  }

  void map_rows(int64_t first_group, int64_t end_group) const {
    const int64_t from = first_group * channels_;
    const ColumnMaps maps = column_maps(from, end_group * channels_);
    for_each_piece(first_group, end_group, true,
                   [&](int64_t group, int64_t, int64_t first, int64_t rows) {
                     map_rows(maps, group * channels_ - from, first, rows);
                   });
  }

  void add_groups() const {
    if (!args_.weight_gradient && !args_.bias_gradient) return;
    for (int64_t c = 0; c < channels_; ++c) {
      double of_weight = 0, of_bias = 0;
      for (int64_t at = c; at < groups_ * channels_; at += channels_) {
        of_weight += inverse_deviation(unit_of(at)) * sums(at).product;
        of_bias += sums(at).gradient;
      }
      if (args_.weight_gradient) args_.weight_gradient.set(c, of_weight);
      if (args_.bias_gradient) args_.bias_gradient.set(c, of_bias);
    }
  }

  std::vector<NormSums> sums_;  // (groups, channels)
};

}  // namespace

void register_normalization() {
  for (auto* op : {&batch_norm_op, &instance_norm_op, &group_norm_op})
    op->set_kernel(DeviceType::cpu, [](const ChannelNormArgs& args) { Forward(args).run(); });
  channel_norm_backward_op.set_kernel(DeviceType::cpu,
                                      [](const ChannelNormArgs& args) { Backward(args).run(); });
}

}  // namespace aorta::cpu
