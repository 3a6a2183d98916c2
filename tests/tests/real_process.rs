//! A real process that starts its runtime and then fails to bind its port, again and again. No run is held
//! for that (W2, R2).

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test of a real process fails by it")]

use std::{env, io, net::TcpListener, path::Path, process::Command};

use drystone::{Failure, Flow, Primitives, Runtime, Services, testing::Latch, workflow};
use serde::{Deserialize, Serialize};

/// The variable that makes a process the child and names its file.
const FILE: &str = "DRYSTONE_TEST_FILE";
/// The variable with the port that is in use.
const PORT: &str = "DRYSTONE_TEST_PORT";

#[derive(Default, Serialize, Deserialize)]
struct Job;

#[workflow]
impl Job {
    async fn run(flow: &Flow<Self>) -> Result<u32, Failure> {
        Ok(flow.long().await)
    }

    #[step]
    async fn long(gate: &Latch) -> u32 {
        gate.clone().wait().await;
        1
    }
}

#[derive(Primitives)]
struct App {
    job: Job,
}

#[derive(Clone, Default, Services)]
struct Gate {
    gate: Latch,
}

async fn start(file: &Path, gate: &Gate) -> Runtime<App> {
    Runtime::sqlite(file).services(gate.clone()).start::<App>().await.unwrap()
}

/// Starts the runtime first and then binds the port, as a `main` might do.
async fn serve(file: &Path, port: &str) -> io::Result<()> {
    let _runtime = start(file, &Gate::default()).await;
    TcpListener::bind(format!("127.0.0.1:{port}"))?;
    Ok(())
}

/// The code of the child. In any other process the code does nothing.
#[tokio::test]
async fn the_child_fails_to_bind_its_port() {
    let (Ok(file), Ok(port)) = (env::var(FILE), env::var(PORT)) else { return };
    assert_eq!(serve(Path::new(&file), &port).await.unwrap_err().kind(), io::ErrorKind::AddrInUse);
}

/// W2, R2
#[tokio::test]
async fn sixty_failures_to_bind_a_port_hold_no_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app.db");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let gate = Gate::default();
    let runtime = start(&file, &gate).await;
    for number in 0..20 {
        runtime.client().job(format!("job-{number}")).start().await.unwrap();
    }
    runtime.shutdown(std::time::Duration::ZERO).await.unwrap();
    drop(runtime);
    for _ in 0..60 {
        let mut child = Command::new(env::current_exe().unwrap());
        child.args(["--exact", "the_child_fails_to_bind_its_port"]).env(FILE, &file).env(PORT, &port);
        assert!(child.output().unwrap().status.success());
    }
    gate.gate.open();
    let runtime = start(&file, &gate).await;
    assert_eq!(runtime.report().unclean, 0);
    for number in 0..20 {
        assert_eq!(runtime.client().job(format!("job-{number}")).result().await.unwrap(), 1);
    }
    assert!(runtime.entities().failing().await.unwrap().entities.is_empty());
    assert_eq!(runtime.dead_letters().count().await.unwrap(), 0);
}
