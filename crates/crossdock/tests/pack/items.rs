//! Reading and writing the numbers of an item.

use crate::oracle;
use crossdock::bindings::dialect::pack::{self, Component, Member};
use crossdock::buffer::Buffer;
use crossdock::element::{DType, Value};
use crossdock_testkit::{Coverage, seed};
use fastrand::Rng;

fn read(bytes: &[u8], components: &[Component]) -> crossdock::Result<Vec<Member>> {
    let mut members = Vec::new();
    pack::read_members(bytes, components, |member| members.push(member))?;
    Ok(members)
}

/// One number, with its bytes put in order by hand.
fn number(component: &Component, bytes: &[u8]) -> Member {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    if !component.little_endian {
        word[..bytes.len()].reverse();
    }
    let unsigned = u64::from_le_bytes(word);
    match component.format {
        b'f' | b'e' | b'g' => Member::Float(f32::from_bits(unsigned as u32).into()),
        b'd' | b'E' | b'G' => Member::Float(f64::from_bits(unsigned)),
        b'c' | b's' | b'i' | b'l' | b'q' | b'j' => {
            let negative = bytes.len() < 8 && unsigned >> (8 * bytes.len() - 1) & 1 == 1;
            Member::Int(unsigned as i64 - if negative { 1 << (8 * bytes.len()) } else { 0 })
        }
        _ => Member::UInt(unsigned),
    }
}

fn bits(member: &Member) -> (u8, u64) {
    match *member {
        Member::Int(value) => (0, value as u64),
        Member::UInt(value) => (1, value),
        Member::Float(value) => (2, value.to_bits()),
    }
}

#[test]
fn items_are_read_and_written_back_as_their_bytes_say() {
    let mut rng = Rng::with_seed(seed());
    let mut coverage = Coverage::default();
    for _ in 0..crate::cases() {
        let format = oracle::template(&mut rng, true);
        let template = pack::parse(&format).unwrap();
        // At any address, with bytes behind it.
        let (size, skipped) = (template.item_size(), rng.usize(0..8));
        let extreme = rng.bool();
        let byte = |rng: &mut Rng| if extreme { [0, 0x7f, 0xff][rng.usize(0..3)] } else { rng.u8(..) };
        let memory: Vec<u8> = (0..skipped + size + 3).map(|_| byte(&mut rng)).collect();
        let item = &memory[skipped..skipped + size];
        let mut expected = Vec::new();
        for component in template.components() {
            for index in 0..component.repeat {
                let offset = component.offset + index * component.size;
                expected.push(number(component, &item[offset..offset + component.size]));
            }
        }
        let members = read(item, template.components()).unwrap();
        assert!(members.iter().map(bits).eq(expected.iter().map(bits)), "{}", format.escape_ascii());

        let nan = |member: &Member| matches!(member, Member::Float(value) if value.is_nan());
        let mut written: Vec<u8> = memory.iter().map(|byte| !byte).collect();
        let target = &mut written[skipped..skipped + size];
        pack::write_members(target, template.components(), &members).unwrap();
        let again = read(target, template.components()).unwrap();
        assert!(again.iter().zip(&members).all(|(a, b)| bits(a) == bits(b) || nan(a) && nan(b)));
        // Bytes that belong to no number are unchanged.
        let mut covered = vec![false; memory.len()];
        for component in template.components() {
            let start = skipped + component.offset;
            covered[start..start + component.size * component.repeat].fill(true);
        }
        for (index, covered) in covered.iter().enumerate() {
            let same = written[index] == memory[index];
            assert!(if *covered {
                same || members.iter().any(nan)
            } else {
                written[index] == !memory[index]
            });
        }
        coverage.case();
        coverage.note_if(members.is_empty(), "no numbers");
        coverage.note_if(covered.iter().filter(|covered| !**covered).count() > skipped + 3, "padding");
        coverage.note_if(members.iter().any(nan), "not a number");
    }
    println!("{coverage}");
    if crate::cases() >= crate::CASES {
        coverage.assert_at_least(0.01, ["no numbers", "padding", "not a number"]);
    }
}

#[test]
fn numbers_that_do_not_fit_are_refused_before_anything_is_written() {
    use Member::{Float, Int, UInt};
    for (format, fits, misfit) in [
        ("c", Int(-128), Int(-129)),
        ("c", UInt(127), UInt(128)),
        ("C", Int(255), Int(-1)),
        ("s>", Int(-32768), Float(32768.0)),
        ("n", Float(65535.0), Float(0.5)),
        ("l", Float(-2147483648.0), UInt(u64::MAX)),
        ("L", UInt(u32::MAX.into()), Float(f64::NAN)),
        ("q", UInt(i64::MAX as u64), UInt(1 << 63)),
        ("Q", UInt(u64::MAX), Int(i64::MIN)),
        ("f", Float(f64::INFINITY), Float(1e39)),
        ("e", Float(-0.0), Float(-1e300)),
    ] {
        let single = pack::parse(format.as_bytes()).unwrap();
        let mut item = vec![0xa5; single.item_size()];
        pack::write_members(&mut item, single.components(), &[fits]).unwrap();
        let dtype = single.to_dtype().unwrap();
        assert_eq!(Value::read(&dtype, &item).unwrap().as_f64(), Value::from(fits).as_f64(), "{format}");

        let template = pack::parse(format!("C{format}C").as_bytes()).unwrap();
        let mut item = vec![0xa5; template.item_size()];
        let error =
            pack::write_members(&mut item, template.components(), &[UInt(1), misfit, UInt(2)]).unwrap_err();
        let text = error.to_string();
        assert!(error.is_value() && text.starts_with("member 1: "), "{text}");
        assert!(
            text.contains(&Value::from(misfit).to_string())
                && text.ends_with(dtype.to_string().trim_start_matches('>')),
            "{text}"
        );
        assert!(item.iter().all(|&byte| byte == 0xa5), "{format}: {item:02x?}");
    }
}

#[test]
fn the_number_of_numbers_is_checked() {
    let template = pack::parse(b"C2xC0C").unwrap();
    for len in [0, 1, 2, 4] {
        let mut item = [9; 4];
        let error =
            pack::write_members(&mut item, template.components(), &vec![Member::Int(1); len]).unwrap_err();
        assert!(error.is_value(), "{error}");
        assert_eq!(error.to_string(), format!("the item has 3 numbers, but {len} values were given"));
        assert_eq!(item, [9; 4]);
    }
    let huge = pack::parse(b"C9223372036854775807").unwrap();
    assert!(pack::write_members(&mut [0; 4], huge.components(), &[Member::Int(1)]).unwrap_err().is_bounds());
}

#[test]
fn components_beyond_the_bytes_are_refused() {
    for (format, nbytes) in [("d", 7), ("c4", 3), ("x4c", 4), ("c9223372036854775807", 100), ("x100d0", 99)] {
        let template = pack::parse(format.as_bytes()).unwrap();
        let error = read(&vec![0; nbytes], template.components()).unwrap_err();
        assert!(error.is_bounds() && error.to_string().contains(&nbytes.to_string()), "{format}: {error}");
    }
    let sound = Component { ..pack::parse(b"s").unwrap().components()[0] };
    for wild in [
        Component { offset: usize::MAX, ..sound },
        Component { offset: usize::MAX - 1, repeat: 0, ..sound },
        Component { repeat: usize::MAX, ..sound },
        Component { repeat: usize::MAX / 2 + 1, ..sound },
        Component { offset: 15, ..sound },
    ] {
        assert!(read(&[0; 16], &[wild]).unwrap_err().is_bounds(), "{wild:?}");
        assert!(pack::write_members(&mut [0; 16], &[wild], &[]).unwrap_err().is_bounds(), "{wild:?}");
        assert!(wild.to_dtype().is_err() || wild.repeat == 0 || wild.offset == 15, "{wild:?}");
    }
}

#[test]
fn components_that_no_template_makes_are_refused() {
    let sound = pack::parse(b"s").unwrap().components()[0];
    for wild in [
        Component { format: b'?', ..sound },
        Component { format: 0, ..sound },
        Component { format: 0xff, ..sound },
        Component { format: b'x', size: 1, ..sound },
        Component { format: b' ', ..sound },
        Component { size: 0, ..sound },
        Component { size: 3, ..sound },
        Component { size: usize::MAX, ..sound },
        Component { format: b'd', ..sound },
    ] {
        let error = read(&[0; 16], &[wild]).unwrap_err();
        assert!(error.is_malformed(), "{wild:?}: {error}");
        assert!(wild.to_dtype().unwrap_err().is_malformed());
    }
}

#[test]
fn a_small_c_is_signed_on_every_machine() {
    let template = pack::parse(b"cC").unwrap();
    assert_eq!(read(&[0x80, 0x80], template.components()).unwrap(), [Member::Int(-128), Member::UInt(128)]);
    assert_eq!(pack::parse(b"c").unwrap().to_dtype().unwrap(), DType::I8);
}

#[test]
fn a_signalling_nan_of_four_bytes_becomes_a_quiet_one_of_eight() {
    let template = pack::parse(b"f").unwrap();
    let [Member::Float(value)] = read(&0x7fa0_0001_u32.to_ne_bytes(), template.components()).unwrap()[..]
    else {
        panic!("one float")
    };
    assert_eq!(value.to_bits(), 0x7ffc_0000_2000_0000);
    // A single number of eight bytes is returned unchanged.
    let template = pack::parse(b"d").unwrap();
    let signalling = 0x7ff4_0000_0000_0001_u64;
    let members = read(&signalling.to_ne_bytes(), template.components()).unwrap();
    assert_eq!(bits(&members[0]), (2, signalling));
}

#[test]
fn numbers_that_race_are_mixtures_of_old_and_new_bytes() {
    let template = pack::parse(b"Q2").unwrap();
    let buffer = Buffer::from_vec(vec![0_u64; 2]).unwrap();
    let (writer, reader) = (buffer.share().unwrap(), buffer.share().unwrap());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..2000 {
                let value = Member::UInt(if round % 2 == 0 { u64::MAX } else { 0 });
                let (ptr, nbytes) = (writer.as_ptr().cast_mut(), writer.nbytes());
                // SAFETY: a Share lease covers the `nbytes` bytes, and all threads access them
                // racily only.
                unsafe { pack::store_members(ptr, nbytes, template.components(), &[value; 2]) }.unwrap();
            }
        });
        for _ in 0..2000 {
            let mut members = Vec::new();
            let (ptr, nbytes) = (reader.as_ptr(), reader.nbytes());
            // SAFETY: a Share lease covers the `nbytes` bytes, and all threads access them racily
            // only.
            unsafe { pack::load_members(ptr, nbytes, template.components(), |member| members.push(member)) }
                .unwrap();
            for member in members {
                let Member::UInt(value) = member else { panic!("{member:?}") };
                assert!(value.to_ne_bytes().iter().all(|&byte| byte == 0 || byte == 0xff), "{value:#x}");
            }
        }
    });
}
