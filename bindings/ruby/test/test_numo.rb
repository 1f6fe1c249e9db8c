# frozen_string_literal: true

require_relative "helper"
require_relative "peers"

# Runs `numo/arrays.rb` with each library that defines `Numo::NArray`, in processes of their own:
# the libraries replace each other.
class TestNumo < Test::Unit::TestCase
  LIBRARY = File.expand_path("../lib", __dir__)

  def test_arrays_of_numo_narray
    assert_passes "numo-narray"
  end

  def test_arrays_of_numo_narray_alt
    omit("numo-narray-alt: only the long run builds a second library") if ENV["CROSSDOCK_PEERS_TESTED"] == "first"
    assert_passes "numo-narray-alt"
  end

  private

  def assert_passes(name)
    folder = Peers.library(name)
    omit("#{name}: its sources are not beside the repository") unless folder

    program = File.expand_path("numo/arrays.rb", __dir__)
    output, status = Open3.capture2e({ "NUMO" => name }, RbConfig.ruby, "-w", "-I", LIBRARY, "-I", __dir__, "-I", folder, program)
    assert_predicate status, :success?, output
    assert_match(/^[1-9]\d* tests, .* 0 failures, 0 errors, 0 pendings, 0 omissions/, output)
  end
end
