//! The processes of Watchbell: two of each role, on two machines.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use engines::Signal;
use testkit::{Clock, Machine};

use crate::fleet::program::Program;

/// What a process of Watchbell does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Api,
    Index,
    Match,
    Deliver,
}

impl Role {
    pub(crate) const ALL: [Self; 4] = [Self::Api, Self::Index, Self::Match, Self::Deliver];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Index => "index",
            Self::Match => "match",
            Self::Deliver => "deliver",
        }
    }

    pub(crate) fn port(self) -> u16 {
        match self {
            Self::Api => 8080,
            Self::Index => 8081,
            Self::Match => 8082,
            Self::Deliver => 8083,
        }
    }
}

/// One process.
pub(crate) struct Node {
    pub(crate) program: Program,
    pub(crate) role: Role,
    /// Its own clock, if it has one that can be shifted.
    pub(crate) clock: Option<Clock>,
    variables: Vec<(String, String)>,
    /// The release that it runs; another one after an upgrade.
    pub(crate) binary: PathBuf,
}

impl Node {
    pub(crate) fn new(
        folder: &Path,
        binary: &Path,
        machine: &Machine,
        role: Role,
        variables: &[(String, String)],
        clock: Option<Clock>,
    ) -> Self {
        let log = folder
            .join(machine.name())
            .join(format!("{}.log", role.name()));
        let mut variables = variables.to_vec();
        let listen = format!("{}:{}", machine.address(), role.port());
        variables.push(("WATCHBELL__HTTP__LISTEN".to_owned(), listen));
        if let Some(clock) = &clock {
            variables.extend(clock.variables());
        }
        Self {
            program: Program::new(machine, log, Signal::Terminate),
            role,
            clock,
            variables,
            binary: binary.to_owned(),
        }
    }

    /// Starts it and waits for nothing: what it needs may be down.
    pub(crate) fn start(&mut self) -> anyhow::Result<()> {
        let command = command(
            &self.binary,
            &self.variables,
            &["serve", "--role", self.role.name()],
        );
        self.program.start(&command)
    }
}

/// A command of Watchbell with its settings, as an operator would give it.
pub(crate) fn command(
    binary: &Path,
    variables: &[(String, String)],
    arguments: &[&str],
) -> Vec<OsString> {
    let mut command: Vec<OsString> = vec!["env".into()];
    command.extend(
        variables
            .iter()
            .map(|(name, value)| format!("{name}={value}").into()),
    );
    command.push(binary.into());
    command.extend(arguments.iter().map(OsString::from));
    command
}
