# For the project's own programs only; never part of what a consumer links.
add_library(tightkv_warnings INTERFACE)
target_compile_options(tightkv_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
