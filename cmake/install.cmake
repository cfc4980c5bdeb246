# SPDX-License-Identifier: MIT
# cmake --install: headers, libraries, CMake package, pkg-config file, tool, documents. Everything
# that is written is relative to where it lies, so that an installed tree can be moved.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/mxgold)
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES codec/mxgold.h codec/mxgold_format.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
install(FILES codec/element.h codec/scale.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mxgold COMPONENT dev)

# ---- libraries, one export a kind: a package may have either ----
foreach(kind static shared)
  if(TARGET mxgold_${kind})
    install(TARGETS mxgold_${kind} EXPORT mxgold_${kind}
      RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime
      LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT dev
      ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
    install(EXPORT mxgold_${kind} NAMESPACE mxgold:: FILE mxgold_${kind}.cmake
      DESTINATION ${package_dir} COMPONENT dev)
  endif()
endforeach()
if(TARGET mxgold_gpu)
  install(FILES gpu/mxgold_gpu.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
  install(TARGETS mxgold_gpu EXPORT mxgold_gpu
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT dev
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
  install(EXPORT mxgold_gpu NAMESPACE mxgold:: FILE mxgold_gpu.cmake
    DESTINATION ${package_dir} COMPONENT dev)
endif()

# ---- find_package(mxgold) ----
configure_package_config_file(cmake/mxgoldConfig.cmake.in
  ${PROJECT_BINARY_DIR}/mxgoldConfig.cmake INSTALL_DESTINATION ${package_dir}
  NO_SET_AND_CHECK_MACRO)
# While the major version is 0, a minor version may break what was before.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/mxgoldConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/mxgoldConfig.cmake
  ${PROJECT_BINARY_DIR}/mxgoldConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT dev)

# ---- pkg-config ----
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH pc_prefix /${pkgconfig_dir} /)
  string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${pc_prefix}")
endif()
foreach(dir LIBDIR INCLUDEDIR)
  set(pc_${dir} ${CMAKE_INSTALL_${dir}})
  if(NOT IS_ABSOLUTE ${pc_${dir}})
    set(pc_${dir} "\${prefix}/${pc_${dir}}")
  endif()
endforeach()
set(pc_private "${openmp_names}")
list(TRANSFORM pc_private PREPEND "-l")
list(JOIN pc_private " " pc_private)
configure_file(cmake/mxgold.pc.in ${PROJECT_BINARY_DIR}/mxgold.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/mxgold.pc DESTINATION ${pkgconfig_dir} COMPONENT dev)

# ---- tool, documents ----
if(TARGET mxgold_tool)
  # Over a shared library in a prefix of its own the tool looks beside itself.
  if(BUILD_SHARED_LIBS AND NOT IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
    file(RELATIVE_PATH to_libdir /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
    set_target_properties(mxgold_tool PROPERTIES INSTALL_RPATH "\$ORIGIN/${to_libdir}")
  endif()
  install(TARGETS mxgold_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tool)
endif()
if(TARGET mxgold_man)
  install(FILES ${PROJECT_BINARY_DIR}/mxgold.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
    COMPONENT tool)
endif()
file(GLOB documents CONFIGURE_DEPENDS docs/*.md)
install(FILES README.md ${documents} DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)

# The Python module is one file; it looks for libmxgold.so as any program does.
if(EXISTS ${PROJECT_SOURCE_DIR}/python/mxgold.py)
  set(MXGOLD_PYTHON_DIR ${CMAKE_INSTALL_DATADIR}/mxgold/python CACHE STRING
    "where the Python module goes, below the prefix")
  install(FILES python/mxgold.py DESTINATION ${MXGOLD_PYTHON_DIR} COMPONENT python)
endif()
