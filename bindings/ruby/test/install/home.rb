# frozen_string_literal: true

require "fileutils"
require "open3"
require "rbconfig"
require "test/unit"
require "tmpdir"
require_relative "../../native_gem"

# Installs a gem from its file alone into a home of its own, and uses it there.
module Home
  GEM = File.expand_path("../..", __dir__)
  EXTENSION = File.join(GEM, "lib", "crossdock", "crossdock.#{RbConfig::CONFIG["DLEXT"]}")

  def run_in(folder, environment, *command)
    output, status = Open3.capture2e(environment, *command, chdir: folder)
    assert_predicate status, :success?, "#{command.join(" ")}:\n#{output}"
    output
  end

  # In `folder` outside of the repository, so that nothing is found there.
  def install(package, home, folder, more = {})
    environment = { "GEM_HOME" => home, "GEM_PATH" => home, "RUBYLIB" => nil, "RUBYOPT" => nil, **more }
    run_in(folder, environment, "gem", "install", "--local", "--no-document", package)
    assert_works(folder, environment, home)
  end

  def assert_works(folder, environment, home)
    program = <<~RUBY
      require "crossdock"
      array = Crossdock::Array.new([[1.5, 2.5], [3.5, 4.5]])
      print array.transpose.to_a, Crossdock::VERSION, $LOADED_FEATURES.grep(/crossdock.so/).first.start_with?(ARGV[0]),
            File.file?(File.join(Crossdock.include_dir, "crossdock.h")), File.file?(File.join(Crossdock.include_dir, "crossdock", "ruby.h"))
    RUBY
    output = run_in(folder, environment, RbConfig.ruby, "-e", program, home)
    assert_equal "[[1.5, 3.5], [2.5, 4.5]]#{version}truetruetrue", output
  end

  def version
    File.read(File.join(GEM, "lib", "crossdock", "version.rb"))[/"(.+)"/, 1]
  end
end
