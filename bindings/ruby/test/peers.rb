# frozen_string_literal: true

require "fileutils"
require "open3"
require "rbconfig"
require "tmpdir"

# Libraries without a package: built from their sources, if these lie in `shared/peers` beside the
# repository, or in the folder that `CROSSDOCK_PEERS` names.
module Peers
  SOURCES = ENV.fetch("CROSSDOCK_PEERS", File.expand_path("../../../../shared/peers", __dir__))
  BUILT = File.join(ENV.fetch("CARGO_TARGET_DIR", File.expand_path("../ext/crossdock/target", __dir__)), "peers")

  # The library as `require` finds it, within the folder `lib` of its sources.
  EXTENSIONS = { "numo-narray" => "numo/narray", "numo-narray-alt" => "numo/narray/narray" }.freeze

  class << self
    # The folder for the load path; nil if the sources are not there.
    def library(name)
      archive = Dir[File.join(SOURCES, "#{name}-*.tar.xz")].find { |path| File.basename(path).match?(/\A#{name}-\h+\.tar\.xz\z/) }
      return unless archive

      built = File.join(BUILT, "#{File.basename(archive, ".tar.xz")}-#{RUBY_VERSION}-#{RUBY_PLATFORM}")
      build(name, archive, built) unless File.directory?(built)
      File.join(built, name, "lib")
    end

    private

    # In a folder of temporary files, since `make` knows no paths with spaces, and then into one that
    # is renamed when it is complete.
    def build(name, archive, built)
      Dir.mktmpdir(name) do |folder|
        run("tar", "xf", archive, "-C", folder)
        sources = File.join(folder, name, "ext", "numo", "narray")
        run(RbConfig.ruby, "extconf.rb", chdir: sources)
        # Not optimised: that takes several times as long, and the tests check values.
        run("make", "-j2", "optflags=-O0", "debugflags=", chdir: sources)
        extension = "#{EXTENSIONS.fetch(name)}.#{RbConfig::CONFIG["DLEXT"]}"
        target = File.join(folder, name, "lib", extension)
        FileUtils.mkdir_p(File.dirname(target))
        FileUtils.cp(File.join(sources, File.basename(extension)), target)
        complete = "#{built}-#{Process.pid}"
        FileUtils.mkdir_p(complete)
        FileUtils.mv(File.join(folder, name), complete)
        File.rename(complete, built)
      end
    end

    def run(*command, **options)
      output, status = Open3.capture2e(*command, **options)
      raise "#{command.join(" ")} failed:\n#{output.lines.last(30).join}" unless status.success?
    end
  end
end
