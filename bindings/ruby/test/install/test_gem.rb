# frozen_string_literal: true

require "fileutils"
require "open3"
require "rbconfig"
require "test/unit"
require "tmpdir"
require_relative "../../native_gem"

# The gem as users have it: built, installed from the file alone into a separate home, and required
# there.
class TestGem < Test::Unit::TestCase
  GEM = File.expand_path("../..", __dir__)

  def run_in(folder, environment, *command)
    output, status = Open3.capture2e(environment, *command, chdir: folder)
    assert_predicate status, :success?, "#{command.join(" ")}:\n#{output}"
    output
  end

  def test_it_is_built_and_installed_from_the_file_alone
    Dir.mktmpdir do |folder|
      package = File.join(folder, "crossdock.gem")
      run_in(GEM, {}, "gem", "build", "crossdock.gemspec", "--output", package)
      home = ENV.fetch("CROSSDOCK_GEM_HOME", File.join(folder, "home"))
      FileUtils.rm_rf(home)
      environment = { "GEM_HOME" => home, "GEM_PATH" => home, "RUBYLIB" => nil, "RUBYOPT" => nil }
      # Outside of the repository, so that nothing is found there.
      run_in(folder, environment, "gem", "install", "--local", "--no-document", package)
      assert_works(folder, environment, home)
      assert_empty Dir[File.join(home, "**", "target", "release")], "what cargo built is not left behind"
      assert_one_library(home)
      extensions = Dir[File.join(home, "extensions", "**", "crossdock.#{RbConfig::CONFIG["DLEXT"]}")]
      assert_installed_without_sources(folder, extensions.first)
      keep(extensions)
    end
  end

  # The gem with its extension needs no compiler, and only this version of Ruby takes it.
  def assert_installed_without_sources(folder, extension)
    package = NativeGem.pack(extension, folder)
    home = File.join(folder, "native")
    environment = { "GEM_HOME" => home, "GEM_PATH" => home, "RUBYLIB" => nil, "RUBYOPT" => nil, "CARGO" => "/none" }
    run_in(folder, environment, "gem", "install", "--local", "--no-document", package)
    assert_works(folder, environment, home)
    libraries = Dir[File.join(home, "**", "*.#{RbConfig::CONFIG["DLEXT"]}")]
    assert_equal [1, []], [libraries.size, Dir[File.join(home, "**", "*.rs")]]
    specification = Gem::Package.new(package).spec
    other = Gem::Version.new(RUBY_VERSION).bump
    assert_equal [Gem::Platform.local.to_s, true, false],
                 [specification.platform.to_s, specification.required_ruby_version.satisfied_by?(Gem.ruby_version), specification.required_ruby_version.satisfied_by?(other)]
  end

  # Outside of the repository, from the gem in `home`.
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

  # RubyGems itself keeps the extension in two folders; the build leaves no third, and no symbols.
  def assert_one_library(home)
    libraries = Dir[File.join(home, "**", "*crossdock*.#{RbConfig::CONFIG["DLEXT"]}")]
    assert_operator libraries.size, :<=, 2, libraries.inspect
    assert_equal 1, libraries.map { |path| File.binread(path) }.uniq.size
    sections, status = Open3.capture2("readelf", "--sections", "--wide", libraries.first)
    assert_equal [true, nil], [status.success?, sections[/ \.debug_\w+/]]
  end

  # If the gem stays installed, the other tests use its extension, as users do, and nothing is built
  # twice.
  def keep(extensions)
    return unless ENV["CROSSDOCK_GEM_HOME"]

    assert_equal 1, extensions.size
    to = File.join(GEM, "lib", "crossdock", File.basename(extensions.first))
    # A new file in place of the old one, which a process may have loaded.
    FileUtils.rm_f(to)
    FileUtils.cp(extensions.first, to)
  end

  def version
    File.read(File.join(GEM, "lib", "crossdock", "version.rb"))[/"(.+)"/, 1]
  end
end
