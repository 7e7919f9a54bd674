# tightkv::tightkv, and one opt-in target for each foreign package that some headers need.
# No compile option, definition or warning is forced on a consumer: only the C++20 feature.

# A component is skipped, not an error, when its package is absent: whoever links it is told by CMake.
set(tightkv_components json eigen xsimd)
set(tightkv_json_package nlohmann_json)
set(tightkv_json_link nlohmann_json::nlohmann_json)
set(tightkv_eigen_package Eigen3)
set(tightkv_eigen_link Eigen3::Eigen)
set(tightkv_xsimd_package xsimd)
set(tightkv_xsimd_link xsimd)

file(GLOB_RECURSE tightkv_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/tightkv/*.hpp")
foreach(component IN LISTS tightkv_components)
  # By name: codebook/json.hpp, rotation/eigen.hpp, kernel/score/xsimd.hpp, ...
  set(tightkv_${component}_headers ${tightkv_headers})
  list(FILTER tightkv_${component}_headers INCLUDE REGEX "/${component}\\.hpp$")
  list(FILTER tightkv_headers EXCLUDE REGEX "/${component}\\.hpp$")
endforeach()
# Device sources and the vendor back ends compile only where their SDK is: installed, not verified here.
set(tightkv_device_headers ${tightkv_headers})
list(FILTER tightkv_device_headers INCLUDE REGEX "/backend/(hip|metal)(/|\\.hpp$)|\\.(hip|metal)\\.hpp$")
list(FILTER tightkv_headers EXCLUDE REGEX "/backend/(hip|metal)(/|\\.hpp$)|\\.(hip|metal)\\.hpp$")
# Text that headers include several times (*.inc) is no header of its own either.
file(GLOB_RECURSE tightkv_included_text CONFIGURE_DEPENDS
     "${PROJECT_SOURCE_DIR}/include/tightkv/*.inc" "${PROJECT_SOURCE_DIR}/include/tightkv/*.hip"
     "${PROJECT_SOURCE_DIR}/include/tightkv/*.metal" "${PROJECT_SOURCE_DIR}/include/tightkv/*.cu")

add_library(tightkv INTERFACE)
add_library(tightkv::tightkv ALIAS tightkv)
target_compile_features(tightkv INTERFACE cxx_std_20)
target_sources(tightkv
  INTERFACE FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${tightkv_headers}
  INTERFACE FILE_SET unverified TYPE HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include"
            FILES ${tightkv_device_headers} ${tightkv_included_text})
set_target_properties(tightkv PROPERTIES INTERFACE_HEADER_SETS_TO_VERIFY HEADERS)

foreach(component IN LISTS tightkv_components)
  set(target tightkv_${component})
  add_library(${target} INTERFACE)
  add_library(tightkv::${component} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${component})
  # The foreign target is looked up where tightkv::<component> is linked, so that adding this directory
  # searches for nothing and leaves no cache entry behind.
  target_link_libraries(${target} INTERFACE tightkv ${tightkv_${component}_link})
  target_sources(${target} INTERFACE FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include"
                 FILES ${tightkv_${component}_headers})
  if(PROJECT_IS_TOP_LEVEL)
    find_package(${tightkv_${component}_package} QUIET)
  endif()
  if(PROJECT_IS_TOP_LEVEL AND TARGET ${tightkv_${component}_link})
    set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  endif()
endforeach()
if(PROJECT_IS_TOP_LEVEL)
  include(cmake/xsimd-links.cmake)
  set_target_properties(tightkv PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
endif()
