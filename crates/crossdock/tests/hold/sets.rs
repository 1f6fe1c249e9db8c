//! Sets as such: many arrays, shared weights, and manifests that lie.

use crossdock::element::DType;
use crossdock::exchange::protocol::hold::SetBuilder;
use crossdock::memory::Birth;

#[test]
fn a_set_of_300_and_of_20_000_arrays_opens_each_by_its_name() {
    for count in [300, 20_000] {
        let mut builder = SetBuilder::new();
        for index in 0..count {
            let shape = [index % 7, 1 + index % 3];
            builder.array(&format!("layers.{index}.weight"), DType::F32, &shape).unwrap();
        }
        builder.alias("lm_head.weight", "layers.2.weight").unwrap();
        let draft = builder.allocate(&"large@1".parse().unwrap()).unwrap();
        for index in (0..count).filter(|index| index % 7 > 0) {
            let array = draft.get(&format!("layers.{index}.weight")).unwrap();
            array.set(&[0, 0], &(index as f32).into()).unwrap();
        }
        let set = draft.seal().unwrap().open().unwrap();
        assert_eq!(set.len(), count + 1);
        let mut addresses = Vec::new();
        for index in 0..count {
            let array = set.get(&format!("layers.{index}.weight")).unwrap();
            assert_eq!(array.shape(), [index % 7, 1 + index % 3]);
            assert_eq!(array.birth(), Birth::Constant);
            if index % 7 > 0 {
                assert_eq!(array.get(&[0, 0]).unwrap().as_f64(), Some(index as f64));
                assert_eq!(array.as_ptr().addr() % 64, 0);
            }
            addresses.push(array.as_ptr().addr());
        }
        let tied = set.get("lm_head.weight").unwrap();
        assert_eq!(tied.as_ptr().addr(), addresses[2]);
        let missing = set.get("layers.weight").unwrap_err();
        assert!(missing.is_bounds() && missing.to_string().contains("layers.0.weight"), "{missing}");
    }
}

#[test]
fn dtypes_and_metadata_come_back() {
    let record = "[('x', '<f4'), ('n', '>i2')]";
    let dtypes = ["bfloat16", "float8_e4m3fn", ">float64", "bool", "S5", "datetime64[ms]", record];
    let mut builder = SetBuilder::new();
    for dtype in dtypes {
        builder.array(dtype, dtype.parse().unwrap(), &[2]).unwrap();
    }
    builder.metadata("format", "pt").metadata("größe", "大");
    let draft = builder.allocate(&"types@7".parse().unwrap()).unwrap();
    let set = draft.seal().unwrap().open().unwrap();
    for dtype in dtypes {
        assert_eq!(*set.get(dtype).unwrap().dtype(), dtype.parse::<DType>().unwrap());
    }
    assert_eq!(set.metadata().unwrap(), [("format", "pt"), ("größe", "大")]);
    assert_eq!(set.label().version(), Some(7));
}

#[test]
fn an_empty_set_has_no_arrays() {
    let set = SetBuilder::new().allocate(&"none@1".parse().unwrap()).unwrap().seal().unwrap().open().unwrap();
    assert!(set.is_empty() && set.names().len() == 0);
    assert!(set.get("w").unwrap_err().is_bounds());
}
