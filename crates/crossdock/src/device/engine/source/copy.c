/*
 * Copies strided elements, and fills them with one value.
 *
 *   elements_W   an element of W bytes for each step of the loops
 *   words        elements of a byte, of which four are neighbours in the destination, a word at a time
 *   tiles_W      elements of W bytes, if the innermost axes of source and destination differ: a square at a time, through shared memory
 *   runs         bytes without gaps, from any address to any address, 16 at a time
 *   fill         one pattern to each element
 */

#define NOT_SWAPPED(value) (value)

#define ELEMENTS(NAME, TYPE, SWAPPED)                                                                              \
    KERNEL void NAME(GLOBAL u8 *to, const GLOBAL u8 *from, GLOBAL u32 *refused, const Job job)                    \
    {                                                                                                              \
        TYPE held[AT_ONCE];                                                                                        \
        i64 places[AT_ONCE];                                                                                       \
        const u32 first = FIRST;                                                                                   \
        UNROLL                                                                                                     \
        for (u32 k = 0; k < AT_ONCE; k += 1) {                                                                     \
            const u32 index = first + k * ITEMS;                                                                   \
            const Offsets at = offsets_of(&job, index < job.count ? index : 0);                                    \
            held[k] = *(const GLOBAL TYPE *)(from + at.from);                                                      \
            places[k] = at.to;                                                                                     \
        }                                                                                                          \
        UNROLL                                                                                                     \
        for (u32 k = 0; k < AT_ONCE; k += 1) {                                                                     \
            if (first + k * ITEMS < job.count)                                                                     \
                *(GLOBAL TYPE *)(to + places[k]) = job.swap ? SWAPPED(held[k]) : held[k];                          \
        }                                                                                                          \
    }

ELEMENTS(elements_1, u8, NOT_SWAPPED)
ELEMENTS(elements_2, u16, swapped_u16)
ELEMENTS(elements_4, u32, swapped_u32)
ELEMENTS(elements_8, u64, swapped_u64)
ELEMENTS(elements_16, u128, NOT_SWAPPED)

/* The innermost loop counts words. */
KERNEL void words(GLOBAL u8 *to, const GLOBAL u8 *from, GLOBAL u32 *refused, const Job job)
{
    u8 held[AT_ONCE][4];
    i64 places[AT_ONCE];
    const i64 apart = (i64)job.width;
    const u32 first = FIRST;
    UNROLL
    for (u32 k = 0; k < AT_ONCE; k += 1) {
        const u32 index = first + k * ITEMS;
        const Offsets at = offsets_of(&job, index < job.count ? index : 0);
        UNROLL
        for (u32 byte = 0; byte < 4; byte += 1)
            held[k][byte] = from[at.from + byte * apart];
        places[k] = at.to;
    }
    UNROLL
    for (u32 k = 0; k < AT_ONCE; k += 1) {
        if (first + k * ITEMS < job.count)
            *(GLOBAL u32 *)(to + places[k]) =
                (u32)held[k][0] | (u32)held[k][1] << 8 | (u32)held[k][2] << 16 | (u32)held[k][3] << 24;
    }
}

/*
 * Axis 0 has the smallest stride of the destination, axis 1 that of the source; both are counted in tiles.
 * Rows of a tile are longer by a PAD, so that items which read a column use different banks. Items beyond an edge load the element at the
 * edge, and store nothing.
 */
#define TILES(NAME, TYPE, SIDE, PAD, SWAPPED)                                                                      \
    KERNEL void NAME(GLOBAL u8 *to, const GLOBAL u8 *from, GLOBAL u32 *refused, const Job job)                    \
    {                                                                                                              \
        SHARED TYPE tile[SIDE][SIDE + PAD];                                                                        \
        TYPE held[SIDE * SIDE / ITEMS];                                                                            \
        const u32 along = ITEM_ID % SIDE, above = ITEM_ID / SIDE;                                                  \
        u32 index = GROUP_ID;                                                                                      \
        u32 rest = divided(index, job.axes[0].magic, job.axes[0].shift);                                           \
        const u32 low = (index - rest * job.axes[0].steps) * SIDE;                                                 \
        index = rest;                                                                                              \
        rest = divided(index, job.axes[1].magic, job.axes[1].shift);                                               \
        const u32 left = (index - rest * job.axes[1].steps) * SIDE;                                                \
        i64 source = (i64)job.from, target = (i64)job.to;                                                          \
        ROLLED                                                                                                     \
        for (u32 axis = 2; axis < job.rank; axis += 1) {                                                           \
            index = rest;                                                                                          \
            rest = divided(index, job.axes[axis].magic, job.axes[axis].shift);                                     \
            const i64 step = index - rest * job.axes[axis].steps;                                                  \
            source += step * job.axes[axis].from;                                                                  \
            target += step * job.axes[axis].to;                                                                    \
        }                                                                                                          \
        const u32 lowest = job.axes[0].len - 1, leftmost = job.axes[1].len - 1;                                    \
        const i64 column = left + along < leftmost ? left + along : leftmost;                                      \
        source += column * job.axes[1].from;                                                                       \
        UNROLL                                                                                                     \
        for (u32 k = 0; k < SIDE * SIDE / ITEMS; k += 1) {                                                         \
            const u32 below = low + above + k * (ITEMS / SIDE);                                                    \
            const i64 row = below < lowest ? below : lowest;                                                       \
            held[k] = *(const GLOBAL TYPE *)(from + source + row * job.axes[0].from);                              \
        }                                                                                                          \
        UNROLL                                                                                                     \
        for (u32 k = 0; k < SIDE * SIDE / ITEMS; k += 1)                                                           \
            tile[above + k * (ITEMS / SIDE)][along] = job.swap ? SWAPPED(held[k]) : held[k];                       \
        BARRIER();                                                                                                 \
        target += (i64)(low + along) * job.axes[0].to;                                                             \
        UNROLL                                                                                                     \
        for (u32 k = 0; k < SIDE * SIDE / ITEMS; k += 1) {                                                         \
            const u32 beside = above + k * (ITEMS / SIDE);                                                         \
            if (low + along <= lowest && left + beside <= leftmost)                                                \
                *(GLOBAL TYPE *)(to + target + (i64)(left + beside) * job.axes[1].to) = tile[along][beside];       \
        }                                                                                                          \
    }

TILES(tiles_1, u8, 64, 4, NOT_SWAPPED)
TILES(tiles_2, u16, 64, 2, swapped_u16)
TILES(tiles_4, u32, 64, 1, swapped_u32)
TILES(tiles_8, u64, 32, 1, swapped_u64)
TILES(tiles_16, u128, 32, 1, NOT_SWAPPED)

/* The 16 bytes at offset `shift`, 1 to 15, of the 32 bytes of two neighbours. */
FUNCTION u128 straddled(u128 low, u128 high, u32 shift)
{
    const u32 bits = 8 * (shift & 7);
    const u64 first = shift < 8 ? low.x : low.y;
    const u64 second = shift < 8 ? low.y : high.x;
    const u64 third = shift < 8 ? high.x : high.y;
    u128 across;
    across.x = bits ? first >> bits | second << (64 - bits) : first;
    across.y = bits ? second >> bits | third << (64 - bits) : second;
    return across;
}

/* What an item does with a piece of a run: anything less is the distance between the addresses, modulo 16. */
#define BYTE_BY_BYTE 16
#define NOTHING 17

/*
 * A run is `width` bytes, copied in pieces that end at a multiple of 16 in the destination. Axis 0 counts the pieces, of which
 * the first and the last may be short, or empty; its strides are 0.
 */
KERNEL void runs(GLOBAL u8 *to, const GLOBAL u8 *from, GLOBAL u32 *refused, const Job job)
{
    u128 low[AT_ONCE], high[AT_ONCE];
    i64 sources[AT_ONCE], places[AT_ONCE], begins[AT_ONCE];
    u32 shifts[AT_ONCE];
    const i64 width = (i64)job.width;
    UNROLL
    for (u32 k = 0; k < AT_ONCE; k += 1) {
        const u32 index = FIRST + k * ITEMS;
        shifts[k] = NOTHING;
        if (index < job.count) {
            const Offsets at = offsets_of(&job, index);
            const u32 piece = index - divided(index, job.axes[0].magic, job.axes[0].shift) * job.axes[0].steps;
            const i64 begin = (i64)piece * 16 - (i64)(ADDRESS(to + at.to) & 15);
            const u32 shift = (u32)(ADDRESS(from + at.from + begin) & 15);
            /* If the addresses differ, both neighbours must be within the run: nothing else is loaded. */
            const i64 least = shift, most = shift ? begin - shift + 32 : begin + 16;
            shifts[k] = begin >= least && most <= width ? shift : BYTE_BY_BYTE;
            if (shifts[k] != BYTE_BY_BYTE) {
                const GLOBAL u128 *place = (const GLOBAL u128 *)(from + at.from + begin - shift);
                low[k] = place[0];
                if (shift)
                    high[k] = place[1];
            }
            sources[k] = at.from;
            places[k] = at.to;
            begins[k] = begin;
        }
    }
    UNROLL
    for (u32 k = 0; k < AT_ONCE; k += 1) {
        if (shifts[k] < BYTE_BY_BYTE) {
            *(GLOBAL u128 *)(to + places[k] + begins[k]) = shifts[k] ? straddled(low[k], high[k], shifts[k]) : low[k];
        } else if (shifts[k] == BYTE_BY_BYTE) {
            const i64 end = begins[k] + 16 < width ? begins[k] + 16 : width;
            for (i64 at = begins[k] > 0 ? begins[k] : 0; at < end; at += 1)
                to[places[k] + at] = from[sources[k] + at];
        }
    }
}

KERNEL void fill(GLOBAL u8 *to, const GLOBAL u8 *from, GLOBAL u32 *refused, const Job job)
{
    u128 both;
    both.x = job.pattern[0];
    both.y = job.pattern[1];
    for (u32 k = 0; k < AT_ONCE; k += 1) {
        const u32 index = FIRST + k * ITEMS;
        if (index >= job.count)
            break;
        GLOBAL u8 *const at = to + offsets_of(&job, index).to;
        switch ((u32)job.width) {
        case 1: *at = (u8)both.x; break;
        case 2: *(GLOBAL u16 *)at = (u16)both.x; break;
        case 4: *(GLOBAL u32 *)at = (u32)both.x; break;
        case 8: *(GLOBAL u64 *)at = both.x; break;
        default: *(GLOBAL u128 *)at = both; break;
        }
    }
}
