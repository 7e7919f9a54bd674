// attention/softmax.hpp: softmax over segments that come one after the other.
#pragma once

#include <cmath>

#include "../kernel/kernels.hpp"

namespace tightkv::inline TIGHTKV_ABI {

/// Running maximum and mass of one query (Milakov and Gimelshein 2018). An all-hidden row keeps mass 0.
struct OnlineSoftmax {
  float maximum = kernel::hidden_logit;
  float mass = 0;

  /// Starts from one logit without a value: an attention sink of the model. Its weight counts, its output is
  /// zero.
  void start_with(float logit) noexcept { maximum = logit, mass = 1; }

  /// Turns logits into weights exp(logit - maximum) in place and returns the factor that earlier sums owe; 0
  /// weights for hidden tokens.
  float add(std::span<float> logits) noexcept {
    float largest = maximum;
    for (const float l : logits) largest = (std::max)(largest, l);
    if (largest <= kernel::hidden_logit) {
      for (float& l : logits) l = 0;
      return 1;
    }
    const float owed = maximum <= kernel::hidden_logit ? 0.0f : std::exp(maximum - largest);
    mass *= owed;
    maximum = largest;
    for (float& l : logits) {
      l = l <= kernel::hidden_logit ? 0.0f : std::exp(l - largest);
      mass += l;
    }
    return owed;
  }
};

/// cap * tanh(logit / cap); cap 0 = none.
inline float soft_cap(float logit, float cap) noexcept {
  return cap > 0 ? cap * std::tanh(logit / cap) : logit;
}

}  // namespace tightkv::inline TIGHTKV_ABI
