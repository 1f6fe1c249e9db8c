# frozen_string_literal: true

module HandOvers
  # Foreign data: bytes, and the positions of the elements in them. `expected` has the bytes of the
  # elements, in row-major order of the indices.
  Specimen = Struct.new(:name, :dtype, :format, :itemsize, :shape, :strides, :offset, :bytes, :expected, :indirect, :readonly, keyword_init: true) do
    # NumPy's type string, also for types that are not NumPy scalars.
    def descr
      dtype.is_a?(Symbol) ? "<i2" : dtype
    end

    def number?
      dtype == :int16
    end

    def row_major?
      !indirect && strides == HandOvers.contiguous(shape, itemsize) && offset.even?
    end

    def column_major?
      !indirect && shape.size > 1 && strides == HandOvers.contiguous(shape.reverse, itemsize).reverse && shape.all?(&:positive?)
    end
  end

  RECORD = "[('kind', '|u1'), ('price', '<i2')]"

  module_function

  def contiguous(shape, itemsize)
    shape.each_index.map { |axis| shape.drop(axis + 1).inject(itemsize) { |product, length| product * [length, 1].max } }
  end

  # All indices of a shape, in row-major order.
  def indices(shape)
    shape.inject([[]]) { |all, length| all.flat_map { |index| (0...length).map { |at| [*index, at] } } }
  end

  def at(index, strides)
    index.zip(strides).sum { |position, stride| position * stride }
  end

  # Distinct numbers, except along axes with stride 0.
  def specimen(name, shape, strides, dtype: :int16, lead: 0, **more)
    format, itemsize = { :int16 => ["s", 2], ">i2" => ["s>", 2], RECORD => ["Cs", 3] }.fetch(dtype)
    all = indices(shape)
    number = ->(index) { at(index.each_index.map { |axis| strides[axis].zero? ? 0 : index[axis] }, contiguous(shape, 1)) }
    expected = all.map { |index| format == "Cs" ? [number[index], 300 + number[index]].pack("Cs<") : [300 + number[index]].pack(format) }
    offset = lead - (all.map { |index| at(index, strides) }.min || 0)
    bytes = "\xee".b * (lead + (all.map { |index| offset - lead + at(index, strides) + itemsize }.max || 0))
    all.zip(expected) { |index, element| bytes[offset + at(index, strides), itemsize] = element }
    Specimen.new(name: name, dtype: dtype, format: format, itemsize: itemsize, shape: shape, strides: strides, offset: offset, bytes: bytes,
                 expected: expected, indirect: false, readonly: false, **more)
  end

  SPECIMENS = [
    specimen("row-major", [3, 4], [8, 2]),
    specimen("column-major", [3, 4], [2, 6]),
    specimen("gaps", [3, 4], [20, 4]),
    specimen("negative strides", [3, 4], [-8, 2]),
    specimen("zero strides", [3, 4], [0, 2]),
    specimen("unaligned", [3, 4], [8, 2], lead: 1),
    specimen("records", [4], [3], dtype: RECORD),
    specimen("field of packed records", [4], [3]),
    specimen("other byte order", [3, 4], [8, 2], dtype: ">i2"),
    specimen("suboffsets", [3, 4], [8, 2]).tap { |one| one.indirect = true },
    specimen("0-d", [], []),
    specimen("empty", [0, 4], [8, 2]),
    specimen("read-only", [3, 4], [8, 2]).tap { |one| one.readonly = true }
  ].freeze
end
