// Draws docs/guide/leases.svg: takes each lease beside each other one, and on each kind of memory,
// and draws what was granted.

use std::any::Any;

use crossdock::layout::Order;
use crossdock::{Array, DArray, Result};

type Bytes = Array<u8, 1>;

/// Takes one lease of an array, which is held until the result is dropped.
type Take = fn(&Bytes) -> Result<Box<dyn Any>>;

const LEASES: [(&str, &str, Take); 4] = [
    ("read", "constant", |array| Ok(Box::new(array.read()?))),
    ("write", "exclusive", |array| Ok(Box::new(array.write()?))),
    ("share", "reads and writes", |array| Ok(Box::new(array.share()?))),
    ("pin", "reads", |array| Ok(Box::new(array.pin()?))),
];

/// A row of the picture: for each lease, whether it was granted.
type Row = (String, [bool; LEASES.len()]);

fn row(name: &str, array: &Bytes) -> Row {
    (name.to_owned(), LEASES.map(|(_, _, take)| take(array).is_ok()))
}

/// The leases that are granted while another one is held.
fn beside_leases() -> Result<Vec<Row>> {
    let array = Bytes::zeros([1000])?;
    let mut rows = vec![row("no lease", &array)];
    for (name, _, take) in LEASES {
        let held = take(&array)?;
        rows.push(row(name, &array));
        drop(held);
    }
    Ok(rows)
}

/// The leases that are granted on memory that is not only the library's to write.
fn on_other_memory() -> Result<Vec<Row>> {
    let readonly = Bytes::zeros([1000])?.into_readonly();
    let photo = crossdock::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/rocket.npy"))?;
    let shared = || DArray::from(Bytes::zeros([1000])?).to_shared(Order::RowMajor);
    let sealed = shared()?.into_sealed()?;
    Ok(vec![
        row("read-only array", &readonly),
        row("read-only map", &photo.flatten()?.try_into()?),
        row("shared memory", &shared()?.try_into()?),
        row("sealed memory", &sealed.try_into()?),
    ])
}

/// The rows below their heading, from this height on.
fn table(top: usize, heading: &str, rows: &[Row]) -> String {
    let mut text =
        format!("<text x=\"24\" y=\"{}\" font-weight=\"bold\" fill=\"#1f2328\">{heading}</text>\n", top + 18);
    for (place, (name, granted)) in rows.iter().enumerate() {
        let y = top + 30 + 36 * place;
        text += &format!("<text x=\"40\" y=\"{}\" fill=\"#1f2328\">{name}</text>\n", y + 20);
        for (column, granted) in granted.iter().enumerate() {
            let x = 200 + 126 * column;
            let (word, fill, stroke, ink) = match granted {
                true => ("✓ granted", "#dafbe1", "#1a7f37", "#116329"),
                false => ("✗ refused", "#ffebe9", "#cf222e", "#a40e26"),
            };
            text += &format!(
                "<rect x=\"{x}\" y=\"{y}\" width=\"118\" height=\"30\" rx=\"5\" fill=\"{fill}\" stroke=\"{stroke}\"/>\n\
                 <text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"{ink}\">{word}</text>\n",
                x + 59,
                y + 20
            );
        }
    }
    text
}

fn picture() -> Result<String> {
    let (beside, on) = (beside_leases()?, on_other_memory()?);
    let second = 56 + 30 + 36 * beside.len() + 14;
    let height = second + 30 + 36 * on.len() + 12;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 {height}\" width=\"720\" height=\"{height}\" \
         font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"14\">\n\
         <title>The leases that are granted beside each lease, and on each kind of memory</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#f6f8fa\"/>\n\
         <text x=\"24\" y=\"27\" fill=\"#57606a\">lease wanted:</text>\n"
    );
    for (column, (name, access, _)) in LEASES.iter().enumerate() {
        let x = 200 + 126 * column + 59;
        text += &format!(
            "<text x=\"{x}\" y=\"27\" text-anchor=\"middle\" font-weight=\"bold\" fill=\"#1f2328\">{name}</text>\n\
             <text x=\"{x}\" y=\"46\" text-anchor=\"middle\" font-size=\"12\" fill=\"#57606a\">{access}</text>\n"
        );
    }
    text += &table(56, "held already:", &beside);
    text += &table(second, "on other memory:", &on);
    Ok(text + "</svg>\n")
}

fn main() -> Result<()> {
    print!("{}", picture()?);
    Ok(())
}
