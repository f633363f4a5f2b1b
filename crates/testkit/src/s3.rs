//! A real S3-compatible server with one bucket, which keeps what it is sent in a folder.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;
use std::thread;

use anyhow::Context;
use engines::{Signal, Tethered};

use crate::environment;
use crate::folder::TestFolder;
use crate::installed::installed;

const INSTALLER: &str = include_str!("../../../scripts/install-s3-server");
const BUCKET: &str = "watchbell-test";
const ACCESS_KEY_ID: &str = "test-key";
const SECRET_ACCESS_KEY: &str = "test-secret";

/// A running server. Dropping it ends it and removes what it kept.
#[derive(Debug)]
pub struct S3Server {
    _process: Tethered,
    endpoint: String,
    folder: TestFolder,
}

impl S3Server {
    /// On a free port.
    pub fn start() -> anyhow::Result<Self> {
        install()?;
        let folder = TestFolder::create()?;
        fs::create_dir(folder.path().join(BUCKET)).context("make the bucket")?;
        let program = environment::s3_server_folder()?.join("bin/rclone");
        let mut process = Tethered::spawn(&program, Signal::Kill, |command| {
            command
                .args([
                    "serve",
                    "s3",
                    "--addr",
                    "127.0.0.1:0",
                    "--config",
                    "/dev/null",
                ])
                .args([
                    "--auth-key",
                    &format!("{ACCESS_KEY_ID},{SECRET_ACCESS_KEY}"),
                ])
                .args(["--vfs-cache-mode", "off", "--log-level", "NOTICE"])
                .arg(folder.path())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped());
        })
        .with_context(|| format!("start {}", program.display()))?;
        let output = process.pipes().stderr.take();
        let mut lines = BufReader::new(output.context("its output is piped")?).lines();
        let endpoint = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| {
                let (_, rest) = line.split_once("[http://")?;
                let (address, _) = rest.split_once("/]")?;
                Some(format!("http://{address}"))
            })
            .context("the S3 server ended before it listened")?;
        // Its pipe must not fill up.
        thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Ok(Self {
            _process: process,
            endpoint,
            folder,
        })
    }

    /// What to set to keep files there, by the names of the variables.
    pub fn settings(&self) -> [(&'static str, String); 4] {
        [
            ("FILES__URL", format!("s3://{BUCKET}/some/prefix")),
            ("FILES__S3_ENDPOINT", self.endpoint.clone()),
            ("FILES__S3_ACCESS_KEY_ID", ACCESS_KEY_ID.to_owned()),
            ("FILES__S3_SECRET_ACCESS_KEY", SECRET_ACCESS_KEY.to_owned()),
        ]
    }

    /// Where its files are, to look behind the curtain.
    pub fn kept(&self) -> PathBuf {
        self.folder.path().join(BUCKET).join("some/prefix")
    }
}

fn install() -> anyhow::Result<PathBuf> {
    let script = &["-c", INSTALLER, "install-s3-server"];
    installed("the S3 server", environment::s3_server_folder()?, script)
}
