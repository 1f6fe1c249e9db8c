# frozen_string_literal: true

require_relative "helper"
require "open3"
require "pathname"
require "rbconfig"

# The signatures in sig/: they are valid, and list exactly the existing methods.
class TestSignatures < Test::Unit::TestCase
  SIGNATURES = Pathname(File.expand_path("../sig", __dir__))

  def setup
    require "rbs"
    loader = RBS::EnvironmentLoader.new
    loader.add(path: SIGNATURES)
    %w[bigdecimal date socket].each { |library| loader.add(library: library, version: nil) }
    @builder = RBS::DefinitionBuilder.new(env: RBS::Environment.from_loader(loader).resolve_type_names)
  rescue LoadError
    omit("this Ruby has no RBS")
  end

  def declared(object, kind)
    name = RBS::Namespace.parse("::#{object.name}").to_type_name
    definition = kind == :instance ? @builder.build_instance(name) : @builder.build_singleton(name)
    # Without inherited ones.
    definition.methods.select { |_, method| method.defined_in == name }.keys
  end

  def test_every_public_method_has_a_signature_and_no_other_has
    [Crossdock::Array, Crossdock::SharedMemory, Crossdock::HeldArrays, Crossdock::Ledger, Crossdock::Channel, Crossdock::Channel::Sender, Crossdock::Channel::Receiver, Crossdock::Refusal, Crossdock::DLPack, Crossdock::ArrowColumn, Crossdock::ArrowStream, Crossdock::Table, Crossdock::Column, Crossdock::Request].each do |object|
      # Also where Kernel has a method of this name.
      assert_equal object.public_instance_methods(false).sort, declared(object, :instance).sort, object.name
      assert_equal object.singleton_methods(false).sort, declared(object, :singleton).sort, object.name
    end
    assert_equal Crossdock.singleton_methods(false).sort, declared(Crossdock, :singleton).sort
  end

  # A program with the checker of RBS, which compares the arguments and results of every call.
  def checked(*arguments)
    environment = { "RBS_TEST_TARGET" => "Crossdock::*", "RBS_TEST_OPT" => "-I sig -r bigdecimal -r date -r socket", "RBS_TEST_RAISE" => "true",
                    "RBS_TEST_LOGLEVEL" => "error" }
    # The checker sees classes that are defined after it.
    libraries = %w[-I lib -I test -r bigdecimal -r date -r socket -r rbs/test/setup -r crossdock]
    Open3.capture2e(environment, RbConfig.ruby, "-W0", *libraries, *arguments, chdir: File.expand_path("..", __dir__))
  end

  def test_calls_have_the_types_of_the_signatures
    # Calls that are wrong on purpose are left out, and Ractors, in which the checker does not run.
    { "views" => [], "readme" => ["--name=/transcript/"], "people" => ["--ignore-name=/ractor/"],
      "lists" => ["--ignore-name=/ones_and_ranges|are_rounded|ledger/"] }.each do |program, options|
      output, status = checked("test/test_#{program}.rb", *options)
      assert_predicate status, :success?, output
      assert_match(/^[1-9]\d* tests/, output)
    end
    output, status = checked("-e", 'Crossdock::Array.zeros("3")')
    assert_equal [false, true], [status.success?, output.include?("ArgumentTypeError")], output
  end
end
