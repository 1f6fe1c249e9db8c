# frozen_string_literal: true

require "fileutils"
require "open3"
require "rbconfig"

# The other Rubies of this machine: those in the usual folders of version managers, and those that
# `CROSSDOCK_RUBIES` names, separated by colons. For each, the extension is built, and the tests run
# in a copy of the gem; those of libraries that this Ruby lacks are omitted.
module Rubies
  PATTERNS = %w[/usr/local/bin/ruby /opt/rubies/*/bin/ruby ~/.rubies/*/bin/ruby ~/.rbenv/versions/*/bin/ruby ~/.rvm/rubies/*/bin/ruby ~/.asdf/installs/ruby/*/bin/ruby
                ~/.local/share/mise/installs/ruby/*/bin/ruby].freeze
  OLDEST = "3.1"
  # The pages and programs of the repository, which tests read, and what its crates need.
  BESIDE = %w[Cargo.toml README.md bench crates data docs examples].freeze

  class << self
    # The paths and versions of all Rubies but the running one; one for each version.
    def others
      paths = ENV.fetch("CROSSDOCK_RUBIES", "").split(":") + PATTERNS.flat_map { |pattern| Dir[File.expand_path(pattern)] }
      found = paths.filter_map do |path|
        version, status = Open3.capture2({ "RUBYOPT" => nil }, path, "-e", "print RUBY_VERSION")
        [version, path] if status.success? && version != RUBY_VERSION && Gem::Version.new(version) >= Gem::Version.new(OLDEST)
      rescue SystemCallError
        raise "#{path} does not run"
      end
      found.uniq(&:first)
    end

    # Runs the tests with another Ruby.
    # @return [Boolean] whether all passed
    def test(version, path, target)
      puts "Ruby #{version}: #{path}"
      extension = build(path, File.join(target, "ruby-#{version}"))
      repository = copy(File.join(target, "ruby-#{version}", "repository"), extension)
      gem = File.join(repository, "bindings", "ruby")
      # With its just-in-time compiler, if it has one.
      jit = system(path, "--yjit", "-e", "", err: File::NULL) ? ["--yjit"] : []
      tests = Dir[File.join(gem, "test", "test_*.rb")].sort.flat_map { |file| ["-r", file] }
      # Where another Ruby cannot have a library, it is no failure.
      environment = { "CROSSDOCK_REQUIRE_COUNTERPARTS" => nil, "CROSSDOCK_GEM_HOME" => nil, "RUBYOPT" => jit.first }
      system(environment, path, "-w", "-Ilib", "-Itest", *tests, "-e", "", chdir: gem)
    end

    private

    # The path of the built extension.
    def build(path, target)
      manifest = File.join(__dir__, "ext", "crossdock", "Cargo.toml")
      environment = { "RUBY" => path, "CARGO_TARGET_DIR" => target }
      built = system(environment, ENV.fetch("CARGO", "cargo"), "build", "--locked", "--manifest-path", manifest)
      raise "the extension was not built for #{path}" unless built

      File.join(target, "debug", "libcrossdock_ruby.#{RbConfig::CONFIG["SOEXT"]}")
    end

    # A copy of the gem with another extension, beside links to the rest of the repository.
    def copy(repository, extension)
      FileUtils.rm_rf(repository)
      FileUtils.mkdir_p(File.join(repository, "bindings"))
      root = File.expand_path("../..", __dir__)
      BESIDE.each { |name| FileUtils.ln_s(File.join(root, name), File.join(repository, name)) }
      gem = File.join(repository, "bindings", "ruby")
      FileUtils.mkdir_p(gem)
      %w[README.md Rakefile bench examples include lib rubies.rb sig stage.rb test].each do |name|
        path = File.join(__dir__, name)
        FileUtils.cp_r(path, gem) if File.exist?(path)
      end
      # Without the build folder, which can hold this copy.
      sources = FileUtils.mkdir_p(File.join(gem, "ext", "crossdock")).first
      FileUtils.cp_r(Dir[File.join(__dir__, "ext", "crossdock", "*")].reject { |path| File.basename(path) == "target" }, sources)
      loaded = File.join(gem, "lib", "crossdock", "crossdock.#{RbConfig::CONFIG["DLEXT"]}")
      FileUtils.rm_f(loaded)
      FileUtils.cp(extension, loaded)
      repository
    end
  end
end
