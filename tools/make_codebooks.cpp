// make_codebooks: writes codebooks/*.json and include/tightkv/codebook/builtin.hpp, or checks that they are
// current.
//
//   make_codebooks ROOT           solve the Lloyd-Max tables, read the trellis tables, write every file
//   make_codebooks ROOT --check   write nothing; name every file that differs and exit with 1
//   make_codebooks ROOT --train   also train the trellis tables that have no file (a minute; the samples are
//   seeded)
//
// Integers must agree exactly, doubles to 1e-9: the last digits of a level follow the machine's libm, the
// integers that decide bytes do not.
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tightkv/codebook/json.hpp>
#include <tightkv/codebook/solver.hpp>

#include "builtin_writer.hpp"
#include "trellis_training.hpp"

namespace {

using tightkv::LoadedCodebook;
using tightkv::TableKind;

constexpr std::array<unsigned, 10> dims = {64, 80, 96, 112, 128, 192, 256, 512, 576, 0};

LoadedCodebook make_codebook(TableKind kind, unsigned dim, unsigned bits, std::vector<double> levels,
                             double distortion) {
  LoadedCodebook book;
  book.kind = kind, book.dim = dim, book.bits = bits, book.distortion = distortion;
  const double unit = levels.back() / 127;
  for (const double level : levels) book.int8.push_back(static_cast<std::int8_t>(std::lround(level / unit)));
  book.gain_q16 = static_cast<std::uint32_t>(std::lround(65536 / unit));
  book.levels = std::move(levels);
  book.hash = tightkv::codebook_hash(kind, bits, dim, book.gain_q16, book.int8);
  return book;
}

LoadedCodebook solved(unsigned dim, unsigned bits) {
  auto solution = tightkv::solve_lloyd_max(dim, bits);
  return make_codebook(TableKind::lloyd_max, dim, bits, std::move(solution.levels), solution.distortion);
}

LoadedCodebook trained(unsigned bits) {
  std::vector<double> levels = training::train_trellis8(bits);
  for (double& level : levels)
    level = std::round(level * 1e5) / 1e5;  // beyond that it is noise of the samples
  auto accuracy = training::evaluate(levels, training::sphere_samples(8000, 77));
  std::printf("trellis8 b=%u: D = %.6g, d Var = %.6g\n", bits, accuracy.distortion, accuracy.variance);
  accuracy.distortion = std::round(accuracy.distortion * 1e9) / 1e9;
  return make_codebook(TableKind::trellis8, training::dim, bits, std::move(levels), accuracy.distortion);
}

std::string lloyd_max_name(unsigned dim, unsigned bits) {
  return "codebooks/lloyd_max_" + (dim == 0 ? "gauss" : "d" + std::to_string(dim)) + "_b" +
         std::to_string(bits) + ".json";
}

std::string trellis_name(unsigned bits) { return "codebooks/trellis8_b" + std::to_string(bits) + ".json"; }

tools::IntegerTable integers(const LoadedCodebook& book) {
  return {book.gain_q16, {book.int8.begin(), book.int8.end()}};
}

bool same_up_to_libm(LoadedCodebook a, const LoadedCodebook& b) {
  const auto close = [](double x, double y) { return std::abs(x - y) <= 1e-9; };
  for (std::size_t i = 0; i < a.levels.size() && i < b.levels.size(); ++i)
    if (close(a.levels[i], b.levels[i])) a.levels[i] = b.levels[i];
  if (close(a.distortion, b.distortion)) a.distortion = b.distortion;
  return a == b;
}

/// The files below one root: read, then written or compared.
class Tree {
 public:
  Tree(std::string root, bool check) : root_(std::move(root)), check_(check) {}

  bool failed() const { return failed_; }

  std::string read(const std::string& name) const {
    std::ifstream file(root_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  bool load(const std::string& name, LoadedCodebook& book) {
    const tightkv::Status status = tightkv::try_load_codebook(read(name), book);
    return status.ok() || complain(name, status.message());
  }

  void settle(const std::string& name, const std::string& text) {
    if (read(name) == text) return;
    if (check_) {
      complain(name, "differs from what make_codebooks writes");
      return;
    }
    std::ofstream file(root_ + "/" + name, std::ios::binary);
    if (!(file << text << std::flush)) complain(name, "cannot be written");
  }

  /// Keeps the file on disk where it differs in the last digits of a double only.
  void settle(const std::string& name, LoadedCodebook& book) {
    LoadedCodebook there;
    if (tightkv::try_load_codebook(read(name), there).ok() && same_up_to_libm(there, book)) book = there;
    settle(name, tightkv::to_json(book));
  }

  bool complain(const std::string& name, std::string_view why) {
    std::fprintf(stderr, "%s: %.*s\n", name.c_str(), static_cast<int>(why.size()), why.data());
    failed_ = true;
    return false;
  }

 private:
  std::string root_;
  bool check_, failed_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 2 ? argv[2] : "";
  if (argc < 2 || argc > 3 || (mode != "" && mode != "--check" && mode != "--train")) {
    std::fprintf(stderr, "usage: make_codebooks ROOT [--check | --train]\n");
    return 2;
  }
  Tree tree(argv[1], mode == "--check");
  tools::TableSet lloyd_max, trellis;
  for (const unsigned dim : dims)
    for (unsigned bits = 1; bits <= 8; ++bits) {
      LoadedCodebook book = solved(dim, bits);
      tree.settle(lloyd_max_name(dim, bits), book);
      lloyd_max[{dim, bits}] = integers(book);
    }
  for (unsigned bits = 2; bits <= 5; ++bits) {
    LoadedCodebook book;
    if (mode == "--train" && tree.read(trellis_name(bits)).empty())
      book = trained(bits);
    else if (!tree.load(trellis_name(bits), book))
      return 1;
    if (make_codebook(book.kind, book.dim, book.bits, book.levels, book.distortion) != book)
      tree.complain(trellis_name(bits), "its integers do not follow from its levels");
    tree.settle(trellis_name(bits), tightkv::to_json(book));
    trellis[{training::dim, bits}] = integers(book);
  }
  tree.settle("include/tightkv/codebook/builtin.hpp", tools::builtin_header(lloyd_max, trellis));
  return tree.failed() ? 1 : 0;
}
