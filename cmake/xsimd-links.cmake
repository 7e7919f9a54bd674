# Debian 12's xsimd asks for the library xtl, which it neither needs nor brings.
if(TARGET xsimd AND NOT TARGET xtl)
  get_target_property(tightkv_xsimd_links xsimd INTERFACE_LINK_LIBRARIES)
  if(tightkv_xsimd_links STREQUAL "xtl")
    set_target_properties(xsimd PROPERTIES INTERFACE_LINK_LIBRARIES "")
  endif()
endif()
