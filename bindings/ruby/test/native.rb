# frozen_string_literal: true

require "fileutils"
require "rbconfig"
require "shellwords"
require "tmpdir"

# C extensions that tests compile, with Ruby's own compiler and headers.
module Native
  # Compiles `name.c` of a folder, and loads it.
  def self.load(name, folder: File.join(__dir__, "native"), includes: [], flags: [])
    target = Dir.mktmpdir("crossdock-native")
    owner = Process.pid
    at_exit { FileUtils.rm_rf(target) if Process.pid == owner }
    require build(name, target, folder: folder, includes: includes, flags: flags)
  end

  # The path of the shared object.
  def self.build(name, target, folder: File.join(__dir__, "native"), includes: [], flags: [])
    config = RbConfig::CONFIG
    object = File.join(target, "#{name}.#{config["DLEXT"]}")
    headers = [config["rubyhdrdir"], config["rubyarchhdrdir"], *includes].map { |path| "-I#{path}" }
    command = [*config["CC"].shellsplit, "-std=gnu11", "-O2", "-g", "-fPIC", "-shared", "-Wall", "-Werror", "-Wno-unused-parameter", *flags,
               *headers, "-o", object, File.join(folder, "#{name}.c")]
    raise "#{name}.c could not be compiled: #{command.shelljoin}" unless system(*command)

    object
  end
end
