// main.cpp: runs the tests and closes with one line that tools/test adds up.
#define CATCH_CONFIG_RUNNER
#include "catch.hpp"

#include <cstdio>
#include <set>
#include <string>

namespace {

std::set<std::string>& skipped_names() {
  static std::set<std::string> names;
  return names;
}

#if defined(CATCH_VERSION_MAJOR) && CATCH_VERSION_MAJOR >= 3
using ListenerBase = Catch::EventListenerBase;
#else
using ListenerBase = Catch::TestEventListenerBase;
#endif

int passed = 0, failed = 0;

/// Counts test cases as Catch judges them; a case that called TIGHTKV_SKIP and did not fail is a skipped one.
struct Counter : ListenerBase {
  using ListenerBase::ListenerBase;
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    ListenerBase::testCaseEnded(stats);
    if (stats.totals.testCases.failed > 0) {
      ++failed;
      skipped_names().erase(stats
                                .testInfo
#if defined(CATCH_VERSION_MAJOR) && CATCH_VERSION_MAJOR >= 3
                                ->name
#else
                                .name
#endif
      );
    } else {
      ++passed;
    }
  }
};

}  // namespace

CATCH_REGISTER_LISTENER(Counter)

namespace tightkv_test {

void skip(const std::string& why) {
  const std::string name = Catch::getResultCapture().getCurrentTestName();
  if (!skipped_names().insert(name).second) return;
  // Not std::cout, which a reporter may capture.
  std::printf("SKIPPED: %s: %s\n", name.c_str(), why.c_str());
  std::fflush(stdout);
}

}  // namespace tightkv_test

int main(int argc, char** argv) {
  Catch::Session session;
  if (const int error = session.applyCommandLine(argc, argv); error != 0) return error;
  const auto& config = session.configData();
  const int code = session.run();
#if defined(CATCH_VERSION_MAJOR) && CATCH_VERSION_MAJOR >= 3
  const bool listing = config.listTests || config.listTags || config.listReporters || config.listListeners;
#else
  const bool listing =
      config.listTests || config.listTags || config.listReporters || config.listTestNamesOnly;
#endif
  if (listing || config.showHelp) return code;
  const int skipped = static_cast<int>(skipped_names().size());
  std::printf("[test cases] passed=%d failed=%d skipped=%d\n", passed - skipped, failed, skipped);
  return code;
}
