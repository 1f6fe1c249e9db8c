# frozen_string_literal: true

require_relative "home"

# The gem with the extension that `rake compile` has built.
class TestNativeGem < Test::Unit::TestCase
  include Home

  def test_it_needs_no_compiler_and_only_this_version_of_ruby_takes_it
    Dir.mktmpdir do |folder|
      package = NativeGem.pack(EXTENSION, folder)
      home = File.join(folder, "native")
      install(package, home, folder, "CARGO" => "/none")
      libraries = Dir[File.join(home, "**", "*.#{RbConfig::CONFIG["DLEXT"]}")]
      assert_equal [1, []], [libraries.size, Dir[File.join(home, "**", "*.rs")]]
      specification = Gem::Package.new(package).spec
      other = Gem::Version.new(RUBY_VERSION).bump
      assert_equal [Gem::Platform.local.to_s, true, false],
                   [specification.platform.to_s, specification.required_ruby_version.satisfied_by?(Gem.ruby_version), specification.required_ruby_version.satisfied_by?(other)]
    end
  end
end
