# What `cmake --install` puts where: library, headers, tool, CMake package
# (cmm::cmm and, as component mpi, cmm::mpi), pkg-config file.
# The installed tree can be moved: no file in it names its own place.
include(CMakePackageConfigHelpers)

install(TARGETS cmm EXPORT cmm-targets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/cmm DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.hpp" PATTERN "mpi.hpp" EXCLUDE)
if(CMM_HAS_MPI)
  install(TARGETS cmm_mpi EXPORT cmm-mpi-targets)
  install(FILES ${PROJECT_SOURCE_DIR}/include/cmm/mpi.hpp
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cmm)
endif()
install(TARGETS cmm_tpu_compile RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/cmm)
if(TARGET cmm_tool)
  file(RELATIVE_PATH to_library ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(cmm_tool PROPERTIES INSTALL_RPATH "$ORIGIN/${to_library}")
  install(TARGETS cmm_tool)
endif()

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/cmm)
install(EXPORT cmm-targets NAMESPACE cmm:: DESTINATION ${package_directory})
if(CMM_HAS_MPI)
  install(EXPORT cmm-mpi-targets NAMESPACE cmm:: DESTINATION ${package_directory})
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/cmmConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/cmmConfig.cmake
                              INSTALL_DESTINATION ${package_directory})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmmConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmmConfig.cmake ${PROJECT_BINARY_DIR}/cmmConfigVersion.cmake
        DESTINATION ${package_directory})

file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pc_to_prefix ${pc_to_prefix})
file(RELATIVE_PATH pc_libdir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH pc_includedir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
set(pc_onednn_libs "")
if(CMM_HAS_ONEDNN)
  set(pc_onednn_libs " -ldnnl ${OpenMP_CXX_FLAGS}")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/cmm.pc.in ${PROJECT_BINARY_DIR}/cmm.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmm.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
