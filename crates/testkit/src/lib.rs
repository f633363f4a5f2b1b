//! What tests of Watchbell share: engines to test against, a receiver, and the real program.
//!
//! Tests run under `cargo nextest run`, where each test is a process of its own. The engines are
//! started once per run by the program `test-engines` (see `.config/nextest.toml`), and each test
//! takes its own corner of them: a [`Database`] and a [`namespace`] for streams and keys. A test
//! that stops or kills an engine starts its [`own`].
//!
//! | file | what it gives |
//! |---|---|
//! | `shared` | the engines of this test run |
//! | `database`, `namespace` | a corner of them for one test |
//! | `own` | engines for one test alone |
//! | `receiver`, `answer`, `received` | a webhook receiver that answers, or misbehaves, as told; what it keeps |
//! | `certificates` | an authority of the test's own |
//! | `names` | a name server that answers as told |
//! | `mail` | a mail server that keeps what it is sent |
//! | `mcp` | real MCP servers and clients |
//! | `agents` | real coding agents, with a made-up model |
//! | `s3` | an S3-compatible server that keeps files |
//! | `clock` | a wall clock of one process's own, which jumps |
//! | `disk` | a disk that loses power, fills up and slows down |
//! | `machine` | machines with addresses of their own, between which packets get lost |
//! | `wire` | a connection that is slow, holds what it is given, or is cut |
//! | `process` | the real `watchbell` program |
//! | `eventually` | waiting for a condition, with a deadline |
//! | `dice` | chance that is the same in every run |
//! | `folder`, `environment` | throw-away folders; the environment variables we read |
//!
//! Nothing waits for a duration: every wait is for a condition and has a deadline.

pub mod agents;
pub mod answer;
pub mod certificates;
pub mod clock;
pub mod database;
pub mod dice;
#[cfg(target_os = "linux")]
pub mod disk;
pub mod environment;
pub mod eventually;
pub mod folder;
mod installed;
pub mod machine;
pub mod mail;
pub mod mcp;
pub mod names;
pub mod namespace;
pub mod own;
mod postgres_version;
pub mod process;
pub mod received;
pub mod receiver;
pub mod s3;
pub mod shared;
pub mod stopwatch;
pub mod wire;

pub use agents::{AgentHome, CodingAgent};
pub use answer::Answer;
pub use certificates::{Authority, Identity};
pub use clock::Clock;
pub use database::Database;
pub use dice::Dice;
#[cfg(target_os = "linux")]
pub use disk::Disk;
pub use engines::{Engines, Nats, Signal, Tethered};
pub use eventually::{eventually, eventually_blocking};
pub use machine::{Machine, Network};
pub use mail::{Mail, MailSink};
pub use mcp::{Era, McpClient, McpServer};
pub use names::NameServer;
pub use namespace::namespace;
pub use own::Own;
pub use process::Watchbell;
pub use received::{Arrival, Received};
pub use receiver::Receiver;
pub use s3::S3Server;
pub use shared::{Shared, shared};
pub use stopwatch::Stopwatch;
pub use wire::Wire;
