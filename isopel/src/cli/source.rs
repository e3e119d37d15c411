//! Inputs: files, folders of files and the standard input.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::verdict::Failure;

/// One file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    /// How messages name it.
    pub(crate) label: String,
    /// Where it goes below an output folder, with its own extension.
    pub(crate) relative: PathBuf,
    /// `None` for the standard input.
    path: Option<PathBuf>,
}

impl Source {
    pub(crate) fn read(&self) -> Result<Vec<u8>, Failure> {
        match &self.path {
            Some(path) => fs::read(path).map_err(Failure::Read),
            None => {
                let mut bytes = Vec::new();
                io::stdin().lock().read_to_end(&mut bytes).map_err(Failure::Read)?;
                Ok(bytes)
            }
        }
    }

    fn file(path: &Path, relative: &Path) -> Source {
        Source { label: path.display().to_string(), relative: relative.to_owned(), path: Some(path.to_owned()) }
    }
}

/// An input that gives no file.
#[derive(Debug)]
pub(crate) struct BadInput {
    pub(crate) label: String,
    pub(crate) failure: Failure,
}

/// All files that the inputs name. Folders are searched through, in the order of names; a folder that can't be read
/// is reported and the rest goes on.
pub(crate) fn expand(inputs: &[PathBuf]) -> Vec<Result<Source, BadInput>> {
    let mut sources = Vec::new();
    for input in inputs {
        if input == Path::new("-") {
            sources.push(Ok(Source { label: "stdin".into(), relative: "stdin".into(), path: None }));
        } else if input.is_dir() {
            let before = sources.len();
            search(input, &mut sources);
            if sources.len() == before {
                sources.push(Err(BadInput { label: input.display().to_string(), failure: Failure::NoJpegFiles }));
            }
        } else {
            // What does not exist is reported when it is read.
            let name = input.file_name().map_or(input.as_path(), Path::new);
            sources.push(Ok(Source::file(input, name)));
        }
    }
    sources
}

fn search(root: &Path, sources: &mut Vec<Result<Source, BadInput>>) {
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let mut subfolders = Vec::new();
        let entries = fs::read_dir(&folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => {
                let label = folder.display().to_string();
                sources.push(Err(BadInput { label, failure: Failure::Read(error) }));
                continue;
            }
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            // Links to folders are not followed: they may lead in circles.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                subfolders.push(path);
            } else if path.extension().is_some_and(is_jpeg_extension) && !path.is_dir() {
                sources.push(Ok(Source::file(&path, path.strip_prefix(root).unwrap_or(&path))));
            }
        }
        folders.extend(subfolders.into_iter().rev());
    }
}

fn is_jpeg_extension(extension: &OsStr) -> bool {
    ["jpg", "jpeg", "jpe", "jfif", "mpo"].iter().any(|known| extension.eq_ignore_ascii_case(known))
}
