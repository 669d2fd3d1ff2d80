include(CMakePackageConfigHelpers)

set(weir_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weir)

set(weir_installed weir)
if(WEIR_FORTRAN)
  list(APPEND weir_installed weir_fortran)
  install(FILES ${CMAKE_BINARY_DIR}/modules/weir.mod DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weir)
endif()
if(WEIR_TOOLS)
  install(TARGETS weir_tool weir_bench_worker RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  set_target_properties(weir_tool weir_bench_worker PROPERTIES
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
endif()
if(TARGET weir_sim_worker)
  install(TARGETS weir_sim_worker weir_sim_library RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(TARGETS weir_mpiio LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
set_target_properties(${weir_installed} weir_mpiio PROPERTIES INSTALL_RPATH "$ORIGIN")
install(TARGETS ${weir_installed} EXPORT weir LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/weir DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${weir_machines} DESTINATION ${CMAKE_INSTALL_DATADIR}/weir/machines)
install(EXPORT weir NAMESPACE weir:: FILE weirTargets.cmake DESTINATION ${weir_package_dir})

configure_package_config_file(cmake/weirConfig.cmake.in ${CMAKE_BINARY_DIR}/cmake/weirConfig.cmake
  INSTALL_DESTINATION ${weir_package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/cmake/weirConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/cmake/weirConfig.cmake ${CMAKE_BINARY_DIR}/cmake/weirConfigVersion.cmake
  DESTINATION ${weir_package_dir})

# Relative, so that the installed tree can be moved.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
  OUTPUT_VARIABLE weir_prefix_from_pc)
configure_file(cmake/weir.pc.in ${CMAKE_BINARY_DIR}/cmake/weir.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/cmake/weir.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(WEIR_FORTRAN)
  configure_file(cmake/weir-fortran.pc.in ${CMAKE_BINARY_DIR}/cmake/weir-fortran.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/cmake/weir-fortran.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
