# frozen_string_literal: true

require "test/unit"
require "crossdock"

# Helpers of several tests.
module Helper
  # The message of an error, which must belong to one of these classes.
  def message_of(*errors, &block)
    assert_raise(*errors, &block).message
  end

  # What the block of a Ractor returned: from Ruby 4.0 on, by another method.
  def value_of(ractor)
    ractor.respond_to?(:value) ? ractor.value : ractor.take
  end

  # Omits the test if this Ruby lacks a library. Where all counterparts are required, only an
  # `optional` one may be absent.
  def library(name, optional: false)
    require name
  rescue LoadError
    flunk("the library #{name} is missing") if ENV.key?("CROSSDOCK_REQUIRE_COUNTERPARTS") && !optional
    omit("this Ruby has no library #{name}")
  end
end
