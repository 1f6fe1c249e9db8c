//! Programs in C and C++, built and run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crossdock::Array;
use crossdock::element::DType;
use crossdock::exchange::protocol::hold::{self, Label, Limits, SetBuilder, SetHolder};
use crossdock::table::{Batches, Column, RecordBatch};
use crossdock_mock_cuda::Mock;
use crossdock_testkit::{missing, python};

use crate::header::ruby;
use crate::toolchain::{
    C11, C99, CXX17, CXX20, CXX23, Language, PACKAGE, linked_library, program, root, scratch, scratch_folder,
    static_program, succeeded,
};

/// Builds and runs a program, which must succeed. Its argument is a folder that it may use.
#[track_caller]
pub(crate) fn run(language: Language, source: &Path) {
    if let Some(mut command) = program(language, source, &[]) {
        // A driver of CUDA without a GPU.
        succeeded(command.arg(scratch_folder()).env("CROSSDOCK_CUDA_DRIVER", Mock::path()));
    }
}

/// The sources in a folder with this extension, sorted; at least one.
pub(crate) fn sources(folder: PathBuf, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut sources: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    sources.retain(|path| path.extension().is_some_and(|found| found == ending));
    sources.sort();
    assert!(!sources.is_empty(), "there is nothing in {}", folder.display());
    sources
}

#[test]
fn programs_in_c_find_what_they_check() {
    for source in sources(Path::new(PACKAGE).join("tests/c"), "c") {
        run(C11, &source);
    }
}

#[test]
fn programs_in_c_and_cxx_read_a_set_that_another_process_holds() {
    let folder = Path::new(PACKAGE).join("tests/c/sets");
    let programs = [(C11, "sets.c"), (CXX17, "sets.cc")];
    let programs = programs.map(|(language, name)| program(language, &folder.join(name), &[]));
    let name: Label = format!("capi-{}", std::process::id()).parse().expect("a name");
    let mut holder = SetHolder::new(Limits::new()).expect("a folder for sockets");
    holder.claim(&name).expect("a name of its own");
    let mut builder = SetBuilder::new();
    builder.array("w", DType::I32, &[5]).and_then(|set| set.alias("tied", "w")).expect("two names");
    let mut draft = builder.allocate(&holder.next(&name).expect("it is held")).expect("few bytes");
    draft.get("w").and_then(|array| array.fill(&7.into())).expect("numbers");
    let numbers = Array::from_vec((0..5i64).collect(), [5]).and_then(Column::from_array).expect("numbers");
    let batch = RecordBatch::from_columns([("n", numbers)]).expect("one column");
    draft.write_table("t", &mut Batches::from_iter([batch])).expect("few bytes");
    holder.commit(draft.seal().expect("no array is left")).expect("few bytes");
    let holding = std::thread::spawn(move || holder.run(None));
    for mut command in programs.into_iter().flatten() {
        succeeded(command.arg(name.to_string()));
    }
    hold::drop_set(&name).expect("it is held");
    holding.join().expect("no panic").expect("no error");
}

#[test]
fn examples_in_c_run() {
    for source in sources(root().join("examples/c"), "c") {
        run(C11, &source);
    }
}

#[test]
fn the_chapter_on_producers_shows_its_program_and_what_it_prints() {
    let source = root().join("examples/c/scan.c");
    let chapter = fs::read_to_string(root().join("docs/guide/08-producer.md")).expect("the chapter");
    let text = fs::read_to_string(&source).expect("the program");
    assert!(chapter.contains(&format!("```c\n{text}```\n")), "the chapter shows another program");
    if let Some(mut command) = program(C11, &source, &[]) {
        let shown = format!("```c\n{text}```\n\n```text\n{}```\n", succeeded(&mut command));
        assert!(chapter.contains(&shown), "the chapter does not show\n{shown}");
    }
}

#[test]
fn the_producer_in_one_header_is_c99() {
    run(C99, &root().join("examples/c/producer.c"));
}

/// Under another instrument, `examples_in_cxx_run` runs them.
#[test]
fn examples_in_cxx_are_clean_under_the_address_sanitizer() {
    let flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"].map(str::to_owned);
    let examples = sources(root().join("examples/cpp"), "cpp");
    for source in examples.iter().filter(|_| is_plain()) {
        // Another dialect than that of the other test, which gives the program another file.
        if let Some(mut command) = program(CXX20, source, &flags) {
            succeeded(&mut command);
        }
    }
}

/// Whether programs run without an instrument. An interpreter loads no library that has one.
fn is_plain() -> bool {
    std::env::var_os("CROSSDOCK_INSTRUMENT").is_none_or(|instrument| instrument.is_empty())
}

/// An extension of an interpreter, which needs the header alone: the folder of `name.so`. None
/// under an instrument.
fn extension(source: &str, name: &str, includes: &[String]) -> Option<PathBuf> {
    if !is_plain() {
        return None;
    }
    let folder = scratch("producer");
    fs::create_dir_all(&folder).expect("a folder of our own");
    let mut compile = C11.compiler()?;
    compile.args(["-shared", "-fPIC"]).arg("-o").arg(folder.join(format!("{name}.so")));
    compile.arg(format!("-I{PACKAGE}/include")).args(includes);
    // The headers of Ruby have unused parameters.
    succeeded(compile.arg("-Wno-unused-parameter").arg(root().join("examples/producer").join(source)));
    Some(folder)
}

#[test]
fn the_producer_in_one_header_lends_the_pixels_of_an_extension_to_numpy() {
    let script = "import os, sysconfig; path = sysconfig.get_path('include'); print(path * os.path.isfile(path + '/Python.h'))";
    let Some(include) = told_by_python(script) else { return };
    if include.trim().is_empty() {
        return missing("Python.h");
    }
    let include = format!("-isystem{}", include.trim());
    let Some(folder) = extension("image_python.c", "image", &[include]) else { return };
    if let Some(python) = python() {
        let script = root().join("examples/producer/image_python.py");
        let told = succeeded(Command::new(python).arg(script).env("PYTHONPATH", folder));
        assert!(told.starts_with("NumPy     (480, 640, 3) True\n"), "{told}");
        assert!(told.ends_with("the pixels outlive the image: [1, 2, 3]\n"), "{told}");
    }
}

#[test]
fn the_producer_in_one_header_lends_the_pixels_of_an_extension_to_ruby() {
    let Some(ruby) = ruby() else { return };
    let Some(folder) = extension("image_ruby.c", "image_ruby", &ruby) else { return };
    let script = root().join("examples/producer/image_ruby.rb");
    let told = succeeded(Command::new("ruby").arg("-I").arg(folder).arg(script));
    assert!(told.starts_with("Fiddle    [480, 640, 3] [1920, 3, 1] C 0\n"), "{told}");
}

#[test]
fn a_program_contains_the_static_library() {
    if !is_plain() {
        return;
    }
    let Some(binary) = static_program(&root().join("examples/c/photo.c")) else { return };
    let needed = succeeded(Command::new("objdump").arg("-p").arg(&binary));
    assert!(!needed.contains("libcrossdock"), "{needed}");
    succeeded(&mut Command::new(binary));
}

/// Few machines have the packagers: their files are read as JSON, Python and CMake, the
/// last with functions that do nothing in place of the packager's.
#[test]
fn recipes_of_packagers_are_well_formed_and_have_the_library_s_version() {
    let folder = Path::new(PACKAGE).join("packaging");
    let version = env!("CARGO_PKG_VERSION");
    let port = fs::read_to_string(folder.join("vcpkg/vcpkg.json")).expect("the port");
    let recipe = fs::read_to_string(folder.join("conan/conanfile.py")).expect("the recipe");
    let project = fs::read_to_string(Path::new(PACKAGE).join("CMakeLists.txt")).expect("the project");
    assert!(port.contains(&format!("\"version\": \"{version}\"")), "{port}");
    assert!(recipe.contains(&format!("version = \"{version}\"")), "{recipe}");
    assert!(project.contains(&format!("project(crossdock VERSION {version} ")), "{project}");
    let script = format!(
        "import ast, json, pathlib
folder = pathlib.Path({folder:?})
json.loads((folder / 'vcpkg/vcpkg.json').read_text())
ast.parse((folder / 'conan/conanfile.py').read_text())"
    );
    told_by_python(&script);
    let stubs = scratch("port.cmake");
    let functions = [
        "vcpkg_execute_required_process",
        "vcpkg_cmake_config_fixup",
        "vcpkg_fixup_pkgconfig",
        "vcpkg_install_copyright",
    ];
    let mut text: String = functions.map(|name| format!("function({name})\nendfunction()\n")).concat();
    text += &format!(
        "set(CURRENT_PORT_DIR \"{0}/vcpkg\")\ninclude(\"{0}/vcpkg/portfile.cmake\")\n",
        folder.display()
    );
    fs::write(&stubs, text).expect("a script of our own");
    match Command::new("cmake").arg("-P").arg(&stubs).output() {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(_) => missing("cmake"),
    }
}

#[test]
fn programs_in_cxx_find_what_they_check() {
    for source in sources(Path::new(PACKAGE).join("tests/c"), "cc") {
        run(CXX20, &source);
    }
}

#[test]
fn examples_in_cxx_run() {
    for source in sources(root().join("examples/cpp"), "cpp") {
        run(CXX17, &source);
    }
}

/// The output of a line of Python; none where Python or the packages of the tests are missing.
fn told_by_python(script: &str) -> Option<String> {
    Some(succeeded(Command::new(python()?).args(["-c", script])))
}

/// The flags for Arrow's C++ library in the wheel of pyarrow, which has no link without the version
/// in its name.
fn arrow() -> Option<Vec<String>> {
    let script = "import glob, os, pyarrow
print(pyarrow.get_include())
print(*(path for folder in pyarrow.get_library_dirs() for path in glob.glob(os.path.join(folder, 'libarrow.so*'))), sep='\\n')";
    let told = told_by_python(script)?;
    let [include, library, ..] = told.lines().collect::<Vec<_>>()[..] else {
        panic!("pyarrow says {told:?}")
    };
    let library = Path::new(library);
    let folder = library.parent().expect("a library lies in a folder");
    Some(vec![
        format!("-isystem{include}"),
        library.display().to_string(),
        format!("-Wl,-rpath,{}", folder.display()),
    ])
}

#[test]
fn examples_with_arrow_run() {
    let Some(arrow) = arrow() else { return };
    for source in sources(root().join("examples/cpp/arrow"), "cpp") {
        if let Some(mut command) = program(CXX20, &source, &arrow) {
            succeeded(&mut command);
        }
    }
}

#[test]
fn a_program_in_c_reads_the_arrow_files_of_pyarrow() {
    let folder = scratch("arrow-files");
    fs::create_dir_all(&folder).expect("a folder of our own");
    let script = format!(
        "import os, pyarrow as pa, pyarrow.ipc as ipc
table = pa.table({{'name': ['bolt', None, 'washer'], 'count': pa.array([7, 8, 9], pa.int32())}})
for name, compression in ('plain', None), ('packed', 'lz4'):
    with ipc.new_file(os.path.join({folder:?}, name + '.arrow'), table.schema, options=ipc.IpcWriteOptions(compression=compression)) as file:
        file.write_table(table)
        file.write_table(table.slice(1))"
    );
    if told_by_python(&script).is_none() {
        return;
    }
    let source = Path::new(PACKAGE).join("tests/c/arrow_files/arrow_files.c");
    if let Some(mut command) = program(C11, &source, &[]) {
        succeeded(command.arg(&folder));
        let script = format!(
            "import pathlib, pyarrow.ipc
folder = pathlib.Path({folder:?})
with pyarrow.ipc.open_file(folder / 'plain.arrow') as file, pyarrow.ipc.open_stream(folder / 'sent.arrows') as stream:
    assert stream.read_all().equals(file.read_all(), check_metadata=True)"
        );
        told_by_python(&script);
    }
}

#[test]
fn views_are_mdspans_of_the_compiler_or_of_another_library() {
    let source = Path::new(PACKAGE).join("tests/c/mdspan/mdspan.cc");
    if let Some(mut command) = program(CXX23, &source, &[]) {
        let whose = succeeded(&mut command);
        println!("the compiler's mdspan: {whose}");
    }
    let script = "import nvidia.cuda_cccl as cuda; print(*cuda.__path__)";
    let Some(folder) = told_by_python(script) else { return };
    let include = format!("-isystem{}/include", folder.trim());
    let flags = [
        &*include,
        "-include",
        "cuda/std/mdspan",
        "-D",
        "XD_MDSPAN_NAMESPACE=cuda::std",
        "-Wshadow",
        "-Wconversion",
    ];
    let flags = flags.map(str::to_owned);
    for language in [CXX17, CXX20, CXX23] {
        if let Some(mut command) = program(language, &source, &flags) {
            assert_eq!(succeeded(&mut command), "cuda::std\n");
        }
    }
}

#[test]
fn the_example_of_the_readme_runs() {
    let example = root().join("examples/frames/frames.c");
    let page = fs::read_to_string(root().join("README.md")).expect("the README");
    let text = fs::read_to_string(&example).expect("the example");
    assert_eq!(fenced(&page, "c"), [&*text], "the README shows another example");
    let source = scratch("readme.c");
    let main = "#include <dlpack/dlpack.h>

int main(void)
{
  struct DLManagedTensorVersioned *tensor = next_frame();
  unsigned char *lent = tensor->dl_tensor.data;
  int is_same = tensor->dl_tensor.shape[1] == 4 && lent[23] == 0;
  tensor->deleter(tensor);
  return !is_same;
}
";
    fs::write(&source, format!("{text}{main}")).expect("a source of our own");
    let script =
        "import pathlib, tvm_ffi; print(next(pathlib.Path(tvm_ffi.__file__).parent.rglob('dlpack.h')))";
    let Some(header) = told_by_python(script) else { return };
    let include = Path::new(header.trim()).ancestors().nth(2).expect("the header lies in a folder");
    if let Some(mut command) = program(C11, &source, &[format!("-isystem{}", include.display())]) {
        succeeded(&mut command);
    }
}

#[test]
fn numpy_takes_the_frames_of_the_readme() {
    let page = fs::read_to_string(root().join("docs/c.md")).expect("the page");
    let (frames, script) =
        (root().join("examples/frames/frames.c"), root().join("examples/frames/frames.py"));
    let text = fs::read_to_string(&script).expect("the example");
    assert_eq!(fenced(&page, "python"), [&*text], "the page shows another example");
    // An interpreter without a sanitizer loads no library with one.
    if !is_plain() {
        return;
    }
    let (Some(python), Some(library)) = (python(), linked_library(C11, &frames, "frames.so")) else { return };
    let folder = library.parent().expect("a library lies in a folder");
    assert_eq!(
        succeeded(Command::new(python).arg(script).current_dir(folder).env_remove("LD_LIBRARY_PATH")),
        "(2, 4, 3) 0\n"
    );
}

/// The programs of a page: the contents of its fences in this language.
fn fenced(page: &str, language: &str) -> Vec<String> {
    let fences = page.split("\n```").skip(1).step_by(2);
    fences
        .filter_map(|fence| fence.strip_prefix(&format!("{language}\n")))
        .map(|text| format!("{text}\n"))
        .collect()
}

#[test]
fn programs_of_the_page_run() {
    let page = fs::read_to_string(root().join("docs/c.md")).expect("the page");
    let mut programs = 0;
    for (fence, language) in [("c", C11), ("cpp", CXX17)] {
        for (number, text) in fenced(&page, fence).into_iter().enumerate() {
            let source = scratch(&format!("page-{number}.{fence}"));
            fs::write(&source, text).expect("a source of our own");
            run(language, &source);
            programs += 1;
        }
    }
    // All fences, except commands of a shell and the program in Python, which another test runs.
    let others = fenced(&page, "sh").len() + fenced(&page, "python").len();
    assert_eq!(programs, page.matches("\n```").count() / 2 - others);
}
