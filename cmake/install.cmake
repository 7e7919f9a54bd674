# Everything goes below share/ and include/: nothing here depends on the architecture.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(tightkv_config_dir "${CMAKE_INSTALL_DATADIR}/cmake/tightkv")

install(TARGETS tightkv EXPORT tightkv-targets FILE_SET HEADERS FILE_SET unverified)
install(EXPORT tightkv-targets NAMESPACE tightkv:: DESTINATION "${tightkv_config_dir}")
foreach(component IN LISTS tightkv_components)
  install(TARGETS tightkv_${component} EXPORT tightkv-${component}-targets FILE_SET HEADERS)
  install(EXPORT tightkv-${component}-targets NAMESPACE tightkv:: DESTINATION "${tightkv_config_dir}")
endforeach()

configure_package_config_file(cmake/Config.cmake.in tightkv-config.cmake
  INSTALL_DESTINATION "${tightkv_config_dir}" NO_SET_AND_CHECK_MACRO)
# While the version is 0.x a new minor version may change the interface; from 1.0 on only a major one may.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
else()
  set(compatibility SameMajorVersion)
endif()
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/tightkv-config-version.cmake"
  COMPATIBILITY ${compatibility} ARCH_INDEPENDENT)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tightkv-config.cmake"
              "${CMAKE_CURRENT_BINARY_DIR}/tightkv-config-version.cmake"
              "${PROJECT_SOURCE_DIR}/cmake/xsimd-links.cmake"
        DESTINATION "${tightkv_config_dir}")

configure_file(cmake/tightkv.pc.in tightkv.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tightkv.pc" DESTINATION "${CMAKE_INSTALL_DATADIR}/pkgconfig")

file(GLOB tightkv_codebooks CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/codebooks/*.json")
install(FILES ${tightkv_codebooks} DESTINATION "${CMAKE_INSTALL_DATADIR}/tightkv/codebooks")
