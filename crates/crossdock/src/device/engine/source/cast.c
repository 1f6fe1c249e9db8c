/*
 * Converts numbers from one dtype to another with integer arithmetic only: the same bits on every device.
 *
 * Each number is split (sign, magnitude, power of two) and assembled again, rounded once, ties to even.
 */

/* The codes of dtypes: the kind in the low bits, and the width in bytes above. */
#define TYPE_SIGNED 1
#define TYPE_UNSIGNED 2
#define TYPE_BOOL 3
#define TYPE_FLOAT 4
#define TYPE_BRAIN 5
#define KIND_OF(type) ((type) & 0xff)
#define WIDTH_OF(type) ((type) >> 8)

#define FINITE 0
#define INFINITE 1
#define NOT_A_NUMBER 2

/* `magnitude` times two to the power of `exponent`; of a NaN its payload, highest bit first. */
typedef struct {
    u64 magnitude;
    i32 exponent;
    u32 negative;
    u32 class_of;
} Number;

typedef struct {
    u64 bits;
    u32 lost;
} Written;

FUNCTION u32 exponent_bits(u32 type)
{
    return KIND_OF(type) == TYPE_BRAIN ? 8 : WIDTH_OF(type) == 2 ? 5 : WIDTH_OF(type) == 4 ? 8 : 11;
}

FUNCTION u64 load_bits(const GLOBAL u8 *at, u32 width, u32 aligned, u32 swap)
{
    u64 bits = 0;
    if (aligned) {
        bits = width == 1   ? (u64)*at
               : width == 2 ? (u64) * (const GLOBAL u16 *)at
               : width == 4 ? (u64) * (const GLOBAL u32 *)at
                            : *(const GLOBAL u64 *)at;
    } else {
        for (u32 k = width; k > 0; k -= 1)
            bits = bits << 8 | at[k - 1];
    }
    return swap ? swapped_u64(bits) >> (64 - 8 * width) : bits;
}

FUNCTION void store_bits(GLOBAL u8 *at, u64 bits, u32 width, u32 aligned, u32 swap)
{
    bits = swap ? swapped_u64(bits) >> (64 - 8 * width) : bits;
    if (!aligned) {
        for (u32 k = 0; k < width; k += 1)
            at[k] = (u8)(bits >> 8 * k);
    } else if (width == 1) {
        *at = (u8)bits;
    } else if (width == 2) {
        *(GLOBAL u16 *)at = (u16)bits;
    } else if (width == 4) {
        *(GLOBAL u32 *)at = (u32)bits;
    } else {
        *(GLOBAL u64 *)at = bits;
    }
}

FUNCTION Number read_number(u64 bits, u32 type)
{
    Number number;
    const u32 width = 8 * WIDTH_OF(type);
    number.exponent = 0;
    number.negative = 0;
    number.class_of = FINITE;
    if (KIND_OF(type) == TYPE_BOOL) {
        number.magnitude = bits != 0;
    } else if (KIND_OF(type) == TYPE_UNSIGNED) {
        number.magnitude = bits;
    } else if (KIND_OF(type) == TYPE_SIGNED) {
        const u64 high = (u64)1 << (width - 1);
        number.negative = (bits & high) != 0;
        /* Sign extension. */
        number.magnitude = number.negative ? (u64)0 - (bits | ~(high - 1)) : bits;
    } else {
        const u32 exponents = exponent_bits(type), fraction = width - 1 - exponents;
        const u64 most = ((u64)1 << exponents) - 1;
        const u64 power = bits >> fraction & most;
        const u64 below = bits & (((u64)1 << fraction) - 1);
        number.negative = (u32)(bits >> (width - 1)) & 1;
        if (power == most) {
            number.class_of = below ? NOT_A_NUMBER : INFINITE;
            number.magnitude = below << (64 - fraction);
        } else {
            number.magnitude = power ? below | (u64)1 << fraction : below;
            number.exponent = (i32)(power ? power : 1) - (i32)(most >> 1) - (i32)fraction;
        }
    }
    return number;
}

/* `payload`: whether the source dtype has NaN payloads that are kept. */
FUNCTION Written write_float(Number number, u32 type, u32 payload)
{
    Written written;
    const u32 width = 8 * WIDTH_OF(type);
    const u32 exponents = exponent_bits(type), fraction = width - 1 - exponents;
    const u64 infinity = (((u64)1 << exponents) - 1) << fraction;
    const u64 sign = (u64)number.negative << (width - 1);
    written.lost = 0;
    if (number.class_of == NOT_A_NUMBER) {
        const u64 quiet = infinity | (u64)1 << (fraction - 1);
        /* Narrow dtypes have one NaN pattern, without a sign. */
        const u64 kept = payload ? number.magnitude >> (64 - fraction) : 0;
        written.bits = width == 16 ? quiet : sign | quiet | kept;
    } else if (number.class_of == INFINITE) {
        written.bits = sign | infinity;
    } else if (number.magnitude == 0) {
        written.bits = sign;
    } else {
        const u32 zeros = LEADING_ZEROS(number.magnitude);
        const u64 magnitude = number.magnitude << zeros;
        const i32 bias = (i32)(((u32)1 << (exponents - 1)) - 1);
        const i32 power = number.exponent - (i32)zeros + 63 + bias;
        const u32 below = power < 1 ? (u32)(1 - power) : 0;
        const u32 dropped = 63 - fraction + below;
        u64 kept = 0, rest = 0;
        const u64 middle = (u64)1 << 63;
        if (dropped < 64) {
            kept = magnitude >> dropped;
            rest = magnitude << (64 - dropped);
        } else if (dropped == 64) {
            rest = magnitude;
        }
        if (rest > middle || (rest == middle && (kept & 1)))
            kept += 1;
        /* The highest kept bit adds 1 to the exponent, and so does a carry of the rounding. */
        u64 bits = below ? kept : kept + ((u64)(power - 1) << fraction);
        if (power >= (i32)(2 * bias + 1) || bits >= infinity) {
            bits = infinity;
            written.lost = 1;
        }
        written.bits = sign | bits;
    }
    return written;
}

FUNCTION Written write_integer(Number number, u32 type)
{
    Written written;
    const u32 width = 8 * WIDTH_OF(type);
    const u32 is_signed = KIND_OF(type) == TYPE_SIGNED;
    const u64 all = width == 64 ? ~(u64)0 : ((u64)1 << width) - 1;
    const u64 highest = is_signed ? all >> 1 : all;
    const u64 lowest = is_signed ? (all >> 1) + 1 : 0;
    const u64 most = number.negative ? lowest : highest;
    u64 whole = number.magnitude;
    written.lost = 0;
    if (number.class_of == NOT_A_NUMBER) {
        written.lost = 1;
        written.bits = 0;
        return written;
    }
    if (number.class_of == INFINITE) {
        written.lost = 1;
        whole = ~(u64)0;
    } else if (number.exponent > 0 && whole != 0) {
        written.lost = (u32)number.exponent > LEADING_ZEROS(whole);
        whole = written.lost ? ~(u64)0 : whole << number.exponent;
    } else if (number.exponent < 0) {
        const u32 dropped = (u32)-number.exponent;
        const u64 kept = dropped < 64 ? whole >> dropped : 0;
        written.lost = dropped < 64 ? kept << dropped != whole : whole != 0;
        whole = kept;
    }
    if (whole > most) {
        written.lost = 1;
        whole = most;
    }
    written.bits = number.negative ? ((u64)0 - whole) & all : whole;
    return written;
}

FUNCTION Written write_bool(Number number)
{
    Written written;
    written.bits = number.class_of != FINITE || number.magnitude != 0;
    /* The number 1, with any split between magnitude and exponent. */
    const u32 dropped = (u32)-number.exponent;
    const u32 is_one = number.class_of == FINITE && !number.negative && number.exponent <= 0 && dropped < 64 &&
                       number.magnitude == (u64)1 << dropped;
    written.lost = written.bits != 0 && !is_one;
    return written;
}

/* The conversions of the floats that most arrays have, in 32 bits. */

FUNCTION Written narrowed(u32 bits, u32 type)
{
    Written written;
    const u32 sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
    const u32 is_brain = KIND_OF(type) == TYPE_BRAIN;
    const u32 infinity = is_brain ? 0x7f80u : 0x7c00u;
    u32 kept;
    if (rest > 0x7f800000u) {
        written.bits = is_brain ? 0x7fc0u : 0x7e00u;
        written.lost = 0;
        return written;
    }
    if (is_brain) {
        kept = (rest + 0x7fffu + (rest >> 16 & 1)) >> 16;
    } else if (rest >= 0x47800000u) {
        kept = infinity;
    } else if (rest >= 0x38800000u) {
        const u32 power = rest - 0x38000000u;
        kept = (power + 0xfffu + (power >> 13 & 1)) >> 13;
    } else {
        /* Multiples of the smallest float. All bits are dropped by 25 or more. */
        const u32 dropped = 126 - (rest >> 23) < 25 ? 126 - (rest >> 23) : 25;
        const u32 magnitude = (rest & 0x7fffffu) | 0x800000u, middle = 1u << (dropped - 1);
        kept = (magnitude + middle - 1 + (magnitude >> dropped & 1)) >> dropped;
    }
    written.bits = sign | kept;
    written.lost = kept == infinity && rest != 0x7f800000u;
    return written;
}

FUNCTION u32 widened(u32 bits, u32 type)
{
    const u32 sign = (bits & 0x8000u) << 16, rest = bits & 0x7fffu;
    u32 kept;
    if (KIND_OF(type) == TYPE_BRAIN) {
        kept = rest > 0x7f80u ? 0x7fc00000u : rest << 16;
    } else if (rest >= 0x7c00u) {
        kept = rest > 0x7c00u ? 0x7fc00000u : 0x7f800000u;
    } else if (rest >= 0x0400u) {
        kept = (rest << 13) + 0x38000000u;
    } else {
        /* A fraction: its highest bit becomes the one that is not stored. */
        const u32 zeros = LEADING_ZEROS((u64)rest) - 40;
        kept = rest ? (rest << zeros) + ((125 - zeros) << 23) : 0;
    }
    return sign | kept;
}

FUNCTION u32 is_half(u32 type)
{
    return WIDTH_OF(type) == 2 && KIND_OF(type) >= TYPE_FLOAT;
}

FUNCTION Written converted(u64 bits, u32 from_type, u32 to_type)
{
    Written written;
    const u32 single = TYPE_FLOAT | 4 << 8, kind = KIND_OF(to_type);
    if (from_type == single && is_half(to_type))
        return narrowed((u32)bits, to_type);
    if (to_type == single && is_half(from_type)) {
        written.bits = widened((u32)bits, from_type);
        written.lost = 0;
        return written;
    }
    const Number number = read_number(bits, from_type);
    if (kind == TYPE_BOOL)
        return write_bool(number);
    if (kind == TYPE_SIGNED || kind == TYPE_UNSIGNED)
        return write_integer(number, to_type);
    return write_float(number, to_type, WIDTH_OF(from_type) >= 4);
}

KERNEL void cast(GLOBAL u8 *to, const GLOBAL u8 *from, GLOBAL u32 *refused, const Job job)
{
    u64 held[AT_ONCE];
    i64 places[AT_ONCE];
    const u32 first = FIRST;
    UNROLL
    for (u32 k = 0; k < AT_ONCE; k += 1) {
        const u32 index = first + k * ITEMS;
        const Offsets at = offsets_of(&job, index < job.count ? index : 0);
        held[k] = load_bits(from + at.from, WIDTH_OF(job.from_type), job.aligned & 1, job.swap & 1);
        places[k] = at.to;
    }
    UNROLL
    for (u32 k = 0; k < AT_ONCE; k += 1) {
        const u32 index = first + k * ITEMS;
        if (index < job.count) {
            const Written written = converted(held[k], job.from_type, job.to_type);
            if (job.checked && written.lost)
                LEAST_OF(refused, index);
            else
                store_bits(to + places[k], written.bits, WIDTH_OF(job.to_type), job.aligned & 2, job.swap & 2);
        }
    }
}
