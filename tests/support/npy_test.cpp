#include "support/npy.hpp"

#include <algorithm>
#include <cmath>

#include "catch.hpp"

TEST_CASE("the excerpts of real activations are what their README says", "[data]") {
  for (const std::string layer : {"layer00", "layer14"}) {
    CAPTURE(layer);
    const auto k = tightkv_test::test_data(layer + "_k"), v = tightkv_test::test_data(layer + "_v"),
               q = tightkv_test::test_data(layer + "_q");
    CHECK(k.shape == std::vector<std::size_t>{384, 128});
    CHECK(v.shape == std::vector<std::size_t>{384, 128});
    CHECK(q.shape == std::vector<std::size_t>{2, 32, 128});
    std::vector<double> norms;
    for (std::size_t t = 0; t < k.rows(); ++t) {
      double norm2 = 0;
      for (std::size_t i = 0; i < k.dim(); ++i) norm2 += std::pow(double{k.row(t)[i]}, 2);
      norms.push_back(std::sqrt(norm2));
    }
    std::nth_element(norms.begin(), norms.begin() + 192, norms.end());
    const double median = layer == "layer00" ? 912 : 23.9;
    CHECK(std::abs(norms[192] - median) < 0.005 * median);
  }
}
