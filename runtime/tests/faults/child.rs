//! Child processes: this test program, started again to play one part of a case.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use bytes::Bytes;
use drystone_runtime::store::{Applied, Sqlite, SqliteOptions, StoreErrorKind};

use super::engine::{Engine, read};

const PATH: &str = "DRYSTONE_FAULTS_PATH";
const PART: &str = "DRYSTONE_FAULTS_PART";

/// Starts this program in the role `part`, on the file at `path`.
pub(super) fn start(part: &str, path: &Path) -> Child {
    let program = std::env::current_exe().unwrap();
    command(Command::new(program), part, path)
}

/// Starts this program with a limit of `kibibytes` for every file; a write beyond it fails.
pub(super) fn start_limited(part: &str, path: &Path, kibibytes: u32) -> Child {
    let program = std::env::current_exe().unwrap();
    let mut shell = Command::new("bash");
    // Ignore the signal, which would end the process; a write beyond the limit then returns an error.
    let script = format!("trap '' XFSZ; ulimit -f {kibibytes}; exec \"$0\" \"$@\"");
    shell.arg("-c").arg(script).arg(program);
    command(shell, part, path)
}

/// Starts this program as a user whom file modes bind (root becomes nobody), in a folder that may not be
/// written. The program is copied beside the file, because that user must be able to read it.
#[cfg(target_os = "linux")]
pub(super) fn start_bound(part: &str, path: &Path) -> Child {
    use std::os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    };
    const NOBODY: u32 = 65_534;
    let program = path.with_file_name("program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    std::fs::set_permissions(path.parent().unwrap(), std::fs::Permissions::from_mode(0o555)).unwrap();
    let mut bound = Command::new(program);
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        bound.uid(NOBODY).gid(NOBODY);
    }
    bound.current_dir("/");
    command(bound, part, path)
}

fn command(mut command: Command, part: &str, path: &Path) -> Child {
    let command = command.args(["--exact", "faults::child::the_part_of_another_process", "--nocapture"]);
    command.env(PART, part).env(PATH, path).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

/// Waits until the child prints this word.
pub(super) fn wait_for(child: &mut Child, word: &str) {
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    let said = lines.map_while(Result::ok).any(|line| line.contains(word));
    assert!(said, "the child never said {word}");
}

/// Not a case by itself: a child process runs this. As a part of the suite it has no role, and passes.
#[test]
fn the_part_of_another_process() {
    let (Ok(part), Ok(path)) = (std::env::var(PART), std::env::var(PATH)) else { return };
    match part.as_str() {
        "open" => open(&path),
        "hold" => hold(&path),
        "read" => read_beside(&path),
        "outgrow" => outgrow(&path),
        other => panic!("no part named {other}"),
    }
}

fn open(path: &str) {
    let error = Sqlite::open(path, SqliteOptions::default()).unwrap_err();
    println!("refused: {:?}: {error}", error.kind());
}

fn hold(path: &str) {
    let mut engine = Engine::open(path, SqliteOptions::default()).unwrap();
    engine.put_many(10, b"held");
    println!("held");
    // Wait until the parent ends this process.
    let _ = std::io::stdin().lines().next();
}

fn read_beside(path: &str) {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let connection = rusqlite::Connection::open_with_flags(path, flags).unwrap();
    let mut last = 0;
    while last < 200 {
        let count: i64 = connection.query_row("SELECT count(*) FROM drystone_entity", [], |row| row.get(0)).unwrap();
        assert!(count >= last, "what was seen does not go away");
        last = count;
        println!("reading");
    }
    println!("read all");
}

/// Writes until a file is too large. The error occurs when the log is written, at `COMMIT`.
fn outgrow(path: &str) {
    let mut engine = Engine::open(path, SqliteOptions::default()).unwrap();
    let error = (0..10_000).find_map(|number| engine.put(number, Bytes::from(vec![b'x'; 4000])).err()).unwrap();
    assert_eq!((error.kind(), error.applied()), (StoreErrorKind::Unavailable, Applied::Unknown), "{error}");
    engine.assert_all_there();
    let unknown = engine.acknowledged.len() as u32;
    assert_eq!(read(&engine.store, unknown).unwrap(), None, "read back, it did not happen");
    println!("acknowledged {unknown}.");
}
