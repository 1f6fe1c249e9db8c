# frozen_string_literal: true

require_relative "helper"
require "pathname"

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
    name = RBS::TypeName.new(name: object.name.split("::").last.to_sym, namespace: RBS::Namespace.parse("::#{object.name}").parent)
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
end
