# For the project's own programs only; never part of what a consumer links.
add_library(tightkv_warnings INTERFACE)
target_compile_options(tightkv_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Warnings of g++'s optimizer, which is wrong about inlined std::string and std::function, stay warnings.
  target_compile_options(tightkv_warnings INTERFACE -Wno-psabi
    -Wno-error=array-bounds -Wno-error=maybe-uninitialized -Wno-error=restrict
    -Wno-error=stringop-overflow -Wno-error=stringop-overread)
endif()
