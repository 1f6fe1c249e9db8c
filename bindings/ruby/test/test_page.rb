# frozen_string_literal: true

require_relative "helper"
require_relative "native"
require_relative "peers"
require "open3"
require "rbconfig"
require "tmpdir"

# The page for authors of extensions: its programs are built and run, and its lists equal those of
# the tests.
class TestPage < Test::Unit::TestCase
  ROOT = File.expand_path("../../..", __dir__)
  PAGE = File.read(File.join(ROOT, "docs", "ruby.md"))
  # The sources of the tested extension: the repository's, or those of the installed gem.
  SOURCES = ENV["CROSSDOCK_GEM_HOME"] ? Dir[File.join(ENV["CROSSDOCK_GEM_HOME"], "gems", "crossdock-*", "vendor")].first : ROOT
  LIBRARY = File.expand_path("../lib", __dir__)

  # The language and text of every fenced block, in order.
  FENCES = PAGE.scan(/^```(\w+)\n(.*?)^```$/m)

  def command(*words, **options)
    output, status = Open3.capture2e(*words, **options)
    assert status.success?, "#{words.join(" ")}\n#{output}"
    output
  end

  def test_programs_print_what_stands_below_them
    Dir.mktmpdir("crossdock-page") do |folder|
      programs = 0
      FENCES.each_with_index do |(language, text), at|
        case language
        when "c" then build_c(text, folder)
        when "rust" then build_rust(text, folder)
        when "ruby"
          program = File.join(folder, "program_#{at}.rb")
          File.write(program, text)
          expected = FENCES[at + 1]
          assert_equal "text", expected&.first, "behind program #{at} stands what it prints"
          missing = %w[rmagick ffi].find { |name| text.include?("require \"#{name}\"") && !library?(name) }
          if missing
            notify("this Ruby has no library #{missing}")
            next
          end
          libraries = [LIBRARY, folder]
          if text.include?('require "numo/narray"')
            numo = Peers.library("numo-narray")
            notify("numo-narray: its sources are not beside the repository") unless numo
            next unless numo

            libraries << numo
          end
          assert_equal expected.last, command(RbConfig.ruby, "-w", *libraries.flat_map { |library| ["-I", library] }, program), text
          programs += 1
        when "text" then assert_equal "ruby", FENCES[at - 1].first
        else flunk("no test runs #{language}")
        end
      end
      assert_operator programs, :>=, 6
    end
  end

  def library?(name)
    require name
  rescue LoadError
    raise if ENV.key?("CROSSDOCK_REQUIRE_COUNTERPARTS")

    false
  else
    true
  end

  # `/* name.c: … */` in the first line.
  def build_c(text, folder)
    name = text[%r{\A/\* (\w+)\.c: }, 1]
    File.write(File.join(folder, "#{name}.c"), text)
    Native.build(name, folder, folder: folder, includes: [Crossdock.include_dir, File.expand_path("../ext/crossdock/include", __dir__)])
  end

  # `//! name: …` in the first line. Built beside the extension, whose dependencies are there.
  def build_rust(text, folder)
    name = text[%r{\A//! (\w+): }, 1]
    package = File.join(folder, name)
    Dir.mkdir(package)
    File.write(File.join(package, "lib.rs"), text)
    extension = File.join(SOURCES, "bindings", "ruby", "ext", "crossdock")
    manifest = File.read(File.join(extension, "Cargo.toml"))
    dependencies = manifest[/^\[dependencies\]\n(.*?)\n\n/m, 1].gsub('"../../../../', %("#{SOURCES}/))
    profile = manifest[/^\[profile\.release\]\n.*?\n\n(?=\[lints)/m]
    File.write(File.join(package, "Cargo.toml"), <<~TOML)
      [workspace]

      [package]
      name = "#{name}"
      version = "0.1.0"
      edition = "2024"

      [lib]
      path = "lib.rs"
      crate-type = ["cdylib"]

      [dependencies]
      #{dependencies}

      #{profile}
    TOML
    lock = File.read(File.join(extension, "Cargo.lock"))
    File.write(File.join(package, "Cargo.lock"), lock.sub('name = "crossdock-ruby"', %(name = "#{name}")))
    target = ENV.fetch("CARGO_TARGET_DIR", File.join(extension, "target"))
    command({ "RUBY" => RbConfig.ruby, "CARGO_TARGET_DIR" => target }, ENV.fetch("CARGO", "cargo"), "build", "--release", chdir: package)
    FileUtils.cp(File.join(target, "release", "lib#{name}.#{RbConfig::CONFIG["SOEXT"]}"), File.join(folder, "#{name}.#{RbConfig::CONFIG["DLEXT"]}"))
  end

  def test_every_known_bug_is_on_the_page
    table = PAGE[/^## Known bugs.*/m].scan(/^\| ([a-z-]+) \|/).flatten - ["bug"]
    known = File.read(File.join(__dir__, "test_bugs.rb"))[/IDS = %w\[(.*?)\]/m, 1].split
    assert_equal known, table
  end

  def test_what_the_page_names_is_there
    names = PAGE.scan(/`Crossdock(\.|::)(\w+)/).uniq
    assert_operator names.size, :>=, 8
    names.each do |separator, name|
      assert(separator == "." ? Crossdock.respond_to?(name) : Crossdock.const_defined?(name), "Crossdock#{separator}#{name}")
    end
    methods = PAGE.scan(/`array\.(\w+)/).flatten.uniq
    assert_operator methods.size, :>=, 3
    methods.each { |name| assert Crossdock::Array.method_defined?(name), name }
  end
end
