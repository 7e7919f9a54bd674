# tightkv_require(TARGET name PACKAGE p DEBIAN deb FOR option): find p or say what to install or switch off.
function(tightkv_require)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TARGET;PACKAGE;DEBIAN;FOR" "")
  if(NOT TARGET ${arg_TARGET})
    find_package(${arg_PACKAGE} QUIET GLOBAL)
  endif()
  if(NOT TARGET ${arg_TARGET})
    message(FATAL_ERROR "${arg_FOR} needs ${arg_PACKAGE} (Debian: ${arg_DEBIAN}). "
                        "Install it, or configure with -D${arg_FOR}=OFF.")
  endif()
  tightkv_unmix_headers(${arg_TARGET})
  set(CMAKE_MODULE_PATH "${CMAKE_MODULE_PATH}" PARENT_SCOPE) # Catch2 brings a module of its own
endfunction()

# A cross build may use the header-only packages of this machine, but must not see the rest of /usr/include:
# such a target is pointed at a folder of links instead.
function(tightkv_unmix_headers target)
  if(NOT CMAKE_CROSSCOMPILING)
    return()
  endif()
  get_target_property(dirs ${target} INTERFACE_INCLUDE_DIRECTORIES)
  if(NOT dirs MATCHES "/usr/include$")
    return()
  endif()
  set(links "${PROJECT_BINARY_DIR}/host-headers")
  file(MAKE_DIRECTORY "${links}")
  foreach(name catch2 nlohmann xsimd CLI)
    if(EXISTS "/usr/include/${name}")
      file(CREATE_LINK "/usr/include/${name}" "${links}/${name}" SYMBOLIC)
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${links}"
                                             INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${links}")
endfunction()

# Links every opt-in component whose package is there; TIGHTKV_HAVE_<COMPONENT> tells the code.
function(tightkv_link_found_components target)
  foreach(component IN LISTS tightkv_components)
    if(TARGET ${tightkv_${component}_link})
      tightkv_unmix_headers(${tightkv_${component}_link})
      string(TOUPPER "${component}" upper)
      target_link_libraries(${target} PRIVATE tightkv::${component})
      target_compile_definitions(${target} PRIVATE TIGHTKV_HAVE_${upper}=1)
    endif()
  endforeach()
endfunction()
