//! The text files of the repository as the rules see them: a path below the root, and the text.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

/// What is built, fetched or run, not written. In a worktree `.git` is a file.
const NOT_OURS: [&str; 7] = [
    ".git",
    "target",
    "node_modules",
    "dist",
    ".watchbell",
    "corpus",
    "artifacts",
];

/// Every file of the repository.
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
}

/// One file. A file that is not text has an empty `text`.
pub(crate) struct File {
    /// Below the root, with `/` between the parts.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Tree {
    pub(crate) fn read(root: &Path) -> anyhow::Result<Self> {
        let mut files = Vec::new();
        read_folder(root, "", &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { files })
    }

    /// A tree for a test, from pairs of path and text.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|&(path, text)| File {
                path: path.to_owned(),
                text: text.to_owned(),
            })
            .collect();
        Self { files }
    }

    pub(crate) fn get(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Whether a file or a folder has this path.
    pub(crate) fn has(&self, path: &str) -> bool {
        let inside = format!("{path}/");
        path.is_empty()
            || self
                .files
                .iter()
                .any(|file| file.path == path || file.path.starts_with(&inside))
    }

    pub(crate) fn under(&self, folder: &str) -> impl Iterator<Item = &File> {
        self.files
            .iter()
            .filter(move |file| file.path.starts_with(folder))
    }

    pub(crate) fn with_extension(&self, extension: &str) -> impl Iterator<Item = &File> {
        self.files
            .iter()
            .filter(move |file| file.extension() == Some(extension))
    }

    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.with_extension("rs")
    }

    /// What people wrote of the console; its types of the API are generated.
    pub(crate) fn typescript(&self) -> impl Iterator<Item = &File> {
        let written = ["ts", "tsx"].map(|extension| self.with_extension(extension));
        let written = written.into_iter().flatten();
        written.filter(|file| !file.name().ends_with(".d.ts"))
    }

    /// Both.
    pub(crate) fn source(&self) -> impl Iterator<Item = &File> {
        self.rust().chain(self.typescript())
    }
}

impl File {
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    pub(crate) fn stem(&self) -> &str {
        self.name()
            .rsplit_once('.')
            .map_or(self.name(), |(stem, _)| stem)
    }

    pub(crate) fn extension(&self) -> Option<&str> {
        self.name().rsplit_once('.').map(|(_, extension)| extension)
    }

    /// The folder's path; empty for a file at the root.
    pub(crate) fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Whether it belongs to a folder where integration tests live.
    pub(crate) fn is_integration_test(&self) -> bool {
        let mut folders = self.folder().split('/');
        folders.any(|part| ["tests", "e2e"].contains(&part))
    }

    /// Lines with their numbers, counted from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line))
    }

    /// The number of the line in which the byte at `offset` lies.
    pub(crate) fn line_at(&self, offset: usize) -> usize {
        1 + self.text[..offset].matches('\n').count()
    }
}

/// Adds the files of one folder and the folders in it. Links are not followed, so this ends.
fn read_folder(folder: &Path, path: &str, files: &mut Vec<File>) -> anyhow::Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // In a second worktree `.git` is a file.
        if NOT_OURS.contains(&name.as_str()) {
            continue;
        }
        let path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}/{name}")
        };
        if NOT_OURS.contains(&name.as_str()) {
            continue;
        }
        let kind = entry.file_type()?;
        if kind.is_dir() {
            read_folder(&entry.path(), &path, files)?;
        } else if kind.is_file() {
            let bytes = fs::read(entry.path()).with_context(|| format!("read {path}"))?;
            files.push(File {
                path,
                text: String::from_utf8(bytes).unwrap_or_default(),
            });
        }
    }
    Ok(())
}
