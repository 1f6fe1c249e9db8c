# An overlay port in a checkout of the sources: vcpkg install crossdock --overlay-ports=crates/crossdock-capi/packaging
# It needs Cargo.
set(VCPKG_BUILD_TYPE release) # the functions of C are the same in both
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../../.." ABSOLUTE)
find_program(CARGO cargo REQUIRED)

vcpkg_execute_required_process(
  COMMAND "${CARGO}" xtask install --prefix "${CURRENT_PACKAGES_DIR}"
  WORKING_DIRECTORY "${SOURCE_PATH}"
  LOGNAME "install-${TARGET_TRIPLET}")

vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/crossdock)
vcpkg_fixup_pkgconfig()
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE-MIT" "${SOURCE_PATH}/LICENSE-APACHE")
