// compressor/head_store.hpp: what one kv head of one layer holds.
#pragma once

#include "../storage/block.hpp"
#include "../storage/page.hpp"
#include "../storage/tail.hpp"
#include "options.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// Sinks, blocks and tail of one head, and what is frozen for it.
template <PageSource Source>
struct HeadStore {
  HeadStore(std::size_t key_dim, std::size_t value_dim, ElementType type)
      : sink_keys(key_dim, type),
        sink_values(value_dim, type),
        tail_keys(key_dim, type),
        tail_values(value_dim, type),
        first_queries(key_dim, ElementType::f32) {}

  RawRows sink_keys, sink_values, tail_keys, tail_values;
  Buffer<Page<Source>> blocks;
  Condition key_condition, value_condition;
  RawRows first_queries;       // the group's queries at the positions of the first block, until it is encoded
  bool condition_set = false;  // by the caller: nothing is learned
  float offset_share =
      0;  // |mean|^2 / E|k|^2 over the first block: near 1, keys are a constant plus a little

  /// Freezes means and channel scale from the 64 rows of the first block (design decision 4).
  void calibrate(const RowsView& keys, const RowsView& values, std::size_t key_dims, std::size_t value_dims,
                 const CompressorOptions& options) {
    RowsView centred = keys;
    centred.dim = key_dims;  // a codec's raw dims are not conditioned
    const HalfVector mean = mean_of_rows(centred);
    offset_share = share_of_mean(keys, mean);
    key_condition = {};
    value_condition = {};
    if (options.key_conditioner == ConditionerKind::frozen_mean ||
        options.key_conditioner == ConditionerKind::balanced)
      key_condition.mean = mean;
    if (options.key_conditioner == ConditionerKind::balanced) {
      RowsView queries = first_queries.view(0, first_queries.size());
      queries.dim = key_dims;
      key_condition.channel_scale = balanced_scale(centred, mean, queries);
    }
    if (options.value_conditioner == ConditionerKind::frozen_mean) {
      RowsView part = values;
      part.dim = value_dims;
      value_condition.mean = mean_of_rows(part);
    }
  }

 private:
  static float share_of_mean(const RowsView& keys, const HalfVector& mean) noexcept {
    double energy = 0, constant = 0;
    for (std::size_t t = 0; t < keys.count; ++t)
      for (std::size_t i = 0; i < mean.values.size(); ++i) {
        const double x = static_cast<double>(detail::load_element(keys.row(t), keys.type, i));
        energy += x * x;
      }
    for (std::size_t i = 0; i < mean.values.size(); ++i)
      constant += static_cast<double>(mean.at(i)) * static_cast<double>(mean.at(i));
    return energy > 0 ? static_cast<float>(constant * static_cast<double>(keys.count) / energy) : 0.0f;
  }
};

}  // namespace tightkv::inline TIGHTKV_ABI
