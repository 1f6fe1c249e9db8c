# frozen_string_literal: true

require_relative "home"

# The gem as users have it who build it.
class TestGem < Test::Unit::TestCase
  include Home

  def test_it_is_built_and_installed_from_the_file_alone
    Dir.mktmpdir do |folder|
      package = File.join(folder, "crossdock.gem")
      run_in(GEM, {}, "gem", "build", "crossdock.gemspec", "--output", package)
      home = ENV.fetch("CROSSDOCK_GEM_HOME", File.join(folder, "home"))
      FileUtils.rm_rf(home)
      install(package, home, folder)
      assert_empty Dir[File.join(home, "**", "target", "release")], "what cargo built is not left behind"
      assert_one_library(home)
      keep(Dir[File.join(home, "extensions", "**", File.basename(EXTENSION))])
    end
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
    # A new file in place of the old one, which a process may have loaded.
    FileUtils.rm_f(EXTENSION)
    FileUtils.cp(extensions.first, EXTENSION)
  end
end
